package gateway

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"sync"

	"sluice/handlers"
	"sluice/internal/app/providers"
	"sluice/internal/app/settings"
	"sluice/internal/edge/access/limit"
	"sluice/internal/engine/router"
	"sluice/internal/state/store"
	"sluice/internal/state/task"
	"sluice/mcpclient"
	"sluice/stream"
)

// What the tests of the wiring look at that nobody else may see.

func (g *Gateway) HTTP() *handlers.Server     { return g.server }
func (g *Gateway) Links() *providers.Models   { return g.models }
func (g *Gateway) Settings() *settings.Config { return &g.cfg }
func (g *Gateway) Sources() *mcpclient.Client { return g.tools.client }
func (g *Gateway) Started() settings.Config   { return g.started }
func (g *Gateway) Store() store.Store         { return g.state.store }
func (g *Gateway) Tasks() *task.Service       { return g.state.tasks }

// SharingOf says how limits hold with a store at a location, which the gateway opened itself if it
// is owned.
func SharingOf(at store.Location, in store.Store, owned bool) limit.Sharing {
	s := storedState{store: in, owned: owned, tasks: task.New(task.Config{Store: in})}
	defer s.tasks.Close()
	return s.limitSharing(at)
}

// Admin is what operators reach.
func (g *Gateway) Admin() http.Handler {
	return g.server.Admin(handlers.Operators{Agents: g.team})
}

// TeamVersion is what clients receive of who answers.
func (g *Gateway) TeamVersion() string { return g.team.registry.Load().described.Version }

// Team is who answers now. Two calls return the same if nothing has changed.
func (g *Gateway) Team() any { return g.team.registry.Load() }

// BareFlow runs a workflow of the file, without what stands around it.
func (g *Gateway) BareFlow(name string) stream.Runner {
	return g.team.registry.Load().flows.byName[name].bare
}

// FlowSum is the checksum of a workflow of the file.
func (g *Gateway) FlowSum(name string) string { return g.team.registry.Load().flows.byName[name].sum }

// AgentsOfRun is the agents' settings that a run continues with.
func (g *Gateway) AgentsOfRun(ctx context.Context, id string) (map[string]router.AgentSpec, error) {
	run, err := g.state.runs.Load(ctx, id)
	if err != nil {
		return nil, err
	}
	flow, err := g.chooser.flowOf(run.Workflow())
	if err != nil {
		return nil, err
	}
	if _, sum := run.Workflow().Stored(); flow.sum != sum {
		return nil, fmt.Errorf("the run has %s, the gateway %s", sum, flow.sum)
	}
	agents, err := g.chooser.flows.agentsOf(run.Workflow(), g.team.registry.Load().flows)
	if err != nil {
		return nil, err
	}
	return agents.specs, nil
}

// FillRoom occupies the room for runs; free makes room for one.
func (g *Gateway) FillRoom() (free func()) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for {
		leave, err := g.state.runs.Enter(ctx)
		if err != nil {
			return free
		}
		free = leave
	}
}

// Crowd lets as many wait for room as may, until dismiss is called. There is no room.
func (g *Gateway) Crowd() (dismiss func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var waiting sync.WaitGroup
	for g.state.runs.Admit() == nil {
		waiting.Go(func() { _, _ = g.state.runs.Enter(ctx) })
		runtime.Gosched()
	}
	return func() {
		cancel()
		waiting.Wait()
	}
}
