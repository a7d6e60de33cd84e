package toolserver

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ask sends a request, and returns its reply.
func ask(s *Server, method, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(method, "/mcp", strings.NewReader(body)))
	return w
}

func TestServer(t *testing.T) {
	t.Parallel()
	s := &Server{Name: "shop", List: Tool("buy", "Buys.", Argument("amount", "number"), `"readOnlyHint":false`) + "," + Tool("look", `Says "it".`, `{"type":"object"}`, ""),
		Call: func(w http.ResponseWriter, _ *http.Request, c Call) Reply {
			switch c.Name {
			case "buy":
				return Text("bought " + string(c.Arguments))
			case "look":
				return Failure("it is\ndark")
			}
			w.WriteHeader(http.StatusServiceUnavailable)
			return ""
		}}
	tests := []struct {
		name, method, body string
		status             int
		want               string
	}{
		{"initialize", "POST", `{"id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`, 200,
			`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"shop","version":"1"}}}`},
		{"tools", "POST", `{"id":"a","method":"tools/list"}`, 200,
			`{"jsonrpc":"2.0","id":"a","result":{"tools":[{"name":"buy","description":"Buys.","inputSchema":{"type":"object","properties":{"amount":{"type":"number"}},"required":["amount"]},` +
				`"annotations":{"readOnlyHint":false}},{"name":"look","description":"Says \"it\".","inputSchema":{"type":"object"}}]}}`},
		{"a call", "POST", `{"id":2,"method":"tools/call","params":{"name":"buy","arguments":{"amount":3}}}`, 200,
			`{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"bought {\"amount\":3}"}]}}`},
		{"one that fails", "POST", `{"id":2,"method":"tools/call","params":{"name":"look"}}`, 200,
			`{"jsonrpc":"2.0","id":2,"result":{"isError":true,"content":[{"type":"text","text":"it is\ndark"}]}}`},
		{"one that is answered otherwise", "POST", `{"id":2,"method":"tools/call","params":{"name":"sell"}}`, 503, ""},
		{"ping", "POST", `{"id":3,"method":"ping"}`, 200, `{"jsonrpc":"2.0","id":3,"result":{}}`},
		{"an unknown method", "POST", `{"id":4,"method":"prompts/list"}`, 200, `{"jsonrpc":"2.0","id":4,"error":{"code":-32601,"message":"no such method"}}`},
		{"a notification", "POST", `{"method":"notifications/initialized"}`, 202, ""},
		{"no JSON", "POST", `{`, 400, ""},
		{"a stream of the server's own", "GET", "", 405, ""},
	}
	for _, tt := range tests {
		w := ask(s, tt.method, tt.body)
		if diff := cmp.Diff(tt.want, w.Body.String()); w.Code != tt.status || diff != "" {
			t.Errorf("%s: %d, want %d (-want +got):\n%s", tt.name, w.Code, tt.status, diff)
		}
		if tt.want != "" && (!json.Valid(w.Body.Bytes()) || w.Header().Get("Content-Type") != "application/json") {
			t.Errorf("%s: no JSON: %v", tt.name, w.Header())
		}
	}
}
