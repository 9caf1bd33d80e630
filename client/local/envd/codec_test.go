package envd

import (
	"testing"

	"abxdash/client/envdpb/process"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"
)

// The short way of the codec means what the general encoder means.
func TestJSONCodecAgreesWithProtoJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.SliceOf(rapid.Byte()).Draw(t, "data")
		event := &process.ProcessEvent{Event: &process.ProcessEvent_Data{Data: rapid.SampledFrom([]*process.ProcessEvent_DataEvent{
			{Output: &process.ProcessEvent_DataEvent_Stdout{Stdout: data}},
			{Output: &process.ProcessEvent_DataEvent_Stderr{Stderr: data}},
			{Output: &process.ProcessEvent_DataEvent_Pty{Pty: data}},
			{},
		}).Draw(t, "event")}}
		for _, m := range []proto.Message{
			&process.StartResponse{Event: event}, &process.ConnectResponse{Event: event}, &process.StartResponse{},
			&process.StartResponse{Event: startEvent(7)}, &process.SendInputResponse{},
		} {
			got, err := jsonCodec{}.MarshalAppend([]byte("before"), m)
			if err != nil {
				t.Fatal(err)
			}
			back := m.ProtoReflect().New().Interface()
			if err := protojson.Unmarshal(got[len("before"):], back); err != nil {
				t.Fatalf("%s: %v", got, err)
			}
			if diff := cmp.Diff(m, back, protocmp.Transform()); diff != "" {
				t.Fatal(diff)
			}
			again := m.ProtoReflect().New().Interface()
			if err := (jsonCodec{}).Unmarshal(got[len("before"):], again); err != nil || !proto.Equal(m, again) {
				t.Fatalf("Unmarshal of %s: %v", got, err)
			}
		}
	})
}
