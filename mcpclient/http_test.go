package mcpclient

import (
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/breaker"
	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
)

type callHandler = func(w http.ResponseWriter, r *http.Request, req fakeRequest)

// hijack removes the connection from net/http's server.
func hijack(w http.ResponseWriter) net.Conn {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	return conn
}

func cut(w http.ResponseWriter, _ *http.Request, _ fakeRequest) { hijack(w).Close() }

func reset(w http.ResponseWriter, _ *http.Request, _ fakeRequest) {
	conn := hijack(w)
	conn.(*net.TCPConn).SetLinger(0)
	conn.Close()
}

func cutInBody(w http.ResponseWriter, _ *http.Request, req fakeRequest) {
	conn := hijack(w)
	fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":%s,", req.ID)
	conn.Close()
}

func status(code int, contentType, body string) callHandler {
	return func(w http.ResponseWriter, _ *http.Request, _ fakeRequest) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(code)
		io.WriteString(w, body)
	}
}

func sseWithoutAnswer(w http.ResponseWriter, _ *http.Request, _ fakeRequest) {
	event(w, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"soon"}}`)
}

func wrongID(w http.ResponseWriter, _ *http.Request, req fakeRequest) {
	req.ID = []byte("987654")
	sendText(w, req, "another call's")
}

// lostAnswers are the ways to lose an answer after the request was sent.
var lostAnswers = map[string]callHandler{
	"M3CutBeforeHeaders": cut,
	"M3Reset":            reset,
	"M3CutInBody":        cutInBody,
	"M8Status500":        status(500, "text/plain", "boom"),
	"M8Status500JSON":    status(500, "application/json", `{"detail":"boom"}`),
	"M10StreamEnds":      sseWithoutAnswer,
	"M11HTML":            status(200, "text/html", "<html>down for maintenance</html>"),
	"M11BrokenJSON":      status(200, "application/json", `{"jsonrpc":"2.0","id":`),
	"M11NoContentType":   status(200, "", `x`),
	"M12WrongID":         wrongID,
}

func TestLostAnswerOfAWriteIsUnknown(t *testing.T) {
	for name, h := range lostAnswers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake()
			f.onCall = h
			c := newClient(t, over(serve(t, f)))
			_, err := call(t.Context(), c, "write")
			wantFault(t, err, fault.ToolFailed, true)
			if n := f.counts("tools/call"); n != 1 {
				t.Errorf("the server got %d calls, want 1", n)
			}
			if n := failures(c); n != 1 {
				t.Errorf("the breaker counts %d failures, want 1", n)
			}
			f.setOnCall(nil)
			mustCall(t, c, "write", "ok")
		})
	}
}

func TestLostAnswerOfAReadIsAskedForAgain(t *testing.T) {
	for name, h := range lostAnswers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake()
			var calls atomic.Int32
			f.onCall = func(w http.ResponseWriter, r *http.Request, req fakeRequest) {
				if calls.Add(1) == 1 {
					h(w, r, req)
					return
				}
				sendText(w, req, "second")
			}
			c := newClient(t, over(serve(t, f)))
			mustCall(t, c, "read", "second")
		})
	}
}

func TestLostAnswerOfAReadTwice(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.onCall = cut
	c := newClient(t, over(serve(t, f)))
	_, err := call(t.Context(), c, "read")
	wantFault(t, err, fault.ToolFailed, false)
	if n := f.counts("tools/call"); n != 2 {
		t.Errorf("the server got %d calls, want 2", n)
	}
}

// net/http sends some requests again by itself when a kept-alive connection
// breaks. A tool call must not be one of them.
func TestConnectionReuseNeverReplaysACall(t *testing.T) {
	t.Parallel()
	f := newFake()
	c := newClient(t, over(serve(t, f)))
	for range 3 {
		mustCall(t, c, "write", "ok") // the connection is warm
	}
	f.setOnCall(cut)
	before := f.counts("tools/call")
	_, err := call(t.Context(), c, "write")
	wantFault(t, err, fault.ToolFailed, true)
	if n := f.counts("tools/call") - before; n != 1 {
		t.Errorf("the server got %d calls, want 1", n)
	}
}

func TestSessionExpired(t *testing.T) {
	expired := map[string]func(http.ResponseWriter, *http.Request, fakeRequest) bool{
		"404": nil, // what the fake does by itself
		"400 as of the TypeScript examples": func(w http.ResponseWriter, r *http.Request, req fakeRequest) bool {
			if id := r.Header.Get("Mcp-Session-Id"); id != "session-1" {
				return false
			}
			sendError(w, req, 400, -32000, "Bad Request: No valid session ID provided")
			return true
		},
	}
	for name, onAny := range expired {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake()
			c := newClient(t, over(serve(t, f)))
			mustCall(t, c, "write", "ok")
			f.mu.Lock()
			f.onAny = onAny
			f.mu.Unlock()
			f.forget()
			mustCall(t, c, "write", "ok")
			if n := f.counts("initialize"); n != 2 {
				t.Errorf("%d sessions, want 2", n)
			}
			if n := failures(c); n != 0 {
				t.Errorf("the breaker counts %d failures, want 0", n)
			}
		})
	}
}

func TestSessionThatExpiresAlways(t *testing.T) {
	t.Parallel()
	f := newFake()
	c := newClient(t, over(serve(t, f)))
	mustCall(t, c, "write", "ok")
	f.mu.Lock()
	f.onAny = func(w http.ResponseWriter, _ *http.Request, req fakeRequest) bool {
		if req.Method == "tools/call" {
			http.NotFound(w, nil)
			return true
		}
		return false
	}
	f.mu.Unlock()
	_, err := call(t.Context(), c, "write")
	wantFault(t, err, fault.MCPUnavailable, false)
	if n := f.counts("tools/call"); n != 3 {
		t.Errorf("the server got %d calls, want 3: no loop", n)
	}
	if n := failures(c); n != 0 {
		t.Errorf("the breaker counts %d failures, want 0: the server replies", n)
	}
}

// A hundred calls find the session gone at the same time: one new session.
func TestManyCallsOneNewSession(t *testing.T) {
	t.Parallel()
	f := newFake()
	c := newClient(t, over(serve(t, f)))
	mustCall(t, c, "write", "ok")
	f.forget()
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			if _, err := call(t.Context(), c, "write"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := f.counts("initialize"); n != 2 {
		t.Errorf("%d sessions, want 2", n)
	}
}

func TestMethodNotFoundIn404(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.onAny = func(w http.ResponseWriter, _ *http.Request, req fakeRequest) bool {
		switch req.Method {
		case "initialize": // no session: as since 2026-07-28
			sendResult(w, req, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"f","version":"1"}}`)
		case "tools/list":
			f.answer(w, nil, req)
		case "tools/call":
			sendError(w, req, 404, -32601, "Unknown tool: write")
		default:
			w.WriteHeader(http.StatusAccepted)
		}
		return true
	}
	c := newClient(t, over(serve(t, f)))
	_, err := call(t.Context(), c, "write")
	wantFault(t, err, fault.ToolFailed, false)
	if want := "write failed: Unknown tool: write"; err.ForModel() != want {
		t.Errorf("the model is texts %q, want %q", err.ForModel(), want)
	}
	if calls, inits := f.counts("tools/call"), f.counts("initialize"); calls != 1 || inits != 1 {
		t.Errorf("%d calls and %d sessions, want 1 and 1", calls, inits)
	}
	if n := failures(c); n != 0 {
		t.Errorf("the breaker counts %d failures, want 0", n)
	}
}

// A refusal of one tool is that call's own: session, other tools and breaker stay.
func TestUnauthorized(t *testing.T) {
	for _, code := range []int{401, 403} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			t.Parallel()
			f := newFake()
			f.onCall = status(code, "application/json", `{"error":"forbidden"}`)
			c := newClient(t, over(serve(t, f)))
			_, err := call(t.Context(), c, "read")
			wantFault(t, err, fault.ToolFailed, false)
			if !err.NoEffect || !strings.Contains(err.ForModel(), "does not allow it") {
				t.Errorf("the model gets %q", err.ForModel())
			}
			if n := f.counts("tools/call"); n != 1 {
				t.Errorf("the server got %d calls, want 1", n)
			}
			if n := failures(c); n != 0 {
				t.Errorf("the breaker counts %d failures, want 0", n)
			}
			f.setOnCall(nil)
			mustCall(t, c, "write", "ok")
			if n := f.counts("initialize"); n != 1 {
				t.Errorf("%d sessions, want 1: the session stays", n)
			}
		})
	}
}

// Where a server receives for whom it works, its refusal is that user's own: nobody else's
// calls, session or breaker change by it.
func TestRefusalOfAUser(t *testing.T) {
	t.Parallel()
	for _, code := range []int{401, 403} {
		f := newFake()
		f.onCall = status(code, "application/json", `{"error":"forbidden"}`)
		cfg := over(serve(t, f))
		cfg.Servers[0].Identity = true
		c := newClient(t, cfg)
		for range 10 {
			_, err := call(t.Context(), c, "write")
			wantFault(t, err, fault.ToolFailed, false)
		}
		if n := failures(c); n != 0 {
			t.Errorf("%d: the breaker counts %d failures, want 0", code, n)
		}
		f.setOnCall(nil)
		mustCall(t, c, "write", "ok")
		if n := f.counts("initialize"); n != 1 {
			t.Errorf("%d: %d sessions, want 1", code, n)
		}
	}
}

func TestSessionSurvivesA500(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.onCall = status(500, "application/json", `{"detail":"boom"}`)
	c := newClient(t, over(serve(t, f)))
	call(t.Context(), c, "write")
	f.setOnCall(nil)
	mustCall(t, c, "write", "ok")
	if n := f.counts("initialize"); n != 1 {
		t.Errorf("%d sessions, want 1", n)
	}
}

func TestStatusWithRetryAfter(t *testing.T) {
	tests := []struct {
		code    int
		unknown bool
	}{{429, false}, {503, true}}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.code), func(t *testing.T) {
			t.Parallel()
			f := newFake()
			f.onCall = func(w http.ResponseWriter, r *http.Request, req fakeRequest) {
				w.Header().Set("Retry-After", "7")
				w.WriteHeader(tt.code)
			}
			c := newClient(t, over(serve(t, f)))
			_, err := call(t.Context(), c, "write")
			wantFault(t, err, fault.MCPUnavailable, tt.unknown)
			if err.RetryAfter != 7*time.Second {
				t.Errorf("RetryAfter is %v, want 7s", err.RetryAfter)
			}
			if n := failures(c); n != 1 {
				t.Errorf("the breaker counts %d failures, want 1", n)
			}
		})
	}
}

func TestOurOwn4xxIsNeutral(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.onCall = status(413, "text/plain", "too much")
	c := newClient(t, over(serve(t, f)))
	_, err := call(t.Context(), c, "write")
	wantFault(t, err, fault.ToolFailed, false)
	if n := failures(c); n != 0 {
		t.Errorf("the breaker counts %d failures, want 0", n)
	}
}

func TestJSONRPCErrorsAreAnswers(t *testing.T) {
	for _, code := range []int{-32602, -32601, -32603, -32000, 42} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			t.Parallel()
			f := newFake()
			f.onCall = func(w http.ResponseWriter, r *http.Request, req fakeRequest) {
				sendError(w, req, 200, code, "not that way")
			}
			c := newClient(t, over(serve(t, f)))
			_, err := call(t.Context(), c, "read")
			wantFault(t, err, fault.ToolFailed, false)
			if strings.Contains(err.Message, "not that way") || !strings.Contains(err.Hint, "not that way") {
				t.Errorf("the server's text belongs to the model alone: message %q, hint %q", err.Message, err.Hint)
			}
			if n := f.counts("tools/call"); n != 1 {
				t.Errorf("the server got %d calls, want 1", n)
			}
			if n := failures(c); n != 0 {
				t.Errorf("the breaker counts %d failures, want 0", n)
			}
		})
	}
}

// A tool that asks the user something in the middle of a call (SEP-2322) gets no
// answer here: we do not declare that we could give one.
func TestToolThatAsksForInput(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.onCall = func(w http.ResponseWriter, r *http.Request, req fakeRequest) {
		sendResult(w, req, `{"resultType":"input_required","requestState":"s","inputRequests":{"q":{"method":"elicitation/create","params":{"message":"Sure?","requestedSchema":{"type":"object","properties":{}}}}}}`)
	}
	c := newClient(t, over(serve(t, f)))
	_, err := call(t.Context(), c, "write")
	wantFault(t, err, fault.ToolFailed, false)
	if want := "The tool asks for input that cannot be given here"; err.Message != want {
		t.Errorf("got message %q, want %q", err.Message, want)
	}
	if calls, n := f.counts("tools/call"), failures(c); calls != 1 || n != 0 {
		t.Errorf("%d calls and %d failures, want 1 and 0", calls, n)
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	var reached atomic.Int32
	sink := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	f := newFake()
	f.onCall = func(w http.ResponseWriter, r *http.Request, req fakeRequest) {
		http.Redirect(w, r, sink, http.StatusTemporaryRedirect)
	}
	c := newClient(t, over(serve(t, f)))
	_, err := call(t.Context(), c, "write")
	wantFault(t, err, fault.MCPUnavailable, false)
	if reached.Load() != 0 {
		t.Error("the redirect was followed")
	}
}

func TestRedirectOfAStreamIsNotFollowed(t *testing.T) {
	t.Parallel()
	var reached atomic.Int32
	sink := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	url := serve(t, http.RedirectHandler(sink, http.StatusTemporaryRedirect))
	c := unstarted(t, Config{Servers: []Server{{
		Name: "s", Transport: SSE, URL: url, Headers: map[string]string{"Authorization": "Bearer s3cret-token"},
	}}})
	if set := c.Tools(t.Context()); len(set.Unavailable) != 1 || reached.Load() != 0 {
		t.Errorf("the redirect was followed %d times", reached.Load())
	}
}

func TestHugeResult(t *testing.T) {
	const huge = 32 << 20
	piece := strings.Repeat("x", 1024) // made once: what the fake allocates counts as well
	replies := map[string]callHandler{
		"JSON": func(w http.ResponseWriter, r *http.Request, req fakeRequest) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, req.ID)
			for range huge / 1024 {
				if _, err := io.WriteString(w, piece); err != nil {
					return
				}
			}
			io.WriteString(w, `"}]}}`)
		},
		"SSE": func(w http.ResponseWriter, r *http.Request, req fakeRequest) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "data: ")
			for range huge / 1024 {
				if _, err := io.WriteString(w, piece); err != nil {
					return
				}
			}
		},
	}
	for name, h := range replies {
		t.Run(name, func(t *testing.T) {
			f := newFake()
			f.onCall = h
			c := newClient(t, over(serve(t, f)))
			c.Tools(t.Context())
			least := uint64(math.MaxUint64) // of a few calls: other goroutines allocate too, now and then
			for range 3 {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				_, err := call(t.Context(), c, "read")
				runtime.ReadMemStats(&after)
				wantFault(t, err, fault.ToolFailed, false)
				if err.Message != "The tool's answer was too large" {
					t.Errorf("got message %q", err.Message)
				}
				least = min(least, after.TotalAlloc-before.TotalAlloc)
			}
			if n := least >> 20; n > 12 {
				t.Errorf("%d MiB were allocated", n)
			}
			if n := failures(c); n != 0 {
				t.Errorf("the breaker counts %d failures, want 0", n)
			}
			f.setOnCall(nil)
			mustCall(t, c, "read", "ok")
		})
	}
}

func TestManyItems(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.onCall = func(w http.ResponseWriter, r *http.Request, req fakeRequest) {
		item := `{"type":"text","text":"item"}`
		sendResult(w, req, `{"content":[`+strings.Repeat(item+",", 9999)+item+`]}`)
	}
	c := newClient(t, over(serve(t, f)))
	r, err := call(t.Context(), c, "read")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(r.Text, "item"); n != 10000 {
		t.Errorf("got %d items, want 10000", n)
	}
}

func TestParallelCallsGetTheirOwnAnswers(t *testing.T) {
	t.Parallel()
	f := newFake(`{"name":"echo","inputSchema":{"type":"object"}}`)
	f.onCall = func(w http.ResponseWriter, r *http.Request, req fakeRequest) {
		event(w, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%s}]}}`,
			req.ID, mustJSON(t, string(req.Params.Arguments))))
	}
	c := newClient(t, over(serve(t, f)))
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			want := fmt.Sprintf(`{"n":%d}`, i)
			r, err := callWith(t.Context(), c, "echo", want)
			if err != nil || r.Text != want {
				t.Errorf("got %q, %v; want %q", r.Text, err, want)
			}
		})
	}
	wg.Wait()
	if n := f.counts("initialize"); n != 1 {
		t.Errorf("%d sessions, want 1", n)
	}
}

func TestWhatAServerIsSent(t *testing.T) {
	t.Parallel()
	f := newFake()
	cfg := over(serve(t, f))
	cfg.Version = "1.2.3"
	cfg.Servers[0].Headers = map[string]string{"authorization": "Bearer s3cret-token"}
	c := newClient(t, cfg)
	ctx := chat.WithRequestID(t.Context(), "req_0123456789ab")
	// Numbers that a float64 does not hold, the order of the names, and escapes.
	args := `{"z":12345678901234567890,"a":1.10,"s":"é\n"}`
	if _, err := callWith(ctx, c, "write", args); err != nil {
		t.Fatal(err)
	}
	h := f.lastHeaders()
	for name, want := range map[string]string{
		"X-Request-Id": "req_0123456789ab", "User-Agent": "sluice/1.2.3", "Authorization": "Bearer s3cret-token",
	} {
		if got := h.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if got := f.args[0]; got != args {
		t.Errorf("arguments arrived as %s, want %s", got, args)
	}
}

func TestServerRequestInAReplyIsAnswered(t *testing.T) {
	t.Parallel()
	f := newFake()
	ponged := make(chan string, 1)
	f.onAny = func(w http.ResponseWriter, _ *http.Request, req fakeRequest) bool {
		if req.Method == "" { // a response of ours
			ponged <- string(req.ID)
			w.WriteHeader(http.StatusAccepted)
			return true
		}
		return false
	}
	f.onCall = func(w http.ResponseWriter, r *http.Request, req fakeRequest) {
		event(w, `{"jsonrpc":"2.0","id":"ask","method":"ping"}`)
		id := <-ponged
		event(w, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%q}]}}`, req.ID, id))
	}
	c := newClient(t, over(serve(t, f)))
	mustCall(t, c, "write", `"ask"`)
}

// The server is replaced while a call runs in it; the next call works at once.
func TestServerRestart(t *testing.T) {
	t.Parallel()
	f := newFake()
	reached := make(chan struct{})
	f.onCall = func(w http.ResponseWriter, r *http.Request, req fakeRequest) {
		close(reached)
		<-r.Context().Done()
	}
	first := httptest.NewServer(f)
	addr := first.Listener.Addr().String()
	c := newClient(t, over(first.URL))
	done := make(chan *fault.Error)
	go func() {
		_, err := call(t.Context(), c, "write")
		done <- err
	}()
	<-reached
	first.CloseClientConnections()
	first.Close()
	wantFault(t, <-done, fault.ToolFailed, true)

	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Skipf("the port was taken meanwhile: %v", err)
	}
	second := &httptest.Server{Listener: l, Config: &http.Server{Handler: newFake()}}
	second.Start()
	t.Cleanup(second.Close)
	mustCall(t, c, "write", "ok")
	if s := state(c); s != breaker.Closed {
		t.Errorf("the breaker is %s", s)
	}
}

func TestCloseEndsTheSession(t *testing.T) {
	t.Parallel()
	f := newFake()
	c := newClient(t, over(serve(t, f)))
	mustCall(t, c, "write", "ok")
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if n := f.counts("DELETE"); n != 1 {
		t.Errorf("%d sessions were ended, want 1", n)
	}
	_, err := call(t.Context(), c, "write")
	wantFault(t, err, fault.MCPUnavailable, false)
	if err := c.Close(); err != nil {
		t.Errorf("closing twice: %v", err)
	}
}

func TestSecretsStayInside(t *testing.T) {
	t.Parallel()
	const secret, query = "tops3cret-token", "qu3ry-secret"
	f := newFake(toolWrite, `{"name":"gossip","title":"`+secret+`","description":"Bearer `+secret+`","inputSchema":{"type":"object","description":"`+query+`"}}`)
	url := serve(t, f) + "/mcp?key=" + query + "&k=xyz"
	var log logBuffer
	cfg := over(url)
	cfg.Log = log.logger()
	cfg.Servers[0].Headers = map[string]string{"Authorization": "Bearer " + secret}
	cfg.Servers[0].Breaker = breaker.New(breaker.Config{Service: "mcp:s", Failures: 4, Recovery: time.Nanosecond, Log: log.logger()})
	ctx := log.logger().WithContext(t.Context())
	c := newClient(t, cfg)
	var texts []string
	for _, h := range []callHandler{
		cut, reset, cutInBody, status(500, "text/plain", secret), status(403, "text/plain", query),
		func(w http.ResponseWriter, _ *http.Request, req fakeRequest) {
			sendText(w, req, "you sent Bearer "+secret+" and "+query)
		},
		func(w http.ResponseWriter, _ *http.Request, req fakeRequest) {
			sendError(w, req, 200, -32603, "no such key: "+secret)
		},
	} {
		f.setOnCall(h)
		r, err := call(ctx, c, "write")
		texts = append(texts, r.Text)
		if err != nil {
			texts = append(texts, err.Error(), err.ForModel(), err.Message)
		}
	}
	texts = append(texts, mustJSON(t, c.Tools(ctx).Specs))
	all := strings.Join(texts, "\n") + log.String()
	if strings.Contains(all, secret) || strings.Contains(all, query) || strings.Contains(all, "xyz") {
		t.Errorf("a secret got out:\n%s", all)
	}
	if !strings.Contains(all, "[redacted]") {
		t.Error("nothing was redacted: the test tests nothing")
	}
}
