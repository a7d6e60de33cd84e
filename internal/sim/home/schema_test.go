package home_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"sluice/internal/sim/home"
)

// declared returns the tools of a server as a client reads them.
func declared(t *testing.T, name string) (tools []mcp.Tool) {
	t.Helper()
	m := home.NewServer(name, "1.2.3")
	reply, err := json.Marshal(m.HandleMessage(t.Context(), []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)))
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Result mcp.ListToolsResult }
	if err := json.Unmarshal(reply, &got); err != nil {
		t.Fatal(err)
	}
	return got.Result.Tools
}

// What a gateway may do with a tool follows from its hints: whether to ask, and whether a lost call
// may be sent again.
func TestDeclarations(t *testing.T) {
	t.Parallel()
	const reads, sets, pays = "reads, again", "changes, again", "destroys"
	for name, want := range map[string]map[string]string{
		home.Lights:    {"list_lights": reads, "set_light": sets, "activate_scene": sets},
		home.Music:     {"get_music": reads, "play_music": sets, "control_music": sets, "set_volume": sets},
		home.Climate:   {"get_climate": reads, "set_climate": sets},
		home.Timesheet: {"get_timesheet": reads},
		home.Payments:  {"list_refunds": reads, "refund": pays},
	} {
		got := map[string]string{}
		for _, tool := range declared(t, name) {
			hints := tool.Annotations
			kind := "changes"
			switch {
			case *hints.ReadOnlyHint:
				kind = "reads"
			case *hints.DestructiveHint:
				kind = "destroys"
			}
			if *hints.IdempotentHint {
				kind += ", again"
			}
			got[tool.Name] = kind
			if *hints.OpenWorldHint || hints.Title == "" || tool.Description == "" {
				t.Errorf("%s: hints %+v, described as %q", tool.Name, hints, tool.Description)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

// The schemas say what the tools take: what a schema refuses the tool refuses as well, and what it
// allows is done.
func TestSchemasAgreeWithTheTools(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		server, tool, args string
		allowed            bool
	}{
		{home.Lights, "set_light", `{"room":"living room","brightness":0}`, true},
		{home.Lights, "set_light", `{"room":"office","brightness":100,"color":"yellow","on":true}`, true},
		{home.Lights, "set_light", `{"room":"office","brightness":101}`, false},
		{home.Lights, "set_light", `{"room":"office","brightness":-1}`, false},
		{home.Lights, "set_light", `{"room":"office","color":"plaid"}`, false},
		{home.Lights, "set_light", `{"room":"office","on":"yes"}`, false},
		{home.Lights, "set_light", `{"on":true}`, false},
		{home.Lights, "list_lights", `{"room":"bathroom"}`, true},
		{home.Lights, "list_lights", `{"room":"cellar"}`, false},
		{home.Lights, "activate_scene", `{"scene":"night"}`, true},
		{home.Lights, "activate_scene", `{"scene":"x"}`, false},
		{home.Lights, "activate_scene", `{}`, false},
		{home.Music, "control_music", `{"action":"rewind"}`, false},
		{home.Music, "control_music", `{}`, false},
		{home.Music, "play_music", `{"query":"jazz"}`, true},
		{home.Music, "play_music", `{"query":7}`, false},
		{home.Music, "set_volume", `{"level":100}`, true},
		{home.Music, "set_volume", `{"level":101}`, false},
		{home.Music, "set_volume", `{"change":-100}`, true},
		{home.Music, "set_volume", `{"change":-101}`, false},
		{home.Music, "set_volume", `{"change":101}`, false},
		{home.Climate, "set_climate", `{"target":5}`, true},
		{home.Climate, "set_climate", `{"target":35,"mode":"off","zone":"house"}`, true},
		{home.Climate, "set_climate", `{"target":36}`, false},
		{home.Climate, "set_climate", `{"mode":"x"}`, false},
		{home.Climate, "get_climate", `{"zone":"upstairs"}`, true},
		{home.Climate, "get_climate", `{"zone":"x"}`, false},
		{home.Payments, "refund", `{"amount":10000}`, true},
		{home.Payments, "refund", `{"amount":10001}`, false},
		{home.Payments, "refund", `{"amount":0}`, false},
		{home.Payments, "refund", `{"reason":"x"}`, false},
	} {
		if got := allows(t, tt.server, tt.tool, tt.args); got != tt.allowed {
			t.Errorf("%s %s: the schema allows it: %t", tt.tool, tt.args, got)
		}
		if text, failed := call(t, home.NewServer(tt.server, "test"), tt.tool, tt.args); failed == tt.allowed {
			t.Errorf("%s %s: %s", tt.tool, tt.args, text)
		}
	}
}

// allows asks a validator that is not ours whether a tool's schema allows some arguments.
func allows(t *testing.T, server, tool, args string) bool {
	t.Helper()
	for _, d := range declared(t, server) {
		if d.Name != tool {
			continue
		}
		schema, err := json.Marshal(d.InputSchema)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
		if err != nil {
			t.Fatal(err)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource("tool:///schema.json", doc); err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(args))
		if err != nil {
			t.Fatal(err)
		}
		return c.MustCompile("tool:///schema.json").Validate(value) == nil
	}
	t.Fatalf("%s has no tool %s", server, tool)
	return false
}

func TestServersNameThemselves(t *testing.T) {
	t.Parallel()
	for _, name := range []string{home.Lights, home.Music, home.Climate, home.Timesheet, home.Payments} {
		m := home.NewServer(name, "1.2.3")
		reply, err := json.Marshal(m.HandleMessage(t.Context(), []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{fmt.Sprintf(`"name":"sluice-%s"`, name), `"version":"1.2.3"`, "nothing is switched anywhere"} {
			if !bytes.Contains(reply, []byte(want)) {
				t.Errorf("%s: no %s in %s", name, want, reply)
			}
		}
	}
}
