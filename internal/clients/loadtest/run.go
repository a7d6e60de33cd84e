package loadtest

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Run makes the load that cfg asks for, waits until all streams have ended, and reports. When ctx
// ends, running streams are cut and counted as interrupted. The error is one of cfg or of this
// machine's limits. Faults of the gateway are in the report.
func Run(ctx context.Context, cfg Config) (Report, error) {
	cfg = cfg.withDefaults()
	if err := cfg.checkFields(); err != nil {
		return Report{}, err
	}
	if err := cfg.checkFiles(linux.openFiles()); err != nil {
		return Report{}, err
	}
	r, err := newRunner(ctx, cfg)
	if err != nil {
		return Report{}, err
	}
	defer r.close()
	m := newMeter(r, linux)
	r.startClock(m.firstSample())
	ended := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() { m.watchRun(ended) })
	if cfg.Clients > 0 {
		r.closedLoop()
	} else {
		r.openLoop()
	}
	close(ended)
	watching.Wait()
	return m.makeReport(), nil
}

// runner is a run under way.
type runner struct {
	cfg         Config
	ctx         context.Context // ends with the caller's: streams are cut
	requests    *requests
	transport   http.RoundTripper
	close       func()
	begin       time.Time
	measureFrom time.Time // the end of the warm-up
	until       time.Time // nothing begins from here on; zero: no limit
	next        atomic.Int64
	lastDue     atomic.Int64 // nanoseconds from begin to when the last turn was due
	good        atomic.Int64 // turns that were due after the warm-up and ended with success
	readings    sync.Pool

	tally                              tally
	firstEvent, firstText, turns, gaps histogram
}

// newRunner returns a run that has not begun. close must be called when it has ended.
func newRunner(ctx context.Context, cfg Config) (*runner, error) {
	q, err := newRequests(cfg)
	if err != nil {
		return nil, err
	}
	r := &runner{cfg: cfg, ctx: ctx, requests: q, transport: cfg.Transport, close: func() {}}
	r.readings.New = func() any { return new(reading) }
	if r.transport == nil {
		t := newTransport(cfg.maxStreams())
		r.transport, r.close = t, t.CloseIdleConnections
	}
	return r, nil
}

// startClock sets the clock that turns begin by.
func (r *runner) startClock(begin time.Time) {
	r.begin = begin
	r.measureFrom = begin.Add(r.cfg.Warmup)
	if r.cfg.Duration > 0 {
		r.until = r.measureFrom.Add(r.cfg.Duration)
	}
}

// measuredFor is for how long turns were begun after the warm-up.
func (r *runner) measuredFor() time.Duration {
	last := time.Duration(r.lastDue.Load())
	if r.cfg.Duration > 0 && !r.isStopped() {
		last = max(last, r.cfg.Warmup+r.cfg.Duration)
	}
	return max(0, last-r.cfg.Warmup)
}

// newTransport keeps a connection for each client. It knows HTTP/1.1 only, follows
// no redirect and no proxy: the load goes where the URL says.
func newTransport(clients int) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		Protocols:           protocols,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConnsPerHost: clients,
		// Less than a gateway keeps them, so that it does not close one in use.
		IdleConnTimeout:    30 * time.Second,
		DisableCompression: true,
	}
}
