package model_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"sluice/internal/model"
	"sluice/internal/turn/tool"
)

// toolsFor returns tools rendered as their schemas alone.
func toolsFor(keys bool, most int, leftOut func(name, reason string)) *model.Tools {
	return &model.Tools{FitKeys: keys, Most: most, LeftOut: leftOut, Append: func(b []byte, _, _ string, schema jsontext.Value, _ bool) []byte { return append(b, schema...) }}
}

func setOf(schemas ...string) *tool.Set {
	set := &tool.Set{}
	for i, s := range schemas {
		set.Specs = append(set.Specs, tool.Spec{Name: fmt.Sprintf("t%d", i), Server: "x", InputSchema: jsontext.Value(s)})
	}
	return set
}

// Each array says what it holds, at every depth; a schema that does so stays byte for byte.
func TestArraysHaveItems(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"a":{"type":"array"}}}`:                                                                           `{"type":"object","properties":{"a":{"type":"array","items":{}}}}`,
		`{"type":"object","properties":{"a":{"type":["array","null"],"items":null}}}`:                                                     `{"type":"object","properties":{"a":{"type":["array","null"],"items":{}}}}`,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"array"}}}}`:                                                  `{"type":"object","properties":{"a":{"type":"array","items":{"type":"array","items":{}}}}}`,
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"array"}]}}}`:                                             `{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"array","items":{}}]}}}`,
		`{"type":"object","properties":{},"additionalProperties":{"type":"array"},"$defs":{"x":{"type":"array","prefixItems":[{}]}}}`:     `{"type":"object","properties":{},"additionalProperties":{"type":"array","items":{}},"$defs":{"x":{"type":"array","prefixItems":[{}],"items":{}}}}`,
		`{ "type": "object", "properties": { "a": {"type":"array","items":{"type":"string"}, "default":{"type":"array"}} } }`:             `{"type":"object","properties":{ "a": {"type":"array","items":{"type":"string"}, "default":{"type":"array"}} }}`,
		`{"type":"object","properties":{"$filter":{"type":"string"},"items":{"type":"string"},"properties":{"enum":[{"type":"array"}]}}}`: `{"type":"object","properties":{"$filter":{"type":"string"},"items":{"type":"string"},"properties":{"enum":[{"type":"array"}]}}}`,
	} {
		if got := string(toolsFor(false, 0, nil).Of(setOf(schema), false).JSON); got != want {
			t.Errorf("%s:\n%s, want\n%s", schema, got, want)
		}
	}
}

// Names of properties fit at every depth, and a call's arguments get the server's names back.
func TestNamesOfPropertiesFit(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 70)
	set := setOf(`{"type":"object","properties":{"$filter":{"type":"string"},"_filter":{"type":"string"},"user name":{"type":"object","properties":{"ü":{"$ref":"#/properties/%24filter"},"`+long+`":{}},"required":["ü","q"]}},`+
		`"required":["$filter","_filter"],"dependentRequired":{"$filter":["user name"]},"patternProperties":{"^\\$x":{}}}`, `{"type":"object","properties":{"q":{}}}`)
	tools := toolsFor(true, 0, nil)
	want := `{"type":"object","properties":{"_filter_2":{"type":"string"},"_filter":{"type":"string"},"user_name":{"type":"object","properties":{"_":{"$ref":"#/properties/_filter_2"},"` + long[:64] + `":{}},"required":["_","q"]}},` +
		`"required":["_filter_2","_filter"],"dependentRequired":{"_filter_2":["user_name"]},"patternProperties":{"^\\$x":{}}},{"type":"object","properties":{"q":{}}}`
	if diff := cmp.Diff(want, string(tools.Of(set, false).JSON)); diff != "" {
		t.Fatalf("schemas (-want +got):\n%s", diff)
	}
	names := tools.Names(set)
	const sent, ours = `{"_filter_2":"a","_filter":"b","user_name":{"_":[{"_filter_2":1}]}}`, `{"$filter":"a","_filter":"b","user name":{"ü":[{"$filter":1}]}}`
	if got := string(names.OurArguments("t0", jsontext.Value(sent))); got != ours {
		t.Errorf("arguments %s, want %s", got, ours)
	}
	if got := string(names.SentArguments("t0", jsontext.Value(ours))); got != sent {
		t.Errorf("sent again as %s, want %s", got, sent)
	}
	for _, args := range []string{`{ "q": 1 }`, sent} { // of another tool
		if got := string(names.OurArguments("t1", jsontext.Value(args))); got != args {
			t.Errorf("arguments %s became %s", args, got)
		}
	}
	var ids model.IDs
	if call := tools.Called(set, &ids, "c", "t0", jsontext.Value(sent)); call == nil || string(call.Arguments) != ours {
		t.Errorf("called %+v", call)
	}
}

// A protocol that takes so many tools gets no more, and the log says so once.
func TestAtMostSoManyTools(t *testing.T) {
	t.Parallel()
	var reports []string
	tools := toolsFor(false, 2, func(name, reason string) { reports = append(reports, name+": "+reason) })
	r := tools.Of(setOf(`{}`, `7`, `{}`, `{}`, `{}`), false)
	if diff := cmp.Diff([]string{"t0", "t2"}, r.Sent); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
	want := []string{"t1: its schema allows no object", "t3: at most 2 tools can be sent: 2 are left out from here on"}
	if diff := cmp.Diff(want, reports); diff != "" {
		t.Errorf("reported (-want +got):\n%s", diff)
	}
}
