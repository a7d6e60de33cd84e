// Package gateway wires the parts of a gateway together, listens and drains: one file
// for each capability. It is what command sluice starts.
//
// New makes the parts from the bottom up: MCP servers, models, the store,
// telemetry, the agent or the team, and the HTTP server on top, whose Config is
// the whole list of what there is. Listen adds the connections, Run waits, and
// the end goes the other way: new streams are refused, running ones may end,
// and each part is closed after those that use it.
//
// What a configuration file may change while the gateway runs is one immutable
// registry behind a pointer. A turn keeps the one it began with.
//
// Seams are for tests alone: they put a test's own transport, runner or store
// in place of the real one.
package gateway

import (
	"context"
	"net/http"
	"sync/atomic"

	"github.com/rs/zerolog"

	"sluice/handlers"
	"sluice/internal/app/process"
	"sluice/internal/app/providers"
	"sluice/internal/app/roster"
	"sluice/internal/app/settings"
	"sluice/internal/base/config"
	"sluice/internal/base/telemetry/health"
	"sluice/internal/base/telemetry/metrics"
	"sluice/internal/edge/access/limit"
	"sluice/internal/edge/dialect/channels"
	"sluice/internal/engine/agent"
	"sluice/internal/engine/approval"
	"sluice/internal/model"
	"sluice/internal/state/store"
	"sluice/web"
)

// Gateway is all that a running process holds behind its HTTP server, wired together.
//
// All fields but registry and file are set by New and stay as they are; what else changes
// later lies behind pointers of its own.
type Gateway struct {
	*commonParts
	server   *handlers.Server
	channels *channels.Channels
	models   *providers.Models
	tools    *serverTools
	started  settings.Config // as it was asked for
	contents
	entrance  *entrance
	limiter   *limit.Limiter // nil without limits
	state     *state         // nil without a store
	questions *questions
	agents    *agentMaker
	answerers *answererMaker
	tape      *turnTape
	serve     http.Handler
	telemetry *telemetrySender
}

// contents are what answers turns. They change when the file is read again.
type contents struct {
	// alone answers where there are no agents, with the built-in one, and registry is what the
	// file says of them, and of how answers are checked.
	alone     *answerer
	assistant *agent.Agent
	registry  atomic.Pointer[registry]
	// answerForms asks for structured answers.
	answerForms *providers.AnswerForms
	roster      *roster.Roster
	file        settings.Config // of the registry; the lock of roster guards it
}

// New starts everything behind the HTTP server. ctx is the process's lifetime:
// children and sessions end with it. The caller must call Close. A fault in what cfg
// says of MCP servers is a *config.Error.
//
// What was opened before an error is closed again. The order is that of dependence;
// settings that are corrected on the way (the place of todos) are in g.cfg, while started
// keeps what was asked for, to which a reload is compared.
func New(ctx context.Context, cfg settings.Config, log zerolog.Logger, with Seams) (_ *Gateway, err error) {
	c := &commonParts{cfg: cfg, log: process.OwnLogger(log), metrics: metrics.New(), health: new(health.Registry), seams: with}
	g := &Gateway{commonParts: c, started: cfg}
	defer func() {
		if err != nil {
			g.Close()
		}
	}()
	if err := g.openParts(ctx); err != nil {
		return nil, err
	}
	g.channels = channels.New(cfg.Forms(), cfg.Style, checksOf(cfg))
	g.agents = &agentMaker{c, g.models, g.tools, g.questions, g.state}
	g.answerers = &answererMaker{g.tape, g.tools, g.state, cfg.TurnTokens, c.countsAll()}
	g.assistant, g.answerForms = g.agents.newAssistant(), providers.NewAnswerForms(g.models)
	g.alone = g.answerers.newAnswerer(with.budgeted(cfg.TurnTokens, g.assistant), g.questions.withQuestions)
	server := g.serverConfig(log)
	g.openRoster(cfg)
	g.server = handlers.NewServer(server)
	g.serve = g.tape.handler(g.server, g.state != nil)
	g.openTakeover() // turns of other processes report to the server
	g.roster.Settle(ctx)
	return g, nil
}

// openParts opens what agents stand on, from the bottom up: a part may use those before it.
func (g *Gateway) openParts(ctx context.Context) (err error) {
	g.tape = openTape(g.commonParts)
	if g.entrance, err = openEntrance(g.commonParts); err != nil {
		return err
	}
	if g.tools, err = connectTools(ctx, g.commonParts, g.tape); err != nil {
		return err
	}
	gate := new(modelGate)
	if g.models, err = openModels(ctx, g.commonParts, g.tape, gate); err != nil {
		return err
	}
	if g.state, err = openState(ctx, g.cfg, g.log, g.metrics, g.seams); err != nil {
		return err
	}
	g.limiter = openLimits(g.commonParts, g.state)
	gate.limiter = g.limiter
	g.tools.start(ctx, g.commonParts, g.state)
	g.watch()
	g.health.Add(g.state.checkers()...)
	if g.telemetry, err = startTelemetry(g.commonParts); err != nil {
		return err
	}
	g.questions, err = openQuestions(g.commonParts, g.state, g.tools)
	return err
}

// serverConfig returns all that the HTTP server is given. log is the process's whole one:
// requests have loggers of their own.
func (g *Gateway) serverConfig(log zerolog.Logger) handlers.Config {
	cfg := &g.started
	server := settings.Of[handlers.Config](cfg)
	server.Runner, server.Choose, server.Model = g.alone.whole, g.choose, g.Model()
	server.Retracts = g.canRetract()
	server.Tools, server.TokensByModel = g.tools.client.Tools, len(cfg.Models) > 0
	server.Health, server.Metrics, server.Tracer = g.health, g.metrics, g.telemetry.tracer()
	server.Tasks, server.Records, server.Forget = g.state.keeper(), g.state.records(), g.state.forgetters()
	server.StoreRequired = settings.Of[store.Config](cfg).Required
	server.Approvals, server.Door, server.Client = g.questions.service, g.entrance.httpDoor(), g.entrance.clientOf
	server.Limiter = requestLimits(g.limiter, g.entrance.peers)
	server.Sealed = server.Sealed || server.Door != nil
	server.Tickets = approval.NewTickets(settings.Of[approval.Config](cfg).Keys)
	server.Dialects, server.Channels, server.Page = g.newDialects(), g.channels, web.Files()
	server.Delay = process.AdmissionDelay(settings.Of[handlers.Policy](cfg).Admission == handlers.Count)
	server.Log, server.LogPayloads = log, settings.Of[settings.Logging](cfg).Payloads
	if cfg.HasFile() || settings.Of[settings.Process](cfg).AdminAddr != "" {
		server.Team = g.team
	}
	if cfg.HasFile() {
		server.Workflows = func(tenant string) []handlers.Workflow { return g.registry.Load().of(tenant).flows.described }
	}
	return server
}

// Config returns the settings as they are in use: the place of the todos and the limits may
// differ from what was asked for.
func (g *Gateway) Config() config.Config { return g.cfg.Config }

// Model names the model.
func (g *Gateway) Model() string { return g.models.Link(model.DefaultKey).Name() }

// Offline says whether the offline model is in use, by one model at least.
func (g *Gateway) Offline() bool { return g.models.Offline() }

// HasTodos says whether the built-in todo server is in use.
func (g *Gateway) HasTodos() bool { return g.tools.todos != nil }

// ServeHTTP answers a request of a client.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) { g.serve.ServeHTTP(w, r) }

// Close ends everything behind the HTTP server; no stream may run any more.
//
// It works on a Gateway that New has made half of. The order is the opposite of New's; the
// telemetry is sent first, while what it measures is still there.
func (g *Gateway) Close() {
	g.telemetry.flush(process.FlushTime)
	if g.server != nil {
		g.server.Close()
	}
	g.entrance.close()
	g.limiter.Close()
	g.roster.Close()
	g.state.close()
	g.tools.close()
	if g.models != nil {
		g.models.Close()
	}
	g.tape.close()
}

// Rules returns the paths that are served and who may use them, for what proves that each has a
// rule.
func (g *Gateway) Rules() []handlers.Rule { return g.server.Rules() }
