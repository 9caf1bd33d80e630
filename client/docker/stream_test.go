package docker

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
)

func collect(t *testing.T, body string) ([]Event, outcome, error) {
	t.Helper()
	var events []Event
	out, err := decode(strings.NewReader(body), func(e Event) { events = append(events, e) })
	return events, out, err
}

func TestClassicStream(t *testing.T) {
	events, out, err := collect(t, `{"stream":"Step 1/2 : FROM a"}{"stream":"\n"}{"stream":" ---\u003e 0123\n"}{"stream":"Step 2/2 : RUN x\n"}`+
		`{"stream":"one\r"}{"stream":"two\u001b[31m\n"}{"stream":"half"}{"aux":{"ID":"sha256:ab"}}{"stream":"\nSuccessfully built ab\n"}`)
	if err != nil {
		t.Fatal(err)
	}
	want := []Event{
		{Kind: KindStep, Step: 1, Steps: 2, Text: "FROM a"},
		{Kind: KindLog, Text: " ---> 0123"},
		{Kind: KindStep, Step: 2, Steps: 2, Text: "RUN x"},
		{Kind: KindLog, Text: `two\u001b[31m`},
		{Kind: KindLog, Text: "half"},
		{Kind: KindLog, Text: "Successfully built ab"},
	}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Error(diff)
	}
	if out.image != "sha256:ab" || out.step != "step 2/2 RUN x" {
		t.Errorf("%+v", out)
	}
}

func TestPushStream(t *testing.T) {
	events, out, err := collect(t, `{"status":"Pushing","progressDetail":{"current":5,"total":10},"id":"ab"}{"status":"Pushed","progressDetail":{},"id":"ab"}`+
		`{"progressDetail":{},"aux":{"Tag":"1","Digest":"sha256:cd","Size":1}}`)
	if err != nil || out.digest != "sha256:cd" {
		t.Errorf("%+v, %v", out, err)
	}
	want := []Event{{Kind: KindProgress, ID: "ab", Text: "Pushing", Current: 5, Total: 10}, {Kind: KindLog, ID: "ab", Text: "Pushed"}}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Error(diff)
	}
}

func bytesField(b []byte, num protowire.Number, text string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, num, protowire.BytesType), text)
}

func trace(parts ...[]byte) string {
	var b []byte
	for _, p := range parts {
		b = append(b, p...)
	}
	return fmt.Sprintf(`{"id":"moby.buildkit.trace","aux":%q}`, base64.StdEncoding.EncodeToString(b))
}

func vertex(digest, name, failure string, cached bool) []byte {
	v := bytesField(bytesField(nil, 1, digest), 3, name)
	if cached {
		v = protowire.AppendVarint(protowire.AppendTag(v, 4, protowire.VarintType), 1)
	}
	v = bytesField(v, 5, "\x08\x01") // started: a timestamp
	if failure != "" {
		v = bytesField(v, 7, failure)
	}
	return bytesField(nil, 1, string(v))
}

func TestBuildKitStream(t *testing.T) {
	logs := bytesField(nil, 3, string(bytesField(bytesField(nil, 1, "d2"), 4, "one\ntwo\n")))
	events, out, err := collect(t, trace(vertex("d1", "[internal] load metadata", "", false))+trace(vertex("d2", "[2/3] RUN x", "", false), vertex("d3", "[stage-1 1/3] FROM a", "", true))+
		trace(logs)+trace(vertex("d2", "[2/3] RUN x", "exit code: 1", false))+`{"errorDetail":{"message":"exit code: 1"},"error":"exit code: 1"}`)
	var said *streamError
	if !errors.As(err, &said) || out.step != "step [2/3] RUN x" {
		t.Errorf("%+v, %v", out, err)
	}
	want := []Event{
		{Kind: KindStep, Text: "[internal] load metadata"},
		{Kind: KindStep, Step: 2, Steps: 3, Text: "[2/3] RUN x"},
		{Kind: KindStep, Step: 1, Steps: 3, Text: "[stage-1 1/3] FROM a", Cached: true},
		{Kind: KindLog, Text: "one"},
		{Kind: KindLog, Text: "two"},
	}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Error(diff)
	}
	if _, out, err = collect(t, `{"id":"moby.image.id","aux":{"ID":"sha256:ef"}}`); err != nil || out.image != "sha256:ef" {
		t.Errorf("%+v, %v", out, err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(`{"stream":"Step 1/2 : FROM a\n"}{"aux":{"ID":"x"}}{"error":"y"}`)
	f.Add(trace(vertex("d", "[1/2] RUN", "e", true)))
	f.Add(`{"status":"x","progressDetail":{"current":-1,"total":5},"id":"\u001b"}`)
	f.Fuzz(func(t *testing.T, body string) {
		out, err := decode(strings.NewReader(body), func(e Event) {
			for _, r := range e.Text + e.ID {
				if r < 0x20 || r == 0x7f {
					t.Fatalf("control character in %+v", e)
				}
			}
		})
		if err == nil && strings.ContainsAny(out.image+out.digest+out.step, "\x1b\n") {
			t.Fatalf("%+v", out)
		}
	})
}
