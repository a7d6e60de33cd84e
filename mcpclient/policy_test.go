package mcpclient

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"sluice/internal/base/fault"
	"sluice/internal/turn/tool"
	"sluice/mcpclient/internal/wire"
)

const toolClaims = `{"name":"claims","title":"Top","inputSchema":{"type":"object"},"annotations":{"title":"Own","readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}}`

func TestPolicyOverAnnotations(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		policy tool.Policy
		want   tool.Annotations
	}{
		"as the server says": {tool.Policy{}, tool.Annotations{Title: "Own", ReadOnly: true, Idempotent: true}},
		"untrusted":          {tool.Policy{Untrusted: true}, tool.Annotations{Title: "Top", Destructive: true, OpenWorld: true}},
		"destructive":        {tool.Policy{Destructive: []string{"claims"}}, tool.Annotations{Title: "Own", Destructive: true, Idempotent: true}},
		"read-only and destructive": {tool.Policy{ReadOnly: []string{"claims"}, Destructive: []string{"claims"}},
			tool.Annotations{Title: "Own", Destructive: true, Idempotent: true}},
		"untrusted, read-only": {tool.Policy{Untrusted: true, ReadOnly: []string{"claims"}},
			tool.Annotations{Title: "Top", ReadOnly: true, OpenWorld: true}},
		"untrusted, idempotent": {tool.Policy{Untrusted: true, Idempotent: []string{"claims"}},
			tool.Annotations{Title: "Top", Destructive: true, Idempotent: true, OpenWorld: true}},
		"another tool": {tool.Policy{Destructive: []string{"other"}}, tool.Annotations{Title: "Own", ReadOnly: true, Idempotent: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := over(serve(t, newFake(toolClaims)))
			cfg.Servers[0].Policy = tt.policy
			got := newClient(t, cfg).Tools(t.Context()).Lookup("claims")
			if got == nil {
				t.Fatal("the tool is not offered")
			}
			if diff := cmp.Diff(tt.want, got.Annotations); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// What the configuration says of a tool decides whether it is called a second time.
func TestPolicyDecidesWhetherACallIsRepeated(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tool   string
		policy tool.Policy
		calls  int
	}{
		"write":                  {"write", tool.Policy{}, 1},
		"write said to be safe":  {"write", tool.Policy{Idempotent: []string{"write"}}, 2},
		"read":                   {"read", tool.Policy{}, 2},
		"read not believed":      {"read", tool.Policy{Untrusted: true}, 1},
		"read that is a write":   {"read", tool.Policy{Destructive: []string{"read"}}, 1},
		"read that is one again": {"read", tool.Policy{Untrusted: true, ReadOnly: []string{"read"}}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake()
			f.onCall = cut
			cfg := over(serve(t, f))
			cfg.Servers[0].Policy = tt.policy
			_, err := call(t.Context(), newClient(t, cfg), tt.tool)
			wantFault(t, err, fault.ToolFailed, tt.calls == 1)
			if n := f.counts("tools/call"); n != tt.calls {
				t.Errorf("%d calls, want %d", n, tt.calls)
			}
		})
	}
}

func TestFallbackNames(t *testing.T) {
	t.Parallel()
	c := newClient(t, Config{ConnectWait: connectTimeout, Servers: []Server{
		{Name: "one", Transport: InProcess, InProcess: withTools("a", "b", "both"), Policy: tool.Policy{Fallback: map[string][]string{
			"a": {"b"}, "b": {"two/x"}, "both": {"both"}}}},
		{Name: "two", Transport: InProcess, InProcess: withTools("x", "y", "both", "b/c"), Policy: tool.Policy{Fallback: map[string][]string{
			"x": {"b/c"}, "y": {"two/y"}, "both": {"nosuch/tool"}}}},
	}})
	got := map[string]string{}
	for _, s := range c.Tools(t.Context()).Specs {
		got[s.Name] = s.Fallback
	}
	want := map[string]string{"a": "b", "b": "x", "one_both": "two_both", "x": "b_c", "y": "", "two_both": "", "b_c": ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func withTools(names ...string) *server.MCPServer {
	s := server.NewMCPServer("s", "1", server.WithToolCapabilities(true))
	for _, name := range names {
		s.AddTool(mcp.NewTool(name), nil)
	}
	return s
}

// A tool whose server is unavailable is offered only while its fallback can be called.
func TestToolOfAServerThatIsUnavailableWithAFallback(t *testing.T) {
	t.Parallel()
	f := newFake()
	down := httptest.NewServer(f)
	c := newClient(t, Config{ConnectWait: connectTimeout, Servers: []Server{
		{Name: "s", Transport: HTTP, URL: down.URL, Policy: tool.Policy{Fallback: map[string][]string{"read": {"a"}}}},
		{Name: "spare", Transport: InProcess, InProcess: withTools("a")},
	}})
	if diff := cmp.Diff([]string{"read", "write", "a"}, names(c.Tools(t.Context()))); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	down.CloseClientConnections()
	down.Close()
	_, err := call(t.Context(), c, "read")
	wantFault(t, err, fault.MCPUnavailable, false)
	if want := "MCP service temporarily unavailable; read was not executed"; err.ForModel() != want || !err.NoEffect {
		t.Errorf("the model gets %q (no effect: %v), want %q", err.ForModel(), err.NoEffect, want)
	}
	set := c.Tools(t.Context())
	if diff := cmp.Diff([]string{"read", "a"}, names(set)); diff != "" || len(set.Unavailable) != 1 {
		t.Errorf("%d servers away (-want +got):\n%s", len(set.Unavailable), diff)
	}
}

// goneURL is where no server listens.
func goneURL() string {
	s := httptest.NewServer(nil)
	s.Close()
	return s.URL
}

// The names that a server's configuration maps are offered as their fallbacks while the
// server's list is unknown. A call goes to the fallback: the server's own tool may be another.
func TestFallbackOfAServerThatWasNeverThere(t *testing.T) {
	t.Parallel()
	spare := server.NewMCPServer("s", "1", server.WithToolCapabilities(true))
	spare.AddTool(mcp.NewTool("find", mcp.WithDescription("Finds."), mcp.WithString("q", mcp.Required()), mcp.WithReadOnlyHintAnnotation(true)), nil)
	c := newClient(t, Config{ConnectWait: connectTimeout, Servers: []Server{
		{Name: "s", Transport: HTTP, URL: goneURL(), Deny: []string{"denied"}, Policy: tool.Policy{Fallback: map[string][]string{
			"read": {"gone", "spare/find"}, "look": {"find"}, "lost": {"spare/gone"}, "denied": {"find"}, "self": {"s/read"}}}},
		{Name: "spare", Transport: InProcess, InProcess: spare},
	}})
	set := c.Tools(t.Context())
	if diff := cmp.Diff([]string{"look", "read", "find"}, names(set)); diff != "" || len(set.Unavailable) != 1 {
		t.Fatalf("%d servers away (-want +got):\n%s", len(set.Unavailable), diff)
	}
	read, find := set.Lookup("read"), set.Lookup("find")
	if read.Server != "s" || read.Fallback != "find" || read.Description != "Finds." || !read.Annotations.ReadOnly || string(read.InputSchema) != string(find.InputSchema) {
		t.Errorf("offered as %+v", read)
	}
	_, err := callWith(t.Context(), c, "read", `{"q":"x"}`)
	if wantFault(t, err, fault.MCPUnavailable, false); !err.NoEffect || err.Service != "mcp:s" {
		t.Errorf("a call: %+v", err)
	}
	if _, err := callWith(t.Context(), c, "read", `{}`); err == nil || err.Type == fault.MCPUnavailable {
		t.Errorf("a call that the schema refuses: %v", err)
	}
	if got := names(c.Select([]string{"s"}).Tools(t.Context())); got != nil {
		t.Errorf("without the fallback %q are selected", got)
	}
}

// listsOf keeps lists in a map.
type listsOf struct{ sync.Map }

func (l *listsOf) Load(_ context.Context, server string) []byte {
	list, _ := l.Map.Load(server)
	text, _ := list.([]byte)
	return text
}

func (l *listsOf) Replace(_ context.Context, server string, list []byte) { l.Store(server, list) }

// A list that was kept is the server's until it gives its own: its schemas are the real ones,
// and tools without a fallback are not offered. Of a server without fallbacks nothing is kept.
func TestListOfAServerThatIsNotThereYet(t *testing.T) {
	t.Parallel()
	lists := new(listsOf)
	servers := func(url string) Config {
		return Config{ConnectWait: connectTimeout, Lists: lists, Servers: []Server{
			{Name: "s", Transport: HTTP, URL: url, Policy: tool.Policy{Fallback: map[string][]string{"read": {"spare/a"}, "other": {"spare/a"}}}},
			{Name: "spare", Transport: InProcess, InProcess: withTools("a")},
		}}
	}
	before := newClient(t, servers(serve(t, newFake())))
	seen := before.Tools(t.Context()).Lookup("read")
	if err := before.Close(); err != nil { // waits for what is being kept
		t.Fatal(err)
	}
	if lists.Load(t.Context(), "s") == nil || lists.Load(t.Context(), "spare") != nil {
		t.Fatal("not the list of the server with fallbacks alone is kept")
	}
	after := unstarted(t, servers(goneURL()))
	after.upstreams[0].offerLastTools()
	set := after.Tools(t.Context())
	if diff := cmp.Diff([]string{"read", "a"}, names(set)); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	if got := set.Lookup("read"); string(got.InputSchema) != string(seen.InputSchema) || got.Fallback != "a" {
		t.Errorf("offered as %+v", got)
	}
}

func TestPolicyThatNamesNoTool(t *testing.T) {
	t.Parallel()
	var log logBuffer
	cfg := over(serve(t, newFake()))
	cfg.Log = log.logger()
	cfg.Servers[0].Deny = []string{"write"}
	cfg.Servers[0].Policy = tool.Policy{ReadOnly: []string{"read", "raed"}, Destructive: []string{"write"}, Fallback: map[string][]string{"read": {"gone"}, "lost": {"read"}}}
	c := newClient(t, cfg)
	for range 3 {
		c.Tools(t.Context())
	}
	c.upstreams[0].drop(c.upstreams[0].current.Load(), wire.ErrClosed)
	c.Tools(t.Context())
	for _, want := range []string{`"key":"readOnly","tool_name":"raed"`, `"key":"destructive","tool_name":"write"`, `"key":"fallback","tool_name":"gone"`, `"key":"fallback","tool_name":"lost"`} {
		if n := strings.Count(log.String(), want); n != 1 {
			t.Errorf("%s is logged %d times, want once", want, n)
		}
	}
	if n := strings.Count(log.String(), "mcp_policy_without_tool"); n != 4 {
		t.Errorf("%d warnings, want 4:\n%s", n, log.String())
	}
}

// Whether a fallback may run: only if the call provably changed nothing.
func TestNoEffect(t *testing.T) {
	t.Parallel()
	lostThenGone := func() callHandler {
		n := 0
		return func(w http.ResponseWriter, r *http.Request, req fakeRequest) {
			if n++; n == 1 {
				cut(w, r, req)
				return
			}
			status(429, "text/plain", "")(w, r, req)
		}
	}
	for name, tt := range map[string]struct {
		tool     string
		answer   callHandler
		noEffect bool
		unknown  bool
	}{
		"refused":                            {"write", status(429, "text/plain", ""), true, false},
		"unauthorized":                       {"write", status(401, "text/plain", ""), true, false},
		"a proxy's 503 of a write":           {"write", status(503, "text/plain", ""), false, true},
		"a proxy's 503 of a read":            {"read", status(503, "text/plain", ""), true, false},
		"a proxy's 503, idempotent":          {"put", status(503, "text/plain", ""), false, false},
		"lost, then refused, idempotent":     {"put", lostThenGone(), false, false},
		"lost, then refused, but a read":     {"read", lostThenGone(), true, false},
		"lost, so that it may have been run": {"write", cut, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(toolWrite, toolRead, `{"name":"put","inputSchema":{"type":"object"},"annotations":{"idempotentHint":true}}`)
			f.onCall = tt.answer
			_, err := call(t.Context(), newClient(t, over(serve(t, f))), tt.tool)
			if err == nil || err.NoEffect != tt.noEffect || err.Unknown != tt.unknown {
				t.Errorf("got %+v, want no effect: %v, unknown: %v", err, tt.noEffect, tt.unknown)
			}
		})
	}
}

// A list of fallbacks keeps its order, and one that can be called is enough.
func TestListOfFallbacks(t *testing.T) {
	t.Parallel()
	c := newClient(t, Config{ConnectWait: connectTimeout, Servers: []Server{
		{Name: "one", Transport: InProcess, InProcess: withTools("a"), Policy: tool.Policy{Fallback: map[string][]string{"a": {"gone", "two/x", "three/y"}}}},
		{Name: "two", Transport: InProcess, InProcess: withTools("x")},
		{Name: "three", Transport: InProcess, InProcess: withTools("y")},
	}})
	spec := c.Tools(t.Context()).Lookup("a")
	if spec.Fallback != "x" || !slices.Equal(spec.More, []string{"y"}) {
		t.Errorf("fallbacks %q, %q", spec.Fallback, spec.More)
	}
}

// What is not selected is not offered, does not run, and is not a fallback.
func TestSelection(t *testing.T) {
	t.Parallel()
	c := newClient(t, Config{ConnectWait: connectTimeout, Servers: []Server{
		{Name: "one", Transport: InProcess, InProcess: withTools("a", "b"), Policy: tool.Policy{Fallback: map[string][]string{"a": {"two/x", "two/y"}}}},
		{Name: "two", Transport: InProcess, InProcess: withTools("x", "y")},
	}})
	s := c.Select([]string{"one", "two/y"})
	set := s.Tools(t.Context())
	if diff := cmp.Diff([]string{"a", "b", "y"}, names(set)); diff != "" || s.Tools(t.Context()) != set {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if spec := set.Lookup("a"); spec.Fallback != "y" || len(spec.More) > 0 {
		t.Errorf("fallbacks %q, %q", spec.Fallback, spec.More)
	}
	_, err := s.Call(t.Context(), tool.Call{Name: "x", Arguments: []byte("{}")})
	if f := fault.From(err); f == nil || f.Type != fault.ToolFailed || strings.Contains(f.ForModel(), "x,") {
		t.Errorf("a tool that is not selected: %v", err)
	}
	if n := len(c.Select(nil).Tools(t.Context()).Specs); n != 0 {
		t.Errorf("%d tools of an empty selection", n)
	}
}
