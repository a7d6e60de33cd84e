package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"sluice/internal/base/testnet"
)

// fake is an MCP server over streamable HTTP, protocol 2025-11-25 with sessions,
// that can misbehave on demand. It is written from the specification, without
// mcp-go.
type fake struct {
	mu       sync.Mutex // guards the fields below
	tools    []string   // definitions, JSON
	sessions map[string]bool
	next     int
	count    map[string]int // requests by method; DELETE for its HTTP method
	headers  []http.Header  // of each tools/call
	args     []string       // of each tools/call, as received

	// onCall answers tools/call; nil: the text "ok".
	onCall func(w http.ResponseWriter, r *http.Request, req fakeRequest)
	// onAny may answer any POST before it is looked at; it returns false to let it pass.
	onAny func(w http.ResponseWriter, r *http.Request, req fakeRequest) bool
	// onGet answers a GET; nil: there is no such stream.
	onGet http.HandlerFunc
}

type fakeRequest struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Cursor    string          `json:"cursor"`
		Meta      struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	} `json:"params"`
}

const (
	toolWrite = `{"name":"write","description":"Writes.","inputSchema":{"type":"object"}}`
	toolRead  = `{"name":"read","description":"Reads.","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`
)

func newFake(tools ...string) *fake {
	if len(tools) == 0 {
		tools = []string{toolWrite, toolRead}
	}
	return &fake{tools: tools, sessions: map[string]bool{}, count: map[string]int{}}
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodDelete {
		f.counted("DELETE")
		return
	}
	if r.Method == http.MethodGet && f.onGet != nil {
		f.onGet(w, r)
		return
	}
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	data, _ := io.ReadAll(r.Body)
	var req fakeRequest
	if err := json.Unmarshal(data, &req); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	f.counted(req.Method)
	if f.onAny != nil && f.onAny(w, r, req) {
		return
	}
	if req.Method != "initialize" && !f.knows(r.Header.Get("Mcp-Session-Id")) {
		http.Error(w, "Session not found", http.StatusNotFound)
		return
	}
	f.answer(w, r, req)
}

func (f *fake) answer(w http.ResponseWriter, r *http.Request, req fakeRequest) {
	switch req.Method {
	case "initialize":
		w.Header().Set("Mcp-Session-Id", f.newSession())
		sendResult(w, req, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"fake","version":"1"}}`)
	case "tools/list":
		f.mu.Lock()
		list := strings.Join(f.tools, ",")
		f.mu.Unlock()
		sendResult(w, req, `{"tools":[`+list+`]}`)
	case "tools/call":
		f.mu.Lock()
		f.headers = append(f.headers, r.Header.Clone())
		f.args = append(f.args, string(req.Params.Arguments))
		onCall := f.onCall
		f.mu.Unlock()
		if onCall == nil {
			sendText(w, req, "ok")
			return
		}
		onCall(w, r, req)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

func sendResult(w http.ResponseWriter, req fakeRequest, result string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, req.ID, result)
}

func sendText(w http.ResponseWriter, req fakeRequest, text string) {
	quoted, _ := json.Marshal(text)
	sendResult(w, req, `{"content":[{"type":"text","text":`+string(quoted)+`}]}`)
}

func sendError(w http.ResponseWriter, req fakeRequest, status, code int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, req.ID, code, message)
}

// event writes one server-sent event and flushes it.
func event(w http.ResponseWriter, data string) {
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "event: message\ndata: %s\n\n", data)
	w.(http.Flusher).Flush()
}

func (f *fake) setOnCall(h func(w http.ResponseWriter, r *http.Request, req fakeRequest)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.onCall = h
}

func (f *fake) setTools(tools ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tools = tools
}

func (f *fake) counted(method string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count[method]++
}

func (f *fake) counts(method string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count[method]
}

func (f *fake) newSession() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next++
	id := fmt.Sprintf("session-%d", f.next)
	f.sessions[id] = true
	return id
}

func (f *fake) knows(id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.sessions[id]
}

// forget makes the server forget its sessions, as a restart does.
func (f *fake) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sessions = map[string]bool{}
}

// lastHeaders returns the headers of the last tools/call.
func (f *fake) lastHeaders() http.Header {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.headers[len(f.headers)-1]
}

// serve runs h on a port of the kernel's choice.
func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

// pipes is a network in memory, for tests in fake time. A dial is refused while
// no server listens.
type pipes struct {
	mu     sync.Mutex // guards the fields below
	l      *testnet.Listener
	dials  int
	onDial func()
}

func (p *pipes) listen() net.Listener {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.l = testnet.Listen()
	return p.l
}

func (p *pipes) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	p.mu.Lock()
	p.dials++
	l, onDial := p.l, p.onDial
	p.mu.Unlock()
	if onDial != nil {
		onDial()
	}
	refused := &net.OpError{Op: "dial", Net: "pipe", Err: fmt.Errorf("connection refused")}
	if l == nil {
		return nil, refused
	}
	conn, err := l.Dial(ctx, network, addr)
	if errors.Is(err, net.ErrClosed) {
		return nil, refused
	}
	return conn, err
}

func (p *pipes) dialed() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dials
}

// bubble is a fake server and a client's transport in one synctest bubble.
type bubble struct {
	net       *pipes
	transport *http.Transport
	server    *http.Server
}

// newBubble serves h; with nil no server listens yet. Its parts end with the test's
// function, so it must be called in the bubble.
func newBubble(t *testing.T, h http.Handler) *bubble {
	b := &bubble{net: &pipes{}}
	b.transport = &http.Transport{DialContext: b.net.dial}
	if h != nil {
		b.start(h)
	}
	t.Cleanup(func() {
		b.stop()
		b.transport.CloseIdleConnections()
	})
	return b
}

func (b *bubble) start(h http.Handler) {
	b.server = &http.Server{Handler: h}
	l := b.net.listen()
	s := b.server
	go func() { _ = s.Serve(l) }()
}

func (b *bubble) stop() {
	if b.server != nil {
		b.server.Close()
	}
}
