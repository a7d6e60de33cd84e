package loadtest

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// outcome is the end of a stream: a class, and the cause in the report.
type outcome struct {
	class class
	cause string
}

// isNotAdmitted reports whether the request did not become a stream.
func (o outcome) isNotAdmitted() bool {
	return o.class == refused || o.class == broken && (o.cause == noConnection || o.cause == noResponse)
}

// class says how a stream ended, whatever the cause. Each stream has exactly one.
type class int

const (
	done         class = iota // done with success
	failed                    // done without; cause is the error_type
	refused                   // another status than 200, used as the cause
	broken                    // without a done, so the outcome of the turn is unknown
	unreconciled              // the contract was broken; cause is the breach
	leftEarly                 // we hung up, as --cut asks for
	interrupted               // we hung up, as the run was broken off
	classes
)

// Causes of a broken stream.
const (
	noConnection = "no_connection" // the port is closed, or the network refuses
	noResponse   = "no_response"   // the connection ended before a status came
	cutOff       = "cut"           // it ended before done
	endedEarly   = "no_done"       // the same, but the end looked proper
	timedOut     = "timeout"
)

// tally counts, live, for all streams.
type tally struct {
	started, dropped, ended, events, bytes atomic.Int64
	ends                                   [classes]atomic.Int64
	// Streams that broke off: those that were read on, and those that another gateway continued.
	resumed, takenOver atomic.Int64

	mu       sync.Mutex // guards the fields below
	causes   [classes]map[string]int64
	examples []string
}

// maxExamples is how many streams that went wrong the report names.
const maxExamples = 5

// countEnd counts the end of turn n. requestID is empty if it never got one.
func (t *tally) countEnd(o outcome, n int, requestID []byte) {
	t.ended.Add(1)
	t.ends[o.class].Add(1)
	if o.cause == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.causes[o.class] == nil {
		t.causes[o.class] = map[string]int64{}
	}
	t.causes[o.class][o.cause]++
	if len(t.examples) < maxExamples {
		name := fmt.Sprintf("turn %d", n+1)
		if len(requestID) > 0 {
			name += ", " + string(requestID)
		}
		t.examples = append(t.examples, fmt.Sprintf("%s: %s: %s", name, o.class, o.cause))
	}
}

// String returns the name of the class in a report.
func (c class) String() string {
	return [...]string{"done", "failed", "refused", "broken", "unreconciled", "left", "interrupted"}[c]
}

// countWrong is how many turns did not end as they were asked to, so far.
func (t *tally) countWrong() int64 {
	return t.dropped.Load() + t.ended.Load() - t.ends[done].Load() - t.ends[leftEarly].Load()
}
