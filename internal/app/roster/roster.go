// Package roster has the members of a team: the agents of the configuration file, and those that
// operators add while gateways run. It keeps remote agents (A2A) over changes of the team: their
// cards, connections and breakers.
//
// One lock covers the making and the use of a team. A changed card changes the team too, and two
// causes must never make teams at once.
//
// The verbs: read and change (the shared list), accept (a list), make (a team), close (an agent).
package roster

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"sluice/breaker"
	"sluice/internal/base/telemetry/health"
	"sluice/internal/engine/agent/remote"
	"sluice/internal/engine/router"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/internal/turn/chat"
)

// settleTime is how long the start, and a change, wait for cards, so that the first request
// afterwards finds the agents that are available.
const settleTime = time.Second

// Team has the agents that may answer.
type Team struct {
	// Written are the agents as they were written: those of the file, then those that were added.
	// Agents are the same, completed by the cards of remote ones.
	Written, Agents []router.AgentSpec
	Remotes         map[string]*remote.Agent // by id
}

// Config has the parts of a Roster.
type Config struct {
	// Values have the list of the agents that are added, for all processes that share them.
	// nil: this process has a list of its own.
	Values    store.Values
	Transport http.RoundTripper // to agents
	Foreign   http.RoundTripper // to where cards lead
	Breaker   breaker.Config    // of each remote agent
	Log       zerolog.Logger
	// Changed is called with a team that differs, under the lock: because the list of added
	// agents does (listed), or because a card does.
	Changed func(team Team, listed bool)
}

// Roster has the agents of the team now. A remote agent that did not change keeps its card when the
// team changes. It is safe for concurrent use; nil is one without agents that can be closed.
//
// The lock is held while a team is made and used; no turn ever waits for it.
type Roster struct {
	cfg Config

	making   sync.Mutex // guards what follows
	begun    bool       // a team was used
	file     []router.AgentSpec
	agents   map[string]*remoteAgent
	breakers map[string]*breaker.Breaker // they outlive the agents that they guard
	extra    []router.AgentSpec          // that were added
	closed   bool
	ending   sync.WaitGroup // agents that nobody has any more, and follow

	added added
	stop  context.CancelFunc // of follow
}

// remoteAgent is an agent with the spec that it was made of.
type remoteAgent struct {
	*remote.Agent
	spec router.Remote
}

// New returns a Roster without agents, which Use gives it. The caller must call Close.
//
// A shared list of added agents is read once before that, so that they are there when the
// gateway starts to answer, and followed from then on.
func New(cfg Config) *Roster {
	r := &Roster{cfg: cfg, agents: map[string]*remoteAgent{}, breakers: map[string]*breaker.Breaker{}}
	var ctx context.Context
	ctx, r.stop = context.WithCancel(context.Background())
	r.added.busy = make(chan struct{}, 1)
	r.added.values = cfg.Values
	if cfg.Values == nil {
		r.added.values = memory.New(memory.Config{})
		return r
	}
	r.readShared(ctx)
	// Goroutine (follow): reads the list of agents that operators add, when it changes.
	// Ends: `Close`.
	// Waits: `Close`.
	r.ending.Go(func() { r.followList(ctx) })
	return r
}

// Use makes the team of a file, which use is called with under the lock. But for the first
// one it waits until the cards of remote agents were asked for.
func (r *Roster) Use(file []router.AgentSpec, use func(Team)) {
	r.making.Lock()
	first := !r.begun
	r.file, r.begun = file, true
	r.makeTeam(use)
	r.making.Unlock()
	if !first {
		r.AwaitCards(context.Background())
	}
}

// cardChanged makes a new team after a card has changed.
//
// It is called by an agent's own goroutine whenever its card says something else.
func (r *Roster) cardChanged() {
	r.making.Lock()
	defer r.making.Unlock()
	if !r.closed {
		r.makeTeam(func(t Team) { r.cfg.Changed(t, false) })
	}
}

// makeTeam makes a team and has it used. It closes agents that are not in the team any more.
//
// The caller holds the lock. Closing runs for itself, and Close waits for that.
func (r *Roster) makeTeam(use func(Team)) {
	written := r.allAgents()
	t := Team{Written: written}
	t.Agents, t.Remotes = r.withCards(written)
	use(t)
	for id, a := range r.agents {
		if t.Remotes[id] != a.Agent {
			delete(r.agents, id)
			// Goroutine (end of an agent that a reload has removed): closes it.
			// Ends: it is closed.
			// Waits: `Close`.
			r.ending.Go(a.Close)
		}
	}
}

// allAgents returns the agents of the file and those that were added. Those of the file come first,
// and win over added ones with the same id.
func (r *Roster) allAgents() []router.AgentSpec {
	all := slices.Clone(r.file)
	for _, a := range r.extra {
		same := func(b router.AgentSpec) bool { return a.ID == b.ID }
		if len(all) < maxAgents && !slices.ContainsFunc(all, same) {
			all = append(all, a)
		}
	}
	return all
}

// withCards returns specs completed by the cards of remote agents, and these agents. The caller
// holds the lock.
func (r *Roster) withCards(specs []router.AgentSpec) ([]router.AgentSpec, map[string]*remote.Agent) {
	var agents map[string]*remote.Agent
	all := append([]router.AgentSpec(nil), specs...)
	for i := range all {
		a := &all[i]
		if a.Remote == nil {
			continue
		}
		if agents == nil {
			agents = map[string]*remote.Agent{}
		}
		agents[a.ID] = r.agentOf(a)
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

// agentOf returns the agent of a spec: the existing one, if its spec did not change.
//
// A breaker stays with the id, so that a changed header does not close an open one.
func (r *Roster) agentOf(spec *router.AgentSpec) *remote.Agent {
	if a := r.agents[spec.ID]; a != nil {
		if reflect.DeepEqual(a.spec, *spec.Remote) {
			return a.Agent
		}
		// Goroutine (end of an agent that has changed): closes it; another one has its place.
		// Ends: it is closed.
		// Waits: `Close`.
		r.ending.Go(a.Close)
	}
	guard := r.breakers[spec.ID]
	if guard == nil {
		guard = breaker.Of(remote.Service(spec.ID), r.cfg.Breaker, chat.TurnKeyOf, r.cfg.Log)
		r.breakers[spec.ID] = guard
	}
	a := remote.New(remote.Config{
		ID: spec.ID, Card: spec.Remote.Card, Header: spec.Remote.Header(), NoStreaming: spec.Remote.NoStreaming, Refresh: spec.Remote.Refresh,
		Interfaces: spec.Remote.Interfaces, Transport: r.cfg.Transport, Foreign: r.cfg.Foreign, Breaker: guard, Log: r.cfg.Log, Changed: r.cardChanged,
	})
	r.agents[spec.ID] = &remoteAgent{Agent: a, spec: *spec.Remote}
	return a
}

// AwaitCards waits a while until each card has been requested.
//
// It does not say whether a card came.
func (r *Roster) AwaitCards(ctx context.Context) {
	r.making.Lock()
	var tried []<-chan struct{}
	for _, a := range r.agents {
		tried = append(tried, a.Tried())
	}
	r.making.Unlock()
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

// Available says whether each remote agent can be asked.
func (r *Roster) Available() bool {
	r.making.Lock()
	defer r.making.Unlock()
	for _, a := range r.agents {
		if !a.Available() {
			return false
		}
	}
	return true
}

// Breakers returns the breakers of the file's remote agents.
func (r *Roster) Breakers() (parts []health.Checker) {
	r.making.Lock()
	defer r.making.Unlock()
	for _, a := range r.file {
		if b := r.breakers[a.ID]; b != nil {
			parts = append(parts, b)
		}
	}
	return parts
}

// Close ends the work of the agents, and returns when all of them have ended.
func (r *Roster) Close() {
	if r == nil {
		return
	}
	r.stop()
	r.making.Lock()
	r.closed = true
	for id, a := range r.agents {
		delete(r.agents, id)
		// Goroutine (end of each agent): closes it, alongside the others.
		// Ends: it is closed.
		// Waits: `Close`.
		r.ending.Go(a.Close)
	}
	r.making.Unlock()
	r.ending.Wait()
	for _, t := range []http.RoundTripper{r.cfg.Transport, r.cfg.Foreign} {
		if t, ok := t.(interface{ CloseIdleConnections() }); ok {
			t.CloseIdleConnections()
		}
	}
}
