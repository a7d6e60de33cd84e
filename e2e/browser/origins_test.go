package browser

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// attack is a page of an origin, with a referrer policy, which has the browser load
// turns. Target is the URL of a turn without the end of its user's name, which says what loads
// it.
type attack struct {
	Name   string `json:"name"`
	Page   string `json:"page"`
	Target string `json:"target"`
	Policy string `json:"policy"`
}

// use is a page that may run turns.
type use struct {
	Name   string `json:"name"`
	Page   string `json:"page"`
	Target string `json:"target"`
}

// outcome is how a turn ended for a page.
type outcome struct {
	Name, How string
	Done      bool
}

// vehicles are what npm/origins.mjs has in a page that attacks.
func vehicles() []string {
	return []string{
		"img", "crossorigin", "stylesheet", "prefetch", "preload", "iframe", "script", "module", "object", "embed", "video", "background",
		"form", "form-post", "form-text", "beacon", "ping", "fetch", "no-cors", "no-cors-stream", "no-cors-keepalive", "no-cors-post",
		"eventsource", "location", "link",
	}
}

// No page of another origin can have Chromium run a turn, whatever it loads and whatever
// it says of its referrer; and the gateway's own page can, under each of its names,
// over http and https. To loopback and over TLS Chromium sends Sec-Fetch-*, elsewhere
// Referer alone distinguishes the pages.
func TestForeignPagesRunNothing(t *testing.T) {
	t.Parallel()
	browser := chromium(t)
	w := startWitness(t)
	var awaited []string
	attacks := w.attacks()
	for _, a := range attacks {
		for _, vehicle := range vehicles() {
			awaited = append(awaited, a.Name+"-"+vehicle)
		}
	}
	var typed []string
	for _, base := range w.bases() {
		typed = append(typed, turnOf(base, "typed-"+base))
		awaited = append(awaited, "typed-"+base)
	}
	settled := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { w.await(awaited) }))
	t.Cleanup(settled.Close)
	uses := w.uses()
	outcomes := drive[outcome](t, "origins.mjs", map[string]any{
		"chromium": browser, "attacks": attacks, "typed": typed, "settled": settled.URL, "uses": uses,
	})
	if n := w.before.Load(); n != 0 {
		t.Errorf("foreign pages had the tool called %d times", n)
	}
	for _, name := range awaited {
		w.refused(t, name)
	}
	w.judge(t, uses, outcomes)
}

// witness stands between browser and gateway, over http and https, and notes what
// comes of each request for a turn. It also serves the foreign pages, on other ports.
type witness struct {
	gateway       *url.URL
	plain, secure string       // ports of the gateway
	pages, pagesS string       // ports of the foreign pages
	calls, before atomic.Int64 // of the tool: all, and those before the gateway's own pages were opened

	mu       sync.Mutex       // guards the fields below
	statuses map[string][]int // of the replies, by the name of the user
	changed  chan struct{}    // closed when there is another one
}

func startWitness(t *testing.T) *witness {
	t.Helper()
	w := &witness{statuses: map[string][]int{}, changed: make(chan struct{})}
	tools := httptest.NewServer(w.tools())
	t.Cleanup(tools.Close)
	base, err := url.Parse(startGateway(t, map[string]string{"MCP_SERVER_URL": tools.URL + "/mcp"}).base)
	if err != nil {
		t.Fatal(err)
	}
	w.gateway = base
	proxy := &httputil.ReverseProxy{
		// The client's Host stays: the gateway knows by it that the page is its own.
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(base); r.Out.Host = r.In.Host },
		ModifyResponse: w.note,
	}
	front := http.NewServeMux()
	front.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body) // all of it, for it cannot be read once the reply has begun
		if err != nil {
			panic(http.ErrAbortHandler) // the client has left
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	})
	front.HandleFunc("/embedding", blank) // a page of another application on the gateway's host
	w.plain, w.secure = listen(t, front)
	w.pages, w.pagesS = listen(t, http.HandlerFunc(blank))
	return w
}

// listen serves h over http and over https, and returns the ports.
func listen(t *testing.T, h http.Handler) (plain, secure string) {
	t.Helper()
	p, s := httptest.NewServer(h), httptest.NewTLSServer(h)
	t.Cleanup(p.Close)
	t.Cleanup(s.Close)
	port := func(base string) string { return base[strings.LastIndex(base, ":"):] }
	return port(p.URL), port(s.URL)
}

// blank serves an empty page with the referrer policy that its query names.
func blank(w http.ResponseWriter, r *http.Request) {
	if policy := r.URL.Query().Get("policy"); policy != "" {
		w.Header().Set("Referrer-Policy", policy)
	}
	w.Header().Set("Content-Type", "text/html")
	fmt.Fprint(w, "<!doctype html><link rel=icon href=data:,><title>a page</title><body>")
}

// tools are a server with one tool, for which the offline model has a use, and which
// counts its calls.
func (w *witness) tools() http.Handler {
	m := server.NewMCPServer("counter", "1", server.WithToolCapabilities(true))
	m.AddTool(mcp.NewTool("create_todo", mcp.WithDescription("Creates a todo"), mcp.WithString("title", mcp.Required())),
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			w.calls.Add(1)
			return mcp.NewToolResultText(`{"id":"todo_1","title":"eggs"}`), nil
		})
	return server.NewStreamableHTTPServer(m)
}

func turnOf(base, user string) string {
	return base + "/chat/stream?" + url.Values{"input": {"Remind me to buy eggs"}, "user_id": {user}}.Encode()
}

// bases are the gateway's names.
func (w *witness) bases() []string {
	return []string{"http://127.0.0.1" + w.plain, "http://localhost" + w.plain, "http://gw.test" + w.plain, "https://gw.test" + w.secure, "https://127.0.0.1" + w.secure}
}

// attacks are the pages of foreign origins: of another host, of another port, of a
// subdomain, and of http:// where the gateway is https://.
func (w *witness) attacks() (all []attack) {
	http, https := "http://gw.test"+w.plain, "https://gw.test"+w.secure
	for _, pair := range [][2]string{
		{"http://evil.test" + w.pages, http},
		{"http://gw.test" + w.pages, http},
		{"http://sub.gw.test" + w.pages, http},
		{"http://127.0.0.1" + w.pages, "http://127.0.0.1" + w.plain},
		{"https://evil.test" + w.pagesS, https},
		{"https://gw.test" + w.pagesS, https},
		{"https://sub.gw.test" + w.pagesS, https},
		{"http://gw.test" + w.pages, https},
	} {
		for _, policy := range []string{"", "no-referrer"} {
			name := fmt.Sprintf("%s to %s %s", pair[0], pair[1], policy)
			all = append(all, attack{name, pair[0] + "/?policy=" + policy, turnOf(pair[1], name), policy})
		}
	}
	return all
}

// uses are the gateway's own page under each of its names, and pages of another
// application on its host.
func (w *witness) uses() (all []use) {
	add := func(base, page string) {
		all = append(all, use{base + page, base + page, turnOf(base, base+page)})
	}
	for _, base := range w.bases() {
		add(base, "/")
		if strings.Contains(base, "gw.test") {
			add(base, "/embedding")
			add(base, "/embedding?policy=same-origin")
			add(base, "/embedding?policy=no-referrer")
		}
	}
	return all
}

// note notes the status of a reply to a request for a turn.
func (w *witness) note(resp *http.Response) error {
	if r := resp.Request; r.URL.Path == "/chat/stream" && r.Method != http.MethodOptions {
		w.mu.Lock()
		defer w.mu.Unlock()
		name := r.URL.Query().Get("user_id")
		w.statuses[name] = append(w.statuses[name], resp.StatusCode)
		close(w.changed)
		w.changed = make(chan struct{})
	}
	return nil
}

func (w *witness) seen() (statuses map[string][]int, changed <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.statuses), w.changed
}

// await waits for a reply to each of names, and then looks at the counter.
func (w *witness) await(names []string) {
	timeout := time.After(patience / 3)
	for {
		statuses, changed := w.seen()
		if !slices.ContainsFunc(names, func(name string) bool { return statuses[name] == nil }) {
			break
		}
		select {
		case <-changed:
			continue
		case <-timeout: // the test says what is missing
		}
		break
	}
	w.before.Store(w.calls.Load())
}

func (w *witness) refused(t *testing.T, name string) {
	t.Helper()
	statuses, _ := w.seen()
	if got := statuses[name]; len(got) == 0 || slices.ContainsFunc(got, func(s int) bool { return s != http.StatusForbidden }) {
		t.Errorf("%s: replies %v, want 403", name, got)
	}
}

// judge looks at what came of the pages that may run turns. A page that sends no
// Referer may not use GET where that is all that Chromium sends.
func (w *witness) judge(t *testing.T, uses []use, outcomes []outcome) {
	t.Helper()
	if len(outcomes) != 3*len(uses) {
		t.Errorf("%d outcomes for %d pages", len(outcomes), len(uses))
	}
	var ran int64
	for _, o := range outcomes {
		silent := strings.HasPrefix(o.Name, "http://gw.test") && strings.HasSuffix(o.Name, "no-referrer") && o.How != "post"
		if o.Done == silent {
			t.Errorf("%s by %s: done is %t", o.Name, o.How, o.Done)
		}
		if o.Done {
			ran++
		}
	}
	if got := w.calls.Load() - w.before.Load(); got != ran {
		t.Errorf("the tool was called %d times in %d turns", got, ran)
	}
}
