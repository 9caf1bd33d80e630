package contract_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"abxdash/client"
	"abxdash/client/contract"
	"abxdash/client/e2b"
)

// TestURL runs the suite against any server that speaks the E2B dialect:
//
//	ABXDASH_CONTRACT_URL       the control plane, e.g. http://127.0.0.1:3000
//	ABXDASH_CONTRACT_DATA_URL  the data plane; default the same address
//	ABXDASH_CONTRACT_DOMAIN    instead of a data URL: per-port hosts below it
//	ABXDASH_CONTRACT_KEY       the API key
//	ABXDASH_CONTRACT_TEMPLATE  the template of every sandbox
//	ABXDASH_CONTRACT_MIN       the shortest lifetime, e.g. 60s
//	ABXDASH_CONTRACT_LACKS     capabilities the server does not have, in blanks
func TestURL(t *testing.T) {
	url := os.Getenv("ABXDASH_CONTRACT_URL")
	if url == "" {
		t.Skip("ABXDASH_CONTRACT_URL is not set")
	}
	contract.Run(t, func(t *testing.T) contract.Setup {
		cfg := e2b.Config{
			Name: "url", APIURL: url, DataURL: os.Getenv("ABXDASH_CONTRACT_DATA_URL"), Domain: os.Getenv("ABXDASH_CONTRACT_DOMAIN"),
			APIKey: os.Getenv("ABXDASH_CONTRACT_KEY"), Capabilities: e2b.AllCapabilities(),
		}
		if cfg.DataURL == "" && cfg.Domain == "" {
			cfg.DataURL = url
		}
		for _, name := range strings.Fields(os.Getenv("ABXDASH_CONTRACT_LACKS")) {
			cfg.Capabilities.Have[client.Capability(name)] = false
		}
		p, err := e2b.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Close)
		least, _ := time.ParseDuration(os.Getenv("ABXDASH_CONTRACT_MIN")) // unset is one second
		return contract.Setup{Provider: p, Template: os.Getenv("ABXDASH_CONTRACT_TEMPLATE"), MinLifetime: least}
	})
}
