package handlers

import "net/http"

// seal adds the headers that hold for every reply of a gateway that asks who its callers are,
// or that encrypts. A page of another origin then cannot load a reply as if it were a picture or
// a script, and no browser sends on where its user was.
func (s *Server) seal(w http.ResponseWriter, r *http.Request) {
	if !s.cfg.Sealed {
		return
	}
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer") // the page's own files have another one: see file
	if r.TLS != nil {
		h.Set("Strict-Transport-Security", "max-age=31536000") // one year
	}
}

// lazyDeadline says that a write deadline which passes while nothing is written does no harm, so
// that it need not be cleared. TLS writes by itself, to answer a client that changes its key, and
// is of no use after a write that failed.
func lazyDeadline(r *http.Request) bool { return r.ProtoMajor == 1 && r.TLS == nil }
