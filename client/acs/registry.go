package acs

import (
	"context"
	"net/http"
	"net/url"

	"abxdash/client"
)

// Versions of the container registry's API (alicloud-express §9.3).
const (
	registryEnterprise = "2018-12-01"
	registryPersonal   = "2016-06-07"
)

// RegistryLogin asks for a temporary login to Alibaba Cloud's container
// registry: that of an Enterprise instance, or with instance "" of the personal
// edition. endpoint replaces scheme and host; "" is the region's own.
func (c *Client) RegistryLogin(ctx context.Context, instance, endpoint string) (client.RegistryLogin, error) {
	const op = "log in to the registry"
	r := *c
	r.cfg.PathPrefix = ""
	r.cfg.Endpoint = endpoint
	if endpoint == "" {
		r.cfg.Endpoint = "https://cr." + c.cfg.Region + ".aliyuncs.com"
	}
	type login struct {
		User  string `json:"tempUserName"`
		Token string `json:"authorizationToken"`
	}
	var out struct {
		login
		Data *login `json:"data"`
	}
	var err error
	if instance != "" {
		r.version = registryEnterprise
		err = r.call(ctx, op, "GetAuthorizationToken", http.MethodGet, "/", url.Values{"InstanceId": {instance}}, nil, &out)
	} else {
		r.version = registryPersonal
		err = r.call(ctx, op, "GetAuthorizationToken", http.MethodGet, "/tokens", nil, nil, &out)
	}
	if err != nil {
		return client.RegistryLogin{}, err
	}
	l := out.login
	if out.Data != nil {
		l = *out.Data
	}
	if l.User == "" || l.Token == "" {
		return client.RegistryLogin{}, &client.Error{Op: op, Code: client.CodeRegistryLogin, Message: "the answer holds no login"}
	}
	return client.RegistryLogin{Username: l.User, Password: l.Token}, nil
}
