package geminisim

import (
	"net/http"

	"github.com/go-json-experiment/json/jsontext"
)

// keyRejected checks the API key of r against want; "" allows any.
func keyRejected(r *http.Request, want string) *apiError {
	got := r.Header.Get("X-Goog-Api-Key")
	if got == "" {
		got = r.URL.Query().Get("key")
	}
	switch {
	case want == "" || got == want:
		return nil
	case got == "":
		return &apiError{Code: http.StatusForbidden, Status: statusName(http.StatusForbidden),
			Message: "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API."}
	}
	err := invalidRequest("API key not valid. Please pass a valid API key.")
	err.Details = []jsontext.Value{jsontext.Value(`{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com","metadata":{"service":"generativelanguage.googleapis.com"}}`)}
	return err
}
