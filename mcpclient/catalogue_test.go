package mcpclient

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"sluice/internal/base/fault"
	"sluice/internal/turn/tool"
)

func TestToolSpec(t *testing.T) {
	t.Parallel()
	schema := `{"type":"object","properties":{"id":{"type":"string"}},"$defs":{"x":{}},"anyOf":[{"required":["id"]},{}]}`
	f := newFake(
		`{"name":"plain","inputSchema":{"type":"object"}}`,
		`{"name":"full","title":"A title","description":"What it\u0000 does.","inputSchema":`+schema+`,"annotations":{"title":"Mine","readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}}`,
	)
	c := newClient(t, over(serve(t, f)))
	want := []tool.Spec{
		{Name: "full", Server: "s", Description: "What it does.", InputSchema: jsontext.Value(schema),
			Timeout: 10 * time.Second, Annotations: tool.Annotations{Title: "Mine", ReadOnly: true, Idempotent: true}},
		{Name: "plain", Server: "s", InputSchema: jsontext.Value(`{"type":"object"}`), Timeout: 10 * time.Second,
			Annotations: tool.Annotations{Destructive: true, OpenWorld: true}},
	}
	if diff := cmp.Diff(want, c.Tools(t.Context()).Specs); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Tools that cannot be used are dropped with a warning; the others work.
func TestBadTools(t *testing.T) {
	t.Parallel()
	var fetched atomic.Int32
	sink := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { fetched.Add(1) }))
	var properties []string
	for i := range 10_000 {
		properties = append(properties, fmt.Sprintf(`"p%d":{}`, i))
	}
	bad := map[string]string{
		"remote":    `{"type":"object","properties":{"x":{"$ref":"` + sink + `/schema.json"}}}`,
		"metadata":  `{"$ref":"http://169.254.169.254/latest/meta-data"}`,
		"file":      `{"type":"object","properties":{"x":{"$ref":"file:///etc/hostname"}}}`,
		"relative":  `{"type":"object","properties":{"x":{"$ref":"other.json"}}}`,
		"notobject": `{"type":"string"}`,
		"list":      `[]`,
		"yes":       `true`,
		"large":     `{"type":"object","description":"` + strings.Repeat("x", 256<<10) + `"}`,
		"wide":      `{"type":"object","properties":{` + strings.Join(properties, ",") + `}}`,
		"deep":      strings.Repeat(`{"items":`, 64) + `{}` + strings.Repeat(`}`, 64),
		"twice":     `{"type":"object","type":"object"}`,
	}
	tools := []string{toolWrite, `{"name":5}`, `"text"`, `{"name":"","inputSchema":{"type":"object"}}`,
		`{"name":"task","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}`, toolWrite + " "}
	for name, schema := range bad {
		tools = append(tools, `{"name":"`+name+`","inputSchema":`+schema+`}`)
	}
	var log logBuffer
	cfg := over(serve(t, newFake(append(tools, toolRead)...)))
	cfg.Log = log.logger()
	c := newClient(t, cfg)
	if diff := cmp.Diff([]string{"read", "write"}, names(c.Tools(t.Context()))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if n := fetched.Load(); n != 0 {
		t.Errorf("%d requests were made for a schema", n)
	}
	for name := range bad {
		if !strings.Contains(log.String(), `"tool_name":"`+name+`"`) {
			t.Errorf("no warning names %s", name)
		}
	}
	mustCall(t, c, "write", "ok")
}

// A schema is used as far as possible, and nothing that it refers to is fetched. Models get it
// without the parts that cannot be used. Hints and texts of an odd form are as absent.
func TestOddToolsAreOffered(t *testing.T) {
	t.Parallel()
	var fetched atomic.Int32
	sink := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { fetched.Add(1) }))
	const object = `{"type":"object"}`
	odd := map[string][2]string{
		"dialect":  {`{"$schema":"` + sink + `/dialect","type":"object"}`, object},
		"dangling": {`{"type":"object","properties":{"x":{"$ref":"#/$defs/none"}}}`, `{"properties":{"x":{}},"type":"object"}`},
		"nulls":    {`{"type":"object","properties":null,"description":null}`, object},
		"draft 4":  {`{"type":"object","properties":{"n":{"exclusiveMinimum":true}}}`, `{"properties":{"n":{}},"type":"object"}`},
		"loose":    {`{"type":"object","required":"title"}`, object},
		"nothing":  {`null`, object},
	}
	var tools []string
	for name, schema := range odd {
		tools = append(tools, `{"name":"`+name+`","title":7,"description":null,"inputSchema":`+schema[0]+`,"outputSchema":{"properties":null},`+
			`"execution":"none","annotations":{"title":[],"readOnlyHint":"true","destructiveHint":null,"idempotentHint":1,"openWorldHint":false}}`)
	}
	tools = append(tools, `{"name":"hints","description":5,"inputSchema":{},"annotations":"none","execution":{"taskSupport":true}}`)
	set := newClient(t, over(serve(t, newFake(tools...)))).Tools(t.Context())
	if len(set.Specs) != len(tools) {
		t.Errorf("%d of %d tools are offered", len(set.Specs), len(tools))
	}
	for name, schema := range odd {
		spec := set.Lookup(safeName(name))
		if spec == nil || string(spec.InputSchema) != schema[1] || string(spec.OutputSchema) != `{}` {
			t.Errorf("%s is offered as %+v, want the schema %s", name, spec, schema[1])
			continue
		}
		if want := (tool.Annotations{Destructive: true}); spec.Annotations != want || spec.Description != "" {
			t.Errorf("%s has the annotations %+v", name, spec.Annotations)
		}
	}
	if n := fetched.Load(); n != 0 {
		t.Errorf("%d requests were made for a schema", n)
	}
}

func TestAllowAndDeny(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ allow, deny, want []string }{
		"all":   {nil, nil, []string{"read", "write"}},
		"allow": {[]string{"read", "other"}, nil, []string{"read"}},
		"deny":  {nil, []string{"write"}, []string{"read"}},
		"both":  {[]string{"read", "write"}, []string{"read"}, []string{"write"}},
	}
	url := serve(t, newFake())
	for name, tt := range tests {
		cfg := over(url)
		cfg.Servers[0].Allow, cfg.Servers[0].Deny = tt.allow, tt.deny
		c := newClient(t, cfg)
		if diff := cmp.Diff(tt.want, names(c.Tools(t.Context()))); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
	cfg := over(url)
	cfg.Servers[0].Deny = []string{"write"}
	_, f := call(t.Context(), newClient(t, cfg), "write")
	wantFault(t, f, fault.ToolFailed, false)
}

func TestPagesAreFollowed(t *testing.T) {
	t.Parallel()
	pages := map[string]string{
		"":  `{"tools":[` + toolWrite + `],"nextCursor":"2"}`,
		"2": `{"tools":[],"nextCursor":"3"}`,
		"3": `{"tools":[` + toolRead + `]}`,
	}
	f := newFake()
	f.onAny = func(w http.ResponseWriter, _ *http.Request, req fakeRequest) bool {
		if req.Method == "tools/list" {
			sendResult(w, req, pages[req.Params.Cursor])
			return true
		}
		return false
	}
	c := newClient(t, over(serve(t, f)))
	if diff := cmp.Diff([]string{"read", "write"}, names(c.Tools(t.Context()))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestListWithoutAnEnd(t *testing.T) {
	t.Parallel()
	var page atomic.Int32
	f := listing(func(fakeRequest) string { return fmt.Sprintf(`{"tools":[],"nextCursor":"%d"}`, page.Add(1)) })
	c := unstarted(t, over(serve(t, f)))
	if set := c.Tools(t.Context()); len(set.Unavailable) != 1 {
		t.Error("the server is taken for a good one")
	}
}

// listing is a server whose pages of tools are made by page.
func listing(page func(fakeRequest) string) *fake {
	f := newFake()
	f.onAny = func(w http.ResponseWriter, _ *http.Request, req fakeRequest) bool {
		if req.Method != "tools/list" {
			return false
		}
		sendResult(w, req, page(req))
		return true
	}
	return f
}

// A cursor that comes again ends the list, with a warning; the pages so far count.
func TestCursorThatComesAgain(t *testing.T) {
	t.Parallel()
	var pages atomic.Int32
	f := listing(func(fakeRequest) string {
		pages.Add(1)
		return `{"tools":[` + toolWrite + `],"nextCursor":"again"}`
	})
	cfg := over(serve(t, f))
	var log logBuffer
	cfg.Log = log.logger()
	c := unstarted(t, cfg)
	if diff := cmp.Diff([]string{"write"}, names(c.Tools(t.Context()))); diff != "" || pages.Load() != 2 {
		t.Errorf("%d pages (-want +got):\n%s", pages.Load(), diff)
	}
	if !strings.Contains(log.String(), "names a cursor again") {
		t.Errorf("the log is %s", log.String())
	}
}

func TestServerWithoutTools(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.onAny = func(w http.ResponseWriter, _ *http.Request, req fakeRequest) bool {
		if req.Method == "tools/list" {
			sendError(w, req, 200, -32601, "Method not found")
			return true
		}
		return false
	}
	c := newClient(t, over(serve(t, f)))
	if set := c.Tools(t.Context()); len(set.Specs) != 0 || len(set.Unavailable) != 0 {
		t.Errorf("got %+v", set)
	}
}

func TestLongDescription(t *testing.T) {
	t.Parallel()
	raw := `{"name":"t","description":` + mustJSON(t, strings.Repeat("é", maxDescription)) + `,"inputSchema":{}}`
	o, _, _, err := readTool(Server{Name: "s"}, []byte(raw), tool.Room, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	if n := len(o.spec.Description); n != maxDescription {
		t.Errorf("%d bytes were kept, want %d", n, maxDescription)
	}
}

func TestSharedNames(t *testing.T) {
	t.Parallel()
	defined := func(name string) string { return `{"name":"` + name + `","inputSchema":{"type":"object"}}` }
	cfg := Config{ConnectWait: connectTimeout} // names depend on who is there
	fakes := map[string]*fake{
		"a": newFake(defined("add"), defined("only_a"), defined("b_list")),
		"b": newFake(defined("add"), defined("list"), defined("c:1"), defined("naïve tool")),
		"9": newFake(defined("add"), defined("list"), defined("b_list")),
	}
	for _, name := range []string{"a", "b", "9"} {
		f := fakes[name]
		f.onCall = func(w http.ResponseWriter, _ *http.Request, req fakeRequest) {
			sendText(w, req, name+" "+req.Params.Name)
		}
		cfg.Servers = append(cfg.Servers, Server{Name: name, Transport: HTTP, URL: serve(t, f)})
	}
	c := newClient(t, cfg)
	want := map[string]string{
		"a_add": "a add", "b_add": "b add", "_9_add": "9 add",
		"only_a": "a only_a", "c:1": "b c:1", "na_ve_tool": "b naïve tool",
		"b_list": "b list", "_9_list": "9 list", "a_b_list": "a b_list", "_9_b_list": "9 b_list",
	}
	got := map[string]string{}
	for _, name := range names(c.Tools(t.Context())) {
		r, f := call(t.Context(), c, name)
		if f != nil {
			t.Fatal(f)
		}
		got[name] = r.Text
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 70)
	for name, want := range map[string]string{
		"ok":             "ok",
		"a.b:c-d_e9":     "a.b:c-d_e9",
		"9lives":         "_9lives",
		"":               "_",
		"spa ce/slash":   "spa_ce_slash",
		"ü":              "_",
		long:             strings.Repeat("x", 55) + "_" + "",
		long[:maxName]:   long[:maxName],
		"-dash":          "_-dash",
		"bad\xff\xfeutf": "bad__utf",
	} {
		got := safeName(name)
		if name == long {
			if len(got) != maxName || !strings.HasPrefix(got, want) || got == safeName(long+"x") {
				t.Errorf("safeName(long) is %q", got)
			}
			continue
		}
		if got != want {
			t.Errorf("safeName(%q) is %q, want %q", name, got, want)
		}
	}
}

// Names are unique and safe whatever the servers call their tools.
func FuzzAssignNames(f *testing.F) {
	f.Add("add", "add", "a_add", "a b")
	f.Add("", "_", "__", strings.Repeat("x", 70))
	f.Fuzz(func(t *testing.T, w, x, y, z string) {
		var offers []named
		for i, name := range []string{w, x, y, z, w, x} {
			o := &offer{name: name}
			o.spec.Name = safeName(name)
			offers = append(offers, named{o, []string{"a", "b"}[i%2]})
		}
		seen := map[string]bool{}
		for _, name := range assignNames(offers) {
			if seen[name] || len(name) > maxName || name != safeName(name) {
				t.Errorf("%q is not unique or not safe beside %v", name, seen)
			}
			seen[name] = true
		}
	})
}

func TestDefinitionsAreReadOnce(t *testing.T) {
	t.Parallel()
	s := Server{Name: "s"}
	list := []json.RawMessage{json.RawMessage(toolWrite), json.RawMessage(toolRead)}
	first := newCatalogue(s, list, nil, zerolog.Nop())
	if again := newCatalogue(s, list, first, zerolog.Nop()); again != first {
		t.Error("nothing changed, but the catalogue did")
	}
	more := newCatalogue(s, append(list, json.RawMessage(`{"name":"x","inputSchema":{}}`)), first, zerolog.Nop())
	if more == first || more.offers[0] != first.offers[0] || more.offers[1] != first.offers[1] || len(more.offers) != 3 {
		t.Error("the tools that did not change were read again")
	}
}
