//go:build linux

package express_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"abxdash/client/contract"
	"abxdash/client/express"
	"abxdash/client/express/expresstest"
)

// TestContractRealEnvd runs the suite against a real envd, named by
// ABXDASH_CONTRACT_ENVD, one process a sandbox behind the fake control plane. It
// runs commands on this machine as the caller: give it a mount namespace with a
// home of its own.
func TestContractRealEnvd(t *testing.T) {
	binary := os.Getenv("ABXDASH_CONTRACT_ENVD")
	if binary == "" {
		t.Skip("ABXDASH_CONTRACT_ENVD is not set")
	}
	for _, asJSON := range []bool{false, true} {
		t.Run(fmt.Sprintf("json %v", asJSON), func(t *testing.T) {
			contract.Run(t, func(t *testing.T) contract.Setup {
				sw := expresstest.Switches{MinLifetime: time.Second, Agent: func(token string, env map[string]string) (expresstest.Agent, error) {
					return startEnvd(binary, token, env)
				}}
				p, _ := newProvider(t, sw, func(c *express.Config) { c.MinLifetime, c.Protobuf = time.Second, !asJSON })
				return contract.Setup{Provider: p}
			})
		})
	}
}

// startEnvd starts one agent on a free port and initialises it as its host does.
func startEnvd(binary, token string, env map[string]string) (expresstest.Agent, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return expresstest.Agent{}, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	cmd := exec.Command(binary, "-isnotfc", "-no-cgroups", "-port", strconv.Itoa(port))
	if err := cmd.Start(); err != nil {
		return expresstest.Agent{}, err
	}
	stop := func() error {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()         // killed, so an error
		return nil
	}
	base := &url.URL{Scheme: "http", Host: "127.0.0.1:" + strconv.Itoa(port)}
	body, err := json.Marshal(map[string]any{"accessToken": token, "envVars": env})
	if err != nil {
		return expresstest.Agent{}, err
	}
	tr := &http.Transport{}
	hc := &http.Client{Transport: tr}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, base.String()+"/init", bytes.NewReader(body))
		if err != nil {
			return expresstest.Agent{}, err
		}
		resp, err := hc.Do(req)
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusNoContent {
				break
			}
			err = fmt.Errorf("init answers %d", resp.StatusCode)
		}
		if ctx.Err() != nil {
			_ = stop()
			return expresstest.Agent{}, err
		}
		<-time.After(20 * time.Millisecond)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(base); r.Out.Header.Del("X-Forwarded-For") },
		Transport:     tr,
		FlushInterval: -1,
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if !strings.Contains(err.Error(), "canceled") {
				w.WriteHeader(http.StatusBadGateway)
			}
		},
	}
	return expresstest.Agent{Handler: proxy, Home: os.Getenv("HOME"), Close: func() error {
		tr.CloseIdleConnections()
		return stop()
	}}, nil
}
