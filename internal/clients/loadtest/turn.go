package loadtest

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// reading is the memory for one stream while it is read. It is used again.
type reading struct {
	frames frames
	audit  audit
}

// runTurn runs turn n, counted from 0, and counts how it ended. Latencies count from
// due, which in an open loop is before anything could be late.
func (r *runner) runTurn(n int, due time.Time) (o outcome) {
	r.tally.started.Add(1)
	r.lastDue.Store(int64(due.Sub(r.begin)))
	rd := r.readings.Get().(*reading)
	rd.audit.beginStream("", false)
	o = r.runExchange(rd, n, due)
	r.tally.countEnd(o, n, rd.audit.requestID())
	if o.class == done && !due.Before(r.measureFrom) {
		r.good.Add(1)
	}
	if cap(rd.frames.buf) <= keptBuffer && cap(rd.audit.text.scratch) <= keptBuffer {
		r.readings.Put(rd)
	}
	return o
}

// runExchange sends the request of turn n and follows its reply to the end. rd holds the
// request id afterwards, if the reply had one.
func (r *runner) runExchange(rd *reading, n int, due time.Time) outcome {
	ctx, cancel := context.WithTimeout(r.ctx, r.cfg.Timeout)
	defer cancel()
	resp, err := r.transport.RoundTrip(r.requests.makeRequest(ctx, n))
	if err != nil {
		return r.lostOutcome(ctx, err, noResponse)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection can be used again
		return outcome{refused, strconv.Itoa(resp.StatusCode)}
	}
	rd.audit.beginStream(requestID(resp), r.cfg.Accumulated)
	if kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";"); kind != "text/event-stream" {
		return outcome{unreconciled, string(badContentType)}
	}
	rd.frames.beginBody(resp.Body, func(n int) { r.tally.bytes.Add(int64(n)) })
	w := watch{runner: r, due: due, measured: !due.Before(r.measureFrom), cut: r.shouldCut(n)}
	return w.resumeStream(ctx, rd, w.followStream(ctx, rd))
}

// requestID returns the id of a reply if it is one that a report can repeat.
func requestID(resp *http.Response) string {
	const harmless = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
	id := resp.Header.Get("X-Request-ID")
	if len(id) > 64 || strings.Trim(id, harmless) != "" {
		return ""
	}
	return id
}

// shouldCut spreads the streams to leave evenly over all.
func (r *runner) shouldCut(n int) bool {
	return int(float64(n+1)*r.cfg.Cut) > int(float64(n)*r.cfg.Cut)
}

// lostOutcome returns the outcome of a lost connection: interrupted by us, out of time, or cause.
func (r *runner) lostOutcome(ctx context.Context, err error, cause string) outcome {
	op, isOp := errors.AsType[*net.OpError](err)
	switch {
	case r.ctx.Err() != nil:
		return outcome{class: interrupted}
	case ctx.Err() != nil:
		return outcome{broken, timedOut}
	case isOp && op.Op == "dial":
		return outcome{broken, noConnection}
	}
	return outcome{broken, cause}
}

// watch takes the times of one stream.
type watch struct {
	*runner
	due      time.Time
	measured bool // not part of the warm-up
	cut      bool

	last          time.Time // when the last event came
	together      int64     // events that came with the one before
	sawText       bool
	reportedFirst bool
}

// followStream reads a stream to its end.
func (w *watch) followStream(ctx context.Context, rd *reading) outcome {
	defer func() {
		w.gaps.addRepeated(0, w.together)
		w.together = 0
	}()
	a := &rd.audit
	for {
		f, err := rd.frames.nextFrame()
		if err == nil {
			err = a.checkEvent(f)
		}
		if err != nil {
			return w.endOutcome(ctx, rd, err)
		}
		w.tally.events.Add(1)
		if w.measured {
			w.recordTimes(f, a)
		}
		if w.cut && string(f.event) == "response_delta" {
			return outcome{class: leftEarly}
		}
	}
}

// recordTimes takes the time of an event that is in order.
func (w *watch) recordTimes(f frame, a *audit) {
	since := f.arrived.Sub(w.due)
	switch {
	case !w.reportedFirst:
		w.reportedFirst = true
		w.firstEvent.add(since)
	case f.arrived.Equal(w.last):
		w.together++
	default:
		w.gaps.add(f.arrived.Sub(w.last))
	}
	w.last = f.arrived
	if !w.sawText && string(f.event) == "response_delta" {
		w.sawText = true
		w.firstText.add(since)
	}
	if a.done {
		w.turns.add(since)
	}
}

// endOutcome returns the outcome of a stream that has ended.
func (w *watch) endOutcome(ctx context.Context, rd *reading, err error) outcome {
	a := &rd.audit
	if b, ok := breachOf(err); ok {
		return outcome{unreconciled, string(b)}
	}
	clean := errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF)
	switch {
	case !a.done && clean && !rd.frames.hasRest():
		return outcome{broken, endedEarly}
	case !a.done:
		return w.lostOutcome(ctx, err, cutOff)
	case rd.frames.hasRest():
		return outcome{unreconciled, string(eventAfterDone)}
	case !clean && w.ctx.Err() != nil:
		return outcome{class: interrupted}
	case !clean:
		return outcome{unreconciled, string(uncleanEnd)}
	case a.success:
		return outcome{class: done}
	case a.fatal != "":
		return outcome{failed, a.fatal}
	}
	return outcome{failed, a.reason}
}
