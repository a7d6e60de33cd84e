package wire

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// An error of any form is read: servers have codes and messages that are no numbers and strings.
func TestErrorsInAnyForm(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]mcp.JSONRPCErrorDetails{
		`{"code":-32602,"message":"m","data":[1]}`: {Code: -32602, Message: "m", Data: []any{1.0}},
		`{"code":"E1","message":"Boom"}`:           {Message: "Boom"},
		`{"code":"-32601","message":"Boom"}`:       {Code: -32601, Message: "Boom"},
		`{"code":1e99,"message":{"a":1}}`:          {Message: `{"a":1}`},
		`{"code":null,"message":42}`:               {Message: "42"},
		`{"data":"why"}`:                           {Message: "why", Data: "why"},
		`"why"`:                                    {Code: mcp.INTERNAL_ERROR, Message: "why"},
		`["why"]`:                                  {Code: mcp.INTERNAL_ERROR, Message: `["why"]`},
		`true`:                                     {Code: mcp.INTERNAL_ERROR, Message: "true"},
	} {
		m := readMessage([]byte(`{"jsonrpc":"2.0","id":1,"error":` + text + `}`))
		if diff := cmp.Diff(&want, m.toResponse().Error); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
		var read transport.JSONRPCResponse
		if err := json.Unmarshal(m.marshalFitted(), &read); err != nil || read.Error == nil || read.Error.Message != want.Message {
			t.Errorf("%s: mcp-go reads %v, %v", text, read.Error, err)
		}
	}
}

// callOf is the exchange of the request with the id 7.
func callOf() *Exchange { return &Exchange{limit: MaxReply, id: mcp.NewRequestId(int64(7))} }

const (
	note  = `{"jsonrpc":"2.0","method":"notifications/message"}`
	right = `{"jsonrpc":"2.0","id":7,"result":{"a":1}}`
)

// The body that mcp-go gets has the response to the request in a form that it reads, and no
// message before it that it would take for the response.
func TestReplyHoldsTheResponse(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ contentType, text, want string }{
		"as it should be":    {"application/json", right, right},
		"of no type":         {"", right, right},
		"of another type":    {"text/plain", right, right},
		"a batch":            {"application/json", "[" + note + "," + right + "]", right},
		"an odd code":        {"application/json", `{"jsonrpc":2.0,"id":7,"error":{"code":"E1","message":"m"}}`, `{"jsonrpc":"2.0","id":7,"error":{"code":0,"message":"m"}}`},
		"a method beside it": {"application/json", `{"id":7,"method":"tools/call","result":{"a":1}}`, right},
		"another id":         {"application/json", `{"id":8,"result":{}}`, `{"id":8,"result":{}}`},
		"an odd event":       {"text/event-stream", "id: e\ndata: {\"jsonrpc\":2,\ndata: \"id\":7,\"result\":{\"a\":1}}\n\n", "data: " + right + "\n\n"},
		"a log line first":   {"text/event-stream", `data: {"id":7,"msg":"x"}` + "\n\ndata: " + right + "\n\n", "data: " + right + "\n\n"},
		"one with an id":     {"text/event-stream", "id: e\nretry: 5\ndata: {\"id\":7}\n\ndata: " + right + "\n\n", "id: e\nretry: 5\n\ndata: " + right + "\n\n"},
		"another's response": {"text/event-stream", `data: {"id":8,"result":{}}` + "\n\ndata: " + right + "\n\n", "data: " + right + "\n\n"},
		"an odd last event":  {"text/event-stream", `data: {"id":7,"error":"e"}`, `data: {"id":7,"error":"e"}`},
		"a log line last":    {"text/event-stream", "data: " + note + "\n\n" + `data: {"id":7}`, "data: " + note + "\n\n"},
		"a batch in events":  {"text/event-stream", "data: [" + note + "," + right + "]\n\n", "data: " + right + "\n\n"},
	} {
		for _, size := range []int{1, 3, 1000} {
			body, err := wholeReply(replyOf(tt.contentType, &chunked{strings.NewReader(tt.text), size}), callOf(), func() {})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if got, _ := io.ReadAll(body); string(got) != tt.want {
				t.Errorf("%s in pieces of %d: got %q, want %q", name, size, got, tt.want)
			}
		}
	}
}

// A whole reply that answers nothing is lost: the call has no outcome.
func TestReplyThatAnswersNothing(t *testing.T) {
	t.Parallel()
	_, err := wholeReply(replyOf("application/json", strings.NewReader(`{"level":"debug","id":7}`)), callOf(), func() {})
	if !BrokeOff(err) || !errors.Is(err, errNoAnswer) {
		t.Errorf("got %v", err)
	}
}

// A response to the request is the answer, whatever the HTTP status says.
func TestResponseUnderAnErrorStatus(t *testing.T) {
	t.Parallel()
	const failed = `{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"read-only"}}`
	for _, status := range []int{302, 400, 401, 403, 404, 429, 500, 503} {
		for contentType, text := range map[string]string{
			"application/json": failed, "text/html": failed, "text/event-stream": "event: message\ndata: " + failed + "\n\n",
		} {
			r := &replying{status: status, header: http.Header{"Content-Type": {contentType}}, body: strings.NewReader(text)}
			_, err := posted(t, &roundTripper{next: r}, callOf(), "s")
			e, ok := errors.AsType[*responseError](err)
			if !ok || e.response.Error.Message != "read-only" || !r.closed {
				t.Errorf("%d, %s: got %v", status, contentType, err)
			}
		}
	}
	for text, want := range map[string]string{
		`{"jsonrpc":"2.0","id":7,"result":{"content":[]}}`:                                "a JSON-RPC result",
		`{"jsonrpc":"2.0","id":7,"error":{"code":-32001,"message":"Session not found"}}`:  ErrExpired.Error(),
		`{"jsonrpc":"2.0","id":8,"error":{"code":-32603,"message":"of another request"}}`: ErrExpired.Error(),
	} {
		r := &replying{status: 404, body: strings.NewReader(text)}
		if _, err := posted(t, &roundTripper{next: r}, callOf(), "s"); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

// A stream that breaks off behind the id of an event ends for mcp-go, which then resumes it.
// Without an id, and since protocol 2026-07-28, it is lost.
func TestBrokenStreamCanBeResumed(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, tt := range map[string]struct {
		text    string
		modern  bool
		resumed bool
	}{
		"primed":              {"id: e1\nretry: 100\ndata: \n\n", false, true},
		"behind a note":       {"id: e1\ndata: " + note + "\n\n", false, true},
		"the id not complete": {"id: e1\ndata: ", false, false},
		"an empty id":         {"id: e1\n\nid:\n\n", false, false},
		"no id":               {"data: " + note + "\n\n", false, false},
		"without sessions":    {"id: e1\ndata: \n\n", true, false},
	} {
		x := callOf()
		x.modern = tt.modern
		body, err := wholeReply(replyOf("text/event-stream", io.MultiReader(strings.NewReader(tt.text), &failing{broken})), x, func() {})
		if resumed := err == nil; resumed != tt.resumed || !resumed && !BrokeOff(err) {
			t.Errorf("%s: got %v", name, err)
			continue
		}
		if got, _ := io.ReadAll(body); tt.resumed && string(got) != tt.text {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

// Many notifications are dropped from memory, but not the place at which a stream resumes.
func TestPlaceIsKeptWithoutTheNotifications(t *testing.T) {
	t.Parallel()
	text := "id: e9\nretry: 7\ndata: " + note + "\n\n" + strings.Repeat("data: "+note+"\n\n", 5000)
	body, err := wholeReply(replyOf("text/event-stream", io.MultiReader(&chunked{strings.NewReader(text), 4096}, &failing{io.ErrUnexpectedEOF})), callOf(), func() {})
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := io.ReadAll(body); !strings.HasPrefix(string(got), "id: e9\nretry: 7\n\ndata: ") || len(got) > 2*maxNotes {
		t.Errorf("%d bytes, %.60q", len(got), got)
	}
}

// The stream of the older transport and a resumed one are fit for mcp-go while they go on.
func TestStreamsAreSieved(t *testing.T) {
	t.Parallel()
	get := func(t *testing.T, cursor string, r *replying) (*http.Response, error) {
		req, _ := http.NewRequestWithContext(WithExchange(t.Context(), callOf()), http.MethodGet, "http://s/", nil)
		if cursor != "" {
			req.Header.Set("Last-Event-ID", cursor)
		}
		return (&roundTripper{next: r}).RoundTrip(req)
	}
	const text = "event: endpoint\ndata: /messages\n\n" + `data: {"id":7,"msg":"x"}` + "\n\n" +
		`data: {"id":8,"error":{"code":"E","message":"m"}}` + "\n\n" + "data: " + right + "\n\n: ping\n\n"
	const odd = `data: {"jsonrpc":"2.0","id":8,"error":{"code":0,"message":"m"}}` + "\n\n"
	for cursor, want := range map[string]string{
		"":   "event: endpoint\ndata: /messages\n\n" + odd + "data: " + right + "\n\n: ping\n\n",
		"e1": "event: endpoint\ndata: /messages\n\nid: e1\n\nid: e1\n\ndata: " + right + "\n\n: ping\n\n",
	} {
		for _, size := range []int{1, 5, 1000} {
			resp, err := get(t, cursor, &replying{status: 200, body: &chunked{io.MultiReader(strings.NewReader(text), &failing{io.ErrUnexpectedEOF}), size}})
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(resp.Body)
			if string(got) != want || (err != nil) != (cursor == "") {
				t.Errorf("%q in pieces of %d: got %q, %v", cursor, size, got, err)
			}
		}
	}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		resp, err := get(t, "e1", &replying{status: 503, body: strings.NewReader("soon")})
		if err != nil || resp.StatusCode != 200 || time.Since(began) != resumePause {
			t.Errorf("a server that is unavailable for a moment: %v, %v after %v", resp, err, time.Since(began))
		}
	})
	if resp, err := get(t, "e1", &replying{status: 405, body: strings.NewReader("")}); err != nil || resp.StatusCode != 405 {
		t.Errorf("a server that cannot resume: %v, %v", resp, err)
	}
}

// A cursor that comes again ends the list. The empty one is a cursor since 2026-07-28 only.
func TestCursors(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		modern bool
		raw    []string
		want   []string
	}{
		"absent":             {true, []string{""}, []string{""}},
		"null":               {true, []string{"null"}, []string{""}},
		"no string":          {true, []string{"7"}, []string{""}},
		"again":              {false, []string{`"a"`, `"b"`, `"a"`}, []string{"a", "b", ""}},
		"empty, before":      {false, []string{`""`}, []string{""}},
		"empty, since":       {true, []string{`""`}, []string{emptyCursor}},
		"empty, again":       {true, []string{`""`, `""`}, []string{emptyCursor, ""}},
		"empty, then others": {true, []string{`""`, `"a"`, `"a"`}, []string{emptyCursor, "a", ""}},
	} {
		var l List
		for i, raw := range tt.raw {
			if got := l.nextCursor([]byte(raw), tt.modern); got != tt.want[i] {
				t.Errorf("%s, page %d: got %q, want %q", name, i+1, got, tt.want[i])
			}
		}
		if again := len(tt.raw) > 1; again != (l.Missing() != "") {
			t.Errorf("%s: says %q", name, l.Missing())
		}
	}
	l := List{cursors: map[string]bool{emptyCursor: true}}
	for cursor, want := range map[string]string{emptyCursor: `{"cursor":""}`, "a": `{"cursor":"a"}`} {
		got, err := json.Marshal(l.restoreCursor(mcp.PaginatedParams{Cursor: mcp.Cursor(cursor)}))
		if err != nil || string(got) != want {
			t.Errorf("the request has %s, %v; want %s", got, err, want)
		}
	}
}
