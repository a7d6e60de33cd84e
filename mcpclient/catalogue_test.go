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

	"sluice/chat"
	"sluice/fault"
)

func TestToolSpec(t *testing.T) {
	t.Parallel()
	schema := `{"type":"object","properties":{"id":{"type":"string"}},"$defs":{"x":{}},"anyOf":[{"required":["id"]},{}]}`
	f := newFake(
		`{"name":"plain","inputSchema":{"type":"object"}}`,
		`{"name":"full","title":"A title","description":"What it\u0000 does.","inputSchema":`+schema+`,"annotations":{"title":"Mine","readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}}`,
	)
	c := newClient(t, over(serve(t, f)))
	want := []chat.ToolSpec{
		{Name: "plain", Server: "s", InputSchema: jsontext.Value(`{"type":"object"}`),
			Annotations: chat.Annotations{Destructive: true, OpenWorld: true}},
		{Name: "full", Server: "s", Description: "What it does.", InputSchema: jsontext.Value(schema),
			Annotations: chat.Annotations{Title: "Mine", ReadOnly: true, Idempotent: true}},
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
		"remote":     `{"type":"object","properties":{"x":{"$ref":"` + sink + `/schema.json"}}}`,
		"metadata":   `{"$ref":"http://169.254.169.254/latest/meta-data"}`,
		"file":       `{"type":"object","properties":{"x":{"$ref":"file:///etc/hostname"}}}`,
		"relative":   `{"type":"object","properties":{"x":{"$ref":"other.json"}}}`,
		"dialect":    `{"$schema":"` + sink + `/dialect","type":"object"}`,
		"dangling":   `{"type":"object","properties":{"x":{"$ref":"#/$defs/none"}}}`,
		"invalid":    `{"type":"objekt"}`,
		"notobject":  `{"type":"string"}`,
		"list":       `[]`,
		"yes":        `true`,
		"nothing":    `null`,
		"large":      `{"type":"object","description":"` + strings.Repeat("x", maxSchema) + `"}`,
		"wide":       `{"type":"object","properties":{` + strings.Join(properties, ",") + `}}`,
		"deep":       strings.Repeat(`{"items":`, maxSchemaDepth) + `{}` + strings.Repeat(`}`, maxSchemaDepth),
		"twice":      `{"type":"object","type":"object"}`,
		"looseTypes": `{"type":"object","required":"title"}`,
	}
	tools := []string{toolWrite, `{"name":5}`, `"text"`, `{"name":"","inputSchema":{"type":"object"}}`, `{"name":"noschema"}`,
		`{"name":"task","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}`, toolWrite + " "}
	for name, schema := range bad {
		tools = append(tools, `{"name":"`+name+`","inputSchema":`+schema+`}`)
	}
	var log logBuffer
	cfg := over(serve(t, newFake(append(tools, toolRead)...)))
	cfg.Log = log.logger()
	c := newClient(t, cfg)
	if diff := cmp.Diff([]string{"write", "read"}, names(c.Tools(t.Context()))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if n := fetched.Load(); n != 0 {
		t.Errorf("%d requests were made for a schema", n)
	}
	for name := range bad {
		if !strings.Contains(log.String(), `"tool_name":"`+name+`"`) {
			t.Errorf("no warning tells of %s", name)
		}
	}
	mustCall(t, c, "write", "ok")
}

// Schemas that are unusual, and fine.
func TestGoodSchemas(t *testing.T) {
	t.Parallel()
	for name, schema := range map[string]string{
		"no type":         `{}`,
		"draft 7":         `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"d":{"type":"string","format":"date-time"}}}`,
		"definitions":     `{"type":"object","properties":{"x":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"object","properties":{"x":{"$ref":"#/$defs/x"}}}}}`,
		"its own address": `{"$id":"https://example.com/tool","type":"object","properties":{"x":{"$ref":"#/$defs/x"}},"$defs":{"x":{}}}`,
		"lookahead":       `{"type":"object","properties":{"e":{"type":"string","pattern":"^(?!\\.)x$"}}}`,
		"draft 7 pattern": `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"e":{"type":"string","pattern":"^(?!\\.)x$"}}}`,
	} {
		s, _, err := compileSchema(jsontext.Value(schema), maxToolWork)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, f := checkArguments(t.Context(), "t", s, jsontext.Value(`{"d":"tomorrow","e":"x"}`)); f != nil {
			t.Errorf("%s: %v", name, f.Hint)
		}
	}
}

func TestAllowAndDeny(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ allow, deny, want []string }{
		"all":   {nil, nil, []string{"write", "read"}},
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
	if diff := cmp.Diff([]string{"write", "read"}, names(c.Tools(t.Context()))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestListsWithoutAnEnd(t *testing.T) {
	t.Parallel()
	var page atomic.Int32
	for name, list := range map[string]func() string{
		"new cursors": func() string { return fmt.Sprintf(`{"tools":[],"nextCursor":"%d"}`, page.Add(1)) },
		"one cursor":  func() string { return `{"tools":[],"nextCursor":"again"}` },
	} {
		f := newFake()
		f.onAny = func(w http.ResponseWriter, _ *http.Request, req fakeRequest) bool {
			if req.Method == "tools/list" {
				sendResult(w, req, list())
				return true
			}
			return false
		}
		c := unstarted(t, over(serve(t, f)))
		if set := c.Tools(t.Context()); len(set.Unavailable) != 1 {
			t.Errorf("%s: the server is taken for a good one", name)
		}
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
	o, _, _, err := readTool(Server{Name: "s"}, []byte(raw), maxToolWork)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(o.spec.Description); n != maxDescription {
		t.Errorf("%d bytes were kept, want %d", n, maxDescription)
	}
}

func TestSharedNames(t *testing.T) {
	t.Parallel()
	tool := func(name string) string { return `{"name":"` + name + `","inputSchema":{"type":"object"}}` }
	cfg := Config{}
	fakes := map[string]*fake{
		"a": newFake(tool("add"), tool("only_a"), tool("b_list")),
		"b": newFake(tool("add"), tool("list"), tool("c:1"), tool("naïve tool")),
		"9": newFake(tool("add"), tool("list"), tool("b_list")),
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

// Names are unique and safe for Gemini whatever the servers call their tools.
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
				t.Errorf("%q is no good beside %v", name, seen)
			}
			seen[name] = true
		}
	})
}

func FuzzSchema(f *testing.F) {
	f.Add(`{"type":"object"}`, `{}`)
	f.Add(`{"type":"object","properties":{"x":{"$ref":"#"}}}`, `{"x":{"x":{}}}`)
	f.Add(`{"$dynamicRef":"#a","$dynamicAnchor":"a","allOf":[{"pattern":"("}]}`, `{"a":[1,2]}`)
	f.Add(`{"properties":{"x":{"pattern":"(a{1,9}){9}b"}},"patternProperties":{"^(x|y)+$":{"uniqueItems":true}}}`, `{"x":"aaaaaaaa","y":[1,1e3,"a"]}`)
	f.Add(`{"unevaluatedProperties":false,"allOf":[{"dependentRequired":{"a":["b"]},"required":["a"]}],"if":{"minProperties":2},"else":false}`, `{"a":1,"b":2}`)
	f.Fuzz(func(t *testing.T, schema, args string) {
		began := time.Now()
		s, work, err := compileSchema(jsontext.Value(schema), maxToolWork)
		if took := time.Since(began); took > 20*time.Second || work > maxToolWork+maxProgram/patternUnit {
			t.Errorf("compiling took %v and %d units of work", took, work)
		}
		if err != nil {
			return
		}
		began = time.Now()
		defer func() {
			if took := time.Since(began); took > 20*time.Second { // alone: 0.3 s at most
				t.Errorf("checking took %v", took)
			}
		}()
		if _, fault := checkArguments(t.Context(), "tool", s, jsontext.Value(args)); fault != nil && len(fault.Hint) > 2000 {
			t.Errorf("a hint of %d bytes", len(fault.Hint))
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

// forks returns a schema whose references fork n times.
func forks(n int, leaf string) string {
	defs := []string{fmt.Sprintf(`"d%d":%s`, n, leaf)}
	for i := range n {
		defs = append(defs, fmt.Sprintf(`"d%d":{"anyOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, i+1, i+1))
	}
	return `{"$ref":"#/$defs/d0","$defs":{` + strings.Join(defs, ",") + `}}`
}

func TestValidationIsBounded(t *testing.T) {
	t.Parallel()
	const draft7 = `{"$schema":"http://json-schema.org/draft-07/schema#",`
	for name, schema := range map[string]string{
		"required": forks(40, `{"required":["x"]}`),
		"not":      forks(40, `{"not":{"not":{"required":["x"]}}}`),
		"draft 7":  strings.Replace(forks(40, `{"if":{"required":["x"]},"else":false}`), "{", draft7, 1),
	} {
		s, _, err := compileSchema(jsontext.Value(schema), maxToolWork)
		if err != nil {
			t.Fatal(err)
		}
		if _, f := checkArguments(t.Context(), "t", s, jsontext.Value(`{}`)); f == nil || f.Err != errCostly {
			t.Errorf("%s: got %v, want %v", name, f, errCostly)
		}
		if _, f := checkArguments(t.Context(), "t", s, jsontext.Value(`{"x":1}`)); f != nil {
			t.Errorf("%s: a value that is quick to check: %v", name, f)
		}
	}
}

func TestValidationOfALargeValue(t *testing.T) {
	t.Parallel()
	s, _, err := compileSchema(jsontext.Value(`{"properties":{"items":{"items":{"properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["a"]}}}}`), maxToolWork)
	if err != nil {
		t.Fatal(err)
	}
	args := `{"items":[` + strings.Repeat(`{"a":"x","b":1},`, 4999) + `{"a":"x"}]}`
	if _, f := checkArguments(t.Context(), "t", s, jsontext.Value(args)); f != nil {
		t.Error(f)
	}
}

func BenchmarkCheckArguments(b *testing.B) {
	s, _, err := compileSchema(jsontext.Value(todoSchema), maxToolWork)
	if err != nil {
		b.Fatal(err)
	}
	args := jsontext.Value(`{"title":"milk","priority":"low","due_date":"2026-11-22T15:00:00Z","tags":["a"]}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, f := checkArguments(b.Context(), "create_todo", s, args); f != nil {
			b.Fatal(f)
		}
	}
}
