package handlers

import (
	"net/http"

	"sluice/internal/edge/dialect"
)

// Channels words texts for where they are read. May be used at the same time.
type Channels interface {
	dialect.Dialect
	// List returns the reply of GET /channels, to be encoded as JSON.
	List() any
	// InlineStyles are style attributes that the page must allow: it shows e-mails.
	InlineStyles() []string
}

// serveChannels routes the list of channels.
func serveChannels(ro *router, c Channels) {
	ro.routeRead("/channels", reading, func(w http.ResponseWriter, _ *http.Request) error {
		return writeJSON(w, http.StatusOK, c.List())
	})
}
