package envd

import (
	"encoding/base64"
	"errors"
	"fmt"

	"abxdash/client/envdpb/process"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// jsonCodec is the protocol's JSON codec with a short way for output, which the
// official SDKs read in JSON: the general encoder goes through reflection and
// several copies for every chunk.
type jsonCodec struct{}

var errNotProto = errors.New("not a protobuf message")

// Name implements connect.Codec.
func (jsonCodec) Name() string { return "json" }

// Marshal implements connect.Codec.
func (c jsonCodec) Marshal(message any) ([]byte, error) { return c.MarshalAppend(nil, message) }

// MarshalAppend lets connect encode into its own buffers.
func (jsonCodec) MarshalAppend(dst []byte, message any) ([]byte, error) {
	var event *process.ProcessEvent
	switch m := message.(type) {
	case *process.StartResponse:
		event = m.GetEvent()
	case *process.ConnectResponse:
		event = m.GetEvent()
	}
	if name, data := outputOf(event); name != "" {
		dst = append(dst, `{"event":{"data":{"`...)
		dst = append(dst, name...)
		dst = append(dst, `":"`...)
		dst = base64.StdEncoding.AppendEncode(dst, data)
		return append(dst, `"}}}`...), nil
	}
	m, ok := message.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T: %w", message, errNotProto)
	}
	return protojson.MarshalOptions{}.MarshalAppend(dst, m)
}

// outputOf is the field name and bytes of an output event; "" for other events.
func outputOf(event *process.ProcessEvent) (name string, data []byte) {
	switch out := event.GetData().GetOutput().(type) {
	case *process.ProcessEvent_DataEvent_Stdout:
		return "stdout", out.Stdout
	case *process.ProcessEvent_DataEvent_Stderr:
		return "stderr", out.Stderr
	case *process.ProcessEvent_DataEvent_Pty:
		return "pty", out.Pty
	}
	return "", nil
}

// Unmarshal implements connect.Codec. Unknown fields and enum names are ignored
// (e2b-protocol §8).
func (jsonCodec) Unmarshal(data []byte, message any) error {
	m, ok := message.(proto.Message)
	if !ok {
		return fmt.Errorf("%T: %w", message, errNotProto)
	}
	if len(data) == 0 {
		return errors.New("an empty payload is not a JSON object")
	}
	return protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(data, m)
}
