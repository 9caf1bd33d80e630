package e2b

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"abxdash/client"
)

// uploadPatience is how long one archive may take; the SDKs give it an hour (§12.3).
const uploadPatience = time.Hour

// sendFiles uploads what the COPY steps of a build need and the service does
// not have yet (§12, step 3).
func (c *Client) sendFiles(ctx context.Context, templateID string, spec client.TemplateSpec) error {
	sent := map[string]bool{}
	for _, s := range spec.Steps {
		if s.FilesHash == "" || sent[s.FilesHash] {
			continue
		}
		sent[s.FilesHash] = true
		if err := c.sendStep(ctx, templateID, s, spec.Progress); err != nil {
			return err
		}
	}
	return nil
}

func (c *Client) sendStep(ctx context.Context, templateID string, s client.TemplateStep, say func(string)) error {
	f := templateFailing("upload the files of a COPY")
	f.code = client.CodeTemplateBuild
	a, err := c.call(ctx, f, http.MethodGet, "/templates/"+component(templateID)+"/files/"+component(s.FilesHash), nil)
	if err != nil {
		return err
	}
	var link struct {
		Present bool   `json:"present"`
		URL     string `json:"url"`
	}
	if json.Unmarshal(a.body, &link) != nil || !link.Present && link.URL == "" {
		return c.fail(ctx, f, &badJSON{a, "upload link"})
	}
	if say == nil {
		say = func(string) {}
	}
	if link.Present {
		say("files are there already: " + copied(s))
		return nil
	}
	files, err := s.Files(ctx)
	if err != nil {
		return err
	}
	defer files.Close()
	say(fmt.Sprintf("uploading %d KiB: %s", (files.Size+1023)>>10, copied(s)))
	return c.putArchive(ctx, f, link.URL, files)
}

// copied names a COPY for people.
func copied(s client.TemplateStep) string {
	if len(s.Args) < 2 {
		return s.Type
	}
	return client.OneLine(s.Args[0]+" to "+s.Args[1], 120)
}

// putArchive sends an archive to a signed address: without the key, with its
// exact length (§12.3). The address itself is a secret and stays out of errors.
func (c *Client) putArchive(ctx context.Context, f failing, to string, files client.TemplateFiles) error {
	if bad := c.cfg.checkURL(to); bad != "" {
		return &client.Error{Op: f.op, Provider: c.cfg.Name, Code: client.CodeBadAnswer, Message: "the upload address " + bad}
	}
	f.wait = uploadPatience
	ctx, cancel := c.bounded(ctx, f.wait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, to, io.LimitReader(files, files.Size))
	if err != nil {
		return &client.Error{Op: f.op, Provider: c.cfg.Name, Code: client.CodeBadAnswer, Message: "the upload address is no URL"}
	}
	req.ContentLength = files.Size
	if files.Size == 0 {
		req.Body = http.NoBody
	}
	req.Header.Set("User-Agent", c.cfg.UserAgent)
	resp, err := c.http.Do(req)
	if err != nil {
		var ue *url.Error
		if errors.As(err, &ue) {
			err = ue.Err
		}
		return c.fail(ctx, f, err)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return c.fail(ctx, f, refused(resp))
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxErrorBody)) // lets the connection be used again
	return resp.Body.Close()
}
