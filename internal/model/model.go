package model

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/rs/zerolog"

	"sluice/breaker"
	"sluice/internal/base/redact"
	"sluice/internal/base/telemetry/metrics"
	"sluice/internal/base/telemetry/trace"
	"sluice/internal/turn/chat"
)

// Outcomes of an attempt in the metrics.
const (
	OutcomeOK          = "ok"
	OutcomeError       = "error"        // the service failed
	OutcomeTimeout     = "timeout"      // it was silent for too long
	OutcomeRateLimited = "rate_limited" // 429
	OutcomeBlocked     = "blocked"      // safety, recitation and the like
	OutcomeRejected    = "rejected"     // another 4xx, or a redirect
	OutcomeOverloaded  = "overloaded"   // a shortage of our own
	OutcomeCancelled   = "cancelled"    // the caller's context ended, or yield returned an error
)

// Policy decides on retries and on signs of life.
type Policy int

const (
	// PolicyKeys is that of configured models (docs/models.md).
	PolicyKeys Policy = iota
	// PolicyGemini is that of the model of the GEMINI_* variables. Only the statuses 500, 502, 503
	// and 504 are retried, a reply is always a stream, and each chunk restarts the timeout, even an
	// empty one.
	PolicyGemini
)

// Gate is asked before each attempt at a call, and may have it wait until the end of ctx. leave
// is called once, at the end of the attempt, with the tokens that were used. The error is that
// of the call.
type Gate func(ctx context.Context) (leave func(tokens int), err error)

// Frame describes a Model. Codec, Service, First and Idle must be set, and Source or Target.
type Frame struct {
	// Name is the model's name, as the provider is asked for it.
	Name string
	// Key is the model's in the configuration, and Provider its protocol. Both are
	// empty if no models are configured: then neither the log nor metrics name them.
	Key, Provider string
	// Maker is what Chunk.Maker says; empty: the model is the only one.
	Maker string
	// Service names the upstream in errors and in the breaker.
	Service string
	// Event begins the names of the log's events: Event_called and Event_result.
	// Empty means "model".
	Event string

	// Codec is the protocol. It is required.
	Codec Codec
	// Source opens answers; nil is one over HTTP that talks to Target.
	Source Source
	Target Target

	// First limits the time to the first chunk of a call, its retries included, and
	// Idle the silence between two.
	First, Idle time.Duration
	// Retries is how many attempts may follow the first.
	Retries int
	// Policy decides on retries and on signs of life.
	Policy Policy
	// Gate admits attempts; nil: any is.
	Gate Gate
	// Breaker guards the service. Nil makes one with the defaults of package breaker.
	Breaker *breaker.Breaker
	// Prefill says that the model continues an answer behind a last message of its own.
	Prefill bool
	// Extra is merged into the body of each request (Merge); empty: nothing.
	Extra jsontext.Value
	// Secrets are kept out of errors.
	Secrets []string
	// Metrics gets the attempts, by outcome, each at its end. Nil: they are not counted.
	Metrics *metrics.Registry
	// Log gets the lines that do not belong to a request.
	Log zerolog.Logger
	// Jitter returns a wait of at most limit; nil is a random one.
	Jitter func(limit time.Duration) time.Duration
}

// Model calls one language model. It is safe for concurrent use.
type Model struct {
	cfg     Frame
	src     Source
	secrets *redact.Scrubber
	// learned are the members that the model has refused; see Learned.
	learned     Learned
	refused     refusedTools // of servers, by the provider
	attempts    metrics.Counter
	attemptTime metrics.Histogram
	tokens      metrics.Counter // counts nothing unless models are configured
	warned      atomic.Int64    // when model_prompt_truncated was logged last, in Unix seconds
	unknown     words           // words for an end that were logged
	noPrefill   atomic.Bool     // the model has refused a prefill
}

func (f *Frame) setDefaults() {
	if f.Event == "" {
		f.Event = "model"
	}
	if f.Jitter == nil {
		f.Jitter = rand.N[time.Duration]
	}
	if f.Breaker == nil {
		f.Breaker = breaker.New(breaker.Config{Service: f.Service, TurnOf: chat.TurnKeyOf})
	}
}

// NewModel returns a Model. An error is about f and holds no secret.
func NewModel(f Frame) (*Model, error) {
	if f.First <= 0 || f.Idle <= 0 {
		return nil, errors.New("model: a timeout is not positive")
	}
	f.setDefaults()
	m := &Model{cfg: f, src: f.Source, secrets: redact.New(f.Secrets)}
	if m.src == nil {
		h, err := NewHTTP(f.Target, f.Policy, f.Codec)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Service, err)
		}
		m.src = OverHTTP(h)
	}
	labels := []string{"outcome"}
	if f.Key != "" {
		labels = append(labels, "model")
		m.tokens = f.Metrics.Counter("tokens_total", "Tokens used, by kind.", "kind", "model")
	}
	m.attempts = f.Metrics.Counter("model_attempts_total", "Attempts at a model call, by outcome.", labels...)
	m.attemptTime = f.Metrics.Histogram("model_attempt_seconds", "Duration of an attempt at a model call.", labels...)
	return m, nil
}

// Name returns the model's name, as the provider is asked for it.
func (m *Model) Name() string { return m.cfg.Name }

// Key returns the model's key in the configuration; empty if none are configured.
func (m *Model) Key() string { return m.cfg.Key }

// Provider returns the protocol of the model; empty if no models are configured.
func (m *Model) Provider() string { return m.cfg.Provider }

// Breaker returns the breaker that guards the service.
func (m *Model) Breaker() *breaker.Breaker { return m.cfg.Breaker }

// Learned returns the members that the model has refused in this process. Calls made elsewhere for
// the same model may share it.
func (m *Model) Learned() *Learned { return &m.learned }

// Close lets go of idle connections. Calls under way are not touched.
func (m *Model) Close() { m.src.Close() }

// Stream makes one model call, retries included, and hands each chunk to yield
// on the caller's goroutine.
//
// The chunk, its slices and its Usage belong to the Model and are valid until
// yield returns; strings, and the ToolCalls that parts point to, may be kept.
// Chunk.Finish comes with the end of the stream: a provider may say that it is done
// and continue. A chunk without parts also comes after one that promised More, when that turned
// out to hold nothing to show.
//
// An error of yield ends the call and is returned as it is. When ctx ends, the
// connection is closed at once and the cause of ctx is returned (fault.Cause).
// Every other error is a *fault.Error of the service.
func (m *Model) Stream(ctx context.Context, req *chat.ModelRequest, yield func(*chat.Chunk) error) error {
	if req.ShownText != "" {
		return m.continueShown(ctx, req, yield)
	}
	ctx, span := trace.Start(ctx, trace.Client, trace.Chat, m.cfg.Name)
	span.String(trace.Operation, trace.Chat)
	span.String(trace.RequestModel, m.cfg.Name)
	failure := errYieldPanicked // unless stream returns
	defer func() { span.End(failure) }()
	c := newCall(ctx, m, req, yield)
	defer c.free()
	failure = c.stream()
	return failure
}

// errYieldPanicked is the error of a call whose caller panicked.
var errYieldPanicked = errors.New("yield panicked")

// renderRequest appends the body of a request without the members in omit.
func (m *Model) renderRequest(b []byte, req *chat.ModelRequest, omit Omit) []byte {
	start := len(b)
	if omit.Has(memberCalls) {
		req = withCallsAsText(req)
	}
	b = m.cfg.Codec.Render(b, req, omit)
	if len(m.cfg.Extra) == 0 {
		return b
	}
	merged, err := Merge(b[start:], m.cfg.Extra)
	if err != nil {
		return b // both are JSON
	}
	return append(b[:start], merged...)
}

// countAttempt records in the metrics how an attempt ended.
func (m *Model) countAttempt(outcome string, used chat.Usage, elapsed time.Duration) {
	if m.cfg.Key == "" {
		m.attempts.Inc(outcome)
		m.attemptTime.Observe(elapsed.Seconds(), outcome)
		return
	}
	m.attempts.Inc(outcome, m.cfg.Key)
	m.attemptTime.Observe(elapsed.Seconds(), outcome, m.cfg.Key)
	m.tokens.Add(float64(used.InputTokens), "input", m.cfg.Key)
	m.tokens.Add(float64(used.CachedTokens), "cached", m.cfg.Key)
	m.tokens.Add(float64(used.WrittenTokens), "cache_written", m.cfg.Key)
	m.tokens.Add(float64(used.OutputTokens), "output", m.cfg.Key)
	m.tokens.Add(float64(used.ThinkingTokens), "thinking", m.cfg.Key)
}
