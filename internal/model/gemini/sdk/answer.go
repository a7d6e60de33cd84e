package sdk

import (
	"context"
	"fmt"
	"runtime"
	"strings"

	"github.com/google/generative-ai-go/genai"

	"sluice/internal/model"
)

// Upstream makes the real call below the SDK. Its methods are not called concurrently.
type Upstream interface {
	// Open sends the request, and returns when the service has agreed to reply.
	Open(ctx context.Context) error
	// Next waits for the next chunk and returns its parts of the types that the SDK has.
	// The parts are valid until the next call. The error is io.EOF after a complete reply.
	Next() ([]Part, error)
}

// Part is a text, or a call of a tool without its arguments.
type Part struct {
	Text   string // of a text
	Name   string // of the tool that a call names
	IsCall bool
}

// Answer is a call under way.
type Answer struct {
	cancel  context.CancelFunc
	hasSent bool // the SDK has sent its request
	chunks  *genai.GenerateContentResponseIterator
	pump    pump
	parts   []Part // reused by Next
}

// Open makes the SDK send req. The reply comes from upstream, so that limits, watchdog and
// verdicts are the caller's. An error of upstream is returned as it is. Any other error is a
// *model.Defect. The caller must close the answer, and upstream also after an error.
func (c *Client) Open(ctx context.Context, req *Request, upstream Upstream) (*Answer, error) {
	a := &Answer{pump: pump{upstream: upstream}}
	ctx, a.cancel = context.WithCancel(context.WithValue(ctx, callKey{}, a))
	err := a.send(ctx, c, req)
	if err == nil && a.pump.opened {
		return a, nil
	}
	defer a.Close()
	if err != nil {
		return nil, err
	}
	if a.pump.err != nil {
		return nil, a.pump.err
	}
	_, err = a.step() // the SDK reports only now why it did not send a request
	return nil, asDefect(err)
}

// send calls the SDK. A panic in the SDK becomes an error of this call.
func (a *Answer) send(ctx context.Context, c *Client, req *Request) (err error) {
	defer catchPanic(&err)
	a.chunks = c.sendRequest(ctx, req)
	return nil
}

// step waits for the SDK's next chunk. A panic in the SDK becomes an error.
func (a *Answer) step() (resp *genai.GenerateContentResponse, err error) {
	defer catchPanic(&err)
	return a.chunks.Next()
}

// Next takes one step of the SDK's iterator and returns the parts of its chunk. They are
// valid until the next call. The pump says why a stream ended, because the SDK reports many
// endings as Done.
func (a *Answer) Next() ([]Part, error) {
	resp, err := a.step()
	if _, panicked := err.(*model.Defect); panicked {
		return nil, err
	}
	switch {
	case err == nil && a.readParts(resp):
		return a.parts, nil
	case err == nil:
		return nil, OutOfStep()
	case a.pump.err != nil && a.pump.pending == 0:
		return nil, a.pump.err
	}
	return nil, asDefect(err)
}

// readParts puts the parts of resp into a.parts. It reports whether resp can be the oldest
// chunk that the SDK has read and not returned.
func (a *Answer) readParts(resp *genai.GenerateContentResponse) bool {
	if a.pump.pending == 0 || len(resp.Candidates) != 1 || resp.Candidates[0].Content == nil {
		return false
	}
	a.pump.pending--
	a.parts = a.parts[:0]
	for _, part := range resp.Candidates[0].Content.Parts {
		switch part := part.(type) {
		case genai.Text:
			a.parts = append(a.parts, Part{Text: string(part)})
		case genai.FunctionCall:
			a.parts = append(a.parts, Part{Name: part.Name, IsCall: true})
		default:
			return false
		}
	}
	return true
}

// Close cancels the call, because an iterator of the SDK cannot be closed.
func (a *Answer) Close() { a.cancel() }

// OutOfStep returns the error of a chunk from the SDK that is not the next one of the
// upstream.
func OutOfStep() error { return defect("the SDK is out of step") }

// defect returns the error of a failure of the driver itself.
func defect(text string) error { return &model.Defect{Reason: "driver sdk: " + text} }

// asDefect returns an error of the SDK as an error of the driver. It leaves out the text:
// that may quote the reply.
func asDefect(err error) error {
	if _, ok := err.(*model.Defect); ok {
		return err
	}
	return defect(fmt.Sprintf("the SDK returned a %T", err))
}

// catchPanic makes a panic in the SDK an error of the call. It must be deferred.
func catchPanic(err *error) {
	if r := recover(); r != nil {
		*err = defect(fmt.Sprintf("panic (%T) in %s", r, panicSite()))
	}
}

// panicSite returns function and line of the panic that is being recovered. If the SDK has
// recovered it and panicked again, panicSite returns the first place.
func panicSite() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(0, pcs)])
	site, thrown := "an unknown place", false
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		if thrown && !strings.HasPrefix(f.Function, "runtime.") {
			site, thrown = fmt.Sprintf("%s, line %d", f.Function, f.Line), false
		}
		thrown = thrown || f.Function == "runtime.gopanic"
	}
	return site
}
