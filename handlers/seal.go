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
