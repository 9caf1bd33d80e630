package credentials

import (
	"fmt"
	"strings"

	"abxdash/client"
)

// Express is the id of the default remote provider.
const Express = "alicloud-express"

// Account is what one provider is reached with. Fields that were not found are
// not set.
type Account struct {
	Provider                            string
	Key                                 Value
	AccessKeyID, AccessKeySecret        Value
	APIURL, Domain, DataURL, RegionName Value
	// Hint is a remark about the kind of key, without the key; may be empty.
	Hint string
}

// names are the variables of a provider; several names mean "the first that is set".
type names struct {
	key, api, domain, data, region []string
	aksk                           bool
}

func namesOf(provider string) names {
	if provider == Express {
		return names{
			key: []string{"ABX_SANDBOX_API_KEY"}, api: []string{"ABX_SANDBOX_API_URL"}, domain: []string{"ABX_SANDBOX_DOMAIN"},
			data: []string{"ABX_SANDBOX_DATA_URL"}, region: []string{"ABX_SANDBOX_REGION"}, aksk: true,
		}
	}
	prefix := "ABX_" + strings.ToUpper(strings.NewReplacer("-", "_", ".", "_", "@", "_").Replace(provider)) + "_"
	if prefix == "ABX_SANDBOX_" {
		// Those belong to Express, whatever else is called "sandbox".
		return names{key: []string{"ABX_SANDBOX_PROVIDER_API_KEY"}}
	}
	n := names{
		key: []string{prefix + "API_KEY"}, api: []string{prefix + "API_URL"}, domain: []string{prefix + "DOMAIN"}, data: []string{prefix + "DATA_URL"},
	}
	if provider == "opensandbox" {
		n.key = append(n.key, "OPEN_SANDBOX_API_KEY")
		n.domain = append(n.domain, "OPEN_SANDBOX_DOMAIN")
	}
	return n
}

// Names of an access key pair.
const (
	nameAccessKeyID     = "ALICLOUD_ACCESS_KEY_ID"
	nameAccessKeySecret = "ALICLOUD_ACCESS_KEY_SECRET"
)

// KeyNames lists the variables that hold a provider's key, for messages.
func KeyNames(provider string) []string { return namesOf(provider).all() }

// all are the names of the key, for messages.
func (n names) all() []string {
	if n.aksk {
		return append(n.key, nameAccessKeyID+" + "+nameAccessKeySecret)
	}
	return n.key
}

// Has reports whether there is a key for the provider, without judging it.
func (s *Set) Has(provider string) bool {
	_, err := s.Account(provider)
	return err == nil
}

// Ways says how a provider's key is found.
type Ways struct {
	// KeyName replaces the variable of the key.
	KeyName string
	// Optional: the provider may have no key.
	Optional bool
}

// Account collects what the provider needs, or says what is missing or refused.
func (s *Set) Account(provider string) (Account, error) { return s.AccountWith(provider, Ways{}) }

// AccountWith is Account for a provider whose key has a name of its own, or
// need not be. No variable of another provider is ever read.
func (s *Set) AccountWith(provider string, w Ways) (Account, error) {
	n := namesOf(provider)
	if w.KeyName != "" {
		n.key, n.aksk = []string{w.KeyName}, false
	}
	a := Account{Provider: provider}
	for _, f := range []struct {
		to    *Value
		names []string
	}{{&a.Key, n.key}, {&a.APIURL, n.api}, {&a.Domain, n.domain}, {&a.DataURL, n.data}, {&a.RegionName, n.region}} {
		if err := s.first(f.to, f.names); err != nil {
			return Account{Provider: provider}, err
		}
	}
	if n.aksk {
		if err := s.pair(&a); err != nil {
			return Account{Provider: provider}, err
		}
	}
	if !a.Key.Set() && !a.AccessKeyID.Set() && !w.Optional {
		return Account{Provider: provider}, s.missing(provider, n)
	}
	if err := a.checkAddresses(); err != nil {
		return Account{Provider: provider}, err
	}
	if provider == "e2b" && strings.HasPrefix(a.Key.text, "sk_e2b_") {
		a.Hint = a.Key.Name + " looks like an access token, not like an API key (those begin with e2b_)"
	}
	return a, nil
}

func (s *Set) first(to *Value, names []string) error {
	for _, name := range names {
		v, err := s.Lookup(name)
		if err != nil {
			return err
		}
		if v.Set() {
			*to = v
			return nil
		}
	}
	return nil
}

// pair reads the access key pair. Half a pair is an error unless there is a key anyway.
func (s *Set) pair(a *Account) error {
	if err := s.first(&a.AccessKeyID, []string{nameAccessKeyID}); err != nil {
		return err
	}
	if err := s.first(&a.AccessKeySecret, []string{nameAccessKeySecret}); err != nil {
		return err
	}
	if a.AccessKeyID.Set() == a.AccessKeySecret.Set() {
		return nil
	}
	have, lack := nameAccessKeyID, nameAccessKeySecret
	if a.AccessKeySecret.Set() {
		have, lack = lack, have
	}
	a.AccessKeyID, a.AccessKeySecret = Value{}, Value{}
	if a.Key.Set() {
		return nil
	}
	return &client.Error{
		Op: "read the key of " + a.Provider, Provider: a.Provider, Code: client.CodeAuthAKSK, Kind: client.ErrUnauthorized,
		Message: fmt.Sprintf("%s is set, %s is not; both are needed", have, lack),
		Hint:    "set " + lack + ", or " + namesOf(a.Provider).key[0] + " alone",
	}
}

// checkAddresses refuses an address from a project's file together with a key
// from elsewhere: a cloned repository must not receive the user's own key.
func (a *Account) checkAddresses() error {
	key := a.Key
	if !key.Set() {
		key = a.AccessKeySecret
	}
	for _, v := range []Value{a.APIURL, a.Domain, a.DataURL} {
		if v.Source.Kind != FromProject || key.Source.Kind == FromProject || key.Source.Kind == FromFlag {
			continue
		}
		return &client.Error{
			Op: "read the address of " + a.Provider, Provider: a.Provider, Code: client.CodeConfig,
			Message: fmt.Sprintf("%s from %s is not used with %s from %s: a project's file must not decide where your key is sent", v.Name, v.Source, key.Name, key.Source),
			Hint:    "put the key into the same file, give it as a flag, or set " + v.Name + " in the environment",
		}
	}
	return nil
}

// missing words the error of a provider without a key (AUT-01).
func (s *Set) missing(provider string, n names) error {
	where := []string{"the environment"}
	for _, f := range []string{s.opts.ProjectFile, s.opts.HomeFile, s.opts.SavedFile} {
		if f != "" {
			where = append(where, f)
		}
	}
	return &client.Error{
		Op: "find the key of " + provider, Provider: provider, Code: client.CodeAuthMissing, Kind: client.ErrUnauthorized,
		Message: fmt.Sprintf("no %s in %s", strings.Join(n.all(), " or "), strings.Join(where, ", ")),
		Hint:    "set one of them, or use --provider local, which needs no key",
	}
}
