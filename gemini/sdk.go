package gemini

import (
	"context"
	"fmt"
	"runtime"
	"strings"

	"github.com/google/generative-ai-go/genai"

	"sluice/chat"
)

// NewSDK returns a Model that makes its calls through
// github.com/google/generative-ai-go. Requests, answers and errors are those of
// NewREST. An error is about cfg and does not hold the key.
func NewSDK(cfg Config) (*Model, error) {
	client, err := newSDKClient(sdkTransport{})
	if err != nil {
		return nil, fmt.Errorf("gemini: generative-ai-go: %w", err)
	}
	return newModel(cfg, func(cfg *Config) source { return &sdk{rest: newREST(cfg), client: client, model: cfg.Model} })
}

// sdk is the source that lets the SDK make the call. The SDK dates from before
// thinking models: its types have no thoughts, signatures, ids and schemas, it puts
// the key into the URL, and it takes a stream that was cut for one that ended. So
// underneath it, in its transport, the rest source talks to the service, and what
// the SDK cannot carry is kept beside it (sdkTransport, pump).
type sdk struct {
	rest   *rest
	client *genai.Client
	model  string
}

func (s *sdk) close() { s.rest.close() }

func (s *sdk) open(ctx context.Context, req *chat.ModelRequest, body *payload) (answer, error) {
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
	_, err = a.step() // the SDK tells only now why it did not even ask
	return nil, ofSDK(err)
}

// sdkAnswer is one call under way.
type sdkAnswer struct {
	rest   *rest
	body   *payload // of the request
	asked  bool
	cancel context.CancelFunc
	chunks *genai.GenerateContentResponseIterator
	pump   pump
}

func (a *sdkAnswer) send(ctx context.Context, s *sdk, req *chat.ModelRequest) (err error) {
	defer catch(&err)
	a.chunks = s.send(ctx, req)
	return nil
}

func (a *sdkAnswer) step() (resp *genai.GenerateContentResponse, err error) {
	defer catch(&err)
	return a.chunks.Next()
}

// next takes one step of the SDK's iterator and the record that belongs to it. Why
// a stream ended is the pump's to say: the SDK calls a good many endings Done.
func (a *sdkAnswer) next(c *rawChunk) error {
	resp, err := a.step()
	if _, panicked := err.(*driverError); panicked {
		return err
	}
	switch {
	case err == nil && a.pump.pop(c) && takeOver(c, resp):
		return nil
	case err == nil:
		return &driverError{"the SDK is out of step"}
	case a.pump.err != nil && len(a.pump.records) == 0:
		return a.pump.err
	}
	return ofSDK(err)
}

func (a *sdkAnswer) buffered() bool { return a.pump.upstream.buffered() }

// close also cancels: an iterator of the SDK has no other way to be given up.
func (a *sdkAnswer) close() {
	a.cancel()
	if a.pump.upstream != nil {
		a.pump.upstream.close()
	}
}

// ofSDK returns an error of the SDK's as one of the driver's. Its text is left
// out: it may quote what it was reading.
func ofSDK(err error) error {
	if _, ok := err.(*driverError); ok {
		return err
	}
	return &driverError{fmt.Sprintf("the SDK returned a %T", err)}
}

// catch makes a panic in the SDK an error of the call. Deferred.
func catch(err *error) {
	if r := recover(); r != nil {
		*err = &driverError{fmt.Sprintf("panic (%T) in %s", r, panicSite())}
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
