//go:build unix

package gateway_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/rs/zerolog"

	"sluice/breaker"
	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/settings"
	"sluice/internal/base/fault"
	"sluice/internal/base/testnet"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/internal/state/store/redis"
	"sluice/internal/state/store/redis/redistest"
	"sluice/internal/state/store/sqlite"
	"sluice/mcpclient"
)

// books are a bank, a model that has it pay, and the gateways in between. The bank answers a
// payment when it is let go.
type books struct {
	t     *testing.T
	in    store.Store   // nil: turns are not kept
	paid  atomic.Int64  // calls that have reached the bank
	begun chan struct{} // closed: the first of them has
	free  chan struct{} // closed: the bank answers
	first sync.Once
	let   func()
	// after answers the model's calls once the bank was called; nil: with a text.
	after func(w http.ResponseWriter, r *http.Request)
}

func openBooks(t *testing.T, in store.Store) *books {
	b := &books{t: t, in: in, begun: make(chan struct{}), free: make(chan struct{})}
	b.let = sync.OnceFunc(func() { close(b.free) })
	t.Cleanup(b.let)
	return b
}

// ServeHTTP is the model: it has the bank pay, and once more after each result that is none.
func (b *books) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	asked, _ := io.ReadAll(r.Body)
	results := bytes.Count(asked, []byte(`"functionResponse"`))
	part := `{"functionCall":{"name":"pay","args":{"amount":30}}}`
	switch {
	case results > 0 && b.after != nil:
		b.after(w, r)
		return
	case bytes.Contains(asked, []byte("paid")) || results > 2:
		part = `{"text":"Done what could be done."}`
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = fmt.Fprintf(w, "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[%s]},\"finishReason\":\"STOP\"}],\"modelVersion\":\"m\"}\r\n\r\n", part)
}

// bank pays without being asked twice: it cannot report a repetition.
func (b *books) bank() mcpclient.Server {
	no, yes := false, true
	m := server.NewMCPServer("bank", "1", server.WithToolCapabilities(true))
	m.AddTool(mcp.NewTool("pay", mcp.WithToolAnnotation(mcp.ToolAnnotation{ReadOnlyHint: &no, DestructiveHint: &yes, IdempotentHint: &no}), mcp.WithNumber("amount")),
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			b.paid.Add(1)
			b.first.Do(func() { close(b.begun) })
			<-b.free
			return mcp.NewToolResultText("paid"), nil
		})
	return mcpclient.Server{Name: "bank", Transport: mcpclient.InProcess, InProcess: m, Breaker: breaker.New(breaker.Config{Service: "mcp:bank"})}
}

// gateway starts one on a store, which may be nil.
func (b *books) gateway(in store.Store, env ...string) (wholetest.Peer, *gateway.Gateway) {
	b.t.Helper()
	all := map[string]string{"GEMINI_API_KEY": wholetest.Key, "GEMINI_BASE_URL": "http://gemini", "SLUICE_STORE": "none"}
	content := "mcpServers: {}\n"
	if in != nil {
		content += "tasks: {lease: 3s}\n"
		all["SLUICE_STORE"] = "memory"
	}
	for i := 0; i < len(env); i += 2 {
		all[env[i]] = env[i+1]
	}
	cfg, file := wholetest.Configured(b.t, content, all)
	wholetest.SetServers(&cfg, nil)
	g, err := gateway.New(b.t.Context(), settings.Config{Config: cfg, File: file, Version: "test"}, zerolog.Nop(),
		gateway.Seams{Store: in, Gemini: testnet.Serve(b.t, b), Servers: []mcpclient.Server{b.bank()}})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { b.let(); g.Close() })
	return wholetest.Peer{Client: http.Client{Transport: testnet.Serve(b.t, g)}}, g
}

// obedient is a client that does all what was asked of it: it comes back for what it lost, and
// sends again what is worth sending again.
type obedient struct {
	t        *testing.T
	gateways []wholetest.Peer // it asks one after the other
	extra    string           // members of the request
	key      int
	sent     int
	last     string // id of the last event
	lose     string // the event at which the connection breaks, once
	received []string
}

// run asks until there is nothing more to do.
func (c *obedient) run(ctx context.Context) {
	for c.sent < 8 {
		if !c.ask(ctx) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	c.t.Errorf("it was sent again and again:\n%s", strings.Join(c.received, "\n"))
}

// ask sends the request, or asks for the rest. It returns false if that is all.
func (c *obedient) ask(ctx context.Context) (again bool) {
	p := c.gateways[min(c.sent, len(c.gateways)-1)]
	c.sent++
	var headers []string
	method, path, body := http.MethodPost, "/chat/stream", `{"input":"pay","conversation_id":"conv_1","user_id":"ann"`+c.extra+`}`
	if headers = []string{"Idempotency-Key", fmt.Sprintf("payment-%d", c.key)}; c.last != "" {
		headers = append(headers, "Last-Event-ID", c.last)
	}
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	req, err := http.NewRequestWithContext(ctx, method, "http://gateway"+path, strings.NewReader(body))
	if err != nil {
		c.t.Error(err)
		return false
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := p.Client.Do(req)
	if err != nil {
		c.received = append(c.received, "no reply: "+err.Error())
		return ctx.Err() == nil
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		problem, _ := io.ReadAll(resp.Body)
		c.received = append(c.received, fmt.Sprint(resp.StatusCode, resp.Header["Retry-After"], string(problem)))
		return resp.Header.Get("Retry-After") != ""
	}
	return c.read(resp.Body, leave)
}

// read reads a stream to its end.
func (c *obedient) read(body io.Reader, leave func()) (again bool) {
	name, id := "", ""
	for lines := bufio.NewScanner(body); lines.Scan(); {
		field, value, _ := strings.Cut(lines.Text(), ": ")
		switch field {
		case "": // the event is whole
			c.last, id = cmp.Or(id, c.last), ""
		case "id":
			id = value
		case "event":
			if name = value; name == c.lose {
				c.lose = ""
				leave()
				return true
			}
		case "data":
			c.received = append(c.received, name+" "+value)
			var ev struct{ Recoverable, Fatal bool }
			_ = json.Unmarshal([]byte(value), &ev)
			if name == "error" && ev.Fatal && ev.Recoverable { // the same request is worth sending again
				c.key, c.last = c.key+1, ""
				return true
			}
			if name == "done" {
				return false
			}
		}
	}
	return true // it broke off
}

// fading is the store of a gateway that loses it: for a while, for good, or without knowing
// that its lease is not renewed.
type fading struct {
	store.Store
	down, lapsed atomic.Bool
}

func (f *fading) unless() error {
	if f.down.Load() {
		return fmt.Errorf("%w: a test says so", store.ErrUnavailable)
	}
	return nil
}

func (f *fading) AppendLog(ctx context.Context, turn string, a store.Append) error {
	if err := f.unless(); err != nil {
		return err
	}
	return f.Store.AppendLog(ctx, turn, a)
}

func (f *fading) UpdateTask(ctx context.Context, id string, task store.Task, ttl time.Duration) error {
	if err := f.unless(); err != nil {
		return err
	}
	return f.Store.UpdateTask(ctx, id, task, ttl)
}

func (f *fading) PutValue(ctx context.Context, key string, v store.Value, ttl time.Duration) (store.Value, error) {
	if err := f.unless(); err != nil {
		return store.Value{}, err
	}
	return f.Store.PutValue(ctx, key, v, ttl)
}

func (f *fading) RenewLease(ctx context.Context, h store.Holder, ttl time.Duration) error {
	if f.lapsed.Load() {
		return nil
	}
	if err := f.unless(); err != nil {
		return err
	}
	return f.Store.RenewLease(ctx, h, ttl)
}

func (f *fading) ReleaseLease(ctx context.Context, h store.Holder) error {
	if f.lapsed.Load() || f.down.Load() {
		return nil
	}
	return f.Store.ReleaseLease(ctx, h)
}

// paidEnding is a way in which a turn that pays is cut, ended, tried again or taken up.
type paidEnding struct {
	name string
	env  []string
	kept bool // it needs a store
	// early says that the turn may end before its payment has reached the bank.
	early bool
	// after is books.after. lose and extra are the client's. act is called when the payment has
	// begun; one is the gateway that makes it.
	after       func(w http.ResponseWriter, r *http.Request)
	lose, extra string
	act         func(b *books, c *obedient, one *gateway.Gateway, in *fading)
}

// paidEndings lists them. What an ending does not let go the bank answers when the client is done.
func paidEndings() []paidEnding {
	free := func(b *books, _ *obedient, _ *gateway.Gateway, _ *fading) { b.let() }
	fails := func(status int, body string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "1")
			http.Error(w, body, status)
		}
	}
	return []paidEnding{
		{name: "nothing", act: free},
		{name: "signal", act: func(b *books, _ *obedient, one *gateway.Gateway, _ *fading) {
			one.HTTP().Drain()
			one.HTTP().Abort(&fault.Error{Type: fault.ShuttingDown, Message: "The gateway is shutting down", RetryAfter: time.Second})
		}},
		{name: "time of the tool", env: []string{"SLUICE_TOOL_TIMEOUT", "200ms"}},
		{name: "time of the turn, in the tool", env: []string{"SLUICE_REQUEST_TIMEOUT", "500ms"}},
		{name: "time of the turn, behind the tool", env: []string{"SLUICE_REQUEST_TIMEOUT", "1s"}, act: free,
			after: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
		{name: "time of the model", env: []string{"SLUICE_MODEL_TIMEOUT", "300ms"}, act: free,
			after: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
		{name: "model is unavailable", act: free, after: fails(http.StatusServiceUnavailable, "{}")},
		{name: "model has too much to do", act: free, after: fails(http.StatusTooManyRequests, "{}")},
		{name: "client is cut in the call", lose: "tool_call", act: free},
		{name: "client is cut at the start", lose: "start", act: free},
		{name: "done is lost", lose: "done", act: free},
		{name: "client leaves, and the turn with it", kept: true, early: true, lose: "tool_call", extra: `,"on_disconnect":"cancel"`},
		{name: "cancel", kept: true, act: func(b *books, c *obedient, _ *gateway.Gateway, in *fading) {
			page, err := in.Tasks(b.t.Context(), store.Query{User: "ann", Limit: 1})
			if err != nil || len(page.IDs) != 1 {
				b.t.Error(page.IDs, err)
				return
			}
			c.gateways[len(c.gateways)-1].Ask(b.t, http.MethodPost, "/tasks/"+page.IDs[0]+"/cancel", "")
		}},
		{name: "key is repeated", kept: true, act: func(b *books, c *obedient, _ *gateway.Gateway, _ *fading) {
			other := &obedient{t: b.t, gateways: c.gateways[1:]}
			time.AfterFunc(300*time.Millisecond, b.let)
			other.run(b.t.Context())
		}},
		{name: "lease is over", kept: true, act: func(b *books, _ *obedient, _ *gateway.Gateway, in *fading) {
			in.lapsed.Store(true)
			time.AfterFunc(8*time.Second, b.let)
		}},
		{name: "gateway dies", kept: true, lose: "tool_call", act: func(_ *books, _ *obedient, _ *gateway.Gateway, in *fading) {
			in.down.Store(true)
		}},
		{name: "store is unavailable for a while", kept: true, lose: "done", act: func(b *books, _ *obedient, _ *gateway.Gateway, in *fading) {
			in.down.Store(true)
			b.let()
			time.AfterFunc(1500*time.Millisecond, func() { in.down.Store(false) })
		}},
	}
}

// However a turn that pays is cut, ended, tried again or taken up, a client that does all what
// was asked of it has paid once.
func TestTurnsPayOnce(t *testing.T) {
	t.Parallel()
	places := make(chan struct{}, 6) // most of the time is a lease that ends
	var some sync.WaitGroup
	for kind, open := range map[string]func(t *testing.T) store.Store{
		"no store": func(*testing.T) store.Store { return nil },
		"memory":   func(*testing.T) store.Store { return memory.New(memory.Config{}) },
		"sqlite": func(t *testing.T) store.Store {
			engine, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "s.db"), Calls: store.NewCalls(store.CallsConfig{Timeout: 10 * time.Second})})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = engine.Close() })
			return engine
		},
		"redis": func(t *testing.T) store.Store {
			socket := redistest.Start(t, "redis-server", os.Getenv("SLUICE_REQUIRE_PEERS") != "").Socket
			engine := redis.New(redis.Config{Location: store.Location{Kind: store.Redis, Socket: true, Addrs: []string{socket}}, Calls: store.NewCalls(store.CallsConfig{Timeout: 10 * time.Second})})
			t.Cleanup(func() { _ = engine.Close() })
			return engine
		},
	} {
		for _, e := range paidEndings() {
			if kind == "no store" && e.kept {
				continue
			}
			places <- struct{}{}
			some.Go(func() {
				defer func() { <-places }()
				t.Run(kind+"/"+e.name, func(t *testing.T) { e.paysOnce(t, open(t)) })
			})
		}
	}
	some.Wait()
}

// paysOnce plays the ending with two gateways.
func (e paidEnding) paysOnce(t *testing.T, in store.Store) {
	b := openBooks(t, in)
	b.after = e.after
	var first *fading
	var mine store.Store
	if in != nil {
		first = &fading{Store: in}
		mine = first
	}
	one, g := b.gateway(mine, e.env...)
	two, _ := b.gateway(in, e.env...)
	c := &obedient{t: t, gateways: []wholetest.Peer{one, two}, lose: e.lose, extra: e.extra}
	acted, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(acted)
		select {
		case <-b.begun:
		case <-over:
			return
		}
		if e.act != nil {
			e.act(b, c, g, first)
		}
	}()
	c.run(t.Context())
	close(over)
	<-acted
	b.let()
	again := &obedient{t: t, gateways: []wholetest.Peer{two}, key: c.key, extra: e.extra} // and its key once more
	if in != nil {
		again.run(t.Context())
	}
	if n := b.paid.Load(); n != 1 && (n != 0 || !e.early && (in != nil || e.lose == "")) {
		t.Errorf("paid %d times; the client was told\n%s\nand with its key once more\n%s", n, strings.Join(c.received, "\n"), strings.Join(again.received, "\n"))
	}
}
