// This file puts the tape of a recording between the gateway and everything outside of a turn:
// transports, tools, names of tools. The same seams run a recorded turn again, with the recorded
// answers. Without a tape each of these functions returns its argument.

package gateway

import (
	"context"
	"net/http"

	"sluice/internal/app/settings"
	"sluice/internal/base/redact"
	"sluice/internal/state/task/recording"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// turnTape is the tape between the gateway and the upstreams of its turns. Without a Tape its
// methods return their arguments.
type turnTape struct {
	tape     Tape
	recorder *recording.Recorder // nil unless turns are recorded
}

// openTape returns the tape of the seams, or else a recorder if the settings ask for one.
func openTape(c *commonParts) *turnTape {
	cfg := settings.Of[recording.Config](&c.cfg)
	if cfg.Dir == "" || c.seams.Tape != nil {
		return &turnTape{tape: c.seams.Tape}
	}
	cfg.Version, cfg.Hide, cfg.Log = c.cfg.Version, redact.New(c.cfg.Secrets()).JSON, c.log
	recorder := recording.New(cfg)
	return &turnTape{tape: recorder, recorder: recorder}
}

// tapedTransport returns the transport that is used in place of next. If next is nil, newTransport
// makes the one that stands behind the tape.
//
// A nil next without a tape stays nil: the package then makes its own.
func (t *turnTape) tapedTransport(next http.RoundTripper, newTransport func() http.RoundTripper, why string) http.RoundTripper {
	if t.tape == nil {
		return next
	}
	if next == nil {
		next = newTransport()
	}
	return t.tape.Around(next, why)
}

// recordedHandler returns the server, behind the recorder of its turns if there is one. stored is true
// with a store.
func (t *turnTape) recordedHandler(server http.Handler, stored bool) http.Handler {
	if t.recorder == nil {
		return server
	}
	return t.recorder.Handler(server, stored)
}

// withRecording returns r, behind the recorder's note that a request runs a turn.
func (t *turnTape) withRecording(r stream.Runner) stream.Runner {
	if t.recorder == nil {
		return r
	}
	return recordedRunner{r}
}

// recordedRunner notifies the recorder when a request becomes a turn, which most requests of a
// server do not.
type recordedRunner struct{ stream.Runner }

// Run implements stream.Runner.
func (r recordedRunner) Run(ctx context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
	recording.From(ctx).Begin(unrecordedCause(req))
	return r.Runner.Run(ctx, req, sink)
}

// unrecordedCause returns the stored thing that a turn continues with, or "" for a new turn.
//
// Such a turn can be played but not run again, since the recording lacks that thing.
func unrecordedCause(req *chat.Request) string {
	switch {
	case req.Resumed != nil:
		return "a turn that was paused"
	case req.Question != nil:
		return "a question of an earlier turn"
	case req.LastAgent != "":
		return "what is known of an earlier turn"
	case len(req.History) > 0 && !req.HasHistory:
		return "the memory of the conversation"
	}
	return ""
}

// close ends the recording. It works on nil.
func (t *turnTape) close() {
	if t != nil {
		t.recorder.Close()
	}
}
