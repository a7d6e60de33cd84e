package handlers

import (
	"net/http"

	"github.com/rs/zerolog"

	"sluice/internal/turn/chat"
)

// auditor writes the lines of the audit.
type auditor struct {
	client func(*http.Request) string // returns the address of a request; nil leaves it empty
}

// recordEvent writes a line about the sender of a request, such as a change or a refusal.
func (a auditor) recordEvent(r *http.Request, event string, details func(*zerolog.Event)) {
	Audit(r, a.addressOf(r), event, details)
}

// addressOf returns the address that a request comes from, or "" if it is not known.
func (a auditor) addressOf(r *http.Request) string {
	if a.client == nil {
		return ""
	}
	return a.client(r)
}

// Audit writes a line of the audit about a request that comes from client.
func Audit(r *http.Request, client, event string, details func(*zerolog.Event)) {
	d := zerolog.Dict().Str("client", client)
	details(d.Str("http_method", chat.Clip(r.Method, maxLoggedMethod)).Str("path", chat.Clip(r.URL.Path, maxLoggedPath)))
	zerolog.Ctx(r.Context()).Info().Bool("audit", true).Dict("details", d).Msg(event)
}
