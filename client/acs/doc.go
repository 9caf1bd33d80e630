// Package acs talks to the native OpenAPI of Agent Sandbox on Alibaba Cloud
// with an access key pair: API keys, teams, quota and templates
// (alicloud-express §9). Requests are signed with ACS3-HMAC-SHA256 (§9.2).
//
// An access key cannot be used where an API key is needed and the other way
// round; [Client.CreateAPIKey] makes the one from the other.
package acs
