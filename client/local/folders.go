package local

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"

	"abxdash/client"
	"abxdash/client/local/server"
)

type foldersKey struct{}

// withFolders lets the create call below ctx carry folders of this machine: the
// protocol has no field for them.
func withFolders(ctx context.Context, list []client.HostFolder) context.Context {
	if len(list) == 0 {
		return ctx
	}
	return context.WithValue(ctx, foldersKey{}, list)
}

// addFolders puts the folders of the request's context into its header.
func addFolders(r *http.Request) (*http.Request, error) {
	list, _ := r.Context().Value(foldersKey{}).([]client.HostFolder)
	if len(list) == 0 || r.Method != http.MethodPost || r.URL.Path != "/sandboxes" {
		return r, nil
	}
	out := make([]server.Folder, 0, len(list))
	for _, f := range list {
		out = append(out, server.Folder{Host: f.Host, Target: f.Target, ReadOnly: f.ReadOnly, Copy: f.Copy})
	}
	data, err := json.Marshal(out)
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Header.Set(server.HeaderFolders, base64.StdEncoding.EncodeToString(data))
	return r, nil
}
