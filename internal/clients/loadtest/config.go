// Package loadtest sends chat turns to a gateway and audits every stream that comes back. It is a
// client: it knows the wire and shares no code with the gateway.
//
// In a closed loop each client begins its next turn when the last one has ended. In an open loop
// turns begin at a rate, whatever happens: only that shows the delays for users of an overloaded
// gateway. Times are measured from when a turn was due, not from when it was begun. Every stream is
// read byte by byte and held against the contract; a breach is counted and the first of each kind
// is shown.
package loadtest

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"sluice/internal/base/check"
)

// Config describes a load. URL and Inputs are required, and one of Clients and Rate, and one of
// Duration and Turns.
type Config struct {
	// URL is the gateway's base URL, without a slash at the end.
	URL string
	// Method is POST, or GET; empty means POST.
	Method string
	// Inputs are sent in turn.
	Inputs []string
	// Accumulated asks for deltas that repeat the text so far.
	Accumulated bool
	// Header is sent with every request.
	Header http.Header

	// Clients makes a closed loop: so many clients, each of which sends its next
	// turn when the last one has ended. 0 means an open loop.
	Clients int
	// Rate makes an open loop: so many turns are begun in a second, whatever the
	// gateway does.
	Rate float64
	// MaxInFlight bounds an open loop. A turn without a place at its time is dropped. 0 means 1000.
	MaxInFlight int

	// Turns is the number of turns of the run, those of the warm-up and dropped ones included. 0
	// turns the limit off.
	Turns int
	// Duration is the time for which turns are begun after Warmup. 0 turns the limit off.
	Duration time.Duration
	// Warmup is for how long at the beginning turns are audited but not measured.
	Warmup time.Duration
	// Timeout bounds one stream; 0 means a minute.
	Timeout time.Duration
	// Cut is the share of streams, from 0 to 1, that are left after their first
	// text.
	Cut float64

	// PID is the gateway's process on this machine, to measure. 0 means that it is not
	// measured.
	PID int

	// Stop, when closed, ends the run early: it begins nothing more, and running turns may end.
	Stop <-chan struct{}
	// Progress is called from one goroutine, every ProgressEvery.
	Progress      func(Progress)
	ProgressEvery time.Duration

	// Transport replaces the one over TCP.
	Transport http.RoundTripper
}

// withDefaults fills in the defaults of zero values.
func (c Config) withDefaults() Config {
	if c.Method == "" {
		c.Method = http.MethodPost
	}
	if c.Clients == 0 && c.MaxInFlight == 0 {
		c.MaxInFlight = 1000
	}
	if c.Timeout == 0 {
		c.Timeout = time.Minute
	}
	return c
}

// maxStreams is how many streams can be open at the same time.
func (c Config) maxStreams() int { return max(c.Clients, c.MaxInFlight) }

// checkFields returns the first fault of a Config with defaults filled in.
func (c Config) checkFields() error {
	switch {
	case (c.Clients > 0) == (c.Rate > 0):
		return errors.New("loadtest: either Clients or Rate must be set")
	case c.Turns <= 0 && c.Duration <= 0:
		return errors.New("loadtest: Turns or Duration must be set")
	case len(c.Inputs) == 0:
		return errors.New("loadtest: there is no input")
	case c.Method != http.MethodPost && c.Method != http.MethodGet:
		return errors.New("loadtest: the method must be POST or GET")
	}
	if err := check.BaseURL(c.URL); err != nil {
		return fmt.Errorf("loadtest: the URL %w", err)
	}
	return nil
}

// spare is how many files the program itself has open at most, besides a
// connection for each stream.
const spare = 32

// checkFiles returns an error for a limit on open files that would make streams fail
// without a fault of the gateway. limit is 0 if it is not known.
func (c Config) checkFiles(limit int) error {
	if need := c.maxStreams() + spare; limit > 0 && limit < need {
		return fmt.Errorf("%d streams at once need %d open files, and %d are allowed: raise the limit (ulimit -n %d), or ask for fewer", c.maxStreams(), need, limit, need)
	}
	return nil
}
