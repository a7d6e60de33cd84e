package handlers

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"sluice/fault"
)

// maxRefusalLines is how many refusals of a second get a line of their own. Who is
// flooded with requests must not be flooded with log lines as well: a line costs a
// tenth of a refusal, and a disk.
const maxRefusalLines = 10

// refusals counts the refusals that get no line of their own, and logs the counts
// once a second.
type refusals struct {
	log zerolog.Logger

	mu     sync.Mutex // guards the fields below
	second time.Time  // when the current second began
	lines  int        // in it
	held   map[fault.Type]int
}

// newRefusals returns a counter that logs to log. Its lines have an empty request_id, as
// they stand for many requests. flush must be called last.
func newRefusals(log zerolog.Logger) *refusals {
	return &refusals{log: log.With().Str("request_id", "").Logger(), held: map[fault.Type]int{}}
}

// line says whether the refusal gets a line of its own; if not, it is counted.
func (r *refusals) line(t fault.Type) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if now.Sub(r.second) >= time.Second {
		r.second, r.lines = now, 0
	}
	if r.lines < maxRefusalLines {
		r.lines++
		return true
	}
	if len(r.held) == 0 {
		// Timer (count of refusals): logs a second's refusals in one line.
		// Ends: it has fired.
		// Waits: nobody: `Server.Close` flushes first, and a timer that comes later finds nothing.
		time.AfterFunc(time.Second, r.flush)
	}
	r.held[t]++
	return false
}

// flush logs what was counted, if anything was. A timer that fires after the last
// flush finds nothing.
func (r *refusals) flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.held) == 0 {
		return
	}
	level, total, counts := zerolog.InfoLevel, 0, zerolog.Dict()
	for _, t := range slices.Sorted(maps.Keys(r.held)) {
		level = max(level, levelOfRefusal(statusOf(t)))
		total += r.held[t]
		counts.Int(string(t), r.held[t])
	}
	clear(r.held)
	r.log.WithLevel(level).Dict("details", zerolog.Dict().Int("count", total).Dict("error_types", counts)).Msg("requests_refused")
}
