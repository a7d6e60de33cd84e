// Package remote runs agents that are somewhere else, over the Agent2Agent protocol:
// the client half, to which internal/edge/dialect/a2a is the server.
//
// An Agent is a stream.Runner. It reads the agent's card, and again each Refresh; sends a turn's
// request as one message; and emits the text of the reply as deltas. A message is sent once. If a
// stream is cut, the Agent follows the task again by its id. If that fails, the work of the remote
// agent is unknown, and the error says so.
//
// The other side is not trusted. Its data is bounded, its texts are cleaned before they are
// emitted, and no redirect is followed. The operator's headers go to the card's origin alone.
//
// One goroutine of each Agent reads the card; others cancel tasks whose turn is over. Close waits
// for them.
package remote

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"sluice/breaker"
	"sluice/internal/base/fault"
	"sluice/internal/base/telemetry/health"
)

// Config describes an Agent. All but Header, Interfaces, NoStreaming and Changed is
// required.
type Config struct {
	ID   string
	Card string // URL
	// Header goes with each request to the card's origin.
	Header http.Header
	// Interfaces are origins, besides the card's own, that the card may send requests to.
	Interfaces  []string
	NoStreaming bool          // ask for whole answers
	Refresh     time.Duration // between two readings of the card
	Transport   http.RoundTripper
	// Foreign sends requests to Interfaces, unless the card came from an address that is
	// not public itself; see NewForeignTransport.
	Foreign http.RoundTripper
	Breaker *breaker.Breaker
	Log     zerolog.Logger
	// Changed is called, by the goroutine that reads the card, when its texts are others
	// than before. May be nil.
	Changed func()
}

// Agent is an agent that is somewhere else. It is safe for concurrent use. Use New.
type Agent struct {
	cfg    Config
	origin string // of the card
	tried  chan struct{}
	ctx    context.Context // of what outlives a turn
	stop   context.CancelFunc

	running sync.WaitGroup

	mu       sync.Mutex // guards the fields below, and running.Go against Close
	card     *card      // nil while the card is unavailable
	last     Texts      // of the card that was read last
	reported bool       // last was reported
	failures int        // in a row
	closed   bool
}

// New returns an Agent that begins to read its card. The caller must call Close.
func New(cfg Config) *Agent {
	ctx, stop := context.WithCancel(context.Background())
	a := &Agent{cfg: cfg, origin: originOf(cfg.Card), tried: make(chan struct{}), ctx: ctx, stop: stop}
	// Goroutine (keepCard): reads the agent's card, and again when it is old.
	// Ends: `Agent.Close`.
	// Waits: `Agent.Close`.
	a.running.Go(a.keepCard)
	return a
}

// Close stops reading the card and waits for the goroutines of the Agent. Turns that run continue.
func (a *Agent) Close() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.stop()
	a.running.Wait()
}

// Tried is closed when the card was asked for once, whatever came of it.
func (a *Agent) Tried() <-chan struct{} { return a.tried }

// Available reports whether the agent can be asked now: its card is there, and its breaker
// lets calls through.
func (a *Agent) Available() bool {
	a.mu.Lock()
	known := a.card != nil
	a.mu.Unlock()
	if !known {
		return false
	}
	b := a.cfg.Breaker.Snapshot()
	return b.State != health.Open || b.RetryAfter == 0
}

// Texts returns the texts of the card that was read last.
func (a *Agent) Texts() Texts {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.last
}

// Waits between two tries to read a card that is unavailable.
const (
	firstWait = time.Second
	mostWait  = 30 * time.Second
)

// keepCard reads the card until the Agent is closed.
func (a *Agent) keepCard() {
	for {
		wait := a.readCard()
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-a.ctx.Done():
			timer.Stop()
			return
		}
	}
}

// readCard reads the card once, and returns when it is to be read again.
func (a *Agent) readCard() time.Duration {
	c, err := a.fetchCard(a.ctx)
	a.mu.Lock()
	before := a.card
	first := !a.reported && a.failures == 0
	if first {
		defer close(a.tried) // when its texts are known
	}
	if a.ctx.Err() != nil {
		a.failures++
		a.mu.Unlock()
		return time.Hour
	}
	a.card = c
	changed := false
	wait := a.cfg.Refresh
	if err == nil {
		a.failures = 0
		changed = !a.reported || !a.last.equal(c.texts)
		a.last, a.reported = c.texts, true
	} else {
		a.failures++
		wait = min(firstWait<<min(a.failures-1, 10), mostWait, a.cfg.Refresh)
	}
	a.mu.Unlock()
	switch {
	case err != nil && (before != nil || first):
		a.cfg.Log.Warn().Dict("details", zerolog.Dict().Str("agent_id", a.cfg.ID).AnErr("cause", err)).Msg("remote_agent_unavailable")
	case err == nil && before == nil:
		a.cfg.Log.Info().Dict("details", zerolog.Dict().Str("agent_id", a.cfg.ID).Str("protocol_version", c.version).Bool("streaming", c.streaming)).
			Msg("remote_agent_available")
	}
	if changed && a.cfg.Changed != nil {
		a.cfg.Changed()
	}
	return wait
}

// currentCard returns the card, or nil if it is unavailable.
func (a *Agent) currentCard() *card {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.card
}

// serviceName names the agent in errors, and its breaker.
func (a *Agent) serviceName() string { return Service(a.cfg.ID) }

// Service returns the name of an agent's breaker.
func Service(id string) string { return "a2a:" + id }

// unavailableFault is the failure of an agent that did not get the message.
func (a *Agent) unavailableFault(cause error) *fault.Error {
	f := &fault.Error{Type: fault.AgentUnavailable, Message: "The agent is unavailable", Service: a.serviceName(), Err: cause}
	if open, ok := errors.AsType[*breaker.OpenError](cause); ok {
		f.RetryAfter = open.RetryAfter
	}
	return f
}

// lostFailure is the failure of an agent that may have got the message. It is not sent again.
func (a *Agent) lostFailure(message string, cause error) *fault.Error {
	return &fault.Error{Type: fault.AgentUnavailable, Message: message, Service: a.serviceName(), Unknown: true, Err: cause}
}
