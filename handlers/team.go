package handlers

import (
	"net/http"

	"sluice/chat"
	"sluice/fault"
	"sluice/stream"
)

// Team is what GET /agents tells.
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

// team returns the team as it is at this moment, empty without one. It may
// change with the configuration.
func (s *Server) team() *Team {
	if s.cfg.Team != nil {
		if t := s.cfg.Team(); t != nil {
			return t
		}
	}
	return &Team{Agents: []TeamAgent{}}
}

// agents replies with the registry.
func (s *Server) agents(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, http.StatusOK, s.team())
}

// agent replies with one agent. id may be anything that a path can hold.
func (s *Server) agent(w http.ResponseWriter, id string) error {
	for _, a := range s.team().Agents {
		if a.ID == id {
			return writeJSON(w, http.StatusOK, a)
		}
	}
	return &fault.Error{Type: fault.NotFound, Message: "There is no such agent; GET /agents lists them"}
}

// frameOf returns the frame of a turn, with what answers it. An error means that the
// request is refused.
func (s *Server) frameOf(req *chat.Request) (stream.Frame, error) {
	frame := s.frame
	if s.cfg.Choose == nil {
		if req.Agent != "" {
			return frame, UnknownAgent()
		}
		return frame, nil
	}
	var err error
	frame.Runner, frame.Timeout, err = s.cfg.Choose(req)
	return frame, err
}

// UnknownAgent is the refusal of a request for an agent that there is not.
func UnknownAgent() error {
	v := new(chat.ValidationError)
	v.Add("/agent", chat.UnknownAgent())
	return v
}
