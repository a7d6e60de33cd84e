// Package health collects the reports of a gateway's parts. A part is a Checker; the wiring adds it
// to a Registry, which readiness and metrics read.
//
// A Checker answers at once and sends nothing: its knowledge comes from earlier calls. So a probe
// is cheap and puts no load on an upstream. A Registry is safe for concurrent use; parts are added
// at the start.
package health

import (
	"slices"
	"time"

	"github.com/go-json-experiment/json"
)

// Status is the report of a Checker about one thing at one moment. Its JSON is what /readyz says
// about it.
type Status interface {
	// Name distinguishes it from others of its type.
	Name() string
	// OK reports whether all is well. If not, the gateway answers, but with less.
	OK() bool
}

// Checker is a part of the gateway that can be well or not. Check changes nothing,
// sends nothing and does not block; it is called from any goroutine.
type Checker interface{ Check() Status }

// Registry holds the Checkers of one gateway. Add comes before any Check. A nil
// *Registry and the zero value hold none.
type Registry struct{ checkers []Checker }

// Add adds parts. A nil *Registry passes over them.
func (r *Registry) Add(parts ...Checker) {
	if r != nil {
		r.checkers = append(r.checkers, parts...)
	}
}

// Check returns the status of every part, in the order of Add.
func (r *Registry) Check() []Status {
	if r == nil {
		return nil
	}
	all := make([]Status, len(r.checkers))
	for i, c := range r.checkers {
		all[i] = c.Check()
	}
	return all
}

// State is a circuit breaker's state, spelt as in the log and in /readyz.
type State string

// States of a circuit breaker.
const (
	Closed   State = "closed"
	Open     State = "open"
	HalfOpen State = "half-open"
)

// Breaker is the status of a circuit breaker.
type Breaker struct {
	Service      string
	State        State
	FailureCount uint32
	// RetryAfter is the rest of the recovery time; 0 unless State is Open.
	RetryAfter time.Duration
	// LastFailure is when a call failed last, and LastChange when the state changed last: at first
	// when the breaker was made. The zero time is unknown.
	LastFailure, LastChange time.Time
	// Successes is how many calls have succeeded in a row in this state.
	Successes uint32
}

// MarshalJSON reports the wait in whole milliseconds, and times as RFC 3339 in UTC or null.
func (b Breaker) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Service      string     `json:"service"`
		State        State      `json:"state"`
		FailureCount uint32     `json:"failure_count"`
		RetryAfterMS int64      `json:"retry_after_ms"`
		LastFailure  *time.Time `json:"last_failure_time"`
		LastChange   *time.Time `json:"last_state_change"`
		Successes    uint32     `json:"consecutive_successes"`
	}{b.Service, b.State, b.FailureCount, b.RetryAfter.Milliseconds(), timeOrNull(b.LastFailure), timeOrNull(b.LastChange), b.Successes})
}

// timeOrNull returns a time in UTC with milliseconds; nil: it is not known.
func timeOrNull(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	at = at.UTC().Truncate(time.Millisecond)
	return &at
}

// Name implements Status.
func (b Breaker) Name() string { return b.Service }

// OK implements Status.
func (b Breaker) OK() bool { return b.State == Closed }

// Session is the status of the session with an MCP server.
type Session struct {
	Server    string `json:"server"`
	Connected bool   `json:"connected"`
	Tools     int    `json:"tools"` // as known last
}

// Name implements Status.
func (s Session) Name() string { return s.Server }

// OK implements Status.
func (s Session) OK() bool { return s.Connected }

// Model is the status of a configured language model.
type Model struct {
	Key      string `json:"key"`
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Breaker  State  `json:"breaker"`
	// MissingKey is the variable to set. It is empty unless the model needs a key and lacks it.
	MissingKey string `json:"missing_key,omitempty"`
}

// Name returns the model's key.
func (m Model) Name() string { return m.Key }

// OK reports whether the model has the key that it needs. Its breaker reports for itself.
func (m Model) OK() bool { return m.MissingKey == "" }

// StoreState is the availability of a store.
type StoreState string

// States of a store.
const (
	Available   StoreState = "available"
	Unavailable StoreState = "unavailable"
	// Full: it answers, and refuses writes for lack of room.
	Full StoreState = "full"
)

// Store is the status of the store that state is kept in.
type Store struct {
	Kind  string     `json:"kind"`
	State StoreState `json:"state"`
	// Warnings describe settings of the store by which it may lose confirmed data.
	Warnings []string `json:"warnings"`
}

// Name implements Status.
func (Store) Name() string { return "store" }

// OK reports whether the store answers; a warning is not a failure.
func (s Store) OK() bool { return s.State == Available }

// KeysState is the freshness of the keys of an issuer of tokens.
type KeysState string

// States of an issuer's keys.
const (
	KeysFresh KeysState = "ok"
	// KeysStale: the last try has failed, and the last good keys serve.
	KeysStale KeysState = "stale"
	// KeysUnavailable: none were ever read, or too long ago.
	KeysUnavailable KeysState = "unavailable"
)

// Issuer is the status of an issuer of tokens.
type Issuer struct {
	Issuer string    `json:"issuer"`
	Keys   int       `json:"keys"`
	AgeS   *int64    `json:"age_s"` // seconds since they were read; nil: never
	State  KeysState `json:"state"`
}

// Auth is the status of the gateway's authentication.
type Auth struct {
	Methods []string `json:"methods"`
	Keys    int      `json:"keys"` // of the key file
	Issuers []Issuer `json:"issuers"`
	// Rejected: the key file has changed and has a fault, so that its previous keys count.
	Rejected bool `json:"-"`
}

// Name implements Status.
func (Auth) Name() string { return "auth" }

// OK reports whether all keys are as new as they can be.
func (a Auth) OK() bool {
	return !a.Rejected && !slices.ContainsFunc(a.Issuers, func(i Issuer) bool { return i.State != KeysFresh })
}
