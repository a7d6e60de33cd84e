package handlers

import (
	"context"
	"net/http"

	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
)

// Team is the reply of GET /agents.
type Team struct {
	Agents []TeamAgent `json:"agents"` // in the order of the catalogue; never null
	Router *TeamRouter `json:"router,omitempty"`
	// Version is equal for teams that are configured alike.
	Version string `json:"version"`
}

// TeamAgent is an agent of a Team.
type TeamAgent struct {
	ID           string   `json:"id"`
	Name         string   `json:"name"`
	Description  string   `json:"description"`
	Capabilities []string `json:"capabilities"`
	Examples     []string `json:"examples"`
	Kind         string   `json:"kind"`
	Routable     bool     `json:"routable"`
	Available    bool     `json:"available"`
	Model        string   `json:"model,omitempty"` // a key
	Tools        []string `json:"tools"`           // as configured
}

// TeamRouter is the router of a Team.
type TeamRouter struct {
	Model     string  `json:"model"` // a key
	Threshold float64 `json:"threshold"`
}

// Agents changes the team while it runs.
type Agents interface {
	// PutAgent adds an agent, or replaces one that was added. Faults in body are a
	// *chat.ValidationError.
	PutAgent(ctx context.Context, id string, body []byte) (described TeamAgent, isNew bool, err error)
	// DeleteAgent takes out an agent that was added.
	DeleteAgent(ctx context.Context, id string) error
}

// catalogue lists the agents and workflows that a tenant can name.
type catalogue struct {
	team      func(tenant string) *Team      // nil lists no agents
	workflows func(tenant string) []Workflow // nil lists no workflows
}

// addRoutes routes the lists.
func (c *catalogue) addRoutes(ro *router) {
	ro.routeRead("/agents", reading, c.listAgents)
	ro.routeRead("/workflows", reading, c.listWorkflows)
	ro.routeRead("/agents/:id", reading, func(w http.ResponseWriter, r *http.Request) error {
		return c.showAgent(w, tenantOf(r), r.PathValue("id"))
	})
}

// hasAgents reports whether a tenant has any agents.
func (c *catalogue) hasAgents(tenant string) bool { return len(c.teamOf(tenant).Agents) > 0 }

// teamOf returns the team of a tenant as it is at this moment, empty without one. It may
// change with the configuration.
func (c *catalogue) teamOf(tenant string) *Team {
	if c.team != nil {
		if t := c.team(tenant); t != nil {
			return t
		}
	}
	return &Team{Agents: []TeamAgent{}}
}

// listAgents replies with the registry.
func (c *catalogue) listAgents(w http.ResponseWriter, r *http.Request) error {
	return writeJSON(w, http.StatusOK, c.teamOf(tenantOf(r)))
}

// tenantOf returns whose catalogue a request is about; empty: there is only one.
func tenantOf(r *http.Request) string { return chat.TurnOf(r.Context()).Principal.Tenant }

// showAgent replies with one agent. id may be anything that a path can hold.
func (c *catalogue) showAgent(w http.ResponseWriter, tenant, id string) error {
	for _, a := range c.teamOf(tenant).Agents {
		if a.ID == id {
			return writeJSON(w, http.StatusOK, a)
		}
	}
	return &fault.Error{Type: fault.NotFound, Message: "There is no such agent; GET /agents lists them"}
}

// Workflow is an entry of the reply of GET /workflows.
type Workflow struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitempty"`
	Examples    []string       `json:"examples"` // never null
	Kind        string         `json:"kind,omitempty"`
	Entry       string         `json:"entry_point"`
	Nodes       []WorkflowNode `json:"nodes"`
	Edges       []WorkflowEdge `json:"edges"`   // never null
	Mermaid     string         `json:"mermaid"` // the graph as a text that is drawn by others
}

// WorkflowNode is a node of a Workflow.
type WorkflowNode struct {
	ID    string `json:"id"`
	Type  string `json:"type"`
	Agent string `json:"agent,omitempty"`
	Tool  string `json:"tool,omitempty"`
}

// WorkflowEdge is an edge of a Workflow.
type WorkflowEdge struct {
	From      string  `json:"from"`
	To        string  `json:"to"`
	Condition string  `json:"condition,omitempty"`
	Match     *string `json:"match,omitempty"` // of the value of the condition's expression
}

// listWorkflows replies with the workflows.
func (c *catalogue) listWorkflows(w http.ResponseWriter, r *http.Request) error {
	list := []Workflow{}
	if c.workflows != nil {
		list = append(list, c.workflows(tenantOf(r))...)
	}
	return writeJSON(w, http.StatusOK, struct {
		Workflows []Workflow `json:"workflows"`
	}{list})
}

// UnknownWorkflow is the refusal of a request for a workflow that does not exist.
func UnknownWorkflow() error {
	v := new(chat.ValidationError)
	v.Add("/workflow", chat.UnknownWorkflow())
	return v
}

// unknownAgent is the refusal of a request for an agent that does not exist.
func unknownAgent() error {
	v := new(chat.ValidationError)
	v.Add("/agent", chat.UnknownAgent())
	return v
}
