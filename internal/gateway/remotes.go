// This file keeps remote agents (A2A) over reloads: their cards,
// connections and breakers. It is also where registries are made and swapped, because a new
// card changes the team. One lock (making) covers that, so that two causes never make
// registries at once.

package gateway

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"time"

	"sluice/a2aclient"
	"sluice/breaker"
	"sluice/handlers"
	"sluice/router"
	"sluice/store/memory"
)

// settleTime is how long the start, and a reload, wait for cards, so that the first request
// afterwards finds the agents that are available.
const settleTime = time.Second

// remotes are the remote agents of all registries. One that did
// not change keeps its card over a reload. nil: there are none yet.
//
// The lock is held while a registry is made; no turn ever waits for it.
type remotes struct {
	gateway   *Gateway
	transport http.RoundTripper

	// making is held while a registry is made and taken over. It guards what follows.
	making   sync.Mutex
	file     Config
	agents   map[string]*remote
	breakers map[string]*breaker.Breaker // they outlive what they guard
	extra    []router.AgentSpec          // that were added
	closed   bool
	ending   sync.WaitGroup // agents that nobody has any more

	added added
	stop  context.CancelFunc // of what follows the store
}

// remote is an agent, and what it was made of.
type remote struct {
	*a2aclient.Agent
	spec router.Remote
}

// openRemotes makes the first registry.
//
// With a store and a file the list of added agents is read once before the first registry,
// so that they are there when the gateway starts to answer.
func (g *Gateway) openRemotes(file Config) {
	m := &remotes{gateway: g, transport: g.with.Agents, agents: map[string]*remote{}, breakers: map[string]*breaker.Breaker{}}
	if m.transport == nil {
		m.transport = a2aclient.NewTransport(nil)
	}
	m.transport = g.with.taped(m.transport, nil, "an agent that is somewhere else")
	g.remotes = m
	var ctx context.Context
	ctx, m.stop = context.WithCancel(context.Background())
	m.added.busy = make(chan struct{}, 1)
	m.added.values = memory.New(memory.Config{})
	if g.state != nil && (g.cfg.HasFile() || g.cfg.AdminAddr != "") {
		m.added.values = g.state.store
		m.read(ctx)
		m.ending.Go(func() { m.follow(ctx) })
	}
	m.takeOver(file)
	for _, a := range file.Team.Agents {
		if b := m.breakers[a.ID]; b != nil {
			g.health.Add(b)
		}
	}
}

// takeOver makes the registry of a file, which new turns use from now on. It returns the registry
// before it, nil at the start, and the new one.
func (m *remotes) takeOver(file Config) (before, now *registry) {
	m.making.Lock()
	m.file = file
	before, now = m.remake()
	m.making.Unlock()
	if before != nil {
		m.settle(context.Background())
	}
	return before, now
}

// changed makes a new registry from what a card says now.
//
// It is called by an agent's own goroutine whenever its card says something else.
func (m *remotes) changed() {
	m.making.Lock()
	defer m.making.Unlock()
	if !m.closed {
		m.remake()
	}
}

// remake is takeOver under the lock. Agents that are no longer in use are closed.
//
// The caller holds making. Closing runs beside it, and close waits for that.
func (m *remotes) remake() (before, now *registry) {
	now = m.gateway.newRegistry(m.whole())
	before = m.gateway.registry.Swap(now)
	for id, a := range m.agents {
		if now.remotes[id] != a.Agent {
			delete(m.agents, id)
			m.ending.Go(a.Close)
		}
	}
	return before, now
}

// whole returns the file with the agents that were added. Those of the file come first, and
// win over one that was added with the same id.
func (m *remotes) whole() Config {
	file := m.file
	file.Team.Agents = slices.Clone(file.Team.Agents)
	for _, a := range m.extra {
		same := func(b router.AgentSpec) bool { return a.ID == b.ID }
		if len(file.Team.Agents) < maxAgents && !slices.ContainsFunc(file.Team.Agents, same) {
			file.Team.Agents = append(file.Team.Agents, a)
		}
	}
	return file
}

// of returns specs with what the cards of remote agents add, and the agents. The caller
// holds the lock.
func (m *remotes) of(specs []router.AgentSpec) ([]router.AgentSpec, map[string]*a2aclient.Agent) {
	var agents map[string]*a2aclient.Agent
	all := append([]router.AgentSpec(nil), specs...)
	for i := range all {
		a := &all[i]
		if a.Remote == nil {
			continue
		}
		if agents == nil {
			agents = map[string]*a2aclient.Agent{}
		}
		agents[a.ID] = m.agent(a)
		texts := agents[a.ID].Texts()
		if a.Name == "" {
			a.Name = texts.Name
		}
		if len(a.Capabilities) == 0 {
			a.Capabilities = texts.Capabilities
		}
		if len(a.Examples) == 0 {
			a.Examples = texts.Examples
		}
	}
	return all, agents
}

// agent returns the agent of a spec: the existing one, if its spec did not change.
//
// A breaker stays with the id, so that a changed header does not close an open one.
func (m *remotes) agent(spec *router.AgentSpec) *a2aclient.Agent {
	if a := m.agents[spec.ID]; a != nil {
		if reflect.DeepEqual(a.spec, *spec.Remote) {
			return a.Agent
		}
		m.ending.Go(a.Close)
	}
	g := m.gateway
	guard := m.breakers[spec.ID]
	if guard == nil {
		guard = newBreaker(a2aclient.Service(spec.ID), g.cfg.A2ABreaker, g.log)
		m.breakers[spec.ID] = guard
	}
	a := a2aclient.New(a2aclient.Config{
		ID: spec.ID, Card: spec.Remote.Card, Header: spec.Remote.Header(), NoStreaming: spec.Remote.NoStreaming, Refresh: spec.Remote.Refresh,
		Transport: m.transport, Breaker: guard, Log: g.log, Changed: m.changed,
	})
	m.agents[spec.ID] = &remote{Agent: a, spec: *spec.Remote}
	return a
}

// settle waits a while until each card was asked for.
//
// It does not say whether a card came.
func (m *remotes) settle(ctx context.Context) {
	m.making.Lock()
	var tried []<-chan struct{}
	for _, a := range m.agents {
		tried = append(tried, a.Tried())
	}
	m.making.Unlock()
	if len(tried) == 0 {
		return
	}
	limit := time.NewTimer(settleTime)
	defer limit.Stop()
	for _, t := range tried {
		select {
		case <-t:
		case <-limit.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// close ends what the agents do. It works on nil.
//
// It returns when all of them have ended.
func (m *remotes) close() {
	if m == nil {
		return
	}
	m.stop()
	m.making.Lock()
	m.closed = true
	for id, a := range m.agents {
		delete(m.agents, id)
		m.ending.Go(a.Close)
	}
	m.making.Unlock()
	m.ending.Wait()
	if t, ok := m.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// team returns what GET /agents answers at this moment.
//
// The registry's own value is copied before it is changed.
func (g *Gateway) team() *handlers.Team {
	r := g.registry.Load()
	if len(r.remotes) == 0 {
		return r.told
	}
	told := *r.told
	told.Agents = append([]handlers.TeamAgent(nil), told.Agents...)
	for i := range told.Agents {
		if a := r.remotes[told.Agents[i].ID]; a != nil {
			told.Agents[i].Available = a.Available()
		}
	}
	return &told
}
