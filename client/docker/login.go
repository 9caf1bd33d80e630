package docker

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"abxdash/client"
)

// CheckLogin asks a registry whether a login may push under ref, before
// anything is built or sent: an engine repeats a refused push for the better
// part of a minute. A refusal is E7022. A registry that cannot be reached from
// here is no error: the engine may reach it.
func CheckLogin(ctx context.Context, ref string, login Login) error {
	const op = "log in to the registry"
	var opts []name.Option
	parsed, err := name.ParseReference(ref)
	if err == nil && loopback(parsed.Context().RegistryStr()) {
		opts = append(opts, name.Insecure)
		parsed, err = name.ParseReference(ref, opts...)
	}
	if err != nil {
		return client.Usagef(op, "%q is no image name", client.OneLine(ref, 120))
	}
	err = remote.CheckPushPermission(parsed, keychain(login), bound{ctx})
	var te *transport.Error
	if err == nil || !errors.As(err, &te) {
		return context.Cause(ctx)
	}
	if te.StatusCode != http.StatusUnauthorized && te.StatusCode != http.StatusForbidden {
		return nil
	}
	return pushFailed(op, parsed.Context().RegistryStr(), login, errors.New("unauthorized: "+te.Error()))
}

// loopback reports whether a registry can only be on this machine; plain http
// is spoken to no other.
func loopback(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// keychain gives the same login to every registry; it is used for one.
type keychain Login

// Resolve implements authn.Keychain.
func (k keychain) Resolve(authn.Resource) (authn.Authenticator, error) {
	if k.Username == "" && k.Password == "" {
		return authn.Anonymous, nil
	}
	return &authn.Basic{Username: k.Username, Password: k.Password}, nil
}

// bound ties requests of a library without contexts to one.
type bound struct{ ctx context.Context }

// RoundTrip implements http.RoundTripper.
func (b bound) RoundTrip(r *http.Request) (*http.Response, error) {
	return http.DefaultTransport.RoundTrip(r.WithContext(b.ctx))
}
