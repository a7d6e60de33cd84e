// This file makes a registry: the agents of one reading of the configuration file and the
// team, workflows and checks over them. A reload makes another one and swaps a pointer;
// turns that run keep theirs, so that nothing in a registry may ever change.

package gateway

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"sluice/handlers"
	"sluice/internal/app/providers"
	"sluice/internal/app/roster"
	"sluice/internal/app/settings"
	"sluice/internal/edge/access/limit"
	"sluice/internal/engine/agent"
	"sluice/internal/engine/agent/remote"
	"sluice/internal/engine/router"
	"sluice/internal/model"
	"sluice/internal/quality"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// registry is the team of one reading of the configuration file. It never changes: a
// turn that has begun with it ends with it.
type registry struct {
	spec      router.Spec
	runner    *answerer // nil without agents
	team      *router.Team
	described *handlers.Team
	single    time.Duration // of a turn of one agent by itself
	// remotes are the agents that are somewhere else, by id.
	remotes map[string]*remote.Agent

	// tenants are the registries of restricted tenants, by their ids; nil without restrictions.
	tenants map[string]*registry

	flows   teamFlows
	quality *quality.Checker
	forms   objectForms
	tokens  int // of a turn; 0: no limit
}

// registryMaker makes the registries of one gateway.
type registryMaker struct {
	*flowMaker
	quality     *qualityMaker
	answerForms *providers.AnswerForms // asks for structured answers
	assistant   *agent.Agent           // of a gateway without agents
}

// newRegistry makes the agents of a team, the router over them, and the checks of their answers.
//
// It calls nobody and cannot fail: faults were found when the file was read.
func (m *registryMaker) newRegistry(file settings.Config, team roster.Team) *registry {
	r := m.registryFor(file, team, limit.Tenant{})
	for id, t := range file.Tenants {
		if t.Agents != nil || t.Workflows != nil {
			if r.tenants == nil {
				r.tenants = map[string]*registry{}
			}
			r.tenants[id] = m.registryFor(file, team, t)
		}
	}
	return r
}

// registryFor makes the registry for the rights of a tenant. Agents that others call, and those of
// workflows, are not checked: the right to use a part includes the parts that it uses.
func (m *registryMaker) registryFor(file settings.Config, team roster.Team, t limit.Tenant) *registry {
	spec := file.Team
	spec.Agents = team.Written
	r := &registry{spec: spec.Settled(), single: m.cfg.TurnTimeout(), tokens: m.cfg.TurnTokens}
	version := r.version()
	r.spec.Agents, r.remotes = team.Agents, team.Remotes
	r.described = r.describeTeam(version)
	r.flows = m.newWorkflows(file.Workflows, spec.Agents, r.spec.Config.Dispatch.Timeout)
	r.quality = m.quality.newQuality(file, r.spec.Agents, func() []router.AgentSpec { return r.spec.Agents })
	r.forms = objectForms{askers: m.answerForms, assistant: m.assistant, local: map[string]*agent.Agent{}, keyed: m.countsAll()}
	if len(spec.Agents) == 0 {
		r.restrict(t)
		return r
	}
	cfg := r.spec.Config
	cfg.Asker = providers.NewAsker(m.models)
	cfg.Metrics, cfg.LogPayloads = m.metrics, m.logsPayloads()
	callees := newDelegates(m.state, r.spec.Agents, cfg.Dispatch.Timeout, file.Retention.Set)
	for _, a := range r.spec.Agents {
		member := a.Routed()
		if remote := r.remotes[a.ID]; remote != nil {
			member.Runner, member.Remote, member.Available = remote, true, remote.Available
		} else {
			local := callees.Add(a.ID, m.memberConfig(a))
			member.Runner, r.forms.local[a.ID] = local, local
		}
		if t.May(a.ID) {
			cfg.Agents = append(cfg.Agents, member)
		}
	}
	r.restrict(t)
	r.team = router.New(cfg)
	r.runner = m.answerers.newShared(callees, m.questions.withQuestions, func(ctx context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
		result, err := r.team.Run(ctx, req, sink)
		callees.Finish(ctx, req, result.Paused != nil)
		return result, err
	})
	return r
}

// restrict removes the parts that a tenant may not use from the catalogue. It copies the parts that
// other registries share.
func (r *registry) restrict(t limit.Tenant) {
	if t.Agents != nil {
		r.spec.Agents = slices.DeleteFunc(slices.Clone(r.spec.Agents), func(a router.AgentSpec) bool { return !t.May(a.ID) })
		r.described.Agents = slices.DeleteFunc(r.described.Agents, func(a handlers.TeamAgent) bool { return !t.May(a.ID) })
	}
	if t.Workflows != nil {
		maps.DeleteFunc(r.flows.byName, func(name string, _ *answerer) bool { return !t.MayRun(name) })
		r.flows.described = slices.DeleteFunc(r.flows.described, func(w handlers.Workflow) bool { return !t.MayRun(w.Name) })
	}
}

// describeTeam returns what GET /agents reports.
//
// Availability of remote agents is filled in at each request (liveTeam.teamOf).
func (r *registry) describeTeam(version string) *handlers.Team {
	t := &handlers.Team{Agents: []handlers.TeamAgent{}, Version: version}
	for _, a := range r.spec.Agents {
		described := handlers.TeamAgent{
			ID: a.ID, Name: cmp.Or(a.Name, a.ID), Description: a.Description,
			Capabilities: notNull(a.Capabilities), Examples: notNull(a.Examples), Tools: notNull(a.Tools),
			Kind: "local", Routable: !a.Hidden, Available: true, Model: cmp.Or(a.Model, model.DefaultKey),
		}
		if a.Remote != nil {
			described.Kind, described.Model = "remote", ""
		}
		t.Agents = append(t.Agents, described)
	}
	if c := &r.spec.Config; len(t.Agents) > 0 && !c.Off {
		t.Router = &handlers.TeamRouter{Model: cmp.Or(c.Model, model.DefaultKey), Threshold: c.Threshold}
	}
	return t
}

// notNull is never null in JSON.
func notNull(texts []string) []string { return append([]string{}, texts...) }

// version is equal for files with equal teams.
//
// It is twelve hexadecimal digits of a SHA-256: it distinguishes versions and protects nothing.
func (r *registry) version() string {
	text, err := json.Marshal(r.spec)
	if err != nil { // plain values: cannot happen
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}

// ids lists the agents in the order of the file.
func (r *registry) ids() (ids []string) {
	for _, a := range r.spec.Agents {
		ids = append(ids, a.ID)
	}
	return ids
}

// changedAgents says which agents one registry has and the other has not.
func changedAgents(before, now *registry) (added, removed []string) {
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

// forTenant returns the registry of a tenant. It works on nil.
func (r *registry) forTenant(tenant string) *registry {
	if r == nil {
		return nil
	}
	if restricted := r.tenants[tenant]; restricted != nil {
		return restricted
	}
	return r
}
