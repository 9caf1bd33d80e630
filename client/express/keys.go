package express

import (
	"context"

	"abxdash/client"
	"abxdash/client/acs"
	"abxdash/client/credentials"
)

// Keys manages the API keys of an account with its access key pair
// (alicloud-express §9). Each call reads the pair anew.
type Keys struct {
	// Load finds the account, and what the native API is to be asked with: client,
	// region, endpoint.
	Load func() (credentials.Account, acs.Config, error)
}

// native makes the client, or says that there is no pair (E1001).
func (k *Keys) native(op string) (*acs.Client, error) {
	a, base, err := k.Load()
	missing := client.CodeOf(err) == client.CodeAuthMissing
	if err != nil && !missing {
		return nil, err
	}
	if missing || !a.AccessKeyID.Set() {
		return nil, &client.Error{
			Op: op, Provider: Name, Code: client.CodeAuthMissing, Kind: client.ErrUnauthorized,
			Message: "API keys are managed with an access key pair, and there is none",
			Hint:    "set ALICLOUD_ACCESS_KEY_ID and ALICLOUD_ACCESS_KEY_SECRET",
		}
	}
	return Native(a, base)
}

// Account says where the access key is from: its variable and the source, never its value.
func (k *Keys) Account() (string, error) {
	if _, err := k.native("find the access key"); err != nil {
		return "", err
	}
	a, _, err := k.Load()
	return a.AccessKeyID.String(), err
}

// List lists the keys of the account.
func (k *Keys) List(ctx context.Context) ([]client.APIKey, error) {
	api, err := k.native("list API keys")
	if err != nil {
		return nil, err
	}
	list, err := api.APIKeys(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]client.APIKey, 0, len(list))
	for _, x := range list {
		out = append(out, keyOf(x))
	}
	return out, nil
}

// Create makes a key; team is an id or a name, "" is the default team. The value
// is given this once.
func (k *Keys) Create(ctx context.Context, name, team string) (client.APIKey, string, error) {
	const op = "create API key"
	api, err := k.native(op)
	if err != nil {
		return client.APIKey{}, "", err
	}
	if team != "" {
		if team, err = teamID(ctx, op, api, team); err != nil {
			return client.APIKey{}, "", err
		}
	}
	x, value, err := api.CreateAPIKey(ctx, name, team)
	if err != nil {
		return client.APIKey{}, "", err
	}
	if x.Name == "" {
		x.Name = name
	}
	return keyOf(x), value, nil
}

// teamID finds a team by its id or name.
func teamID(ctx context.Context, op string, api *acs.Client, team string) (string, error) {
	teams, err := api.Teams(ctx)
	if err != nil {
		return "", err
	}
	id := ""
	for _, t := range teams {
		switch {
		case t.ID == team:
			return t.ID, nil
		case t.Name == team && id != "":
			return "", &client.Error{Op: op, Provider: Name, Code: client.CodeAmbiguous, Message: "several teams have this name", Hint: "name it by its id"}
		case t.Name == team:
			id = t.ID
		}
	}
	if id == "" {
		return "", &client.Error{Op: op, Provider: Name, Code: client.CodeNotFound, Kind: client.ErrNotFound, Message: "there is no team " + client.OneLine(team, 60)}
	}
	return id, nil
}

// Delete deletes a key by its id. What uses it is refused from then on.
func (k *Keys) Delete(ctx context.Context, id string) error {
	api, err := k.native("delete API key")
	if err != nil {
		return err
	}
	return api.DeleteAPIKey(ctx, id)
}

func keyOf(x acs.APIKey) client.APIKey {
	team := x.Team
	if team == "" {
		team = x.TeamID
	}
	return client.APIKey{
		ID: x.ID, Name: x.Name, Mask: x.Mask, Team: team, Status: x.Status,
		CreatedAt: x.CreatedTime, ExpiresAt: x.ExpireTime, LastUsedAt: x.LastUsedTime,
	}
}
