package handlers

import (
	"net/http"

	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// Team is what GET /agents reports.
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

// TeamRouter is what decides in a Team.
type TeamRouter struct {
	Model     string  `json:"model"` // a key
	Threshold float64 `json:"threshold"`
}

// team returns the team of a tenant as it is at this moment, empty without one. It may
// change with the configuration.
func (s *Server) team(tenant string) *Team {
	if s.cfg.Team != nil {
		if t := s.cfg.Team(tenant); t != nil {
			return t
		}
	}
	return &Team{Agents: []TeamAgent{}}
}

// agents replies with the registry.
func (s *Server) agents(w http.ResponseWriter, r *http.Request) error {
	return writeJSON(w, http.StatusOK, s.team(tenantOf(r)))
}

// tenantOf returns whose catalogue a request is about; empty: there is only one.
func tenantOf(r *http.Request) string { return chat.TurnOf(r.Context()).Principal.Tenant }

// agent replies with one agent. id may be anything that a path can hold.
func (s *Server) agent(w http.ResponseWriter, tenant, id string) error {
	for _, a := range s.team(tenant).Agents {
		if a.ID == id {
			return writeJSON(w, http.StatusOK, a)
		}
	}
	return &fault.Error{Type: fault.NotFound, Message: "There is no such agent; GET /agents lists them"}
}

// Workflow is what GET /workflows says about one.
type Workflow struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitempty"`
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

func (s *Server) workflows(w http.ResponseWriter, r *http.Request) error {
	list := []Workflow{}
	if s.cfg.Workflows != nil {
		list = append(list, s.cfg.Workflows(tenantOf(r))...)
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

// frameOf sets the frame of a turn, with what answers it. An error means that the request is
// refused. The frame is not returned: it is large, and would lie on the stack of open streams.
func (s *Server) frameOf(req *chat.Request, frame *stream.Frame) (err error) {
	*frame = s.frame
	if req.Workflow != "" && req.Agent != "" {
		v := new(chat.ValidationError)
		v.Add("/agent", &chat.FieldError{Code: chat.CodeNotAllowed, Message: "must not stand beside a workflow"})
		return v
	}
	if s.cfg.Choose == nil {
		if req.Agent != "" {
			return unknownAgent()
		}
		if req.Workflow != "" {
			return UnknownWorkflow()
		}
		return nil
	}
	frame.Runner, frame.Timeout, err = s.cfg.Choose(req)
	frame.Late = s.cfg.Tasks != nil && durable(req)
	return err
}

// unknownAgent is the refusal of a request for an agent that does not exist.
func unknownAgent() error {
	v := new(chat.ValidationError)
	v.Add("/agent", chat.UnknownAgent())
	return v
}
