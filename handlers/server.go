// Package handlers is the HTTP face of the gateway: it decodes and validates a
// request, decides whether it may run, runs it and streams what comes out. Of
// what answers it knows one method: that of stream.Runner.
//
// A turn goes through five steps, for every protocol alike: the dialect decodes
// and validates the request; admission decides; a Runner is run inside a Frame,
// which makes sure of one start and one done; and an Output writes the frames.
// What is cheap to refuse is refused first: host, origin, headers and a full
// gateway before the body is read, and the body only within a budget that all
// requests share.
//
// From the first byte of a stream on the status is 200, and whatever happens is
// reported in-band. Refusals before that are replies in the dialect's own words; which status a
// fault has stands in one ordered table.
//
// A Server is safe for concurrent use. A turn runs on the goroutine of its
// request. At the end Drain refuses new streams, Wait waits for those that run,
// and Abort cancels them with a cause.
package handlers

import (
	"context"
	"net/http"
	"time"

	"sluice/internal/base/telemetry/metrics"
	"sluice/internal/edge/dialect"
	"sluice/stream"
)

// Server serves the gateway's HTTP API. Use NewServer.
type Server struct {
	cfg       Config
	origins   *originPolicy
	hosts     hostPolicy
	guard     *guard
	gate      *gate
	probes    *probes
	bodies    *bodyReader
	senders   *senders
	limits    *limits
	refuser   *refuser
	catalogue *catalogue
	health    *healthAPI
	turns     *turns
	readers   *readers
	answers   *answers
	metrics   *instruments
	native    func(dialect.StoredTurn) stream.Encoder // of the first route that can resume
	routes    *router
}

// NewServer returns a Server.
func NewServer(cfg Config) *Server {
	if cfg.MaxStreams == 0 {
		cfg.MaxStreams = defaultMaxStreams
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = defaultTimeout
	}
	if cfg.BodyTimeout == 0 {
		cfg.BodyTimeout = 10 * time.Second
	}
	if cfg.Metrics == nil {
		cfg.Metrics = metrics.New()
	}
	audit, origins := auditor{cfg.Client}, newOriginPolicy(cfg.Origins)
	s := &Server{
		cfg:       cfg,
		origins:   &origins,
		hosts:     newHostPolicy(cfg.Hosts),
		gate:      newGate(cfg.MaxStreams, cfg.Delay),
		probes:    newProbes(),
		bodies:    &bodyReader{budget: bodies{max: maxBodies}, timeout: cfg.BodyTimeout},
		senders:   &senders{door: cfg.Door, audit: audit},
		limits:    &limits{limiter: cfg.Limiter, audit: audit, overLimit: newLimitAudit(cfg.Log)},
		catalogue: &catalogue{cfg.Team, cfg.Workflows},
	}
	s.health = &healthAPI{
		model: cfg.Model, parts: cfg.Health, gate: s.gate, senders: s.senders,
		listsApprovals: cfg.Approvals != nil && cfg.Tasks != nil, storeRequired: cfg.StoreRequired,
	}
	s.guard = newGuard(s.gate, s.origins, s.senders, s.limits)
	if cfg.Tasks != nil {
		cfg.Tasks.Places(s.gate.turnOfOthers)
	}
	s.metrics = newInstruments(cfg.Metrics, tokenCounter(cfg.Metrics, cfg.TokensByModel), s.gate.active)
	s.refuser = &refuser{metrics: s.metrics, lines: newRefusals(cfg.Log)}
	s.serveTurns()
	s.routes = newRouter(s.origins, s.senders, s.limits, s.refuser)
	s.serveAll()
	return s
}

// serveTurns makes the parts that a turn goes through.
func (s *Server) serveTurns() {
	cfg := &s.cfg
	rp := &repeats{admitted: newAdmittedTurns(minKeys), tasks: cfg.Tasks, metrics: s.metrics}
	out := &outputs{heartbeat: cfg.Heartbeat, writeTimeout: cfg.WriteTimeout, refuser: s.refuser, repeats: rp}
	s.readers = &readers{gate: s.gate, origins: s.origins, senders: s.senders, limits: s.limits, bodies: s.bodies, tasks: cfg.Tasks, outputs: out}
	s.answers = &answers{approvals: cfg.Approvals, tasks: cfg.Tasks, senders: s.senders, catalogue: s.catalogue}
	s.turns = &turns{
		frame:  stream.Frame{Runner: cfg.Runner, Model: cfg.Model, Timeout: cfg.Timeout},
		choose: cfg.Choose, retracts: cfg.Retracts,
		gate: s.gate, keys: newKeyring(max(minKeys, 2*cfg.MaxStreams)), repeats: rp, limits: s.limits, senders: s.senders,
		catalogue: s.catalogue, tasks: cfg.Tasks,
		runner: &turnRunner{outputs: out, metrics: s.metrics, tracer: cfg.Tracer, logPayloads: cfg.LogPayloads},
	}
	s.Report(&s.turns.frame)
}

// Report has the turns of a frame logged and counted like the turns of requests.
func (s *Server) Report(f *stream.Frame) { s.turns.runner.report(f) }

// serveAll routes all paths.
func (s *Server) serveAll() {
	cfg, ro := &s.cfg, s.routes
	for _, d := range cfg.Dialects {
		s.serve(d)
	}
	if cfg.Channels != nil {
		s.serve(cfg.Channels)
		serveChannels(ro, cfg.Channels)
	}
	if cfg.Tasks != nil {
		(&taskAPI{tasks: cfg.Tasks, forgets: cfg.Forget, isOpen: cfg.Door == nil, origins: s.origins, bodies: s.bodies, readers: s.readers, native: s.native}).serve(ro)
	}
	if cfg.Tasks != nil && cfg.Records != nil {
		(&recordAPI{tasks: cfg.Tasks, records: cfg.Records}).serve(ro)
	}
	if cfg.Approvals != nil {
		(&approvalAPI{approvals: cfg.Approvals, tasks: cfg.Tasks, isOpen: cfg.Door == nil}).serve(ro)
	}
	(&prober{probes: s.probes, origins: s.origins, bodies: s.bodies, limits: s.limits, senders: s.senders, heartbeat: cfg.Heartbeat, writeTimeout: cfg.WriteTimeout}).serve(ro)
	serveTools(ro, cfg.Tools)
	s.catalogue.serve(ro)
	s.health.serve(ro)
	serveMetrics(ro, cfg.Metrics)
	if cfg.Door != nil {
		serveIdentity(ro)
	}
	if cfg.Door != nil || cfg.Limiter != nil {
		s.origins.allowCredentials()
	}
	if cfg.Tickets != nil {
		s.serveTickets()
	}
	if cfg.Page != nil {
		servePage(ro, cfg.Page, cfg.Channels)
	}
}

// ServeHTTP makes Server an http.Handler. What every request goes through is called
// from here instead of being wrapped around one another: the frames of wrappers lie
// on the stack of every open stream.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r = s.identified(w, r)
	tw := &trackedWriter{ResponseWriter: w, r: r, began: time.Now(), timeout: s.cfg.WriteTimeout}
	closeResets(r, true)
	defer s.refuser.caught(tw)
	s.seal(tw, r)
	if !s.answered(tw, r) {
		s.routes.echo.ServeHTTP(tw, r)
	}
	tw.linger()
	closeResets(r, false)
}

// answered says whether the request had its answer before it is routed.
func (s *Server) answered(w *trackedWriter, r *http.Request) bool {
	placeOf(r).Busy()
	return s.refusedHost(w, r) || s.origins.preflight(w, r) || s.crowdedOut(w, r)
}

// refusedHost says whether the request names a host that is not served, which it has
// then answered.
func (s *Server) refusedHost(w http.ResponseWriter, r *http.Request) bool {
	err := s.hosts.check(r)
	if err != nil {
		s.refuser.reply(w, r, err)
	}
	return err != nil
}

// Rules returns all paths with their rules, for the test that each path has one.
func (s *Server) Rules() []Rule { return s.routes.list() }

// Drain makes readiness fail and refuses new streams. Running ones continue, but for those of
// GET /diag/sse, which end at once.
func (s *Server) Drain() {
	s.gate.drain()
	s.probes.drain()
}

// Abort ends the streams that still run, each with cause as its fatal error.
func (s *Server) Abort(cause error) { s.gate.abort(cause) }

// Wait returns when, after Drain, no stream runs any more, or with the error of ctx.
func (s *Server) Wait(ctx context.Context) error { return s.gate.wait(ctx) }

// Close logs what is left to log. It is called when no request is served any more.
func (s *Server) Close() {
	s.refuser.lines.Flush()
	s.limits.overLimit.Flush()
}
