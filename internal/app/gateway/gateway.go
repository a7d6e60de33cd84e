// Package gateway wires the parts of a gateway together, listens and drains: one file
// for each capability. It is what command sluice starts.
//
// New starts the parts from the bottom up, and hands each part to the parts above it: MCP
// servers, models, the store, telemetry, the agents, the team, and the HTTP server on top.
// Reload (in reload.go) replaces the team while the gateway runs. Close closes each part
// after the parts that use it. Listen and Run (in http.go) add the connections.
//
// A configuration file becomes one immutable registry behind a pointer (liveTeam). A turn
// ends with the registry that it began with.
//
// Seams are for tests alone: they put a test's own transport, runner or store
// in place of the real one.
package gateway

import (
	"context"
	"net/http"

	"github.com/rs/zerolog"

	"sluice/handlers"
	"sluice/internal/app/process"
	"sluice/internal/app/providers"
	"sluice/internal/app/settings"
	"sluice/internal/base/telemetry/health"
	"sluice/internal/base/telemetry/metrics"
	"sluice/internal/edge/access/limit"
	"sluice/internal/edge/dialect/channels"
	"sluice/internal/engine/approval"
	"sluice/internal/state/store"
	"sluice/web"
)

// Gateway is a started gateway: the parts that answer requests, change on a reload, or are closed.
type Gateway struct {
	*commonParts
	started   settings.Config // as it was asked for
	tape      *turnTape
	entrance  *entrance
	tools     *serverTools
	models    *providers.Models
	state     *storedState   // nil without a store
	limiter   *limit.Limiter // nil without limits
	telemetry *telemetrySender
	questions *questionMaker
	chooser   *chooser
	team      *liveTeam
	channels  *channels.Channels
	server    *handlers.Server
	serve     http.Handler
}

// New starts everything behind the HTTP server. ctx is the process's lifetime:
// children and sessions end with it. The caller must call Close. A fault in what cfg
// says of MCP servers is a *config.Error.
//
// On an error it closes the parts that it has opened. The order is that of dependence. g.cfg has
// the settings as they were corrected on the way, such as the place of todos. started keeps the
// requested ones, for a reload to compare.
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
	g.chooser = g.newChooser()
	g.team = g.chooser.team
	server := g.serverConfig(log)
	g.team.openTeam(cfg, c, g.tape, g.state)
	g.server = handlers.NewServer(server)
	g.serve = g.tape.recordedHandler(g.server, g.state != nil)
	turns := &continuer{g.chooser, g.limiter, g.server}
	turns.openTakeover() // turns of other processes report to the server
	g.team.roster.AwaitCards(ctx)
	return g, nil
}

// openParts opens the parts below the agents, from the bottom up: a part may use those before it.
func (g *Gateway) openParts(ctx context.Context) (err error) {
	c := g.commonParts
	g.tape = openTape(c)
	if g.entrance, err = openEntrance(c); err != nil {
		return err
	}
	if g.tools, err = connectTools(ctx, c, g.tape); err != nil {
		return err
	}
	gate := new(modelGate)
	if g.models, err = openModels(ctx, c, g.tape, gate); err != nil {
		return err
	}
	if g.state, err = openState(ctx, c.cfg, c.log, c.metrics, c.seams); err != nil {
		return err
	}
	g.limiter = openLimits(c, g.state)
	gate.limiter = g.limiter
	g.tools.startTools(ctx, c, g.state)
	watchParts(c, g.models, g.tools.client)
	c.health.Add(g.state.healthParts()...)
	if g.telemetry, err = startTelemetry(c); err != nil {
		return err
	}
	g.questions, err = openQuestions(c, g.state, g.tools)
	return err
}

// newChooser makes the parts that answer requests: agents, workflows, checks and the team.
func (g *Gateway) newChooser() *chooser {
	c := g.commonParts
	agents := &agentMaker{c, g.models, g.tools, g.questions, g.state}
	answerers := &answererMaker{g.tape, g.tools, g.state, c.cfg.TurnTokens, c.countsAll()}
	flows := &flowMaker{agents, answerers, g.telemetry.spanTracer()}
	checks := &qualityMaker{c, g.models, g.tools, g.tape}
	assistant := agents.newAssistant()
	return &chooser{
		team:  &liveTeam{maker: &registryMaker{flows, checks, providers.NewAnswerForms(g.models), assistant}, log: c.log},
		flows: flows,
		alone: answerers.newAnswerer(c.seams.withBudget(c.cfg.TurnTokens, assistant), g.questions.withQuestions),
	}
}

// serverConfig returns the parts that the HTTP server gets. log is the log of the whole process:
// requests have loggers of their own.
func (g *Gateway) serverConfig(log zerolog.Logger) handlers.Config {
	cfg := &g.started
	server := settings.Of[handlers.Config](cfg)
	server.Runner, server.Choose, server.Model = g.chooser.alone.unchecked, g.chooser.chooseRunner, defaultModel(g.models)
	server.Retracts = g.canRetract()
	server.Tools, server.TokensByModel = g.tools.client.Tools, len(cfg.Models) > 0
	server.Health, server.Metrics, server.Tracer = g.health, g.metrics, g.telemetry.spanTracer()
	server.Tasks, server.Records, server.Forget = g.state.taskService(), g.state.recordsOf(), g.state.forgetters()
	server.Conversations = g.state.conversations()
	server.StoreRequired = settings.Of[store.Config](cfg).Required
	server.Approvals, server.Door, server.Client = g.questions.service, g.entrance.httpDoor(), g.entrance.clientOf
	server.Limiter = requestLimits(g.limiter, g.entrance.peers)
	server.Sealed = server.Sealed || server.Door != nil
	server.Tickets = approval.NewTickets(settings.Of[approval.Config](cfg).Keys)
	server.Dialects = newDialects(g.commonParts, g.state, g.team, g.questions.service)
	server.Channels, server.Page = g.channels, web.Files()
	server.Delay = process.AdmissionDelay(settings.Of[handlers.Policy](cfg).Admission == handlers.Count)
	server.Log, server.LogPayloads = log, settings.Of[settings.Logging](cfg).Payloads
	if cfg.HasFile() || settings.Of[settings.Process](cfg).AdminAddr != "" {
		server.Team = g.team.teamOf
	}
	if cfg.HasFile() {
		server.Workflows = g.team.flowsOf
	}
	return server
}

// ServeHTTP answers a request of a client.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) { g.serve.ServeHTTP(w, r) }

// Close ends everything behind the HTTP server; no stream may run any more.
//
// It works on a Gateway that New has made half of. The order is the opposite of New's, but the
// telemetry is sent first, while the measured parts still exist.
func (g *Gateway) Close() {
	g.telemetry.flushPending(process.FlushTime)
	if g.server != nil {
		g.server.Close()
	}
	g.entrance.close()
	g.limiter.Close()
	g.team.close()
	g.state.close()
	g.tools.close()
	if g.models != nil {
		g.models.Close()
	}
	g.tape.close()
}
