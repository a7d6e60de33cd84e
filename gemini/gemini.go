// Package gemini is a Model over the Gemini API (generateContent, v1beta).
//
// What a call of the model means is common to all drivers: the request's bytes,
// the shape of the answer, what counts as a failure, retries, timeouts, the
// circuit breaker and the log. A driver only opens an answer and reads its raw
// chunks (see source). NewREST makes a Model that speaks HTTP itself, NewSDK one
// that goes through generative-ai-go.
package gemini

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"sluice/breaker"
	"sluice/chat"
	"sluice/internal/check"
	"sluice/metrics"
	"sluice/redact"
)

// Service is the name of the upstream in errors and in the breaker.
const Service = "gemini"

// What the metrics tell of an attempt.
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

// Config describes a Model. Its zero value works, but for the key that the real
// API wants.
type Config struct {
	// APIKey is sent as x-goog-api-key and appears nowhere else. Empty sends no
	// key header.
	APIKey string
	// Model is the model's name, with or without "models/" in front of it.
	Model string
	// BaseURL is an absolute http or https URL without query; "/v1beta/…" is
	// appended to it.
	BaseURL string
	// Thinking is "summary" (or empty: ask for thought summaries), "off" (say
	// nothing about thinking), a level "low", "medium" or "high" (Gemini 3), or a
	// budget in tokens from -1, which leaves it to the model (Gemini 2.5). A level
	// or a budget asks for summaries as well.
	Thinking string
	// Timeout limits the silence of the service: until the first chunk of a call,
	// its retries included, and between two chunks of an answer. Bytes that do not
	// complete a chunk do not count.
	Timeout time.Duration
	// Breaker guards the service. Nil makes one with the defaults of Settings.
	Breaker *breaker.Breaker
	// Transport carries the requests; nil means NewTransport() with a pool for
	// HTTP/2, which Close then closes. Redirects are never followed, whatever it is.
	Transport http.RoundTripper
	// Version makes the User-Agent, sluice/<version>.
	Version string
	// Metrics gets the attempts, by outcome, each at its end. Nil: they are not counted.
	Metrics *metrics.Registry
}

// Model calls one Gemini model. It is safe for concurrent use.
type Model struct {
	name        string
	secrets     *redact.Scrubber // the key, to be kept out of errors
	src         source
	breaker     *breaker.Breaker
	timeout     time.Duration
	thinking    string // the generationConfig member of a request; empty: none
	tools       toolCache
	attempts    metrics.Counter
	attemptTime metrics.Histogram
	jitter      func(limit time.Duration) time.Duration
}

// NewREST returns a Model that talks to the API over HTTP, with server-sent
// events as its answers. An error is about cfg and does not hold the key.
func NewREST(cfg Config) (*Model, error) {
	return newModel(cfg, func(cfg *Config) source { return newREST(cfg) })
}

// newModel fills in cfg's defaults and makes the part that all drivers share.
func newModel(cfg Config, driver func(*Config) source) (*Model, error) {
	thinking, err := generationConfig(cfg.Thinking)
	if err := errors.Join(err, cfg.normalize()); err != nil {
		return nil, err
	}
	m := &Model{
		name:        cfg.Model,
		secrets:     redact.New([]string{cfg.APIKey}),
		src:         driver(&cfg),
		breaker:     cfg.Breaker,
		timeout:     cfg.Timeout,
		thinking:    thinking,
		attempts:    cfg.Metrics.Counter("model_attempts_total", "Attempts at a model call, by outcome.", "outcome"),
		attemptTime: cfg.Metrics.Histogram("model_attempt_seconds", "Duration of an attempt at a model call.", "outcome"),
		jitter:      rand.N[time.Duration],
	}
	if m.breaker == nil {
		m.breaker = breaker.New(breaker.Config{Service: Service, Failures: breakerFailures, Recovery: breakerRecovery})
	}
	return m, nil
}

// Name returns the model's name, as the API is asked for it.
func (m *Model) Name() string { return m.name }

// Breaker returns the breaker that guards the service.
func (m *Model) Breaker() *breaker.Breaker { return m.breaker }

// Close lets go of idle connections. Calls under way are not touched.
func (m *Model) Close() { m.src.close() }

// Stream makes one model call, retries included, and hands each chunk to yield
// on the caller's goroutine.
//
// The chunk, its slices and its Usage belong to the Model and are valid until
// yield returns; strings, and the ToolCalls that parts point to, may be kept.
// Chunk.Finish comes with the end of the stream, on a chunk that has no parts:
// the API may say STOP and go on. A chunk without parts also comes after one that
// promised More, when that turned out to hold nothing to show.
//
// An error of yield ends the call and is returned as it is. When ctx ends, the
// connection is closed at once and the cause of ctx is returned (fault.Cause).
// Every other error is a *fault.Error of Service.
func (m *Model) Stream(ctx context.Context, req *chat.ModelRequest, yield func(*chat.Chunk) error) error {
	c := newCall(ctx, m, req, yield)
	defer c.end()
	return c.stream()
}

// normalize fills in defaults and reports every value that cannot work.
func (cfg *Config) normalize() error {
	if cfg.Model == "" {
		cfg.Model = DefaultModel
	}
	cfg.Model = strings.TrimPrefix(cfg.Model, "models/")
	if cfg.BaseURL == "" {
		cfg.BaseURL = DefaultBaseURL
	}
	cfg.BaseURL = strings.TrimRight(cfg.BaseURL, "/")
	if cfg.Timeout == 0 {
		cfg.Timeout = DefaultTimeout
	}
	var faults []error
	if err := check.BaseURL(cfg.BaseURL); err != nil {
		faults = append(faults, fmt.Errorf("gemini: the base URL %w", err))
	}
	if !check.Key(cfg.APIKey) {
		faults = append(faults, errors.New("gemini: the API key holds characters that no header may hold"))
	}
	if cfg.Timeout < 0 {
		faults = append(faults, errors.New("gemini: the timeout is negative"))
	}
	return errors.Join(faults...)
}

// generationConfig returns the generationConfig member that asks for thinking.
// Only what was asked for is sent: a level is refused by Gemini 2.5, a level
// together with a budget by every model, and summaries by a model whose thinking
// a budget of 0 switches off.
func generationConfig(thinking string) (string, error) {
	const before, after = `"generationConfig":{"thinkingConfig":{`, `}}`
	switch thinking {
	case "off":
		return "", nil
	case "", DefaultThinking:
		return before + `"includeThoughts":true` + after, nil
	case "low", "medium", "high":
		return before + `"includeThoughts":true,"thinkingLevel":"` + strings.ToUpper(thinking) + `"` + after, nil
	}
	budget, err := strconv.Atoi(thinking)
	if err != nil || budget < -1 {
		return "", fmt.Errorf("gemini: thinking %q is neither summary, off, low, medium, high nor a number of tokens", thinking)
	}
	if budget == 0 {
		return before + `"thinkingBudget":0` + after, nil
	}
	return before + `"includeThoughts":true,"thinkingBudget":` + strconv.Itoa(budget) + after, nil
}
