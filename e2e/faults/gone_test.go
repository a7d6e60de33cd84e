package faults

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"sluice/e2e/process"
	"sluice/internal/app/gateway/gatewaytest"
)

func newReader(r io.Reader) *bufio.Reader { return bufio.NewReader(r) }

// holding is a model that says a word and waits: until the gateway cancels its call, which it
// reports, or until it is let go.
func holding(gone chan<- struct{}, letGo <-chan struct{}) func(*process.Question) {
	return func(q *process.Question) {
		q.SendText("word ")
		select {
		case <-q.Cancelled():
			gone <- struct{}{}
		case <-letGo:
		}
	}
}

// A client that leaves has its model call cancelled, and is nobody's failure, however many there
// are.
func TestC1Disconnect(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{}, 10)
	g := start(t, holding(gone, nil), unhurried()...)
	const clients = 5 // more than open the breaker
	for i := range clients {
		cmd := curl(t, g.posting(aTurn)...)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		upTo(t, out, "word")
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		within(t, "the end of the model call", gone)
		l := g.AwaitAfter("request_completed", i)
		if l.Detail("finish_reason") != "cancelled" || l.Detail("success") != "false" {
			t.Errorf("logged: %s", l.Raw)
		}
	}
	g.unharmed(t)
}

// A client that leaves during a call that changes something ends the call, which is not made again;
// the log has its outcome.
func TestC2DisconnectDuringACall(t *testing.T) {
	t.Parallel()
	began, ended := make(chan struct{}, 10), make(chan struct{}, 10)
	var calls atomic.Int32
	tools := gatewaytest.ServeHandler(t, gatewaytest.ToolServer(t, map[string]func(context.Context) string{"pay": func(ctx context.Context) string {
		calls.Add(1)
		began <- struct{}{}
		<-ctx.Done()
		ended <- struct{}{}
		return ""
	}}))
	g := start(t, func(q *process.Question) { q.Call("pay", "{}") }, unhurried("MCP_SERVER_URL", tools+"/mcp")...)
	g.Await("mcp_connected")
	cmd := curl(t, g.posting(aTurn)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	within(t, "the call", began)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	within(t, "the end of the call", ended)
	if l := g.Await("mcp_tool_result"); l.Detail("tool_name") != "pay" || l.Detail("success") != "false" {
		t.Errorf("logged: %s", l.Raw)
	}
	if l := g.Await("request_completed"); l.Detail("finish_reason") != "cancelled" || !strings.Contains(l.Detail("tools_called"), "pay") {
		t.Errorf("logged: %s", l.Raw)
	}
	if n := calls.Load(); n != 1 {
		t.Errorf("%d calls", n)
	}
	g.unharmed(t)
}

// A second request on a connection waits for the first one's end. Bytes ahead of their time do not
// hide that the client leaves.
func TestC8Pipelining(t *testing.T) {
	t.Parallel()
	gone, letGo := make(chan struct{}, 10), make(chan struct{})
	g := start(t, holding(gone, letGo), unhurried()...)
	turn := request("POST", "/chat/stream", aTurn, "Content-Type: application/json")
	for name, extra := range map[string]string{"a request": request("GET", "/healthz", ""), "a byte": "G"} {
		c := g.dial(t)
		if _, err := io.WriteString(c, turn+extra); err != nil {
			t.Fatal(err)
		}
		upTo(t, c, "word")
		_ = c.Close()
		within(t, "the end of the model call after "+name, gone)
	}
	c := g.dial(t)
	if _, err := io.WriteString(c, turn+request("GET", "/tools", "", "Connection: close")); err != nil {
		t.Fatal(err)
	}
	start := upTo(t, c, "word")
	close(letGo)
	r := bufio.NewReader(io.MultiReader(strings.NewReader(start), c))
	read(t, r, "POST").finished(t)
	if second := read(t, r, "GET"); second.status != http.StatusOK || !strings.Contains(second.body, `"tools"`) {
		t.Errorf("the second request: %d %s", second.status, second.body)
	}
}

// An old client gets the same events, without chunks, up to the end of the connection.
func TestC9HTTP10(t *testing.T) {
	t.Parallel()
	g := start(t, echo)
	for _, keep := range []string{"", "Connection: keep-alive\r\n"} {
		c := g.dial(t)
		_, _ = io.WriteString(c, strings.Replace(request("POST", "/chat/stream", aTurn, "Content-Type: application/json"), "HTTP/1.1\r\n", "HTTP/1.0\r\n"+keep, 1))
		text, err := io.ReadAll(c)
		if err != nil { // a reset says that the reply is not whole
			t.Errorf("the connection ends with %v", err)
		}
		head, body, _ := strings.Cut(string(text), "\r\n\r\n")
		if !strings.HasPrefix(head, "HTTP/1.0 200 OK\r\n") || strings.Contains(head, "Transfer-Encoding") {
			t.Errorf("the head is %s", head)
		}
		if got := finished(t, body); got != "hello" {
			t.Errorf("the answer is %q", got)
		}
	}
}

// A request that is sent twice with one key runs once: during the turn, and after it.
func TestC36DuplicateRequest(t *testing.T) {
	t.Parallel()
	began, letGo := make(chan struct{}, 10), make(chan struct{})
	var calls atomic.Int32
	tools := gatewaytest.ServeHandler(t, gatewaytest.ToolServer(t, map[string]func(context.Context) string{"pay": func(context.Context) string {
		calls.Add(1)
		began <- struct{}{}
		<-letGo
		return "paid"
	}}))
	release := sync.OnceFunc(func() { close(letGo) })
	t.Cleanup(release)
	g := start(t, func(q *process.Question) {
		if q.Results == 0 {
			q.Call("pay", "{}")
			return
		}
		q.SendText("Paid.")
	}, unhurried("MCP_SERVER_URL", tools+"/mcp")...)
	g.Await("mcp_connected")
	const key = "Idempotency-Key: pay-1234567"
	first := make(chan string, 1)
	cmd := curl(t, g.posting(aTurn, "-H", key)...)
	go func() {
		out, _ := cmd.Output()
		first <- string(out)
	}()
	within(t, "the call", began)
	again := func() {
		t.Helper()
		g.post(t, aTurn, key).refused(t, 409, "duplicate_request", "")
		got, _ := g.say(t, request("GET", "/chat/stream?input=hello&idempotency_key=pay-1234567", ""))
		if got.status != 409 && got.status != 204 {
			t.Errorf("GET: %d", got.status)
		}
	}
	again()
	release()
	if got := finished(t, within(t, "the turn", first)); got != "Paid." {
		t.Errorf("the answer is %q", got)
	}
	again()
	if n := calls.Load(); n != 1 {
		t.Errorf("paid %d times", n)
	}
	g.post(t, aTurn, key+"8").finished(t)
	if n := calls.Load(); n != 2 {
		t.Errorf("with another key paid %d times in all", n)
	}
}
