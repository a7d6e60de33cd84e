// Package handlers is the HTTP face of the gateway: it decodes and validates a request, decides
// whether it may run, runs it and streams its events. It knows the answering side only as a
// stream.Runner.
//
// A turn goes through five steps, for every protocol alike. The dialect decodes and validates the
// request, and admission decides. A Runner is run inside a Frame that makes sure of one start and
// one done, and an Output writes the frames. Cheap refusals come first: host, origin, headers and a
// full gateway before the body. The body is read within a budget that all requests share.
//
// From the first byte of a stream on the status is 200, and whatever happens is
// reported in-band. Refusals before that are replies in the dialect's own words; which status a
// fault has stands in one ordered table.
//
// A Server only builds its parts. The front and the router pass a request to an entrance, and the
// entrance reads its turn. The type turns starts and runs the turn, readers sends stored turns, and
// types such as taskAPI serve the other paths.
//
// The verbs: serve (a route), admit, charge, claim, store, run, refuse, reply, log.
//
// A Server is safe for concurrent use. A turn runs on the goroutine of its
// request. At the end Drain refuses new streams, Wait waits for those that run,
// and Abort cancels them with a cause.
package handlers

import (
	"context"
	"net/http"
	"slices"

	"sluice/internal/base/telemetry/metrics"
	"sluice/internal/edge/access"
	"sluice/internal/edge/dialect"
	"sluice/stream"
)

// Server serves the gateway's HTTP API. Use NewServer.
type Server struct {
	front     *front
	routes    *router
	gate      *gate
	probes    *probes
	senders   *senders
	limits    *limits
	catalogue *catalogue
	health    *healthAPI
	runner    *turnRunner
	metrics   *metrics.Registry
}

// NewServer returns a Server.
func NewServer(cfg Config) *Server {
	cfg.setDefaults()
	audit, origins := auditor{cfg.Client}, newOriginPolicy(cfg.Origins)
	s := &Server{
		gate:      newGate(cfg.MaxStreams, cfg.Delay),
		probes:    newProbes(),
		senders:   &senders{door: cfg.Door, audit: audit},
		limits:    &limits{limiter: cfg.Limiter, audit: audit, overLimit: newLimitAudit(cfg.Log)},
		catalogue: &catalogue{cfg.Team, cfg.Workflows},
		metrics:   cfg.Metrics,
	}
	figures := newInstruments(cfg.Metrics, tokenCounter(cfg.Metrics, cfg.TokensByModel), s.gate.countActive)
	s.front = &front{
		log: cfg.Log, isSealed: cfg.Sealed, writeTimeout: cfg.WriteTimeout, hosts: newHostPolicy(cfg.Hosts), origins: &origins,
		bodies:  &bodyReader{budget: bodies{max: maxBodies}, timeout: cfg.BodyTimeout},
		refuser: &refuser{metrics: figures, lines: newRefusals(cfg.Log)},
	}
	s.health = &healthAPI{
		model: cfg.Model, parts: cfg.Health, gate: s.gate, senders: s.senders,
		listsApprovals: cfg.Approvals != nil && cfg.Tasks != nil, storeRequired: cfg.StoreRequired,
	}
	s.routes = newRouter(&origins, s.senders, s.limits, s.front.refuser)
	s.serveProtocols(&cfg, figures)
	s.serveGateway(&cfg)
	return s
}

// serveProtocols routes the paths where turns begin, continue and are read.
func (s *Server) serveProtocols(cfg *Config, figures *instruments) {
	bodies, origins := s.front.bodies, s.front.origins
	rp := &repeats{admitted: newAdmittedTurns(minKeys), tasks: cfg.Tasks, metrics: figures}
	out := &outputs{heartbeat: cfg.Heartbeat, writeTimeout: cfg.WriteTimeout, refuser: s.front.refuser, repeats: rp}
	s.runner = &turnRunner{outputs: out, metrics: figures, tracer: cfg.Tracer, logPayloads: cfg.LogPayloads}
	if cfg.Tasks != nil {
		cfg.Tasks.Places(s.gate.admitTurnOfOthers)
	}
	guard := newGuard(s.gate, origins, s.senders, s.limits)
	en := &entrance{
		guard: guard, senders: s.senders, limits: s.limits, bodies: bodies, hasKeys: cfg.Tasks != nil,
		tickets: &ticketOffice{tickets: cfg.Tickets, tasks: cfg.Tasks, guard: guard, senders: s.senders, limits: s.limits, bodies: bodies, metrics: figures},
		answers: &answers{approvals: cfg.Approvals, tasks: cfg.Tasks, senders: s.senders, catalogue: s.catalogue},
		readers: &readers{gate: s.gate, origins: origins, senders: s.senders, limits: s.limits, bodies: bodies, tasks: cfg.Tasks, outputs: out},
		turns: &turns{
			frame: stream.Frame{Runner: cfg.Runner, Model: cfg.Model, Timeout: cfg.Timeout}, choose: cfg.Choose, retracts: cfg.Retracts,
			gate: s.gate, keys: newKeyring(max(minKeys, 2*cfg.MaxStreams)), repeats: rp, limits: s.limits, senders: s.senders,
			catalogue: s.catalogue, tasks: cfg.Tasks, runner: s.runner,
		},
	}
	s.Report(&en.turns.frame)
	native := s.serveRoutes(en, cfg)
	if cfg.Tasks != nil {
		(&taskAPI{tasks: cfg.Tasks, forgets: cfg.Forget, isOpen: cfg.Door == nil, origins: origins, bodies: bodies, readers: en.readers, native: native}).addRoutes(s.routes)
	}
	if cfg.Tasks != nil && cfg.Conversations != nil {
		(&conversationAPI{journal: cfg.Conversations, tasks: cfg.Tasks, approvals: cfg.Approvals, isOpen: cfg.Door == nil, origins: origins, bodies: bodies}).addRoutes(s.routes)
	}
	if cfg.Tickets != nil {
		en.tickets.addRoutes(s.routes)
	}
}

// serveRoutes routes the paths of the dialects. It returns the encoder that the first route has
// for stored turns.
func (s *Server) serveRoutes(en *entrance, cfg *Config) (native func(dialect.StoredTurn) stream.Encoder) {
	all := cfg.Dialects
	if cfg.Channels != nil {
		all = append(slices.Clip(all), cfg.Channels)
	}
	for _, d := range all {
		for _, route := range d.Routes() {
			rt := newRouted(route)
			s.front.refuser.addShape(rt)
			s.front.origins.allowRoute(rt)
			if native == nil {
				native = rt.Resume
			}
			en.serveRoute(s.routes, rt)
		}
	}
	return native
}

// serveGateway routes the paths about the gateway itself, and its page.
func (s *Server) serveGateway(cfg *Config) {
	if cfg.Channels != nil {
		serveChannels(s.routes, cfg.Channels)
	}
	if cfg.Tasks != nil && cfg.Records != nil {
		(&recordAPI{tasks: cfg.Tasks, records: cfg.Records}).addRoutes(s.routes)
	}
	if cfg.Approvals != nil {
		(&approvalAPI{approvals: cfg.Approvals, tasks: cfg.Tasks, isOpen: cfg.Door == nil}).addRoutes(s.routes)
	}
	(&prober{
		probes: s.probes, origins: s.front.origins, bodies: s.front.bodies, limits: s.limits, senders: s.senders,
		heartbeat: cfg.Heartbeat, writeTimeout: cfg.WriteTimeout,
	}).addRoutes(s.routes)
	serveTools(s.routes, cfg.Tools)
	s.catalogue.addRoutes(s.routes)
	s.health.addRoutes(s.routes)
	serveMetrics(s.routes, cfg.Metrics)
	if cfg.Door != nil {
		serveIdentity(s.routes)
	}
	if cfg.Door != nil || cfg.Limiter != nil {
		s.front.origins.allowCredentials()
	}
	if cfg.Page != nil {
		servePage(s.routes, cfg.Page, cfg.Channels)
	}
}

// ServeHTTP makes Server an http.Handler. It calls the parts that every request passes, instead of
// wrapping one around another: the frames of wrappers lie on the stack of every open stream.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r = s.front.identifyRequest(w, r)
	tw := s.front.trackReply(w, r)
	closeResets(r, true)
	defer s.front.refuser.answerPanic(tw)
	s.front.sealReply(tw, r)
	if !s.front.isAnswered(tw, r) {
		s.routes.echo.ServeHTTP(tw, r)
	}
	tw.linger()
	closeResets(r, false)
}

// Admin returns the API for operators, for a listener of its own. It refuses requests that a
// browser sends for a page.
func (s *Server) Admin(o Operators) http.Handler {
	a := &admin{Operators: o, front: s.front, health: s.health, catalogue: s.catalogue, bodies: s.front.bodies, metrics: metricsHandler(s.metrics)}
	if s.senders.door != nil {
		a.Authorize, a.OnAction = s.senders.authorize, s.senders.auditAction
	}
	if a.OnAction == nil {
		a.OnAction = func(*http.Request, *access.Identity, string, string) {}
	}
	return a
}

// Report has the turns of a frame logged and counted like the turns of requests.
func (s *Server) Report(f *stream.Frame) { s.runner.reportFrame(f) }

// Rules returns all paths with their rules, for the test that each path has one.
func (s *Server) Rules() []Rule { return s.routes.listRules() }

// Drain makes readiness fail and refuses new streams. Running ones continue, but for those of
// GET /diag/sse, which end at once.
func (s *Server) Drain() {
	s.gate.drain()
	s.probes.drain()
}

// Abort ends the streams that still run, each with cause as its fatal error.
func (s *Server) Abort(cause error) { s.gate.abort(cause) }

// Wait returns when, after Drain, no stream runs any more, or with the error of ctx.
func (s *Server) Wait(ctx context.Context) error { return s.gate.awaitEmpty(ctx) }

// Close logs the remaining counts. It is called when no request is served any more.
func (s *Server) Close() {
	s.front.refuser.lines.Flush()
	s.limits.overLimit.Flush()
}
