package servers

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/config"
	"sluice/internal/base/config/configtest"
	"sluice/internal/base/config/file"
	"sluice/internal/turn/tool"
	"sluice/mcpclient"
)

// readSection reads a configuration file with servers, next to those of c.
func readSection(c *config.Config, content string, env map[string]string) []string {
	w := configtest.World{Env: env}
	r := file.Table{Section(c)}.Read(filepath.Join("etc", "sluice.yaml"), []byte(content), config.Sources{Lookup: w.Lookup})
	var list []string
	for _, f := range r.Faults {
		list = append(list, f.Message)
	}
	return list
}

// The section has the keys of a file of MCP_CONFIG, built-in servers too, and its servers
// are added behind those.
func TestSection(t *testing.T) {
	t.Parallel()
	c := new(config.Config)
	addServers(c, Server{Name: "first", Transport: mcpclient.HTTP, URL: "http://h/mcp"})
	faults := readSection(c, `
mcpServers:
  lamps: {builtin: home-lights, deny: [reset], on_unknown: ask}
  pay:
    command: ./pay
    dir: bin
    args: ["--key=${KEY}", "$${KEY}"]
    env: {PAY_TOKEN: "${KEY}-in-env"}
    timeout: 90s
    on_unknown: tell
    confirm: {refund: always, list: never}
    fallback: {refund: [undo, first/undo], list: first/list}
  far: {url: "https://${HOST}/mcp", headers: {Authorization: "Bearer ${KEY}"}, cache: {find: 5m, list: 1}, timeout: 0.001}
`, map[string]string{"KEY": "k-0123456789", "HOST": "h.test"})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	list := config.Of[List](c)
	want := List{
		{Name: "first", Transport: mcpclient.HTTP, URL: "http://h/mcp"},
		{Name: "lamps", Transport: mcpclient.InProcess, Builtin: "home-lights", Deny: []string{"reset"}, OnUnknown: askUnknown},
		{Name: "pay", Transport: mcpclient.Stdio, Command: "./pay", Dir: filepath.Join("etc", "bin"), Args: []string{"--key=k-0123456789", "${KEY}"},
			Env: map[string]config.Secret{"PAY_TOKEN": "k-0123456789-in-env"}, Timeout: 90 * time.Second, OnUnknown: ReportUnknown, Expanded: []config.Secret{"k-0123456789"},
			Policy: tool.Policy{Confirm: map[string]tool.Confirm{"refund": tool.ConfirmAlways, "list": tool.ConfirmNever},
				Fallback: map[string][]string{"refund": {"undo", "first/undo"}, "list": {"first/list"}}}},
		{Name: "far", Transport: mcpclient.HTTP, URL: "https://h.test/mcp", Headers: map[string]config.Secret{"Authorization": "Bearer k-0123456789"}, Timeout: time.Millisecond,
			Policy: tool.Policy{Cache: map[string]time.Duration{"find": 5 * time.Minute, "list": time.Second}}, Expanded: []config.Secret{"h.test"}},
	}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(tool.Servers{"first", "lamps", "pay", "far"}, config.Of[tool.Servers](c)); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(tool.Reporting{"pay"}, config.Of[tool.Reporting](c)); diff != "" {
		t.Errorf("servers whose lost calls the model is told (-want +got):\n%s", diff)
	}
	hidden := strings.Join(c.Secrets(), " ")
	for _, secret := range []string{"k-0123456789", "k-0123456789-in-env", "Bearer k-0123456789"} {
		if !strings.Contains(" "+hidden+" ", " "+secret+" ") {
			t.Errorf("%q is not hidden: %s", secret, hidden)
		}
	}
}

// Each fault of the section has its place, and does not hide those of other servers.
func TestSectionFaults(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, server, want string }{
		{"a name of another source", `first: {command: x}`, "MCP_SERVER_URL or MCP_CONFIG has a server of this name already"},
		{"a built-in server with a program", `a: {builtin: todo, command: x}`, "belongs to a server that is not built in"},
		{"a built-in server with an address", `a: {builtin: todo, url: "http://h"}`, "belongs to a server that is not built in"},
		{"a built-in server with a transport", `a: {builtin: todo, type: http}`, "belongs to a server that is not built in"},
		{"a server that is not built in", `a: {builtin: tod}`, "todo"},
		{"neither", `a: {timeout: 1s}`, "must have either command or url"},
		{"a key that is not there", `a: {command: x, cwd: y}`, "cwd"},
		{"a fallback to itself", `a: {command: x, fallback: {find: a/find}}`, "must be another tool"},
		{"a fallback to itself in a list", `a: {command: x, fallback: {find: [b, a/find]}}`, "must be another tool"},
		{"a fallback twice", `a: {command: x, fallback: {find: [b, c, b]}}`, "is named twice"},
		{"a fallback for nothing", `a: {command: x, fallback: {"": b}}`, "must not be empty"},
		{"a confirm for nothing", `a: {command: x, confirm: {"": always}}`, "must not be empty"},
		{"a longer cache", `a: {command: x, cache: {find: 301}}`, "must be from 1s to 5m"},
		{"a shorter timeout", `a: {command: x, timeout: 0.0009}`, "must be from 0.001 seconds to a day"},
		{"a longer timeout", `a: {command: x, timeout: 86400.1}`, "must be from 0.001 seconds to a day"},
		{"the model's key", `a: {command: x, args: ["${GEMINI_API_KEY}"]}`, "GEMINI_API_KEY is never passed on"},
		{"the model's other key", `a: {url: "http://h", headers: {X-A: "${GOOGLE_API_KEY}"}}`, "GOOGLE_API_KEY is never passed on"},
		{"both read-only and destructive", `a: {command: x, readOnly: [p], destructive: [p]}`, "is in readOnly, too"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := new(config.Config)
			addServers(c, Server{Name: "first", Transport: mcpclient.HTTP, URL: "http://h/mcp"})
			faults := readSection(c, "mcpServers:\n  "+tt.server+"\n  b c: {command: x}\n", map[string]string{"GEMINI_API_KEY": "cAnArY-1", "GOOGLE_API_KEY": "cAnArY-2"})
			all := strings.Join(faults, "\n")
			if len(faults) != 2 || !strings.Contains(all, tt.want) || !strings.Contains(all, "1 to 64 of A-Z a-z 0-9 _ -") || strings.Contains(all, "cAnArY") {
				t.Errorf("faults, want one with %q and that of a name:\n%s", tt.want, all)
			}
		})
	}
}

// The longest and the shortest that may be said are read.
func TestBoundsOfDurations(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"0.001": time.Millisecond, "86400": 24 * time.Hour, "1.5": 1500 * time.Millisecond, `"2m"`: 2 * time.Minute} {
		got := listed(t, mcpWorld(`{"mcpServers":{"a":{"command":"x","timeout":`+text+`}}}`))
		if len(got) != 1 || got[0].Timeout != want {
			t.Errorf("%s is %v, want %v", text, got[0].Timeout, want)
		}
	}
}
