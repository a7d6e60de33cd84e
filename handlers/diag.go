package handlers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"sluice/internal/base/fault"
	"sluice/internal/edge/access"
	"sluice/internal/turn/chat"
	"sluice/stream"
	"sluice/stream/sse"
)

// maxProbe bounds how long one GET /diag/sse may take: longer than any idle limit
// worth looking for.
const maxProbe = 5 * time.Minute

// probe is a request for GET /diag/sse.
type probe struct {
	ticks     int
	interval  time.Duration
	padding   int // bytes added to each tick
	heartbeat bool
}

// maxProbes bounds the probes that run at once. A person and the monitors of some replicas do not
// need more.
const maxProbes = 32

// probes are the places of GET /diag/sse. They are apart from those of turns: neither
// takes a place from the other, and a drain does not wait for a probe.
type probes struct {
	places chan struct{} // holds one for each probe that runs
	drain  func()        // ends all probes, and lets none begin any more
	ended  <-chan struct{}
}

// newProbes returns the places, all of them free.
func newProbes() *probes {
	ended := make(chan struct{})
	return &probes{
		places: make(chan struct{}, maxProbes),
		drain:  sync.OnceFunc(func() { close(ended) }),
		ended:  ended,
	}
}

// claimPlace takes a place, or returns a fault if all are in use. leave must be called once.
func (p *probes) claimPlace() (leave func(), err error) {
	select {
	case <-p.ended:
		return nil, &fault.Error{Type: fault.ShuttingDown, Message: "The gateway is shutting down; try again in a moment"}
	default:
	}
	select {
	case p.places <- struct{}{}:
		return func() { <-p.places }, nil
	default:
		return nil, &fault.Error{Type: fault.Overloaded, Message: "The gateway has all the probes it can take; try again in a moment"}
	}
}

// prober serves GET /diag/sse.
type prober struct {
	*probes
	origins                 *originPolicy
	bodies                  *bodyReader
	limits                  *limits
	senders                 *senders
	heartbeat, writeTimeout time.Duration
}

// addRoutes routes the probe.
func (pr *prober) addRoutes(ro *router) {
	ro.routeGuarded(http.MethodGet, "/diag/sse", probed, pr.streamTicks)
}

// streamTicks streams stamped ticks. They show a client whether they arrive one by one, late,
// together or not at all. They are written as every stream is, but nothing runs for them. A probe
// counts as a stream that watches, and ends with its credential.
func (pr *prober) streamTicks(w http.ResponseWriter, r *http.Request, who *access.Identity) error {
	if err := pr.origins.checkOrigin(r); err != nil {
		return err
	}
	if err := pr.bodies.dropBody(w, r); err != nil {
		return err
	}
	p, err := probeOf(r)
	if err != nil {
		return err
	}
	leave, err := pr.claimPlace()
	if err != nil {
		return err
	}
	defer leave()
	watch, err := pr.limits.chargeRequest(r, principalOf(who), SpendWatch)
	if err != nil {
		return err
	}
	defer watch.End()
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer pr.senders.whileMay(who, probed, cancel)()
	out := sse.NewWriter(w, sse.Config{
		Encoder:      silent{},
		Heartbeat:    p.heartbeatTime(pr.heartbeat),
		WriteTimeout: pr.writeTimeout,
		HTTP1:        lazyDeadline(r),
		OnFail:       cancel,
	})
	err = p.writeTicks(ctx, pr.ended, out, &ticks{id: chat.RequestID(ctx), proto: r.Proto, filler: strings.Repeat("x", p.padding)})
	if closeErr := out.Close(); err != nil || closeErr != nil {
		abortReply(r)
	}
	return nil
}

// heartbeatTime returns the time between heartbeats, or 0 without heartbeats.
func (p probe) heartbeatTime(every time.Duration) time.Duration {
	if !p.heartbeat {
		return 0
	}
	return every
}

// writeTicks writes the ticks and the end. The end comes early when ctx ends or ended is closed. If
// the client has left, it returns an error.
func (p probe) writeTicks(ctx context.Context, ended <-chan struct{}, out *sse.Writer, t *ticks) error {
	clock := time.NewTicker(p.interval)
	defer clock.Stop()
	for n := 1; ; n++ {
		_ = out.WriteFrame(t.nextFrame())
		if err := out.Flush(); err != nil {
			return err
		}
		if n == p.ticks {
			break
		}
		select {
		case <-clock.C:
			continue
		case <-ended:
		case <-ctx.Done():
		}
		break
	}
	if err := fault.Cause(ctx); errors.Is(err, fault.ErrClientGone) {
		return err
	}
	return out.WriteFrame(t.lastFrame())
}

// silent is the encoder of a probe, as a probe does not have events.
type silent struct{}

// Encode appends nothing.
func (silent) Encode(dst []byte, _ stream.Stamp, _ stream.Event) []byte { return dst }

// Heartbeat returns a comment.
func (silent) Heartbeat() []byte { return sse.Ping() }

// ticks makes the frames of a probe.
type ticks struct {
	id     string // of the request
	proto  string // protocol of the request: a proxy and the client may use another one
	filler string
	n      int
	first  time.Time
}

// nextFrame returns the next frame. The stamp is taken right before the write.
func (e *ticks) nextFrame() (frame []byte) {
	now := time.Now()
	if e.n == 0 {
		e.first = now
		frame = fmt.Appendf(frame, "retry: %d\n", sse.NoRetry.Milliseconds())
	}
	e.n++
	frame = fmt.Appendf(frame, "id: %s:%d\nevent: tick\ndata: {\"request_id\":%q,\"n\":%d,\"elapsed_ms\":%d,\"time\":%q,\"protocol\":%q",
		e.id, e.n, e.id, e.n, now.Sub(e.first).Milliseconds(), now.UTC().Format("2006-01-02T15:04:05.000Z"), e.proto)
	if e.filler != "" {
		frame = fmt.Appendf(frame, ",\"padding\":%d,\"filler\":%q", len(e.filler), e.filler)
	}
	return append(frame, "}\n\n"...)
}

// lastFrame returns the last frame.
func (e *ticks) lastFrame() []byte {
	return fmt.Appendf(nil, "id: %s:%d\nevent: done\ndata: {\"request_id\":%q,\"ticks\":%d}\n\n", e.id, e.n+1, e.id, e.n)
}

// probeOf reads the query. Unknown names are ignored, so that a long one can show
// how long a URL may be.
func probeOf(r *http.Request) (probe, error) {
	var q probeQuery
	q.values, _ = url.ParseQuery(r.URL.RawQuery)
	p := probe{
		ticks:     q.numberIn("ticks", 10, 1, 50),
		interval:  time.Duration(q.numberIn("interval_ms", 200, 20, int(maxProbe.Milliseconds()))) * time.Millisecond,
		padding:   q.numberIn("padding", 0, 0, 16<<10),
		heartbeat: q.values.Get("heartbeat") != "false",
	}
	if v := q.values.Get("heartbeat"); q.values.Has("heartbeat") && v != "true" && v != "false" {
		q.addFault("heartbeat", "must be true or false")
	}
	if len(q.faults) == 0 && time.Duration(p.ticks-1)*p.interval > maxProbe {
		q.addFault("ticks", "must not take more than 5 minutes at this interval_ms")
	}
	if len(q.faults) > 0 {
		return probe{}, &chat.ValidationError{Fields: q.faults}
	}
	return p, nil
}

// probeQuery is the query of a probe, with its faults.
type probeQuery struct {
	values url.Values
	faults []chat.FieldError
}

func (q *probeQuery) addFault(name, rule string) {
	q.faults = append(q.faults, chat.FieldError{Field: "/" + name, Code: chat.CodeInvalidFormat, Message: rule})
}

func (q *probeQuery) numberIn(name string, def, lo, hi int) int {
	if !q.values.Has(name) {
		return def
	}
	n, err := strconv.Atoi(q.values.Get(name))
	if err != nil || n < lo || n > hi {
		q.addFault(name, fmt.Sprintf("must be a whole number from %d to %d", lo, hi))
	}
	return n
}
