package handlers

import (
	"cmp"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/edge/dialect"
)

// writeJSON is lenient with the JSON of others: one tool with an odd schema must
// not hide the rest.
func writeJSON(w http.ResponseWriter, status int, v any) error {
	body, err := json.Marshal(v, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true))
	if err != nil {
		return err
	}
	writeBody(w, status, body)
	return nil
}

// writeBody sends a JSON text.
func writeBody(w http.ResponseWriter, status int, body []byte) {
	writeReply(w, &dialect.Reply{Status: status, Body: body})
}

// replyNoContent answers 204, the one reply that makes an EventSource stop for good.
func replyNoContent(w http.ResponseWriter) error {
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// writeReply sends a reply that is not a stream.
func writeReply(w http.ResponseWriter, reply *dialect.Reply) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	for name, values := range reply.Header {
		h[http.CanonicalHeaderKey(name)] = values
	}
	h.Set("Content-Type", cmp.Or(reply.ContentType, "application/json"))
	h.Set("Content-Length", strconv.Itoa(len(reply.Body)))
	w.WriteHeader(cmp.Or(reply.Status, http.StatusOK))
	_, _ = w.Write(reply.Body)
}
