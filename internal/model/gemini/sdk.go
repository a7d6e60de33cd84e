package gemini

import (
	"context"
	"fmt"
	"runtime"
	"strings"

	"github.com/google/generative-ai-go/genai"

	"sluice/internal/model"
	"sluice/internal/turn/chat"
)

// NewSDK returns a Model that makes its calls through
// github.com/google/generative-ai-go. Requests, answers and errors are those of
// NewREST. An error is about cfg and does not hold the key.
func NewSDK(cfg Config) (*Model, error) {
	client, err := newSDKClient(sdkTransport{})
	if err != nil {
		return nil, fmt.Errorf("gemini: generative-ai-go: %w", err)
	}
	return newModel(cfg, overSDK(client))
}

// overSDK returns the driver that goes through client.
func overSDK(client *genai.Client) driver {
	return func(h *model.HTTP, c *codec, name string) model.Source {
		return &sdk{rest: &rest{h, c}, client: client, model: name}
	}
}

// sdk is the source that lets the SDK make the call. The SDK dates from before thinking models:
// its types have no thoughts, signatures, ids and schemas, it puts the key into the URL, and it
// takes a stream that was cut for one that ended. So underneath it, in its transport, our own
// way talks to the service, and what the SDK cannot carry is kept next to it (sdkTransport,
// pump).
type sdk struct {
	rest   *rest
	client *genai.Client
	model  string
}

// Close implements model.Source.
func (s *sdk) Close() { s.rest.http.Close() }

// Open implements model.Source.
func (s *sdk) Open(ctx context.Context, req *chat.ModelRequest, body *model.Body) (model.Stream, error) {
	raw, err := s.open(ctx, req, body)
	if err != nil {
		return nil, err
	}
	return &sdkStream{sdkAnswer: raw, assembler: assembler{tools: &s.rest.codec.tools}}, nil
}

// sdkStream makes chunks of what came through the SDK.
type sdkStream struct {
	*sdkAnswer
	raw rawChunk
	assembler
}

// Next implements model.Stream.
func (s *sdkStream) Next(c *chat.Chunk) error {
	if err := s.next(&s.raw); err != nil {
		return err
	}
	return s.assembler.add(&s.raw, c)
}

// End implements model.Stream.
func (s *sdkStream) End(c *chat.Chunk) error { return s.assembler.complete(c) }

// Listen has p called for comments.
func (s *sdkStream) Listen(p model.Pinged) { s.pump.upstream.events.Listen(p) }

// Finished implements model.Stream.
func (s *sdkStream) Finished() bool { return s.assembler.finished() }

// Note implements model.Stream.
func (s *sdkStream) Note() model.Note { return s.assembler.note() }

// Buffered implements model.Stream.
func (s *sdkStream) Buffered() bool { return s.buffered() }

// Close implements model.Stream.
func (s *sdkStream) Close() { s.close() }

// open has the SDK send the request. The reply comes through our own transport
// (pump), so that limits, watchdog and verdicts are those of the driver rest;
// an error of the pump is preferred to what the SDK makes of it.
func (s *sdk) open(ctx context.Context, req *chat.ModelRequest, body *model.Body) (*sdkAnswer, error) {
	a := &sdkAnswer{rest: s.rest, body: body}
	ctx, a.cancel = context.WithCancel(context.WithValue(ctx, sdkCallKey{}, a))
	err := a.send(ctx, s, req)
	if err == nil && a.pump.upstream != nil {
		return a, nil
	}
	defer a.close()
	if err != nil {
		return nil, err
	}
	if a.pump.err != nil {
		return nil, a.pump.err
	}
	_, err = a.step() // the SDK reports only now why it did not even ask
	return nil, ofSDK(err)
}

// sdkAnswer is one call under way.
type sdkAnswer struct {
	rest   *rest
	body   *model.Body // of the request
	asked  bool
	cancel context.CancelFunc
	chunks *genai.GenerateContentResponseIterator
	pump   pump
}

// send calls the SDK. A panic in it becomes an error of this call.
func (a *sdkAnswer) send(ctx context.Context, s *sdk, req *chat.ModelRequest) (err error) {
	defer catch(&err)
	a.chunks = s.send(ctx, req)
	return nil
}

// step waits for the SDK's next chunk. A panic in it becomes an error.
func (a *sdkAnswer) step() (resp *genai.GenerateContentResponse, err error) {
	defer catch(&err)
	return a.chunks.Next()
}

// next takes one step of the SDK's iterator and the record that belongs to it. Why
// a stream ended is the pump's to say: the SDK calls a good many endings Done.
func (a *sdkAnswer) next(c *rawChunk) error {
	resp, err := a.step()
	if _, panicked := err.(*model.Defect); panicked {
		return err
	}
	switch {
	case err == nil && a.pump.pop(c) && takeOver(c, resp):
		return nil
	case err == nil:
		return defect("the SDK is out of step")
	case a.pump.err != nil && len(a.pump.records) == 0:
		return a.pump.err
	}
	return ofSDK(err)
}

// buffered says whether the transport has an event that the SDK has not seen
// yet.
func (a *sdkAnswer) buffered() bool { return a.pump.upstream.buffered() }

// close also cancels: an iterator of the SDK has no other way to be given up.
func (a *sdkAnswer) close() {
	a.cancel()
	if a.pump.upstream != nil {
		a.pump.upstream.close()
	}
}

// defect returns the error of a failure that is the driver's own.
func defect(what string) error { return &model.Defect{What: "driver sdk: " + what} }

// ofSDK returns an error of the SDK's as one of the driver's. Its text is left
// out: it may quote what it was reading.
func ofSDK(err error) error {
	if _, ok := err.(*model.Defect); ok {
		return err
	}
	return defect(fmt.Sprintf("the SDK returned a %T", err))
}

// catch makes a panic in the SDK an error of the call. Deferred.
func catch(err *error) {
	if r := recover(); r != nil {
		*err = defect(fmt.Sprintf("panic (%T) in %s", r, panicSite()))
	}
}

// panicSite returns function and line of the panic that is being recovered: the
// first one, if it was recovered and thrown again on the way, as the SDK does.
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
