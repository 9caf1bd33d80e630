package express_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"abxdash/client"
	"abxdash/client/acs"
	"abxdash/client/credentials"
	"abxdash/client/express"
)

// account is what an environment makes of Express.
func account(env map[string]string) (credentials.Account, error) {
	return credentials.Load(credentials.Options{LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}).Account(express.Name)
}

func TestKeys(t *testing.T) {
	var calls []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		calls = append(calls, r.Method+" "+r.URL.Path+" "+string(body))
		answers := map[string]string{
			"GET /pop/2026-08-20/teams":          `{"teams":[{"teamID":"t1","teamName":"one"},{"teamID":"t2","teamName":"two"},{"teamID":"t3","teamName":"two"}],"total":3}`,
			"POST /pop/2026-08-20/api-keys":      `{"apiKeyID":"k1","apiKeyValue":"e2b_value","teamID":"t1"}`,
			"GET /pop/2026-08-20/api-keys":       `{"apiKeys":[{"apiKeyID":"k1","apiKeyName":"n","apiKeyMask":"e2b_…","teamName":"one","status":"Enabled","createdTime":"2031-01-01T00:00:00Z"}],"total":1}`,
			"DELETE /pop/2026-08-20/api-keys/k1": `{}`,
		}
		_, _ = io.WriteString(w, answers[r.Method+" "+r.URL.Path])
	}))
	t.Cleanup(srv.Close)
	hc := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(hc.CloseIdleConnections)
	env := map[string]string{"ALICLOUD_ACCESS_KEY_ID": "AK0123456789", "ALICLOUD_ACCESS_KEY_SECRET": "SK0123456789"}
	keys := &express.Keys{Load: func() (credentials.Account, acs.Config, error) {
		a, err := account(env)
		return a, acs.Config{Endpoint: srv.URL, HTTPClient: hc}, err
	}}
	if who, err := keys.Account(); err != nil || who != "ALICLOUD_ACCESS_KEY_ID from the process environment" {
		t.Errorf("%q %v", who, err)
	}
	list, err := keys.List(t.Context())
	want := []client.APIKey{{ID: "k1", Name: "n", Mask: "e2b_…", Team: "one", Status: "Enabled", CreatedAt: "2031-01-01T00:00:00Z"}}
	if d := cmp.Diff(want, list); d != "" || err != nil {
		t.Error(d, err)
	}
	key, value, err := keys.Create(t.Context(), "laptop", "one")
	if err != nil || value != "e2b_value" || key.ID != "k1" || key.Name != "laptop" {
		t.Errorf("%+v %q %v", key, value, err)
	}
	var sent map[string]string
	_, body, _ := strings.Cut(calls[len(calls)-1], "api-keys ")
	if err := json.Unmarshal([]byte(body), &sent); err != nil || sent["teamID"] != "t1" || sent["apiKeyName"] != "laptop" {
		t.Errorf("sent %q %v", body, err)
	}
	before := len(calls)
	if _, _, err := keys.Create(t.Context(), "laptop", "two"); client.CodeOf(err) != client.CodeAmbiguous {
		t.Errorf("two teams: %v", err)
	}
	if _, _, err := keys.Create(t.Context(), "laptop", "none"); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("no team: %v", err)
	}
	for _, c := range calls[before:] {
		if strings.HasPrefix(c, "POST") {
			t.Errorf("made all the same: %s", c)
		}
	}
	if err := keys.Delete(t.Context(), "k1"); err != nil {
		t.Error(err)
	}
	// Without the pair nothing is asked, be there an API key or not.
	before = len(calls)
	for _, env = range []map[string]string{{}, {"ABX_SANDBOX_API_KEY": "e2b_0123456789"}} {
		_, err = keys.List(t.Context())
		if client.CodeOf(err) != client.CodeAuthMissing || !strings.Contains(client.HintOf(err), "ALICLOUD_ACCESS_KEY_ID") {
			t.Errorf("%v, hint %q", err, client.HintOf(err))
		}
	}
	if len(calls) != before {
		t.Errorf("asked %q", calls[before:])
	}
}
