package e2b

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"abxdash/client"
)

// stepService is the part of the service that a build of steps uses, with a
// store for archives that is strict about their length and about keys.
type stepService struct {
	*httptest.Server
	asked []string
	// put are the archives, present says that they are there already.
	put     map[string]string
	present bool
	refuse  int
	link    string
}

func newStepService(t *testing.T) (*Client, *stepService) {
	t.Helper()
	s := &stepService{put: map[string]string{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	s.link = s.URL + "/store/f1?signature=sign-4711"
	c, err := New(Config{Name: "x", APIURL: s.URL, DataURL: s.URL, APIKey: "key-0123456789", RequestTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, s
}

func (s *stepService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	call := r.Method + " " + r.URL.Path
	s.asked = append(s.asked, call)
	switch {
	case strings.HasPrefix(call, "PUT /store/"):
		if r.ContentLength != int64(len(body)) || r.Header.Get("X-Api-Key") != "" || r.URL.RawQuery != "signature=sign-4711" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		if s.refuse != 0 {
			w.WriteHeader(s.refuse)
			return
		}
		s.put[r.URL.Path] = string(body)
	case call == "GET /v2/templates":
		_, _ = io.WriteString(w, `[]`)
	case call == "POST /v3/templates":
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, `{"templateID":"tpl1","buildID":"b1"}`)
	case strings.HasPrefix(call, "GET /templates/tpl1/files/"):
		w.WriteHeader(http.StatusCreated)
		if s.present {
			_, _ = io.WriteString(w, `{"present":true}`)
			return
		}
		_, _ = io.WriteString(w, `{"present":false,"url":"`+s.link+`"}`)
	case call == "POST /v2/templates/tpl1/builds/b1":
		s.put["start"] = string(body)
		w.WriteHeader(http.StatusAccepted)
	case call == "DELETE /templates/tpl1":
		w.WriteHeader(http.StatusNoContent)
	}
}

// stepSpec is a part of the transcript of e2b-protocol §15.11.
func stepSpec(opened *int) client.TemplateSpec {
	files := func(context.Context) (client.TemplateFiles, error) {
		*opened++
		return client.TemplateFiles{ReadCloser: io.NopCloser(strings.NewReader("archive, and more")), Size: 7}, nil
	}
	hash := "5000c057a8a637685c3a980051d2051cee0169e912bdf988674e5b17a4f800c5"
	return client.TemplateSpec{Name: "tpl:v1", Image: "debian:12", StartCommand: "python -m http.server 8000", Steps: []client.TemplateStep{
		{Type: client.StepCopy, Args: []string{"f.txt", "/app/", "", ""}, FilesHash: hash, Files: files},
		{Type: client.StepCopy, Args: []string{"f.txt", "/app/", "", ""}, FilesHash: hash, Files: files},
		{Type: client.StepRun, Args: []string{"echo hi"}},
		{Type: client.StepEnv, Args: []string{"A", "1", "B", "2"}},
		{Type: client.StepWorkdir, Args: []string{"/app"}},
		{Type: client.StepUser, Args: []string{"user"}},
	}}
}

func TestStepsAreSent(t *testing.T) {
	c, s := newStepService(t)
	opened := 0
	spec := stepSpec(&opened)
	var said []string
	spec.Progress = func(text string) { said = append(said, text) }
	if _, err := c.CreateTemplate(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	if s.put["/store/f1"] != "archive" || opened != 1 {
		t.Errorf("uploaded %q, opened %d times", s.put["/store/f1"], opened)
	}
	want := `{"fromImage":"debian:12","startCmd":"python -m http.server 8000","steps":[` +
		`{"type":"COPY","args":["f.txt","/app/","",""],"force":false,"filesHash":"5000c057a8a637685c3a980051d2051cee0169e912bdf988674e5b17a4f800c5"},` +
		`{"type":"COPY","args":["f.txt","/app/","",""],"force":false,"filesHash":"5000c057a8a637685c3a980051d2051cee0169e912bdf988674e5b17a4f800c5"},` +
		`{"type":"RUN","args":["echo hi"],"force":false},{"type":"ENV","args":["A","1","B","2"],"force":false},` +
		`{"type":"WORKDIR","args":["/app"],"force":false},{"type":"USER","args":["user"],"force":false}],"force":false}`
	if diff := cmp.Diff(want, s.put["start"]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"uploading 1 KiB: f.txt to /app/"}, said); diff != "" {
		t.Error(diff)
	}
	s.present, opened = true, 0
	if _, err := c.CreateTemplate(t.Context(), stepSpec(&opened)); err != nil || opened != 0 {
		t.Errorf("present files were opened %d times, %v", opened, err)
	}
}

// A failed upload ends the build, takes the half-made template away and keeps
// the signed address out of the error.
func TestUploadFails(t *testing.T) {
	for name, set := range map[string]func(s *stepService){
		"refused":      func(s *stepService) { s.refuse = http.StatusInsufficientStorage },
		"unreachable":  func(s *stepService) { s.link = "http://127.0.0.1:1/x?signature=sign-4711" },
		"plain http":   func(s *stepService) { s.link = "http://store.example.com/x?signature=sign-4711" },
		"no address":   func(s *stepService) { s.link = "" },
		"other scheme": func(s *stepService) { s.link = "file:///etc/passwd?signature=sign-4711" },
	} {
		c, s := newStepService(t)
		set(s)
		opened := 0
		_, err := c.CreateTemplate(t.Context(), stepSpec(&opened))
		if err == nil || strings.Contains(err.Error(), "4711") || strings.Contains(err.Error(), "/x?") {
			t.Errorf("%s: %v", name, err)
		}
		if last := s.asked[len(s.asked)-1]; last != "DELETE /templates/tpl1" {
			t.Errorf("%s: what was half made stays: %v", name, s.asked)
		}
	}
}
