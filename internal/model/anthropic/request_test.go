package anthropic

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"sluice/internal/model"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

const ours = "claude/claude-sonnet-4-20250514"

func setOf(names ...string) *tool.Set {
	set := new(tool.Set)
	for _, n := range names {
		set.Specs = append(set.Specs, tool.Spec{Name: n, Description: "Does it.", InputSchema: jsontext.Value(`{"type":"object","properties":{"a":{"type":"integer"}}}`)})
	}
	return set
}

// render returns the body as JSON libraries see it.
func render(t testing.TB, c *codec, req *chat.ModelRequest, omit ...string) map[string]any {
	t.Helper()
	b := c.Render([]byte("before"), req, omit)
	return parse(t, strings.TrimPrefix(string(b), "before")).(map[string]any)
}

// wantMember compares the JSON of a member of a body with want; "": none.
func wantMember(t testing.TB, body map[string]any, name, want string) {
	t.Helper()
	var w any
	if want != "" {
		w = parse(t, want)
	}
	if diff := cmp.Diff(w, body[name]); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func TestRender(t *testing.T) {
	t.Parallel()
	body := testCodec(nil).Render(nil, &chat.ModelRequest{System: "Be \"kind\".", Tools: setOf("f"), Messages: []chat.Message{user(text("hi"))}}, nil)
	const want = `{"model":"claude-sonnet-4-20250514","stream":true,"max_tokens":8192,"system":[{"type":"text","text":"Be \"kind\".","cache_control":{"type":"ephemeral"}}],` +
		`"tools":[{"name":"f","description":"Does it.","input_schema":{"type":"object","properties":{"a":{"type":"integer"}}},"cache_control":{"type":"ephemeral"}}],` +
		`"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]}`
	if diff := cmp.Diff(want, string(body)); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	if body := render(t, testCodec(nil), &chat.ModelRequest{System: " \n", Messages: []chat.Message{user(text("hi"))}}); body["system"] != nil || body["tools"] != nil || body["tool_choice"] != nil {
		t.Errorf("members that are empty: %v", body)
	}
}

// The system prompt and the tools are cached, unless the provider does not take that.
func TestCacheControl(t *testing.T) {
	t.Parallel()
	req := &chat.ModelRequest{System: "s", Tools: setOf("f", "g"), Messages: []chat.Message{user(text("hi"))}}
	c := testCodec(nil)
	body := string(c.Render(nil, req, nil))
	if n := strings.Count(body, cacheControl); n != 2 || !strings.Contains(body, cacheControl+`}],"messages"`) {
		t.Errorf("%d in %s", n, body)
	}
	if body := string(c.Render(nil, req, model.Omit{memberCacheControl})); strings.Contains(body, "cache_control") {
		t.Errorf("sent to who does not take it: %s", body)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		configured, asked int
		thinking          model.Thinking
		want              float64
	}{
		{0, 0, model.Thinking{Word: "off"}, 8192},
		{100, 0, model.Thinking{Word: "off"}, 100},
		{100, 50, model.Thinking{Word: "off"}, 50},
		{100, 200, model.Thinking{Word: "off"}, 100},
		{0, 1024, model.Thinking{Word: "summary"}, 1024 + 2048},
		{0, 0, model.Thinking{Tokens: 10_000}, 8192 + 10_000},
	} {
		c := testCodec(func(s *model.Spec) { s.MaxTokens, s.Thinking = tt.configured, tt.thinking })
		if got := render(t, c, &chat.ModelRequest{MaxTokens: tt.asked})["max_tokens"]; got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}

func TestThinking(t *testing.T) {
	t.Parallel()
	const (
		adaptive = `{"type":"adaptive","display":"summarized"}`
		older    = `{"type":"enabled","budget_tokens":2048}`
		effort   = `{"effort":"low"}`
	)
	once, twice := []string{"thinking"}, []string{"thinking", "temperature", "thinking"}
	for _, tt := range []struct {
		thinking         model.Thinking
		omit             []string
		want, wantOutput string
	}{
		{model.Thinking{Word: "off"}, nil, "", ""},
		{model.Thinking{Word: "summary"}, nil, adaptive, ""},
		{model.Thinking{Word: "summary"}, once, older, ""},
		{model.Thinking{Word: "summary"}, twice, "", ""},
		{model.Thinking{Word: "low"}, nil, adaptive, effort},
		{model.Thinking{Word: "low"}, once, older, effort},
		{model.Thinking{Word: "low"}, []string{memberEffort}, adaptive, ""},
		{model.Thinking{Word: "low"}, twice, "", ""},
		{model.Thinking{Tokens: 4000}, nil, `{"type":"enabled","budget_tokens":4000}`, ""},
		{model.Thinking{Tokens: 4000}, once, "", ""},
		{model.Thinking{Tokens: 5}, nil, `{"type":"enabled","budget_tokens":1024}`, ""},
	} {
		half := 0.5
		c := testCodec(func(s *model.Spec) { s.Thinking, s.Temperature = tt.thinking, &half })
		body := render(t, c, &chat.ModelRequest{Messages: []chat.Message{user(text("hi"))}}, tt.omit...)
		wantMember(t, body, "thinking", tt.want)
		wantMember(t, body, "output_config", tt.wantOutput)
		if _, sent := body["temperature"]; sent && tt.want != "" {
			t.Errorf("%+v: temperature beside thinking", tt.thinking)
		}
	}
}

// What a call asks for counts, unless the model is configured not to think.
func TestCallersThinking(t *testing.T) {
	t.Parallel()
	const adaptive = `{"type":"adaptive","display":"summarized"}`
	for _, tt := range []struct {
		configured       model.Thinking
		asked            string
		want, wantOutput string
	}{
		{model.Thinking{Word: "low"}, "high", adaptive, `{"effort":"high"}`},
		{model.Thinking{Word: "summary"}, "low", adaptive, `{"effort":"low"}`},
		{model.Thinking{Word: "high"}, "summary", adaptive, ""},
		{model.Thinking{Word: "high"}, "off", "", ""},
		{model.Thinking{Word: "off"}, "high", "", ""},
		{model.Thinking{Tokens: 4000}, "low", adaptive, `{"effort":"low"}`},
		{model.Thinking{Tokens: 4000}, "", `{"type":"enabled","budget_tokens":4000}`, ""},
	} {
		c := testCodec(func(s *model.Spec) { s.Thinking = tt.configured })
		body := render(t, c, &chat.ModelRequest{Thinking: tt.asked, Messages: []chat.Message{user(text("hi"))}})
		wantMember(t, body, "thinking", tt.want)
		wantMember(t, body, "output_config", tt.wantOutput)
	}
}

// The model is asked without thinking where the API could not have the thoughts that
// belong to the last calls.
func TestThinkingAfterCallsWithoutThoughts(t *testing.T) {
	t.Parallel()
	const kept = `{"type":"redacted_thinking","data":"x"}`
	call := chat.Part{Call: callOf("i", "f", `{}`)}
	for _, tt := range []struct {
		name  string
		calls chat.Message
		want  bool
	}{
		{"ours with thoughts", said(ours, chat.Part{Kept: kept}, call), true},
		{"ours without", said(ours, call), false},
		{"another model's", said("fast/gpt", chat.Part{Kept: kept}, call), false},
		{"another name behind the same key", said("claude/claude-opus-4-5", chat.Part{Kept: kept}, call), false},
		{"nobody's", said("", call), false},
		{"kept that is no JSON", said(ours, chat.Part{Kept: "{"}, call), false},
	} {
		req := &chat.ModelRequest{Tools: setOf("f"), Messages: []chat.Message{user(text("a")), tt.calls, user(result("i", "f", "r")), said(ours, text("b")), user(text("c"))}}
		for _, tokens := range []int{0, 4000} {
			c := testCodec(func(s *model.Spec) { s.Thinking = model.Thinking{Word: "summary", Tokens: tokens} })
			body := render(t, c, req)
			if _, got := body["thinking"]; got != tt.want {
				t.Errorf("%s, tokens %d: thinking %v, want %v", tt.name, tokens, got, tt.want)
			}
			messages, _ := json.Marshal(body["messages"])
			if got := strings.Contains(string(messages), "redacted_thinking"); got != tt.want {
				t.Errorf("%s: thoughts sent: %v", tt.name, got)
			}
		}
	}
}

func TestTemperature(t *testing.T) {
	t.Parallel()
	num := func(f float64) *float64 { return &f }
	for _, tt := range []struct {
		configured, asked *float64
		never             bool
		omit              []string
		want              any
	}{
		{nil, nil, false, nil, nil},
		{num(0.5), nil, false, nil, 0.5},
		{num(0.5), num(0.25), false, nil, 0.25},
		{nil, num(2), false, nil, 1.0},
		{nil, num(0), false, nil, 0.0},
		{num(0.5), num(0.5), true, nil, nil},
		{num(0.5), nil, false, []string{"temperature"}, nil},
	} {
		c := testCodec(func(s *model.Spec) { s.Temperature, s.NoTemperature = tt.configured, tt.never })
		if got := render(t, c, &chat.ModelRequest{Temperature: tt.asked}, tt.omit...)["temperature"]; got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}

func TestToolChoice(t *testing.T) {
	t.Parallel()
	c := testCodec(func(s *model.Spec) { s.Thinking = model.Thinking{Word: "summary"} })
	req := &chat.ModelRequest{Tools: setOf("a.b"), NoTools: true, Messages: []chat.Message{user(text("hi"))}}
	wantMember(t, render(t, c, req), "tool_choice", `{"type":"none"}`)
	wantMember(t, render(t, c, req, "tool_choice"), "tool_choice", "")
	req.NoTools, req.ForceTool = false, true
	body := render(t, c, req)
	wantMember(t, body, "tool_choice", `{"type":"tool","name":"a_b"}`)
	wantMember(t, body, "thinking", "") // the API refuses both at once
	req.Tools = setOf("a.b", "c.d")
	wantMember(t, render(t, c, req), "tool_choice", `{"type":"any"}`)
	req.Tool = "c.d"
	wantMember(t, render(t, c, req), "tool_choice", `{"type":"tool","name":"c_d"}`)

	// Without tools on offer, a conversation with calls declares one all the same.
	req = &chat.ModelRequest{Messages: []chat.Message{user(text("hi")), said(ours, chat.Part{Call: callOf("i", "x.y", `{}`)}), user(result("i", "x.y", "r"))}}
	body = render(t, c, req, memberCacheControl)
	wantMember(t, body, "tools", `[{"name":"x_y","input_schema":{"type":"object","properties":{}}}]`)
	wantMember(t, body, "tool_choice", `{"type":"none"}`)
}

func TestForm(t *testing.T) {
	t.Parallel()
	c := testCodec(func(s *model.Spec) { s.Thinking = model.Thinking{Word: "high"} })
	req := &chat.ModelRequest{Form: chat.Form{Kind: chat.FormSchema, Name: "n", Schema: jsontext.Value(`{"type":"object"}`)}}
	wantMember(t, render(t, c, req), "output_config", `{"effort":"high","format":{"type":"json_schema","schema":{"type":"object"}}}`)
	wantMember(t, render(t, c, req, memberEffort), "output_config", `{"format":{"type":"json_schema","schema":{"type":"object"}}}`)
	req.Form.Kind = chat.FormJSON // which the API has no form for
	wantMember(t, render(t, c, req), "output_config", `{"effort":"high"}`)
	req.Form = chat.Form{Kind: chat.FormSchema, Schema: jsontext.Value(`{"type":`)}
	wantMember(t, render(t, c, req), "output_config", `{"effort":"high"}`)
}

// messagesOf renders a conversation and returns its messages, a line each.
func messagesOf(t testing.TB, messages ...chat.Message) string {
	t.Helper()
	b := testCodec(nil).Render(nil, &chat.ModelRequest{Messages: messages, Tools: setOf("f")}, nil)
	parse(t, string(b))
	_, list, _ := strings.Cut(string(b), `"messages":[`)
	return strings.ReplaceAll(strings.TrimSuffix(list, `]}`), `]},{"role"`, "]},\n{\"role\"")
}

func TestMessages(t *testing.T) {
	t.Parallel()
	call := func(id string) chat.Part { return chat.Part{Call: callOf(id, "f", `{"a":1}`)} }
	failed := chat.Part{Result: &tool.Result{ID: "i", Name: "f", IsError: true}}
	const kept, other = `{"type":"thinking","thinking":"hm","signature":"s"}`, `{"type":"redacted_thinking","data":"x"}`
	wire := func(id string) string { return `{"type":"tool_use","id":"` + id + `","name":"f","input":{"a":1}}` }
	answer := func(id, text string) string {
		return `{"type":"tool_result","tool_use_id":"` + id + `","content":[{"type":"text","text":"` + text + `"}]}`
	}
	block := func(s string) string { return `{"type":"text","text":"` + s + `"}` }
	asUser := func(blocks ...string) string { return `{"role":"user","content":[` + strings.Join(blocks, ",") + `]}` }
	asModel := func(blocks ...string) string {
		return `{"role":"assistant","content":[` + strings.Join(blocks, ",") + `]}`
	}
	for _, tt := range []struct {
		name string
		in   []chat.Message
		want []string
	}{
		{"neighbours of one role are one message", []chat.Message{user(text("a")), user(text("b")), said("", text("c")), said("", text("d")), user(text("e"))},
			[]string{asUser(block("a"), block("b")), asModel(block("c"), block("d")), asUser(block("e"))}},
		{"blank texts and thoughts stay away", []chat.Message{user(text("a"), text(""), text(" \n")), said(ours, chat.Part{Text: "hm", Thought: true}), said(ours, text("\t")), user(text("b"))},
			[]string{asUser(block("a"), block("b"))}},
		{"results first, in the calls' order", []chat.Message{user(text("a")), said(ours, call("i"), call("j")), user(text("and"), result("j", "f", "2")), user(result("i", "f", "1"))},
			[]string{asUser(block("a")), asModel(wire("i"), wire("j")), asUser(answer("i", "1"), answer("j", "2"), block("and"))}},
		{"calls last", []chat.Message{user(text("a")), said(ours, call("i"), text("b")), user(result("i", "f", "1"))},
			[]string{asUser(block("a")), asModel(block("b"), wire("i")), asUser(answer("i", "1"))}},
		{"a result that is missing", []chat.Message{user(text("a")), said(ours, call("i"), call("j")), user(result("j", "f", "2"))},
			[]string{asUser(block("a")), asModel(wire("i"), wire("j")), asUser(strings.TrimSuffix(answer("i", "The tool gave no result."), "}")+`,"is_error":true}`, answer("j", "2"))}},
		{"all results are missing", []chat.Message{user(text("a")), said(ours, call("i"))},
			[]string{asUser(block("a")), asModel(wire("i")), asUser(strings.TrimSuffix(answer("i", "The tool gave no result."), "}") + `,"is_error":true}`)}},
		{"results without calls", []chat.Message{user(text("a")), said("", text("b")), user(result("i", "f", "1")), said("", text("c")), user(text("d"))},
			[]string{asUser(block("a")), asModel(block("b"), block("c")), asUser(block("d"))}},
		{"a result that says nothing", []chat.Message{user(text("a")), said(ours, call("i")), user(result("i", "f", " "))},
			[]string{asUser(block("a")), asModel(wire("i")), asUser(`{"type":"tool_result","tool_use_id":"i"}`)}},
		{"a failure that says nothing", []chat.Message{user(text("a")), said(ours, call("i")), user(failed)},
			[]string{asUser(block("a")), asModel(wire("i")), asUser(`{"type":"tool_result","tool_use_id":"i","content":[{"type":"text","text":"The tool failed."}],"is_error":true}`)}},
		{"no ids", []chat.Message{user(text("a")), said("gem", call(""), call("")), user(result("", "f", "1"), result("", "f", "2")), said("gem", call("")), user(result("", "f", "3"))},
			[]string{asUser(block("a")), asModel(wire("2ijltb2ts"), wire("zfut5b2ov")), asUser(answer("2ijltb2ts", "1"), answer("zfut5b2ov", "2")), asModel(wire("yc74hb2jy")), asUser(answer("yc74hb2jy", "3"))}},
		{"ids that do not fit, and that come twice", []chat.Message{user(text("a")), said("gpt", call("x:1|y"), call("i")), user(result("x:1|y", "f", "1"), result("i", "f", "2")), said("gpt", call("i")), user(result("i", "f", "3"))},
			[]string{asUser(block("a")), asModel(wire("zrke4cknp"), wire("i")), asUser(answer("zrke4cknp", "1"), answer("i", "2")), asModel(wire("fmpm6gjlm")), asUser(answer("fmpm6gjlm", "3"))}},
		{"kept blocks in their order", []chat.Message{user(text("a")), said(ours, chat.Part{Kept: kept}, text("b"), chat.Part{Kept: other}, call("i")), user(result("i", "f", "1"))},
			[]string{asUser(block("a")), asModel(kept, other, block("b"), wire("i")), asUser(answer("i", "1"))}},
		{"kept blocks first", []chat.Message{user(text("a")), said(ours, text("b"), chat.Part{Kept: kept}, text("c"), chat.Part{Kept: other}, call("i")), user(result("i", "f", "1"))},
			[]string{asUser(block("a")), asModel(kept, other, block("b"), block("c"), wire("i")), asUser(answer("i", "1"))}},
		{"what others kept", []chat.Message{user(text("a")), said("gpt", chat.Part{Text: "b", Kept: `{"reasoning":1}`, Signature: "x"}, chat.Part{Call: callOf("i", "f", `{"a":1}`), Kept: "{}"}), user(result("i", "f", "1"))},
			[]string{asUser(block("a")), asModel(block("b"), wire("i")), asUser(answer("i", "1"))}},
		{"an answer to go on with", []chat.Message{user(text("a ")), said("", text("b \n"))}, []string{asUser(block("a ")), asModel(block("b"))}},
		{"arguments that are none", []chat.Message{user(text("a")), said("", chat.Part{Call: callOf("i", "f", `[`)}), user(result("i", "f", "1"))},
			[]string{asUser(block("a")), asModel(`{"type":"tool_use","id":"i","name":"f","input":{}}`), asUser(answer("i", "1"))}},
	} {
		if diff := cmp.Diff(strings.Join(tt.want, ",\n"), messagesOf(t, tt.in...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// Names that the API does not take are fitted, without a clash, and events have ours.
func TestNamesOfTools(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 64)
	c := testCodec(nil)
	set := setOf("a.b", "a:b", "a_b", long+"1", long+"2", "todo")
	body := render(t, c, &chat.ModelRequest{Tools: set, Messages: []chat.Message{user(text("hi")), said(ours, chat.Part{Call: callOf("i", "a:b", `{}`)})}})
	var names []string
	for _, e := range body["tools"].([]any) {
		names = append(names, e.(map[string]any)["name"].(string))
	}
	want := []string{"a_b_2", "a_b_3", "a_b", long, long[:62] + "_2", "todo"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if got := body["messages"].([]any)[1].(map[string]any)["content"].([]any)[0].(map[string]any)["name"]; got != "a_b_3" {
		t.Errorf("the call goes by %v", got)
	}
	for i, fitted := range want {
		a := c.NewAnswer()
		a.(model.Asker).SetRequest(&chat.ModelRequest{Tools: set})
		got := read(a, events(append(toolAt("0", "i", fitted), stopped)...))
		if got.err != nil || got.calls[0].Name != set.Specs[i].Name {
			t.Errorf("%s is called %v, %v", fitted, got.calls, got.err)
		}
	}
}

// A tool whose schema the API would refuse is left out, which is reported once.
func TestToolsLeftOut(t *testing.T) {
	t.Parallel()
	var got []string
	c := newCodec(&model.Spec{Key: "k", Model: "m"}, func(name, _ string) { got = append(got, name) })
	set := setOf("a", "b", "c")
	set.Specs[1].InputSchema = jsontext.Value(`{"type":"array"}`)
	for range 2 {
		body := string(c.Render(nil, &chat.ModelRequest{Tools: set, Messages: []chat.Message{user(text("hi"))}}, nil))
		if strings.Contains(body, `"name":"b"`) || !strings.Contains(body, `"name":"c"`) {
			t.Error(body)
		}
	}
	if diff := cmp.Diff([]string{"b"}, got); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	none := &tool.Set{Specs: set.Specs[1:2]}
	if body := string(c.Render(nil, &chat.ModelRequest{Tools: none, NoTools: true, ForceTool: true}, nil)); strings.Contains(body, "tool") {
		t.Error(body)
	}
}

// Whatever a request holds, its body is JSON.
func TestRenderIsJSON(t *testing.T) {
	t.Parallel()
	bad := "\xff\"\\\n\u2028"
	set := &tool.Set{Specs: []tool.Spec{{Name: bad, Description: bad, InputSchema: jsontext.Value(`{`)}, {Name: "b" + bad, InputSchema: jsontext.Value(`"x`)}, {Name: "c" + bad}}}
	req := &chat.ModelRequest{System: bad, Tools: set, ForceTool: true, Messages: []chat.Message{
		user(text(bad), result(bad, bad, bad)), said(ours, chat.Part{Kept: bad}, chat.Part{Call: callOf(bad, bad, bad)}, chat.Part{Result: &tool.Result{}}), user(chat.Part{Call: callOf("", "", "")}),
	}}
	c := testCodec(func(s *model.Spec) { s.Model = bad; s.Extra = jsontext.Value(`{"x":1}`) })
	body := render(t, c, req)
	if n := len(body["tools"].([]any)); n != 1 {
		t.Errorf("%d tools", n)
	}
}
