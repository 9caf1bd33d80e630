package plugin

import (
	"context"
	"encoding/json"
	"io"

	"abxdash/client/plugin/wire"
)

// transport carries calls to a plug-in.
type transport interface {
	// open begins a call. ctx covers the beginning only; the call is ended by
	// its close.
	open(ctx context.Context, method string, params json.RawMessage) (channel, error)
	// close ends the plug-in and every call.
	close()
}

// channel is one call that runs. One goroutine receives; sends may come from
// anywhere.
type channel interface {
	// recv waits for the next message of the call.
	recv() (wire.Message, error)
	send(ctx context.Context, in wire.Input) error
	// close says that nobody waits any more and unblocks recv.
	close()
}

// maxLine bounds one message.
const maxLine = 64 << 20

// errPlugin is the end of a plug-in under a call.
type errPlugin struct{ why string }

func (e errPlugin) Error() string { return e.why }

func (e errPlugin) Unwrap() error { return io.ErrUnexpectedEOF }
