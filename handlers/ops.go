package handlers

import (
	"net/http"

	"sluice/internal/base/telemetry/health"
	"sluice/internal/turn/chat"
)

// healthAPI serves the health of the process and of the parts behind it.
type healthAPI struct {
	model          string // its name
	parts          *health.Registry
	gate           *gate
	senders        *senders
	listsApprovals bool
	storeRequired  bool // without its store the gateway is not ready
}

// addRoutes routes liveness and readiness.
func (ha *healthAPI) addRoutes(ro *router) {
	ro.routeRead("/healthz", open, ha.showHealth)
	ro.routeRead("/readyz", open, ha.showReadiness)
}

// showHealth says that the process serves. It looks at nothing else, so that an upstream
// that is unavailable does not restart the gateway.
func (ha *healthAPI) showHealth(w http.ResponseWriter, _ *http.Request) error {
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
	Auth     health.Status   `json:"auth,omitempty"`   // with authentication
	Streams  int             `json:"streams"`
	// Approvals is true if GET /approvals lists the questions that wait for people.
	Approvals bool `json:"approvals,omitzero"`
}

// showReadiness reports whether the gateway is ready. With authentication, only senders with the
// scope get the details of its parts.
func (ha *healthAPI) showReadiness(w http.ResponseWriter, r *http.Request) error {
	return ha.replyReadiness(w, ha.senders.maySee(r, chat.ScopeOps))
}

// replyReadiness fails only while draining. A part that is unavailable degrades: the
// gateway still answers, in-band, and taking every replica out of service because
// they share an upstream would turn a partial outage into a whole one.
func (ha *healthAPI) replyReadiness(w http.ResponseWriter, whole bool) error {
	rep := readiness{Status: "ok", Model: ha.model, Streams: ha.gate.countActive(), Approvals: ha.listsApprovals,
		Breakers: []health.Status{}, MCP: []health.Status{}}
	for _, part := range ha.parts.Check() {
		rep.addPart(part)
	}
	status := http.StatusOK
	if ha.storeRequired && rep.lacksStore() {
		status = http.StatusServiceUnavailable
	}
	if ha.gate.isDraining() {
		rep.Status, status = "draining", http.StatusServiceUnavailable
	}
	if !whole {
		return writeJSON(w, status, map[string]string{"status": rep.Status})
	}
	return writeJSON(w, status, rep)
}

func (rep *readiness) lacksStore() bool { return rep.Store != nil && !rep.Store.OK() }

// addPart adds a part, by its kind.
func (rep *readiness) addPart(part health.Status) {
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
