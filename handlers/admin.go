package handlers

import (
	"context"
	"net/http"
	"strings"
	"time"

	"sluice/fault"
)

// maxAgentBody bounds the body of PUT /agents/{id}.
const maxAgentBody = 128 << 10

// Agents changes the team while it runs.
type Agents interface {
	// PutAgent adds an agent, or replaces one that was added. What is wrong with body
	// is a *chat.ValidationError.
	PutAgent(ctx context.Context, id string, body []byte) (described TeamAgent, isNew bool, err error)
	// DeleteAgent takes out an agent that was added.
	DeleteAgent(ctx context.Context, id string) error
}

// Admin returns the API for operators, which has a listener of its own. Pages have no
// business there: a request that a browser sends for one is refused.
func (s *Server) Admin(agents Agents) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = s.identified(w, r)
		tw := &trackedWriter{ResponseWriter: w, r: r, began: time.Now(), timeout: s.cfg.WriteTimeout}
		defer s.caught(tw)
		if !s.refusedHost(tw, r) {
			if err := s.admin(tw, r, agents); err != nil {
				s.reply(tw, r, err)
			}
		}
		tw.linger()
	})
}

// admin answers a request of an operator.
func (s *Server) admin(w http.ResponseWriter, r *http.Request, agents Agents) error {
	if r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != "" {
		return &fault.Error{Type: fault.OriginRefused, Message: "Pages cannot use this address"}
	}
	id, ok := strings.CutPrefix(r.URL.Path, "/agents/")
	if !ok || strings.Contains(id, "/") {
		return &fault.Error{Type: fault.NotFound, Message: "There is nothing at this path"}
	}
	switch r.Method {
	case http.MethodPut:
		return s.putAgent(w, r, agents, id)
	case http.MethodDelete:
		if err := agents.DeleteAgent(r.Context(), id); err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	case http.MethodGet, http.MethodHead:
		return s.agent(w, id)
	}
	w.Header().Set("Allow", "GET, HEAD, PUT, DELETE")
	return &fault.Error{Type: fault.MethodNotAllowed, Message: "This path does not take this method; the Allow header names those it takes"}
}

// putAgent adds or replaces an agent.
func (s *Server) putAgent(w http.ResponseWriter, r *http.Request, agents Agents, id string) error {
	if err := wantType(r, "application/json"); err != nil {
		return err
	}
	body, err := s.readBody(w, r, maxAgentBody)
	if err != nil {
		return err
	}
	described, isNew, err := agents.PutAgent(r.Context(), id, body)
	s.buffers.put(body)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if isNew {
		status = http.StatusCreated
		w.Header().Set("Location", "/agents/"+id)
	}
	return writeJSON(w, status, described)
}
