package handlers

import (
	"net/http"

	"github.com/rs/zerolog"

	"sluice/internal/turn/chat"
)

// Audit writes a line of the audit about a request that comes from client.
func Audit(r *http.Request, client, event string, details func(*zerolog.Event)) {
	d := zerolog.Dict().Str("client", client)
	details(d.Str("http_method", chat.Clip(r.Method, maxLoggedMethod)).Str("path", chat.Clip(r.URL.Path, maxLoggedPath)))
	zerolog.Ctx(r.Context()).Info().Bool("audit", true).Dict("details", d).Msg(event)
}
