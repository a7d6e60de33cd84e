package gateway

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"sluice/agent"
	"sluice/chat"
	"sluice/handlers"
	"sluice/model"
	"sluice/router"
	"sluice/stream"
)

// registry is the team of one reading of the configuration file. It never changes: a
// turn that has begun with it ends with it.
type registry struct {
	spec   router.Spec
	runner stream.Runner // nil: there are no agents
	team   *router.Team
	told   *handlers.Team
	single time.Duration // of a turn of one agent by itself
	flows  workflows
}

// newRegistry makes the agents of a file, and the team that they are.
func (g *Gateway) newRegistry(file Config) *registry {
	spec := file.Team
	r := &registry{spec: spec.Settled(), single: g.cfg.RequestTimeout}
	r.told = r.tell()
	r.flows = g.newWorkflows(file.Workflows, spec.Agents)
	if len(spec.Agents) == 0 {
		return r
	}
	cfg := r.spec.Config
	cfg.Asker = &asker{models: g.models}
	cfg.Metrics, cfg.LogPayloads = g.metrics, g.cfg.LogPayloads
	for _, a := range r.spec.Agents {
		member := routed(a)
		member.Runner = g.member(a)
		cfg.Agents = append(cfg.Agents, member)
	}
	r.team = router.New(cfg)
	r.runner = g.asking(model.Budgeted{Runner: teamRunner{r.team, len(g.cfg.Models) > 0}, Tokens: g.cfg.TurnTokens})
	return r
}

// routed returns an agent as the router sees it; it lacks its Runner.
func routed(a router.AgentSpec) router.Agent {
	return router.Agent{
		ID: a.ID, Name: a.Name, Description: a.Description, Capabilities: a.Capabilities, Examples: a.Examples,
		Hidden: a.Hidden, Timeout: a.Timeout,
	}
}

// member returns the agent that a file describes.
func (g *Gateway) member(a router.AgentSpec) *agent.Agent { return agent.New(g.memberConfig(a)) }

func (g *Gateway) memberConfig(a router.AgentSpec) agent.Config {
	cfg := g.agentConfig()
	cfg.Model = g.models.Link(a.Model)
	cfg.Tools = g.tools.Select(a.Tools)
	cfg.Prompt, cfg.Role = a.Prompt, a.Role
	cfg.Temperature, cfg.MaxTokens = a.Temperature, a.MaxTokens
	cfg.MaxSteps = a.MaxSteps
	return cfg
}

// teamRunner runs the turns of a team.
type teamRunner struct {
	team  *router.Team
	keyed bool // models are configured by key
}

// Run implements stream.Runner.
func (r teamRunner) Run(ctx context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
	ctx, own, err := withShared(ctx, req)
	if err != nil {
		return stream.Result{}, err
	}
	result, err := r.team.Run(sharing(ctx), own, sink)
	result.Keyed = r.keyed
	return result, err
}

// choose returns what answers a request, and within which time.
func (g *Gateway) choose(req *chat.Request) (stream.Runner, time.Duration, error) {
	r := g.registry.Load()
	if req.Resumed != nil {
		runner, err := g.choosePaused(r, req)
		if f, ok := runner.(*flow); ok {
			return f.runner, f.timeout, err
		}
		return runner, r.timeout(req), err
	}
	if req.Workflow != "" {
		f := r.flows.byName[req.Workflow]
		if f == nil {
			return nil, 0, handlers.UnknownWorkflow()
		}
		return f.runner, f.timeout, nil
	}
	switch {
	case req.Agent != "" && (r.team == nil || !r.team.Knows(req.Agent)):
		return nil, 0, handlers.UnknownAgent()
	case r.team == nil:
		return g.alone, r.single, nil
	}
	return r.runner, r.timeout(req), nil
}

// timeout returns how long the turn of a request may take.
func (r *registry) timeout(req *chat.Request) time.Duration {
	if r.team == nil || req.Agent != "" || len(r.spec.Agents) == 1 {
		return r.single
	}
	return r.spec.TurnTimeout
}

// tell returns what GET /agents tells.
func (r *registry) tell() *handlers.Team {
	t := &handlers.Team{Agents: []handlers.TeamAgent{}, Version: r.version()}
	for _, a := range r.spec.Agents {
		t.Agents = append(t.Agents, handlers.TeamAgent{
			ID: a.ID, Name: cmp.Or(a.Name, a.ID), Description: a.Description,
			Capabilities: list(a.Capabilities), Examples: list(a.Examples), Tools: list(a.Tools),
			Kind: "local", Routable: !a.Hidden, Available: true, Model: cmp.Or(a.Model, model.DefaultKey),
		})
	}
	if c := &r.spec.Config; len(t.Agents) > 0 && !c.Off {
		t.Router = &handlers.TeamRouter{Model: cmp.Or(c.Model, model.DefaultKey), Threshold: c.Threshold}
	}
	return t
}

// list is never null in JSON.
func list(texts []string) []string { return append([]string{}, texts...) }

// version is equal for files that say the same of their teams.
func (r *registry) version() string {
	text, err := json.Marshal(r.spec)
	if err != nil { // plain values: cannot happen
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}

func (r *registry) ids() (ids []string) {
	for _, a := range r.spec.Agents {
		ids = append(ids, a.ID)
	}
	return ids
}

// asker is a router.Asker over the models of the gateway.
type asker struct {
	models *Models

	mu     sync.Mutex // guards the fields below
	asked  string     // the text of the last schema: it changes with who can be chosen
	schema *model.Schema
}

// Ask implements router.Asker.
func (a *asker) Ask(ctx context.Context, q *router.Question) (router.Reply, error) {
	schema, err := a.compiled(q)
	if err != nil {
		return router.Reply{}, err
	}
	req := chat.ModelRequest{
		System:      q.System,
		Messages:    []chat.Message{{Role: chat.RoleUser, Parts: []chat.Part{{Text: q.User}}}},
		Step:        1,
		Temperature: q.Temperature,
		MaxTokens:   q.MaxTokens,
		Thinking:    q.Thinking,
	}
	got, err := a.models.Forms().Ask(ctx, a.models.Link(q.Model), &req, schema, model.AskOptions{Attempts: q.MaxAttempts, Lenient: true})
	reply := router.Reply{JSON: got.JSON, Usage: got.Usage, Attempts: got.Attempts, Model: cmp.Or(got.Key, model.DefaultKey)}
	reply.Unreadable = max(reply.Attempts-1, 0)
	if invalid, ok := errors.AsType[*model.Invalid](err); ok {
		err = errors.Join(router.ErrUnreadable, invalid)
		reply.Unreadable = reply.Attempts
	}
	return reply, err
}

// compiled returns the schema of a question, which is nearly always that of the one
// before.
func (a *asker) compiled(q *router.Question) (*model.Schema, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.schema != nil && a.asked == string(q.Schema) {
		return a.schema, nil
	}
	schema, err := model.NewSchema("route", q.Schema, q.Open...)
	if err != nil {
		return nil, err
	}
	a.asked, a.schema = string(q.Schema), schema
	return schema, nil
}

// changed tells which agents one registry has and the other has not.
func changed(before, now *registry) (added, removed []string) {
	was, are := before.ids(), now.ids()
	for _, id := range are {
		if !slices.Contains(was, id) {
			added = append(added, id)
		}
	}
	for _, id := range was {
		if !slices.Contains(are, id) {
			removed = append(removed, id)
		}
	}
	return added, removed
}
