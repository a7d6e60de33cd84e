package handlers

import (
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/telemetry/health"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// healthz says that the process serves. It looks at nothing else, so that an upstream
// that is unavailable does not restart the gateway.
func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

// readiness is the reply of GET /readyz, which web/openapi.yaml documents.
type readiness struct {
	Status   string          `json:"status"` // ok, degraded or draining
	Model    string          `json:"model"`
	Breakers []health.Status `json:"breakers"`
	MCP      []health.Status `json:"mcp"`
	Models   []health.Status `json:"models,omitempty"` // where some are configured
	Store    health.Status   `json:"store,omitempty"`  // where there is one
	Auth     health.Status   `json:"auth,omitempty"`   // where senders are asked who they are
	Streams  int             `json:"streams"`
	// Approvals is whether GET /approvals lists what waits for people.
	Approvals bool `json:"approvals,omitzero"`
}

// readyz says whether the gateway is ready: with all that it knows of its parts to those alone who
// may see that, where senders are asked who they are.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) error {
	return s.ready(w, s.senders.maySee(r, chat.ScopeOps))
}

// ready fails only while draining. A part that is unavailable degrades: the
// gateway still answers, in-band, and taking every replica out of service because
// they share an upstream would turn a partial outage into a whole one.
func (s *Server) ready(w http.ResponseWriter, whole bool) error {
	rep := readiness{Status: "ok", Model: s.cfg.Model, Streams: s.gate.active(), Approvals: s.cfg.Approvals != nil && s.cfg.Tasks != nil,
		Breakers: []health.Status{}, MCP: []health.Status{}}
	for _, part := range s.cfg.Health.Check() {
		rep.add(part)
	}
	status := http.StatusOK
	if s.cfg.StoreRequired && rep.lacksStore() {
		status = http.StatusServiceUnavailable
	}
	if s.gate.isDraining() {
		rep.Status, status = "draining", http.StatusServiceUnavailable
	}
	if !whole {
		return writeJSON(w, status, map[string]string{"status": rep.Status})
	}
	return writeJSON(w, status, rep)
}

func (rep *readiness) lacksStore() bool { return rep.Store != nil && !rep.Store.OK() }

// add adds a part, by its kind.
func (rep *readiness) add(part health.Status) {
	if !part.OK() {
		rep.Status = "degraded"
	}
	switch part.(type) {
	case health.Breaker:
		rep.Breakers = append(rep.Breakers, part)
	case health.Session:
		rep.MCP = append(rep.MCP, part)
	case health.Model:
		rep.Models = append(rep.Models, part)
	case health.Store:
		rep.Store = part
	case health.Auth:
		rep.Auth = part
	}
}

// listedTool is a tool in the reply of GET /tools, which web/openapi.yaml documents.
type listedTool struct {
	Name        string         `json:"name"`
	Server      string         `json:"server"`
	Description string         `json:"description"`
	InputSchema jsontext.Value `json:"input_schema"`
	Output      jsontext.Value `json:"output_schema,omitempty"`
	Annotations annotations    `json:"annotations"`
	Timeout     float64        `json:"timeout_seconds,omitzero"`
	Fallback    string         `json:"fallback,omitempty"`
	Fallbacks   []string       `json:"fallback_tools,omitempty"` // Fallback first
}

// annotations are spelt as in MCP.
type annotations struct {
	Title       string `json:"title,omitempty"`
	ReadOnly    bool   `json:"readOnlyHint"`
	Destructive bool   `json:"destructiveHint"`
	Idempotent  bool   `json:"idempotentHint"`
	OpenWorld   bool   `json:"openWorldHint"`
}

// tools lists what the model can call now. Servers that are unavailable are left out,
// like in a turn.
func (s *Server) tools(w http.ResponseWriter, r *http.Request) error {
	list := struct {
		Tools []listedTool `json:"tools"`
	}{Tools: []listedTool{}}
	if s.cfg.Tools != nil {
		for _, t := range s.cfg.Tools(r.Context()).Specs {
			list.Tools = append(list.Tools, toolOf(t))
		}
	}
	return writeJSON(w, http.StatusOK, list)
}

// toolOf makes the entry of a tool.
func toolOf(t tool.Spec) listedTool {
	listed := listedTool{
		Name: t.Name, Server: t.Server, Description: t.Description, InputSchema: t.InputSchema, Output: t.OutputSchema,
		Annotations: annotations(t.Annotations), Timeout: t.Timeout.Seconds(), Fallback: t.Fallback,
	}
	if t.Fallback != "" {
		listed.Fallbacks = append([]string{t.Fallback}, t.More...)
	}
	return listed
}
