package handlers

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"sluice/chat"
	"sluice/stream"
	"sluice/stream/sse"
)

// maxProbe bounds how long one GET /diag/sse may take: longer than any idle limit
// worth looking for.
const maxProbe = 5 * time.Minute

// probe is what GET /diag/sse is asked for.
type probe struct {
	ticks     int
	interval  time.Duration
	padding   int // bytes added to each tick
	heartbeat bool
}

// diagnose streams stamped ticks, by which a client can tell what lies between:
// whether they arrive one by one, late, together or not at all. They are written
// as every stream is, and admitted like one, but nothing runs for them: so any
// page may ask, and CORS decides which one may read.
func (s *Server) diagnose(w http.ResponseWriter, r *http.Request) error {
	if err := s.dropBody(w, r); err != nil {
		return err
	}
	p, err := probeOf(r)
	if err != nil {
		return err
	}
	ctx, cancel, leave, err := s.gate.enter(r.Context())
	if err != nil {
		return err
	}
	defer leave()
	heartbeat := s.cfg.Heartbeat
	if !p.heartbeat {
		heartbeat = 0
	}
	out := sse.NewWriter(w, sse.Config{
		Encoder:      &ticks{id: chat.RequestID(ctx), proto: r.Proto, filler: strings.Repeat("x", p.padding)},
		Heartbeat:    heartbeat,
		WriteTimeout: s.cfg.WriteTimeout,
		HTTP1:        r.ProtoMajor == 1,
		OnFail:       cancel,
	})
	p.tell(ctx, out)
	_ = out.Close()
	return nil
}

// tell writes the ticks and the end, which comes early when ctx ends.
func (p probe) tell(ctx context.Context, out *sse.Writer) {
	clock := time.NewTicker(p.interval)
	defer clock.Stop()
	for n := 1; ; n++ {
		_ = out.Emit(&stream.Delta{})
		if err := out.Flush(); err != nil {
			return
		}
		if n == p.ticks {
			break
		}
		select {
		case <-clock.C:
			continue
		case <-ctx.Done():
		}
		break
	}
	_ = out.Emit(&stream.Done{})
}

// ticks is a dialect without content: each delta is a tick.
type ticks struct {
	id     string // of the request
	proto  string // in which it came in: a proxy may speak another one than the client
	filler string
	n      int
	first  time.Time
}

// Encode implements sse.Encoder. The stamp is taken right before the write.
func (e *ticks) Encode(dst []byte, ev stream.Event, _ sse.Timings) []byte {
	now := time.Now()
	if e.n == 0 {
		e.first = now
		dst = fmt.Appendf(dst, "retry: %d\n", sse.NoRetry.Milliseconds())
	}
	if _, done := ev.(*stream.Done); done {
		return fmt.Appendf(dst, "id: %s:%d\nevent: done\ndata: {\"request_id\":%q,\"ticks\":%d}\n\n", e.id, e.n+1, e.id, e.n)
	}
	e.n++
	dst = fmt.Appendf(dst, "id: %s:%d\nevent: tick\ndata: {\"request_id\":%q,\"n\":%d,\"elapsed_ms\":%d,\"time\":%q,\"protocol\":%q",
		e.id, e.n, e.id, e.n, now.Sub(e.first).Milliseconds(), now.UTC().Format("2006-01-02T15:04:05.000Z"), e.proto)
	if e.filler != "" {
		dst = fmt.Appendf(dst, ",\"padding\":%d,\"filler\":%q", len(e.filler), e.filler)
	}
	return append(dst, "}\n\n"...)
}

// Heartbeat implements sse.Encoder.
func (e *ticks) Heartbeat() []byte { return []byte(": ping\n\n") }

// probeOf reads the query. Unknown names are ignored, so that a long one can show
// how long a URL may be.
func probeOf(r *http.Request) (probe, error) {
	query, _ := url.ParseQuery(r.URL.RawQuery)
	var faults []chat.FieldError
	fault := func(name, rule string) {
		faults = append(faults, chat.FieldError{Field: "/" + name, Code: chat.CodeInvalidFormat, Message: rule})
	}
	number := func(name string, def, lo, hi int) int {
		if !query.Has(name) {
			return def
		}
		n, err := strconv.Atoi(query.Get(name))
		if err != nil || n < lo || n > hi {
			fault(name, fmt.Sprintf("must be a whole number from %d to %d", lo, hi))
		}
		return n
	}
	p := probe{
		ticks:     number("ticks", 10, 1, 50),
		interval:  time.Duration(number("interval_ms", 200, 20, int(maxProbe.Milliseconds()))) * time.Millisecond,
		padding:   number("padding", 0, 0, 16<<10),
		heartbeat: query.Get("heartbeat") != "false",
	}
	if v := query.Get("heartbeat"); query.Has("heartbeat") && v != "true" && v != "false" {
		fault("heartbeat", "must be true or false")
	}
	if len(faults) == 0 && time.Duration(p.ticks-1)*p.interval > maxProbe {
		fault("ticks", "must not take more than 5 minutes at this interval_ms")
	}
	if len(faults) > 0 {
		return probe{}, &chat.ValidationError{Fields: faults}
	}
	return p, nil
}
