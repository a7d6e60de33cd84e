package handlers

import (
	"net/http"
	"net/http/pprof"
	"strings"

	"sluice/internal/base/fault"
	"sluice/internal/edge/access"
	"sluice/internal/turn/chat"
)

// maxAgentBody bounds the body of PUT /agents/{id}.
const maxAgentBody = 128 << 10

// Operators configures the address for operators, and access to it.
type Operators struct {
	Agents Agents
	// Loopback says that this machine alone reaches the address.
	Loopback bool
	// Authorize returns the sender of a request, or an error if the sender lacks all of the wanted
	// scopes. nil: everybody who reaches the address may do everything, but only loopback gets
	// profiles.
	Authorize func(r *http.Request, wanted chat.Scopes) (*access.Identity, error)
	// OnAction is called after a change or a profile, with the sender, the action and its target.
	// The sender is nil without authentication. nil: the action is not reported.
	OnAction func(r *http.Request, who *access.Identity, action, target string)
}

// admin is the address for operators.
type admin struct {
	Operators
	front     *front
	health    *healthAPI
	catalogue *catalogue
	bodies    *bodyReader
	metrics   http.Handler
}

// ServeHTTP implements http.Handler.
func (a *admin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r = a.front.identifyRequest(w, r)
	tw := a.front.trackReply(w, r)
	defer a.front.refuser.answerPanic(tw)
	a.front.sealReply(tw, r)
	if !a.front.refusedHost(tw, r) {
		if err := a.serveRequest(tw, r); err != nil {
			a.front.refuser.refuseRequest(tw, r, err)
		}
	}
	tw.linger()
}

// serveRequest answers a request of an operator.
func (a *admin) serveRequest(w *trackedWriter, r *http.Request) error {
	if err := a.refusePages(r); err != nil {
		return err
	}
	switch id, isAgent := strings.CutPrefix(r.URL.Path, "/agents/"); {
	case isAgent && !strings.Contains(id, "/"):
		return a.serveAgent(w, r, id)
	case r.URL.Path == "/metrics":
		return a.serveRead(w, r, func() error { a.metrics.ServeHTTP(w, r); return nil })
	case r.URL.Path == "/readyz":
		return a.serveRead(w, r, func() error { return a.health.replyReadiness(w, true) })
	case strings.HasPrefix(r.URL.Path, "/debug/pprof/") && a.servesProfiles():
		return a.serveProfile(w, r)
	}
	return &fault.Error{Type: fault.NotFound, Message: "There is nothing at this path"}
}

// refusePages refuses requests of pages. A name that resolves to loopback (DNS rebinding) would
// make the address one of a page's own, where a credential is not needed.
func (a *admin) refusePages(r *http.Request) error {
	if r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != "" {
		return &fault.Error{Type: fault.OriginRefused, Message: "Pages cannot use this address"}
	}
	if a.Authorize == nil && a.Loopback && !isLoopback(bareHost(r.Host)) {
		return &fault.Error{Type: fault.OriginRefused, Message: "This address is asked under a name of loopback, such as localhost"}
	}
	return nil
}

// authorizeRequest returns the sender of r, or an error if the sender lacks all of the wanted
// scopes.
func (a *admin) authorizeRequest(r *http.Request, wanted chat.Scopes) (*access.Identity, error) {
	if a.Authorize == nil {
		return nil, nil
	}
	return a.Authorize(r, wanted)
}

// servesProfiles reports whether profiles are served. Without authentication only this machine gets
// them: they show data of the process.
func (a *admin) servesProfiles() bool { return a.Authorize != nil || a.Loopback }

// serveRead answers a request that changes nothing.
func (a *admin) serveRead(w http.ResponseWriter, r *http.Request, answer func() error) error {
	if _, err := a.authorizeRequest(r, chat.ScopeOps); err != nil {
		return err
	}
	if !isRead(r.Method) {
		return wrongMethod(w, "GET, HEAD")
	}
	return answer()
}

// serveProfile answers with a profile of the process.
func (a *admin) serveProfile(w *trackedWriter, r *http.Request) error {
	who, err := a.authorizeRequest(r, chat.ScopeAdmin)
	if err != nil {
		return err
	}
	if r.Method != http.MethodGet && r.Method != http.MethodPost {
		return wrongMethod(w, "GET, POST")
	}
	w.timeout = 0 // a trace is written while it is made
	name := strings.TrimPrefix(r.URL.Path, "/debug/pprof/")
	a.OnAction(r, who, "profile", name)
	if name == "cmdline" { // secrets never are flags, but paths are
		return &fault.Error{Type: fault.NotFound, Message: "There is nothing at this path"}
	}
	profileOf(name)(w, r)
	return nil
}

func profileOf(name string) http.HandlerFunc {
	switch name {
	case "profile":
		return pprof.Profile
	case "symbol":
		return pprof.Symbol
	case "trace":
		return pprof.Trace
	}
	return pprof.Index
}

// wrongMethod names the methods that a path takes.
func wrongMethod(w http.ResponseWriter, allowed string) error {
	w.Header().Set("Allow", allowed)
	return &fault.Error{Type: fault.MethodNotAllowed, Message: "This path does not take this method; the Allow header names those it takes"}
}

// serveAgent answers a request about one agent.
func (a *admin) serveAgent(w http.ResponseWriter, r *http.Request, id string) error {
	wanted := chat.ScopeAdmin
	if isRead(r.Method) {
		wanted = chat.ScopeOps | chat.ScopeAdmin
	}
	who, err := a.authorizeRequest(r, wanted)
	if err != nil {
		return err
	}
	switch r.Method {
	case http.MethodPut:
		if err := a.putAgent(w, r, id); err != nil {
			return err
		}
		a.OnAction(r, who, "put_agent", id)
		return nil
	case http.MethodDelete:
		return a.deleteAgent(w, r, who, id)
	case http.MethodGet, http.MethodHead:
		return a.catalogue.showAgent(w, "", id)
	}
	return wrongMethod(w, "GET, HEAD, PUT, DELETE")
}

// putAgent adds or replaces an agent.
func (a *admin) putAgent(w http.ResponseWriter, r *http.Request, id string) error {
	if err := wantType(r, "application/json"); err != nil {
		return err
	}
	body, err := a.bodies.readBody(w, r, maxAgentBody)
	if err != nil {
		return err
	}
	described, isNew, err := a.Agents.PutAgent(r.Context(), id, body)
	a.bodies.releaseBody(body)
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

func (a *admin) deleteAgent(w http.ResponseWriter, r *http.Request, who *access.Identity, id string) error {
	if err := a.Agents.DeleteAgent(r.Context(), id); err != nil {
		return err
	}
	a.OnAction(r, who, "delete_agent", id)
	w.WriteHeader(http.StatusNoContent)
	return nil
}
