package aisdk

import (
	"net/http"

	"sluice/internal/edge/dialect"
)

// refuse words a refusal for people: pages show all of the body. Programs have the header.
func refuse(r dialect.Refusal) dialect.Reply {
	return dialect.Reply{
		Status: r.Status, ContentType: "text/plain; charset=utf-8", Header: http.Header{"X-Error-Type": {string(r.Fault.Type)}},
		Body: []byte(r.Fault.Message + " (" + r.RequestID + ")"),
	}
}
