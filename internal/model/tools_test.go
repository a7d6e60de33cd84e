package model_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"sluice/internal/model"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

func TestToolNamesFit(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("n", 63)
	names := []string{"a.b", "a:b", "a_b", "a_b_2", long + ".x", long + ":y", "plain-1"}
	var specs []tool.Spec
	for _, name := range names {
		specs = append(specs, tool.Spec{Name: name})
	}
	fit := model.FitNames(specs)
	seen := map[string]bool{}
	for _, name := range names {
		sent := fit.Fit(name)
		if seen[sent] || len(sent) > 64 || model.FitName(sent) != sent || fit.Ours(sent) != name {
			t.Errorf("%s is sent as %s, which is %s", name, sent, fit.Ours(sent))
		}
		seen[sent] = true
	}
	if fit.Fit("a_b") != "a_b" || fit.Fit("gone.x") != "gone_x" || (*model.ToolNames)(nil).Fit("x") != "x" {
		t.Error("a name was changed without need")
	}
}

func TestToolSchema(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ schema, want string }{
		{``, `{"type":"object","properties":{}}`},
		{`true`, `{"type":"object","properties":{}}`},
		{`{}`, `{"type":"object","properties":{}}`},
		{`{"type":["object","null"],"properties":{"a":{"anyOf":[{}]}},"required":["a"]}`, `{"type":"object","properties":{"a":{"anyOf":[{}]}},"required":["a"]}`},
		{`{"$ref":"#/$defs/A","$defs":{"A":{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}}}}}`,
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}}}}}`},
		{`{"anyOf":[{"type":"null"},{"type":"object","properties":{"a":{}},"required":["a"]}]}`, `{"type":"object","properties":{"a":{}},"required":["a"]}`},
		{`{"oneOf":[{"properties":{"a":{},"x":{}},"required":["a","x"],"additionalProperties":false},{"properties":{"b":{},"x":{}},"required":["x","b"]}]}`,
			`{"type":"object","properties":{"a":{},"x":{},"b":{}},"required":["x"]}`},
		{`{"allOf":[{"properties":{"a":{}},"required":["a"]},{"properties":{"b":{}},"required":["b"]}],"not":{},"enum":[1]}`,
			`{"type":"object","properties":{"a":{},"b":{}},"required":["a","b"]}`},
		{`{"anyOf":[` + strings.Repeat(`{"$ref":"#/$defs/a%20b"},`, 40) + `{"properties":{"z":{}}}],"$defs":{"a b":{"properties":{"a":{}}}}}`,
			`{"type":"object","properties":{"a":{},"z":{}},"$defs":{"a b":{"properties":{"a":{}}}}}`},
		{`{"type":"array"}`, ``},
		{`{"type":"string","properties":{}}`, ``},
		{`{"anyOf":[{"type":"string"},{"type":"null"}]}`, ``},
		{`{"$ref":"http://example.com/a"}`, ``},
		{`{"$ref":"#/$defs/A"}`, ``},
		{`{"$ref":"#"}`, ``},
		{`{"$ref":"#/$defs/A","$defs":{"A":{"$ref":"#/$defs/B"},"B":{"$ref":"#/$defs/A"}}}`, ``},
		{`false`, ``},
		{`[]`, ``},
		{`{"a"`, ``},
		{``, `{"type":"object","properties":{}}`},
		{`null`, `{"type":"object","properties":{}}`},
		{`true`, `{"type":"object","properties":{}}`},
		{`{}`, `{"type":"object","properties":{}}`},
		{`{"type":"object","properties":{"a":{"oneOf":[{"$ref":"#/$defs/A"}],"format":"x"}},"required":["a"],"$defs":{"A":{}}}`,
			`{"type":"object","properties":{"a":{"oneOf":[{"$ref":"#/$defs/A"}],"format":"x"}},"required":["a"],"$defs":{"A":{}}}`},
		{`{"type":"object","additionalProperties":{"type":"string"}}`, `{"type":"object","additionalProperties":{"type":"string"},"properties":{}}`},
		{`{"type":["null","object"]}`, `{"type":"object","properties":{}}`},
		{`{"$ref":"#/$defs/A","$defs":{"A":{"properties":{"a":{}},"required":["a"]}}}`, `{"$defs":{"A":{"properties":{"a":{}},"required":["a"]}},"properties":{"a":{}},"required":["a"],"type":"object"}`},
		{`{"allOf":[{"properties":{"a":{}},"required":["a"]},{"properties":{"b":{}},"required":["b"]}]}`, `{"properties":{"a":{},"b":{}},"required":["a","b"],"type":"object"}`},
		{`{"anyOf":[{"type":"null"},{"type":"object","properties":{"a":{},"k":{"const":1}},"required":["a","k"]},{"type":"object","properties":{"b":{},"k":{"const":2}},"required":["k"],"additionalProperties":false}]}`,
			`{"type":"object","properties":{"a":{},"k":{"anyOf":[{"const":1},{"const":2}]},"b":{}},"required":["k"]}`},
		{`{"properties":{"x":{}},"oneOf":[{"required":["x"]},{"properties":{"y":{}}}]}`, `{"properties":{"x":{},"y":{}},"type":"object"}`},

		{`{"type":"string"}`, ``},
		{`false`, ``},
		{`"object"`, ``},
		{`{"type":`, ``},
		{`{"$ref":"https://example.com/schema.json"}`, ``},
		{`{"$ref":"#/$defs/A"}`, ``},
		{`{"$ref":"#/$defs/A","$defs":{"A":{"$ref":"#/$defs/A"}}}`, ``},
		{`{"$ref":"#/$defs/A","$defs":{"A":{"anyOf":[{"$ref":"#/$defs/A"},{"$ref":"#/$defs/A"}]}}}`, ``},
		{`{"oneOf":[{"type":"string"},{"type":"null"}]}`, ``},
	} {
		got, err := model.ToolSchema(jsontext.Value(tt.schema))
		if tt.want == "" {
			if err == nil {
				t.Errorf("%s became %s, want it refused", tt.schema, got)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.schema, err)
			continue
		}
		if diff := cmp.Diff(parse(t, tt.want), parse(t, string(got))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.schema, diff)
		}
	}
}

func parse(t testing.TB, doc string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(doc), &v); err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	return v
}

func FuzzToolSchema(f *testing.F) {
	f.Add(`{"$ref":"#/$defs/A","$defs":{"A":{"anyOf":[{"$ref":"#"},{"allOf":[{}]}]}}}`)
	f.Fuzz(func(t *testing.T, in string) {
		got, err := model.ToolSchema(jsontext.Value(in))
		if err != nil {
			return
		}
		root, _ := parse(t, string(got)).(map[string]any)
		_, hasProperties := root["properties"].(map[string]any)
		if root["type"] != "object" || !hasProperties {
			t.Fatalf("%s", got)
		}
		for _, refused := range []string{"$ref", "allOf", "anyOf", "oneOf"} {
			if _, has := root[refused]; has {
				t.Fatalf("%s in %s", refused, got)
			}
		}
	})
}

// Ids that a protocol does not take are replaced by the same ones in every request.
func TestSentIDs(t *testing.T) {
	t.Parallel()
	send := func(fits func(string) bool) (sent []string) {
		var ids model.SentIDs
		for _, id := range []string{"call_1", "abcDEF123", "", "", "call_1", "abcDEF123"} {
			sent = append(sent, ids.Fit(id, fits))
		}
		for i := range 100 {
			sent = append(sent, ids.Fit([]string{"", "again", strconv.Itoa(i)}[i%3], fits))
		}
		return sent
	}
	anyID := func(string) bool { return true }
	for name, fits := range map[string]func(string) bool{"nine letters": model.NineLetters, "any": anyID} {
		sent := send(fits)
		if diff := cmp.Diff(sent, send(fits)); diff != "" {
			t.Errorf("%s: the next request differs:\n%s", name, diff)
		}
		seen := map[string]bool{"": true}
		for _, id := range sent {
			if seen[id] || !fits(id) {
				t.Errorf("%s: %q among %q", name, id, sent)
			}
			seen[id] = true
		}
		if sent[1] != "abcDEF123" {
			t.Errorf("%s: an id that fits became %q", name, sent[1])
		}
	}
}

// Ids that are missing, too long, or another call's are replaced: of the same answer, or of
// the conversation so far.
func TestIDs(t *testing.T) {
	t.Parallel()
	var ids model.IDs
	ids.ResetFor([]chat.Message{{Parts: []chat.Part{{Call: &tool.Call{ID: "before"}}, {Text: "x"}}}})
	if ids.Any() {
		t.Error("a call was taken before there was one")
	}
	for i, id := range []string{"", "a", "a", "before", strings.Repeat("x", 257)} {
		got, again := ids.Claim(id, "f", jsontext.Value(fmt.Sprint(i)))
		if fresh := model.NineLetters(got); again || fresh == (i == 1) || fresh && got == id {
			t.Errorf("%.9q became %q, again: %v", id, got, again)
		}
	}
	made, _ := ids.Claim("", "f", nil)
	if got, again := ids.Claim(made, "f", nil); got == made || again {
		t.Errorf("our own id %q was given to another call, again: %v", got, again)
	}
	ids.Reset()
	if got, _ := ids.Claim("a", "f", nil); got != "a" {
		t.Error("Reset keeps ids")
	}
}

// A call that a service sends twice is one call. Without an id nobody can say whether it
// is, and so it is another.
func TestCallsThatComeTwice(t *testing.T) {
	t.Parallel()
	var ids model.IDs
	ids.ResetFor([]chat.Message{{Parts: []chat.Part{{Call: &tool.Call{ID: "before"}}}}})
	for _, tt := range []struct {
		id, name, args string
		again          bool
	}{
		{"before", "f", `{}`, false},
		{"before", "f", `{}`, true},
		{"a", "f", `{"x":1}`, false},
		{"a", "f", `{"x":1}`, true},
		{"a", "f", `{ "x" : 1 }`, true},
		{"a", "f", `{"x":2}`, false},
		{"a", "f", `{"x":2}`, true},
		{"a", "f", `{"x": 1}`, true},
		{"a", "g", `{"x":1}`, false},
		{"b", "f", `{"x":1}`, false},
		{"", "f", `{"x":1}`, false},
		{"", "f", `{"x":1}`, false},
		{strings.Repeat("x", 300), "f", `{}`, false},
		{strings.Repeat("x", 300), "f", `{}`, true},
		{"c", "f", `{"x":1,"x":2}`, false},
		{"c", "f", `{"x":1,"x":2}`, true},
	} {
		if _, again := ids.Claim(tt.id, tt.name, jsontext.Value(tt.args)); again != tt.again {
			t.Errorf("%.9s %s %s: again %v", tt.id, tt.name, tt.args, again)
		}
	}
}

// BenchmarkClaim is the first call of an answer.
func BenchmarkClaim(b *testing.B) {
	args := jsontext.Value(`{"title": "Review the quarterly report","due_date": "2026-12-01","priority": "high"}`)
	b.ReportAllocs()
	for b.Loop() {
		var ids model.IDs
		if id, again := ids.Claim("a", "create_todo", args); id != "a" || again {
			b.Fatal(id, again)
		}
	}
}

func TestToolsCache(t *testing.T) {
	t.Parallel()
	var rendered, got []string
	tools := model.Tools{
		Append: func(b []byte, name, _ string, _ jsontext.Value, omitted bool) []byte {
			rendered = append(rendered, name)
			if omitted {
				name = "omitted " + name
			}
			return model.AppendString(b, name)
		},
		LeftOut: func(name, reason string) { got = append(got, name+": "+reason) },
	}
	set := &tool.Set{Specs: []tool.Spec{{Name: "a"}, {Name: "bad", InputSchema: jsontext.Value(`[]`)}, {Name: "b.c"}}}
	for range 2 {
		if got := string(tools.Of(set, false).JSON); got != `"a","b_c"` {
			t.Error(got)
		}
		if got := string(tools.Of(set, true).JSON); got != `"omitted a","omitted b_c"` {
			t.Error(got)
		}
	}
	if len(rendered) != 4 || len(got) != 2 || got[0] != "bad: its schema allows no object" {
		t.Errorf("rendered %q, told %q", rendered, got)
	}
	if got := tools.Names(set).Ours("b_c"); got != "b.c" {
		t.Error(got)
	}
	if r := tools.Of(nil, false); len(r.JSON) > 0 || r.Names.Fit("a.b") != "a_b" || tools.Names(nil).Ours("b_c") != "b_c" {
		t.Errorf("without tools: %+v", r)
	}
	for range 5 { // a set that has not been asked for in a while is forgotten
		tools.Of(&tool.Set{Specs: []tool.Spec{{Name: "x"}}}, false)
	}
	if tools.Of(set, false); len(rendered) != 4+5+2 {
		t.Errorf("rendered %q", rendered)
	}
}

// Sets of single turns, as many as there may be, do not have those that stay rendered again.
func TestPassingSetsAreKeptApart(t *testing.T) {
	t.Parallel()
	var rendered []string
	tools := model.Tools{Append: func(b []byte, name, _ string, _ jsontext.Value, _ bool) []byte {
		rendered = append(rendered, name)
		return model.AppendString(b, name)
	}}
	staying := &tool.Set{Specs: []tool.Spec{{Name: "stays"}}}
	tools.Of(staying, false)
	for range 5 {
		passing := &tool.Set{Specs: []tool.Spec{{Name: "passes"}, {Name: "a.b"}}, Passing: true}
		for range 3 { // the steps of its turn
			tools.Of(staying, false)
			if tools.Of(passing, false); tools.Names(passing).Ours("a_b") != "a.b" {
				t.Error("the names are lost")
			}
		}
	}
	if want := 1 + 5*2; len(rendered) != want {
		t.Errorf("%d tools were rendered, want %d: %q", len(rendered), want, rendered)
	}
}

func TestWordsAndNineLetters(t *testing.T) {
	t.Parallel()
	for id, want := range map[string][2]bool{
		"":           {false, false},
		"aZ0":        {true, false},
		"abcdefghi":  {true, true},
		"abcdefgh_":  {true, false},
		"abcdefghij": {false, false},
		"a.b":        {false, false},
		"é":          {false, false},
	} {
		if got := [2]bool{model.WordOf(id, 9), model.NineLetters(id)}; got != want {
			t.Errorf("%q: %v, want %v", id, got, want)
		}
	}
}
