package mcpclient

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
)

// answers is a reply with a response to the request: rest is its result or its error.
func answers(rest string) callHandler {
	return func(w http.ResponseWriter, _ *http.Request, req fakeRequest) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, req.ID, rest)
	}
}

// answersUnder is answers under an HTTP status.
func answersUnder(code int, rest string) callHandler {
	return func(w http.ResponseWriter, r *http.Request, req fakeRequest) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		answers(rest)(w, r, req)
	}
}

// answersInEvents is answers as an event, behind a line of a log with the id of the request.
func answersInEvents(rest string) callHandler {
	return func(w http.ResponseWriter, _ *http.Request, req fakeRequest) {
		event(w, fmt.Sprintf(`{"level":"debug","id":%s}`, req.ID))
		event(w, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, req.ID, rest))
	}
}

// unanswered waits until the client has left.
func unanswered(_ http.ResponseWriter, r *http.Request, _ fakeRequest) { <-r.Context().Done() }

const callFails = `"error":{"code":-32603,"message":"boom"}`

// The outcomes of a call, and whether each counts as a failure of the service. Only an answer
// that did not come does: a response to the request, a refusal and a lost session do not.
func TestOutcomesThatCount(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		reply    callHandler
		failures uint32
	}{
		"a result":                       {answers(`"result":{"content":[]}`), 0},
		"a result that is an error":      {answers(`"result":{"content":[{"type":"text","text":"no"}],"isError":true}`), 0},
		"a result that cannot be read":   {answers(`"result":{}`), 0},
		"a null result":                  {answers(`"result":null`), 0},
		"a result of a task":             {answers(`"result":{"resultType":"task","task":{"taskId":"t","status":"working"}}`), 0},
		"a result that asks for input":   {answers(`"result":{"resultType":"input_required"}`), 0},
		"an internal error":              {answers(callFails), 0},
		"invalid parameters":             {answers(`"error":{"code":-32602,"message":"m"}`), 0},
		"an error of an odd form":        {answers(`"error":{"code":"E1","message":["m"]}`), 0},
		"an error that is a text":        {answers(`"error":"boom"`), 0},
		"an error in events":             {answersInEvents(callFails), 0},
		"a result under 500":             {answersUnder(500, `"result":{"content":[]}`), 0},
		"an error under 500":             {answersUnder(500, callFails), 0},
		"an error under 503":             {answersUnder(503, callFails), 0},
		"an error under 404":             {answersUnder(404, callFails), 0},
		"an error under 429":             {answersUnder(429, callFails), 0},
		"an error under 401":             {answersUnder(401, callFails), 0},
		"401":                            {status(401, "text/plain", ""), 0},
		"403":                            {status(403, "text/plain", ""), 0},
		"404":                            {status(404, "text/plain", ""), 0},
		"413":                            {status(413, "text/plain", ""), 0},
		"a redirect":                     {status(302, "text/plain", ""), 0},
		"429":                            {status(429, "text/plain", ""), 1},
		"500":                            {status(500, "text/plain", ""), 1},
		"503":                            {status(503, "text/plain", ""), 1},
		"a reset connection":             {reset, 1},
		"a cut reply":                    {cutInBody, 1},
		"a page of HTML":                 {status(200, "text/html", "<html>"), 1},
		"a response to another request":  {wrongID, 1},
		"a stream without a response":    {sseWithoutAnswer, 1},
		"a message that answers nothing": {answers(`"msg":"x"`), 1},
		"silence":                        {unanswered, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake()
			f.onCall = tt.reply
			cfg := over(serve(t, f))
			if name == "silence" {
				cfg.Servers[0].Timeout = 50 * time.Millisecond
			}
			c := newClient(t, cfg)
			c.Tools(t.Context())
			_, _ = call(t.Context(), c, "write")
			if n := failures(c); n != tt.failures {
				t.Errorf("the breaker counts %d failures, want %d", n, tt.failures)
			}
			f.setOnCall(nil)
			mustCall(t, c, "read", "ok")
		})
	}
}

// The calls of a turn to one server add one failure to a row of failures.
func TestTurnAddsOneFailure(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.onCall = cut
	c := newClient(t, over(serve(t, f)))
	for i := range 3 {
		ctx := chat.WithTurn(t.Context(), chat.Turn{RequestID: "req_1", Began: time.Unix(int64(i+1), 0)})
		for range 4 {
			call(ctx, c, "write")
			call(ctx, c, "read") // twice each
		}
		if n := failures(c); int(n) != i+1 {
			t.Errorf("behind %d turns the breaker counts %d failures", i+1, n)
		}
	}
}

// A handshake that the server refuses says nothing against the service: with other credentials
// it works, and so does what it offers to others.
func TestRefusedHandshakeDoesNotCount(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		reply    callHandler
		method   string
		failures uint32
	}{
		"401":                 {status(401, "text/plain", ""), "initialize", 0},
		"403 of the list":     {status(403, "text/plain", ""), "tools/list", 0},
		"a JSON-RPC error":    {answers(callFails), "initialize", 0},
		"an error under 500":  {answersUnder(500, callFails), "tools/list", 0},
		"a list of no tools":  {answers(`"result":"none"`), "tools/list", 0},
		"500":                 {status(500, "text/plain", ""), "initialize", 1},
		"a cut connection":    {cut, "initialize", 1},
		"503 of notification": {status(503, "text/plain", ""), "notifications/initialized", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake()
			f.onAny = func(w http.ResponseWriter, r *http.Request, req fakeRequest) bool {
				if req.Method != tt.method {
					return false
				}
				tt.reply(w, r, req)
				return true
			}
			c := unstarted(t, over(serve(t, f)))
			if set := c.Tools(t.Context()); len(set.Unavailable) != 1 {
				t.Error("the server counts as connected")
			}
			if n := failures(c); n != tt.failures {
				t.Errorf("the breaker counts %d failures, want %d", n, tt.failures)
			}
		})
	}
}

// The older transport's stream is refused by status too.
func TestRefusedStreamDoesNotCount(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]uint32{401: 0, 403: 0, 500: 1} {
		url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }))
		c := unstarted(t, Config{ConnectWait: 10 * time.Second, Servers: []Server{{Name: "s", Transport: SSE, URL: url}}})
		if set := c.Tools(t.Context()); len(set.Unavailable) != 1 || failures(c) != want {
			t.Errorf("%d: the breaker counts %d failures, want %d", code, failures(c), want)
		}
	}
}

// A turn that waits for attempts of the background, and then makes its own, adds one failure.
func TestTurnThatJoinsAnAttemptAddsOneFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, nil)
		cfg := inBubble(b)
		cfg.ConnectWait = time.Minute
		c := unstarted(t, cfg)
		u := c.upstreams[0]
		for i := range 2 {
			ctx := chat.WithTurn(t.Context(), chat.Turn{RequestID: "req_1", Began: time.Unix(int64(i+1), 0)})
			for range 4 {
				begun := u.joinAttempt(u.life, false)
				joined := u.joinAttempt(ctx, true)
				<-begun.done
				<-joined.done
			}
			if n := failures(c); int(n) != i+1 {
				t.Errorf("behind %d turns the breaker counts %d failures", i+1, n)
			}
		}
	})
}

// A list that is read again and refused leaves the session and its tools as they were.
func TestRefusedRefreshKeepsTheSession(t *testing.T) {
	t.Parallel()
	for _, code := range []int{401, 403} {
		f := newFake()
		c := newClient(t, over(serve(t, f)))
		mustCall(t, c, "read", "ok")
		var refused atomic.Int32
		f.mu.Lock()
		f.onAny = func(w http.ResponseWriter, r *http.Request, req fakeRequest) bool {
			if req.Method != "tools/list" {
				return false
			}
			refused.Add(1)
			status(code, "text/plain", "")(w, r, req)
			return true
		}
		f.mu.Unlock()
		u := c.upstreams[0]
		u.refreshTools(t.Context(), u.current.Load())
		mustCall(t, c, "read", "ok")
		if n := f.counts("initialize"); n != 1 || refused.Load() == 0 {
			t.Errorf("%d: %d sessions, want 1", code, n)
		}
	}
}

// What can be read of a result counts. One of which nothing can be read is a failed call, and
// the model is informed: it ran once, and the session stays.
func TestResultsInAnyForm(t *testing.T) {
	t.Parallel()
	const unreadable = "unreadable"
	for result, want := range map[string]string{
		`{"content":"Hello, World!","isError":false}`: "Hello, World!",
		`{"content":""}`:                                                  "",
		`{"content":{"total":36}}`:                                        `{"total":36}`,
		`{"content":{"type":"text","text":"one"}}`:                        "one",
		`{"content":42}`:                                                  "42",
		`{"content":["a",1,{"b":2},[3],null,true]}`:                       "a\n1\n{\"b\":2}\n[3]\ntrue",
		`{"content":[{"type":"text","text":42}]}`:                         "42",
		`{"content":[{"type":"text","text":{"a":1}},{"type":"text"}]}`:    `{"a":1}`,
		`{"content":[{"text":"without a type"}]}`:                         "without a type",
		`{"content":[{"type":"markdown","text":"# a"}]}`:                  "# a",
		`{"content":[{"type":7,"x":1}]}`:                                  "[content of type 7, not shown]",
		`{"content":[{"type":"image","mimeType":7,"data":["x"]}]}`:        "[7, 3 bytes, left out]",
		`{"content":[{"type":"resource","resource":"todo://1"}]}`:         "todo://1",
		`{"content":[{"type":"resource","resource":{"uri":1,"text":2}}]}`: "2",
		`{"toolResult":"old"}`:                                            "old",
		`{"toolResult":{"a":1}}`:                                          `{"a":1}`,
		`{"content":null,"structuredContent":{"a":1}}`:                    `{"a":1}`,
		`"text"`:                           "text",
		`["a",{"type":"text","text":"b"}]`: "a\nb",
		`7`:                                "7",
		`{}`:                               unreadable,
		`null`:                             unreadable,
		`{"content":null,"structuredContent":null}`:                      unreadable,
		`{"content":[null]}`:                                             unreadable,
		`{"content":[{"type":"text"},{"type":"text","text":null}]}`:      unreadable,
		`{"resultType":"task","task":{"taskId":"t","status":"working"}}`: unreadable,
	} {
		for way, reply := range map[string]callHandler{
			"JSON": answers(`"result":` + result), "SSE": answersInEvents(`"result":` + result), "500": answersUnder(500, `"result":`+result),
		} {
			f := newFake()
			f.onCall = reply
			c := newClient(t, over(serve(t, f)))
			for _, name := range []string{"write", "read"} {
				r, err := call(t.Context(), c, name)
				switch {
				case want != unreadable && (err != nil || r.Text != want || r.IsError):
					t.Errorf("%s, %s: got %q, %v; want %q", result, way, r.Text, err, want)
				case want == unreadable && (err == nil || err.Type != fault.ToolFailed || err.Unknown || !strings.Contains(err.ForModel(), "answered in a form that cannot be read")):
					t.Errorf("%s, %s: got %q, %v", result, way, r.Text, err)
				}
			}
			if calls, sessions := f.counts("tools/call"), f.counts("initialize"); calls != 2 || sessions != 1 {
				t.Errorf("%s, %s: %d calls and %d sessions, want 2 and 1", result, way, calls, sessions)
			}
		}
	}
}

// A result says that it is an error also where it has another form of true.
func TestIsErrorInAnyForm(t *testing.T) {
	t.Parallel()
	for form, want := range map[string]bool{
		"true": true, `"true"`: true, `"True"`: true, "1": true, `"1"`: true,
		"false": false, `"false"`: false, "0": false, "null": false, `""`: false, "{}": false, `"no"`: false,
	} {
		if r := readResult([]byte(`{"content":[],"isError":` + form + `}`)); r.isError != want {
			t.Errorf("%s: got %v", form, r.isError)
		}
	}
}

// The words of an error reach the model whatever the form and the status.
func TestErrorsReachTheModel(t *testing.T) {
	t.Parallel()
	for rest, want := range map[string]string{
		`"error":{"code":"E1","message":"Boom"}`:            "write failed: Boom",
		`"error":{"message":{"why":"x"}}`:                   `write failed: {"why":"x"}`,
		`"error":"Boom"`:                                    "write failed: Boom",
		`"error":{}`:                                        "write failed: the server does not say why",
		`"result":null,"error":{"code":1,"message":"Boom"}`: "write failed: Boom",
	} {
		for _, code := range []int{200, 400, 404, 500} {
			f := newFake()
			f.onCall = answersUnder(code, rest)
			c := newClient(t, over(serve(t, f)))
			_, err := call(t.Context(), c, "write")
			wantFault(t, err, fault.ToolFailed, false)
			if err.ForModel() != want || f.counts("tools/call") != 1 || f.counts("initialize") != 1 {
				t.Errorf("%s under %d: the model gets %q, %d calls", rest, code, err.ForModel(), f.counts("tools/call"))
			}
		}
	}
}

// The cost of looking for structured content in texts grows with their length, and not with its
// product with the number of texts: this result took half a minute.
func TestManyTextsAlongsideStructuredContent(t *testing.T) {
	t.Parallel()
	r := readResult([]byte(`{"content":[` + strings.Repeat(`{"type":"text","text":"{}"},`, 7_000) + `{}],"structuredContent":{"a":[` + strings.Repeat("1,", 100_000) + `1]}}`))
	began := time.Now()
	_ = r.renderText()
	if elapsed := time.Since(began); elapsed > 5*time.Second {
		t.Errorf("it took %v", elapsed)
	}
}

// The structured content stands behind texts that do not hold it, also in an error.
func TestStructuredContentAlongsideTexts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ texts, structured, want string }{
		{`"Found accounts"`, `{"total":36}`, "Found accounts\n{\"total\":36}"},
		{`"Found 36"`, `{"result":3}`, "Found 36\n{\"result\":3}"},
		{`"{\"total\":36}"`, `{"total":36}`, `{"total":36}`},
		{`"{\n  \"b\": [1, 2],\n  \"a\": \"x y\"\n}"`, `{"b":[1,2],"a":"x y"}`, "{\n  \"b\": [1, 2],\n  \"a\": \"x y\"\n}"},
		{`"{\"a\":1,\"b\":2}"`, `{"b":2,"a":1}`, `{"a":1,"b":2}`},
		{`"Result: {\"a\": 1}."`, `{"a":1}`, `Result: {"a": 1}.`},
		{`"hi"`, `{"result":"hi"}`, "hi"},
		{`"42"`, `{"result":42}`, "42"},
		{`"a","b"`, `{"result":["a","b"]}`, "a\nb"},
		{`"[1,2]"`, `{"result":[1, 2]}`, "[1,2]"},
		{`"{\"id\":1}","{\"id\":2}"`, `{"result":[{"id":1},{"id":2}]}`, "{\"id\":1}\n{\"id\":2}"},
		{`"a"`, `{"result":["a","b"]}`, "a\n{\"result\":[\"a\",\"b\"]}"},
		{`"ok"`, `{}`, "ok"},
		{`""`, `{"a":1}`, "\n{\"a\":1}"},
	} {
		var contents []string
		for text := range strings.SplitSeq(strings.ReplaceAll(tt.texts, `","`, "\"\x00\""), "\x00") {
			contents = append(contents, `{"type":"text","text":`+text+`}`)
		}
		for _, isError := range []string{"false", "true"} {
			r := readResult([]byte(`{"content":[` + strings.Join(contents, ",") + `],"structuredContent":` + tt.structured + `,"isError":` + isError + `}`))
			if got := r.renderText(); got != tt.want {
				t.Errorf("%s beside %s: got %q, want %q", tt.structured, tt.texts, got, tt.want)
			}
		}
	}
}

// resuming is a server whose reply to a call ends or breaks behind the id of an event. Its n-th
// attempt to resume is answered by the n-th of attempts, the last one again and again.
func resuming(t *testing.T, breaks bool, attempts ...callHandler) (*fake, *atomic.Int32) {
	f := newFake()
	var asked atomic.Int32
	var id []byte
	f.onCall = func(w http.ResponseWriter, _ *http.Request, req fakeRequest) {
		id = req.ID
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "id: e1\nretry: 100\ndata: \n\n")
		w.(http.Flusher).Flush()
		if breaks {
			hijack(w).Close()
		}
	}
	f.onGet = func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Last-Event-Id") != "e1" || r.Header.Get("Mcp-Session-Id") == "" {
			t.Errorf("resumed with %v", r.Header)
		}
		n := int(asked.Add(1))
		attempts[min(n, len(attempts))-1](w, r, fakeRequest{ID: id})
	}
	return f, &asked
}

// A stream that ends or breaks behind the id of an event is resumed within the call's time, for
// tools with effects too: the call is sent once, and the answer is not lost.
func TestStreamIsResumed(t *testing.T) {
	t.Parallel()
	result := answersInEvents(`"result":{"content":"resumed"}`)
	breaksAgain := func(w http.ResponseWriter, _ *http.Request, _ fakeRequest) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, ": soon\n\n")
		w.(http.Flusher).Flush()
		hijack(w).Close()
	}
	for name, attempts := range map[string][]callHandler{
		"at once":              {result},
		"at the second time":   {breaksAgain, result},
		"when it is back":      {status(503, "text/plain", ""), cut, result},
		"with an empty stream": {status(200, "text/event-stream", ""), result},
	} {
		for _, breaks := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, broken: %v", name, breaks), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f, asked := resuming(t, breaks, attempts...)
					c := newClient(t, inBubble(newBubble(t, f)))
					c.Tools(t.Context())
					mustCall(t, c, "write", "resumed")
					if calls, sessions := f.counts("tools/call"), f.counts("initialize"); calls != 1 || sessions != 1 || int(asked.Load()) != len(attempts) || failures(c) != 0 {
						t.Errorf("%d calls, %d sessions, %d attempts, %d failures", calls, sessions, asked.Load(), failures(c))
					}
				})
			})
		}
	}
}

// A stream that nobody can resume is lost: the outcome of a tool with effects is unknown. An unavailable
// server is waited for until the call's time is over.
func TestStreamThatCannotBeResumed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for want, reply := range map[fault.Type]callHandler{
			fault.ToolFailed: status(405, "text/plain", ""),
			fault.Timeout:    status(503, "text/plain", ""),
		} {
			f, _ := resuming(t, true, reply)
			c := newClient(t, inBubble(newBubble(t, f)))
			c.Tools(context.Background())
			_, err := call(t.Context(), c, "write")
			wantFault(t, err, want, true)
			if f.counts("tools/call") != 1 || failures(c) != 1 {
				t.Errorf("%d calls, %d failures", f.counts("tools/call"), failures(c))
			}
		}
	})
}
