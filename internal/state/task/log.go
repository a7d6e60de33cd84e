package task

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/state/store"
	"sluice/internal/state/task/record"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// An entry of a log is stored events, a line each. Before the first event stands a line
// that says how the turn was asked for.

// head is the first line of a log.
type head struct {
	// Task and Turn are what the log belongs to.
	Task string `json:"task"`
	Turn string `json:"turn"`
	ownership
	RequestID   string `json:"request_id"`
	Accumulated bool   `json:"accumulated"`
	// Protocol says in which protocol the turn was asked for, and what its encoder must know.
	Protocol
}

// ownership is who may read a log.
type ownership struct {
	Tenant string `json:"tenant,omitempty"`
	Owner  string `json:"owner,omitempty"` // who has proved to be that; empty: nobody was asked
}

// provedOwner returns an owner who has proved to be that, or nothing.
func provedOwner(owner string) string {
	if chat.IsProved(owner) {
		return owner
	}
	return ""
}

// Protocol is how a turn was asked for, as its readers must know it. The zero value is our own
// protocol.
type Protocol struct {
	Dialect string          `json:"dialect,omitempty"`
	Began   int64           `json:"began,omitempty"` // since 1970, in nanoseconds
	Facts   json.RawMessage `json:"facts,omitempty"` // one JSON value of the protocol's
}

// append writes the head as the first line of a log.
func (h head) append(dst []byte) []byte {
	quote := func(name, value string) { // what is not UTF-8 becomes U+FFFD
		dst, _ = jsontext.AppendQuote(append(dst, name...), value)
	}
	quote(`{"task":`, h.Task)
	quote(`,"turn":`, h.Turn)
	if h.Tenant != "" {
		quote(`,"tenant":`, h.Tenant)
	}
	if h.Owner != "" {
		quote(`,"owner":`, h.Owner)
	}
	quote(`,"request_id":`, h.RequestID)
	dst = strconv.AppendBool(append(dst, `,"accumulated":`...), h.Accumulated)
	if h.Dialect != "" {
		quote(`,"dialect":`, h.Dialect)
		dst = strconv.AppendInt(append(dst, `,"began":`...), h.Began, 10)
	}
	if len(h.Facts) > 0 {
		dst = append(append(dst, `,"facts":`...), h.Facts...)
	}
	return append(dst, "}\n"...)
}

// page is how many entries are read at once.
const page = 200

// Logged is an event as it was sent.
type Logged struct {
	stream.Stamp
	Event stream.Event
}

// Log is the log of one turn, in front of its reader. Its methods belong to one
// goroutine.
type Log struct {
	head
	logs  *turnLogs
	ready []Logged // read already
	last  int      // N of the last event that was read
	// ahead is the last event that the reader has, if the log does not have it yet: its
	// client received while the store was unavailable. skipped gets those up to it.
	ahead   int
	passed  int // N of the last event that was passed over
	skipped func(stream.Event)
}

// IsFor reports whether c may read the log, by the rule of the task that it belongs to.
func (l *Log) IsFor(c Caller) bool { return c.finds(l.Tenant, l.Owner) }

// more reads the next page.
func (l *Log) more(ctx context.Context, turn string) error {
	entries, err := l.logs.cfg.Store.ReadLog(ctx, turn, l.last, page)
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && len(entries) == 0 && l.last == 0:
		return ErrGone
	case err != nil:
		return unavailable(l.logs.recordOutage(err))
	}
	for _, e := range entries {
		logged, err := l.read(e)
		if err != nil {
			return ErrGone
		}
		l.ready = append(l.ready, logged...)
		l.last = e.N
	}
	return nil
}

// read takes an entry apart.
func (l *Log) read(e store.Entry) (all []Logged, err error) {
	for line := range bytes.Lines(e.Data) {
		if l.Turn == "" {
			if err := json.Unmarshal(line, &l.head); err != nil {
				return nil, fmt.Errorf("%w: %w", stream.ErrStored, err)
			}
			continue
		}
		err := stream.ReadStoredLine(line, func(stamp stream.Stamp, ev stream.Event) {
			all = append(all, Logged{stamp, ev})
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Skip passes over the events up to number n, each of which is passed to skipped. It returns
// false if there is nothing to wait for behind them: the turn has ended with them, or
// no process runs it. Those that the log does not have yet Events passes over. Who has more than
// the log of a turn that has ended gets its Done alone.
func (l *Log) Skip(ctx context.Context, n int, skipped func(stream.Event)) (bool, error) {
	for {
		for i, logged := range l.ready {
			_, done := logged.Event.(*stream.Done)
			if logged.N > n || done && logged.N < n {
				l.ready = l.corrected(ctx, n, l.ready[i:])
				return true, nil
			}
			skipped(logged.Event)
			l.passed = logged.N
			if done {
				return false, nil
			}
		}
		l.ready = nil
		before := l.last
		if err := l.more(ctx, l.Turn); err != nil {
			return false, err
		}
		if l.last == before {
			if l.passed >= n {
				return true, nil
			}
			l.ahead, l.skipped = n, skipped
			if runs, err := l.logs.stillRuns(ctx, l.Task, l.Turn); runs || err != nil {
				return runs, err
			}
			// It may have got its end since the last look.
			if err := l.more(ctx, l.Turn); err != nil || l.last == before {
				return false, err
			}
		}
	}
}

// Past passes over what the log holds now, each of which is passed to use. It says whether
// the turn has ended with it.
func (l *Log) Past(ctx context.Context, use func(stream.Event)) (ended bool, err error) {
	for {
		for _, t := range l.ready {
			use(t.Event)
		}
		if ends(l.ready) {
			return true, nil
		}
		l.ready = nil
		before := l.last
		if err := l.more(ctx, l.Turn); err != nil {
			return false, err
		}
		if l.last == before {
			return false, nil
		}
	}
}

// Events returns the rest of the log and then what comes, up to Done: those events
// together that came together. An error comes alone and last: ErrGone, or that of ctx.
func (l *Log) Events(ctx context.Context) iter.Seq2[[]Logged, error] {
	return func(yield func([]Logged, error) bool) {
		l.logs.readers.Add(1)
		defer l.logs.readers.Add(-1)
		if len(l.ready) > 0 && (!yield(l.ready, nil) || ends(l.ready)) {
			return
		}
		l.ready = nil
		for e, err := range store.Follow(ctx, l.logs.cfg.Store, l.Turn, l.last) {
			var logged []Logged
			if err == nil {
				logged, err = l.read(e)
			}
			if err != nil && ctx.Err() == nil {
				err = ErrGone
			}
			over := ends(logged)
			if logged = l.behind(ctx, logged); len(logged) == 0 && err == nil {
				continue
			}
			if !yield(logged, err) || err != nil || over {
				return
			}
		}
	}
}

// behind returns those of some events that the reader does not have, and Done in any case.
func (l *Log) behind(ctx context.Context, logged []Logged) []Logged {
	for len(logged) > 0 && logged[0].N <= l.ahead && !ends(logged[:1]) {
		l.skipped(logged[0].Event)
		l.passed = logged[0].N
		logged = logged[1:]
	}
	if len(logged) > 0 {
		logged, l.ahead = l.corrected(ctx, l.ahead, logged), 0
	}
	return logged
}

// corrected returns rest, which is new to a reader who has n. One who has events that the log never
// got, because their gateway was cut off from the store until another one went on with the turn, is
// shown first which text counts, under the number that it has already.
func (l *Log) corrected(ctx context.Context, n int, rest []Logged) []Logged {
	next := rest[0]
	if _, corrects := next.Event.(*stream.Reset); corrects || l.passed >= n || next.N <= n || next.N != gap(l.passed)+1 || l.Dialect != "" {
		return rest
	}
	kept, err := l.logs.readAll(ctx, l.Turn)
	if err != nil {
		return rest
	}
	said := stream.Fold{Only: stream.Answer}
	for _, logged := range kept.logged {
		if logged.N < next.N {
			said.Add(logged.Event)
		}
	}
	reset := &stream.Reset{Accumulated: said.Text(), Reason: stream.ResetTakenOver}
	return append([]Logged{{stream.Stamp{N: n, At: next.At}, reset}}, rest...)
}

// ends says whether a batch of events has the last one of a turn.
func ends(logged []Logged) bool {
	if len(logged) == 0 {
		return false
	}
	_, done := logged[len(logged)-1].Event.(*stream.Done)
	return done
}

// stored is all that a log holds of a turn.
type stored struct {
	logged []Logged
	last   int
	claims int // of the turn, by processes that went on with it or close it now; 0: its numbers have no gap
}

// lasted is when the last event came, seen from the begin of the turn.
func (k stored) lasted() (at time.Duration) {
	for _, logged := range k.logged {
		at = max(at, logged.At)
	}
	return at
}

// idGap is what the number of the first event of a process that goes on with a turn is above a
// multiple of: who received events that the log never got has none of those numbers.
const idGap = 1_000_000

// gap returns the number before the first event behind a takeover.
func gap(last int) int { return (last/idGap + 1) * idGap }

// ErrGone says that there is no log, or none that can be read.
var ErrGone = errors.New("no log of this turn")

// record gives a Recorder all events.
func (k stored) record(rec *record.Recorder) *record.Recorder {
	for _, logged := range k.logged {
		rec.Observe(logged.At, logged.Event)
	}
	return rec
}
