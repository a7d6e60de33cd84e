package handlers

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
)

// originPolicy decides which web pages may use the gateway.
type originPolicy struct {
	any     bool
	allowed map[string]bool
	methods []string // that a foreign page may use
	headers []string // that it may set
	exposed string   // headers of replies that it may read
}

// newOriginPolicy returns the policy that allows these origins besides the gateway's own; "*"
// allows all of them, without credentials.
func newOriginPolicy(origins []string) originPolicy {
	p := originPolicy{allowed: map[string]bool{}, methods: []string{http.MethodGet, http.MethodPost}, headers: corsHeaders(), exposed: exposed}
	for _, o := range origins {
		p.any = p.any || o == "*"
		p.allowed[strings.ToLower(o)] = true
	}
	return p
}

// allowMethod adds a method that some path accepts.
func (p *originPolicy) allowMethod(method string) {
	if !slices.Contains(p.methods, method) {
		p.methods = append(p.methods, method)
	}
}

// allowHeaders adds request headers that some path reads.
func (p *originPolicy) allowHeaders(names []string) {
	for _, name := range names {
		if !slices.Contains(p.headers, name) {
			p.headers = append(p.headers, name)
		}
	}
}

// allowRoute adds the methods and headers of a route.
func (p *originPolicy) allowRoute(rt *routed) {
	for _, method := range rt.Methods {
		p.allowMethod(method)
	}
	p.allowHeaders(rt.Headers)
}

// allowsOrigin reports whether the operator allows a foreign origin.
func (p originPolicy) allowsOrigin(origin string) bool {
	return p.any || p.allowed[strings.ToLower(origin)]
}

// checkOrigin refuses a request that a foreign page can make a browser send. A turn has side
// effects, also with GET, and a browser sends simple requests without asking first.
//
// Browsers send Origin with every POST, and with a GET of a foreign EventSource or
// fetch, but not with that of an image, a frame, a link or a navigation. A request
// with one of these headers twice, or with a word that is not known, is refused.
func (p originPolicy) checkOrigin(r *http.Request) error {
	origins, sites := r.Header["Origin"], r.Header["Sec-Fetch-Site"]
	switch {
	case len(origins) > 0:
		if p.admitsPage(origins, sites, r) {
			return nil
		}
	case r.Method == http.MethodGet:
		if p.isFetched(r) {
			return nil
		}
		return &fault.Error{Type: fault.OriginRefused,
			Message: "A browser's GET runs only for an EventSource or a fetch: of the gateway's own page, which must send its Referer, " +
				"or of an origin that its operator allows with SLUICE_CORS_ORIGINS"}
	case absentOr(sites, "same-origin", "none"):
		return nil
	}
	return &fault.Error{Type: fault.OriginRefused,
		Message: "Pages of this origin may not use the gateway; its operator can allow them with SLUICE_CORS_ORIGINS"}
}

// admitsPage reports whether a page of the origins may send a request: one that is allowed, or our own.
func (p originPolicy) admitsPage(origins, sites []string, r *http.Request) bool {
	return len(origins) == 1 && (p.allowsOrigin(origins[0]) || isSameOrigin(origins[0], r) && absentOr(sites, "same-origin", "none"))
}

// isFetched reports whether a GET without Origin comes from an EventSource or a fetch
// of our own page, or from a program. Browsers send Sec-Fetch-* over TLS and to
// loopback; elsewhere only Referer distinguishes pages.
func (p originPolicy) isFetched(r *http.Request) bool {
	sites := r.Header["Sec-Fetch-Site"]
	if !absentOr(sites, "same-origin", "none") || !absentOr(r.Header["Sec-Fetch-Dest"], "empty") {
		return false
	}
	if len(sites) > 0 || !slices.ContainsFunc(r.Header["User-Agent"], isBrowser) {
		return true
	}
	referers := r.Header["Referer"]
	return len(referers) == 1 && p.allowsReferer(referers[0], r)
}

// absentOr reports whether a header is absent, or there once with one of words.
func absentOr(values []string, words ...string) bool {
	return len(values) == 0 || len(values) == 1 && slices.Contains(words, values[0])
}

// isBrowser reports whether a User-Agent begins as that of every browser.
func isBrowser(userAgent string) bool { return strings.HasPrefix(userAgent, "Mozilla/") }

// allowsReferer reports whether a Referer names a page of the server itself or of an allowed
// origin.
func (p originPolicy) allowsReferer(referer string, r *http.Request) bool {
	u, err := url.Parse(referer)
	if err != nil || u.Host == "" || u.User != nil { // browsers send no user
		return false
	}
	origin := u.Scheme + "://" + u.Host
	return p.allowsOrigin(origin) || isSameOrigin(origin, r)
}

// isSameOrigin reports whether the origin is the server itself, as the client addresses it.
// The scheme is not compared: behind a proxy that ends TLS it is not known. There
// Sec-Fetch-Site distinguishes the pages of http:// from those of https://.
func isSameOrigin(origin string, r *http.Request) bool {
	scheme, host, _ := strings.Cut(origin, "://")
	return (scheme == "http" || scheme == "https") && host != "" && strings.EqualFold(host, r.Host)
}

// answerPreflight adds the CORS headers for an allowed origin. It reports whether the request was a
// preflight of such an origin, which it has then answered.
func (p originPolicy) answerPreflight(w http.ResponseWriter, r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	if !p.allowsOrigin(origin) {
		return false
	}
	p.addHeaders(h, origin)
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Set("Access-Control-Allow-Methods", strings.Join(p.methods, ", "))
	h.Set("Access-Control-Allow-Headers", p.wantedHeaders(r))
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}

// wantedHeaders lists the headers that a page of an allowed origin may set: those that it asks for, as
// front ends send headers of their own, or without such a list all that some path reads.
func (p originPolicy) wantedHeaders(r *http.Request) string {
	var names []string
	for _, list := range r.Header["Access-Control-Request-Headers"] {
		for name := range strings.SplitSeq(list, ",") {
			if name = strings.TrimSpace(name); chat.Token(name, 1, 64) && len(names) < 64 {
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 {
		names = p.headers
	}
	return strings.Join(names, ", ")
}

// addHeaders adds the headers that let an allowed page read the reply. Credentials are for
// origins that were named, never for "*".
func (p originPolicy) addHeaders(h http.Header, origin string) {
	if p.allowed[strings.ToLower(origin)] {
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Allow-Credentials", "true")
	} else {
		h.Set("Access-Control-Allow-Origin", "*")
	}
	h.Set("Access-Control-Expose-Headers", p.exposed)
}

// allowCredentials adds the headers for credentials and limits.
func (p *originPolicy) allowCredentials() {
	p.allowHeaders([]string{"Authorization", "X-API-Key"})
	p.exposed += ", WWW-Authenticate, RateLimit, RateLimit-Policy"
}

// exposed are the headers of replies that a foreign page may read.
const exposed = "X-Request-ID, Retry-After, X-Sluice-History, X-Sluice-Ignored, X-Sluice-Replayed, X-Error-Type, X-Should-Retry, Retry-After-Ms, X-Vercel-AI-UI-Message-Stream"

// corsHeaders returns the request headers that a foreign page may set everywhere.
func corsHeaders() []string {
	return []string{"Content-Type", "Idempotency-Key", "Last-Event-ID", "X-Request-ID"}
}
