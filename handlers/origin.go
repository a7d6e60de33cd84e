package handlers

import (
	"net/http"
	"slices"
	"strings"

	"sluice/fault"
)

// originPolicy decides which web pages may use the gateway.
type originPolicy struct {
	any     bool
	allowed map[string]bool
}

func newOriginPolicy(origins []string) originPolicy {
	p := originPolicy{allowed: map[string]bool{}}
	for _, o := range origins {
		p.any = p.any || o == "*"
		p.allowed[strings.ToLower(o)] = true
	}
	return p
}

func (p originPolicy) allows(origin string) bool { return p.any || p.allowed[strings.ToLower(origin)] }

// check refuses what a foreign page sends. A turn has side effects, also with
// GET, and a browser sends a simple request without asking first. Clients that
// are no browsers send neither header.
func (p originPolicy) check(r *http.Request) error {
	origin, site := r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site")
	if origin != "" && (p.allows(origin) || own(origin, r)) {
		return nil
	}
	if origin != "" || site == "cross-site" {
		return &fault.Error{Type: fault.OriginRefused,
			Message: "Pages of this origin may not use the gateway; its operator can allow them with SLUICE_CORS_ORIGINS"}
	}
	return nil
}

// own says whether the origin is the server itself, as the client addresses it.
// The scheme is not compared: behind a proxy that ends TLS it is not known.
func own(origin string, r *http.Request) bool {
	scheme, host, _ := strings.Cut(origin, "://")
	return (scheme == "http" || scheme == "https") && host != "" && strings.EqualFold(host, r.Host)
}

// preflight adds the CORS headers for an allowed origin. It says whether the request
// was a preflight of one, which it has then answered.
func (p originPolicy) preflight(w http.ResponseWriter, r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	if !p.allows(origin) {
		return false
	}
	p.allow(h, origin)
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Set("Access-Control-Allow-Methods", "GET, POST")
	h.Set("Access-Control-Allow-Headers", strings.Join(slices.Clone(corsHeaders[:]), ", "))
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}

func (p originPolicy) allow(h http.Header, origin string) {
	if p.allowed[strings.ToLower(origin)] {
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Allow-Credentials", "true")
	} else {
		h.Set("Access-Control-Allow-Origin", "*")
	}
	h.Set("Access-Control-Expose-Headers", "X-Request-ID, Retry-After")
}

var corsHeaders = [...]string{"Content-Type", "Idempotency-Key", "Last-Event-ID", "X-Request-ID"}
