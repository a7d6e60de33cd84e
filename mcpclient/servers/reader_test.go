package servers

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/check"
	"sluice/internal/base/config"
	"sluice/internal/base/config/configtest"
	"sluice/internal/turn/tool"
	"sluice/mcpclient"
)

func mcpWorld(content string, env ...string) configtest.World {
	w := configtest.World{Env: map[string]string{"MCP_CONFIG": filepath.Join("etc", "mcp.json")}}
	for i := 0; i < len(env); i += 2 {
		w.Env[env[i]] = env[i+1]
	}
	w.Files = map[string]string{w.Env["MCP_CONFIG"]: content}
	return w
}

func TestMCPConfig(t *testing.T) {
	t.Parallel()
	abs, err := filepath.Abs("srv")
	if err != nil {
		t.Fatal(err)
	}
	content := fmt.Sprintf(`{
		"$schema": "belongs to somebody else",
		"mcpServers": {
			"zeta": {"command":"uvx","args":["fastmcp","run","${FILE}","$${FILE}"],"env":{"MODE":"a${MODE}b"},"dir":"sub","timeout":2.5},
			"alpha": {"type":"http","url":"http://${HOST}:8000/mcp","headers":{"Authorization":"Bearer ${TOKEN}"},"timeout":"1m","protocolVersion":"2025-11-25","allow":["a","b"],"deny":["c"],
				"fallback":{"a":"b","b":"zeta/b"},"readOnly":["a"],"idempotent":["a","b"],"destructive":["b"],"trust":false,
				"cache":{"a":"1m","c":2},"cache_shared":true,"identity":true},
			"old-one": {"type":"sse","url":"https://h/sse","protocolVersion":"auto","trust":true},
			"plain": {"type":"stdio","command":"./server","dir":%q}
		}}`, abs)
	w := mcpWorld(content, "FILE", "server.py", "MODE", "", "HOST", "h.test", "TOKEN", "t0ken", "MCP_SERVER_URL", "http://first/mcp")
	want := List{
		{Name: "todo", Transport: mcpclient.HTTP, URL: "http://first/mcp"},
		{Name: "zeta", Transport: mcpclient.Stdio, Command: "uvx", Args: []string{"fastmcp", "run", "server.py", "${FILE}"}, Env: map[string]config.Secret{"MODE": "ab"},
			Dir: filepath.Join("etc", "sub"), Timeout: 2500 * time.Millisecond, Expanded: []config.Secret{"server.py"}},
		{Name: "alpha", Transport: mcpclient.HTTP, URL: "http://h.test:8000/mcp", Headers: map[string]config.Secret{"Authorization": "Bearer t0ken"}, Timeout: time.Minute,
			ProtocolVersion: "2025-11-25", Allow: []string{"a", "b"}, Deny: []string{"c"}, Expanded: []config.Secret{"h.test"},
			Policy: tool.Policy{Fallback: map[string][]string{"a": {"b"}, "b": {"zeta/b"}}, ReadOnly: []string{"a"}, Idempotent: []string{"a", "b"}, Destructive: []string{"b"}, Untrusted: true,
				Cache: map[string]time.Duration{"a": time.Minute, "c": 2 * time.Second}, CacheShared: true}, Identity: new(true)},
		{Name: "old-one", Transport: mcpclient.SSE, URL: "https://h/sse", ProtocolVersion: "auto"},
		{Name: "plain", Transport: mcpclient.Stdio, Command: "./server", Dir: abs},
	}
	if diff := cmp.Diff(want, listed(t, w)); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
}

func TestMCPConfigFaults(t *testing.T) {
	t.Parallel()
	known := "there is no such key; there are type, command, builtin, args, env, dir, url, headers, timeout, protocolVersion, allow, deny, fallback, readOnly, idempotent, destructive, confirm, on_unknown, trust, cache, cache_shared, identity"
	tests := []struct {
		name, content string
		want          []string // without "MCP_CONFIG: "
	}{
		{"empty", ``, []string{"is not valid JSON (line 1)"}},
		{"broken", "{\n\"mcpServers\":\n{]}", []string{"/mcpServers: is not valid JSON (line 3)"}},
		{"cut", `{"mcpServers":{"a":{`, []string{"/mcpServers/a: is not valid JSON (line 1)"}},
		{"byte order mark", "\ufeff{}", []string{"is not valid JSON (line 1)"}},
		{"not UTF-8", "{\"mcpServers\":{\"a\":{\"command\":\"\xff\"}}}", []string{"/mcpServers/a/command: is not valid JSON (line 1)"}},
		{"duplicate server", `{"mcpServers":{"a":{"command":"x"},"a":{"command":"y"}}}`, []string{"/mcpServers/a: is given twice (line 1)"}},
		{"duplicate key", `{"mcpServers":{"a":{"command":"x","command":"y"}}}`, []string{"/mcpServers/a/command: is given twice (line 1)"}},
		{"trailing", `{"mcpServers":{}} {}`, []string{"more follows after the end of the JSON value"}},
		{"not an object", `[]`, []string{"must be a JSON object"}},
		{"no servers", `{"mcpservers":{}}`, []string{"must hold an object mcpServers"}},
		{"servers are a list", `{"mcpServers":[]}`, []string{"/mcpServers: must be an object"}},
		{"server is a string", `{"mcpServers":{"a":"x"}}`, []string{"/mcpServers/a: must be an object"}},
		{"names", `{"mcpServers":{"":{"command":"x"},"a b":{"command":"x"},"c/d":{"command":"x"},"e\nf":{"command":"x"}}}`, []string{
			"/mcpServers/: a server's name must be 1 to 64 of A-Z a-z 0-9 _ -",
			"/mcpServers/a b: a server's name must be 1 to 64 of A-Z a-z 0-9 _ -",
			"/mcpServers/c~1d: a server's name must be 1 to 64 of A-Z a-z 0-9 _ -",
			`"/mcpServers/e\nf": a server's name must be 1 to 64 of A-Z a-z 0-9 _ -`}},
		{"unknown keys", `{"mcpServers":{"a":{"command":"x","cwd":"/","Args":[]}}}`, []string{"/mcpServers/a/cwd: " + known, "/mcpServers/a/Args: " + known}},
		{"both", `{"mcpServers":{"a":{"command":"x","url":"http://h"}}}`, []string{"/mcpServers/a: must have either command or url"}},
		{"none", `{"mcpServers":{"a":{}}}`, []string{"/mcpServers/a: must have either command or url"}},
		{"types", `{"mcpServers":{"a":{"type":"stdio","url":"http://h"},"b":{"type":"sse","command":"x"},"c":{"type":"grpc","url":"http://h"},"d":{"type":1,"command":"x"}}}`, []string{
			"/mcpServers/a/type: must be stdio with command, http or sse with url",
			"/mcpServers/b/type: must be stdio with command, http or sse with url",
			"/mcpServers/c/type: must be one of stdio, http, sse",
			"/mcpServers/d/type: must be a string"}},
		{"keys of the other side", `{"mcpServers":{"a":{"url":"http://h","args":[],"env":{},"dir":""},"b":{"command":"x","headers":{}}}}`, []string{
			"/mcpServers/a/args: belongs to a server with command",
			"/mcpServers/a/env: belongs to a server with command",
			"/mcpServers/a/dir: belongs to a server with command",
			"/mcpServers/b/headers: belongs to a server with url"}},
		{"wrong kinds", `{"mcpServers":{"a":{"command":1,"args":"x","env":["x"],"dir":null,"timeout":true,"allow":{},"deny":[1]}}}`, []string{
			"/mcpServers/a/command: must be a string",
			"/mcpServers/a/args: must be an array of strings",
			"/mcpServers/a/env: must be an object of strings",
			"/mcpServers/a/dir: must be a string",
			"/mcpServers/a/timeout: must be a duration such as 15s, or a number of seconds",
			"/mcpServers/a/allow: must be an array of strings",
			"/mcpServers/a/deny/0: must be a string"}},
		{"empty values", `{"mcpServers":{"a":{"command":"","args":[1],"env":{"":"x","B":2},"allow":[],"deny":[""]}}}`, []string{
			"/mcpServers/a/command: must not be empty",
			"/mcpServers/a/args/0: must be a string",
			"/mcpServers/a/env/: a variable needs a name without =, and neither part may hold a NUL",
			"/mcpServers/a/env/B: must be a string",
			"/mcpServers/a/allow: must name a tool, or be left out",
			"/mcpServers/a/deny/0: must not be empty"}},
		{"timeouts", `{"mcpServers":{"a":{"command":"x","timeout":0},"b":{"command":"x","timeout":1e999},"c":{"command":"x","timeout":"0s"},"d":{"command":"x","timeout":-1}}}`, []string{
			"/mcpServers/a/timeout: must be from 0.001 seconds to a day",
			"/mcpServers/b/timeout: must be from 0.001 seconds to a day",
			"/mcpServers/c/timeout: must be more than 0",
			"/mcpServers/d/timeout: must be from 0.001 seconds to a day"}},
		{"versions and URLs", `{"mcpServers":{"a":{"url":"h/mcp","protocolVersion":"2025-13-01"},"b":{"url":"https://u:p@h/mcp"}}}`, []string{
			"/mcpServers/a/url: must begin with http:// or https://",
			"/mcpServers/a/protocolVersion: must be a date such as 2025-11-25, or auto",
			"/mcpServers/b/url: must not hold a user name or password"}},
		{"headers", `{"mcpServers":{"a":{"url":"http://h","headers":{"X-A":"1","x-a":"2","bad name":"3","X-B":"a\r\nb"}}}}`, []string{
			"/mcpServers/a/headers/x-a: is given twice: names that differ only in upper and lower case are the same",
			"/mcpServers/a/headers/bad name: is not a header's name",
			"/mcpServers/a/headers/X-B: the value must not hold line ends or other control characters"}},
		{"expansion", `{"mcpServers":{"a":{"command":"x","args":["${UNSET}","${SET}","${}","${A-B}","${SET","a\u0000"],"env":{"K":"${GEMINI_API_KEY}"}}}}`, []string{
			"/mcpServers/a/args/0: the variable UNSET is not set",
			"/mcpServers/a/args/2: ${ must be followed by a variable's name and }; write $${ for a plain ${",
			"/mcpServers/a/args/3: ${ must be followed by a variable's name and }; write $${ for a plain ${",
			"/mcpServers/a/args/4: ${ must be followed by a variable's name and }; write $${ for a plain ${",
			"/mcpServers/a/args/5: must not hold a NUL",
			"/mcpServers/a/env/K: GEMINI_API_KEY is never passed on"}},
		{"policy", `{"mcpServers":{"a":{"command":"x","fallback":[],"readOnly":"x","idempotent":[],"destructive":[1],"trust":"no"},
			"b":{"command":"x","fallback":{"":"x","y":"","z":1,"w":"b/w","v":"a/v"},"readOnly":["p","q"],"destructive":["r","q"],"trust":null}}}`, []string{
			`/mcpServers/a/fallback: must be an object of strings, such as {"search": "archive/search"}`,
			"/mcpServers/a/readOnly: must be an array of strings",
			"/mcpServers/a/idempotent: must name a tool, or be left out",
			"/mcpServers/a/destructive/0: must be a string",
			"/mcpServers/a/trust: must be true or false",
			"/mcpServers/b/fallback/: must not be empty",
			"/mcpServers/b/fallback/y: must not be empty",
			"/mcpServers/b/fallback/z: must be a string",
			"/mcpServers/b/fallback/w: must be another tool",
			"/mcpServers/b/trust: must be true or false",
			"/mcpServers/b/destructive/1: is in readOnly, too"}},
		{"cache", `{"mcpServers":{"a":{"command":"x","cache":["x"],"cache_shared":1,"identity":"no"},
			"b":{"command":"x","cache":{"":"1m","y":"5m1s","z":0.5,"w":"soon","v":null,"u":"1s","t":300}}}}`, []string{
			`/mcpServers/a/cache: must be an object of durations, such as {"search": "1m"}`,
			"/mcpServers/a/cache_shared: must be true or false",
			"/mcpServers/a/identity: must be true or false",
			"/mcpServers/b/cache/: must not be empty",
			"/mcpServers/b/cache/y: must be from 1s to 5m",
			"/mcpServers/b/cache/z: must be from 1s to 5m",
			"/mcpServers/b/cache/w: must be a duration with its unit, such as 15s, 500ms or 1m30s",
			"/mcpServers/b/cache/v: must be a duration such as 15s, or a number of seconds"}},
		{"todo in both", `{"mcpServers":{"todo":{"command":"x"}}}`, []string{"/mcpServers/todo: MCP_SERVER_URL is a server of this name already"}},
		{"huge", `{"mcpServers":{}}` + strings.Repeat(" ", maxFile), []string{"the file has more than 1 MiB"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := load(mcpWorld(tt.content, "SET", "1", "GEMINI_API_KEY", "k", "MCP_SERVER_URL", "http://first/mcp"))
			want := make([]string, len(tt.want))
			for i, s := range tt.want {
				want[i] = "MCP_CONFIG: " + s
			}
			if diff := cmp.Diff(want, faults(t, err)); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

// A file that names no server is as none: the built-in one is used.
func TestMCPConfigWithoutServers(t *testing.T) {
	t.Parallel()
	if got := listed(t, mcpWorld(`{"mcpServers":{}}`)); len(got) != 0 {
		t.Errorf("got %v, want none", got)
	}
}

func FuzzMCPConfig(f *testing.F) {
	for _, s := range []string{
		`{"mcpServers":{"todo":{"command":"uvx","args":["fastmcp","run","server.py"],"env":{"A":"${A}"}},"files":{"url":"http://h/${A}/mcp","headers":{"B":"${A}"},"type":"http"}}}`,
		`{"mcpServers":{"a":{"command":"x","timeout":1.5,"dir":"y","allow":["z"],"deny":["$${"],"protocolVersion":"auto"}}}`,
		`{"mcpServers":{"a":{"type":"sse","url":"http://u:${A}@h"}}}`,
		`{"mcpServers":{"a\u0000":{"args":["${A"]}}}`,
		`{"mcpServers":{"a":{"url":"http://h","headers":{"x":"1","X":"2"}}},"mcpServers":0}`,
		`[`, ``, "\xff",
	} {
		f.Add(s)
	}
	const secret = "s3cr3t-CaNaRy"
	lookup := func(name string) (string, bool) { return secret, name != "UNSET" }
	name := regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	f.Fuzz(func(t *testing.T, content string) {
		file := newReader("mcp.json", lookup, nil)
		servers := file.readContent([]byte(content))
		if len(file.faults) > 0 {
			text := (&config.Error{Faults: file.faults}).Error()
			if strings.Contains(text, secret) || strings.Count(text, "\n") != len(file.faults)-1 {
				t.Fatalf("bad error text: %s", text)
			}
			return
		}
		seen := make(map[string]bool)
		for _, s := range servers {
			local := s.Transport == mcpclient.Stdio && s.Command != "" && s.URL == "" && s.Headers == nil
			remote := (s.Transport == mcpclient.HTTP || s.Transport == mcpclient.SSE) && check.BaseURL(s.URL) == nil && s.Command == "" && s.Args == nil && s.Env == nil && s.Dir == ""
			if seen[s.Name] || !name.MatchString(s.Name) || local == remote || s.Timeout < 0 {
				t.Fatalf("accepted %#v: %s", s, content)
			}
			seen[s.Name] = true
			if strings.Contains(fmt.Sprintf("%v %+v %#v", s, servers, &s), secret) {
				t.Fatal("a secret shows")
			}
		}
	})
}

// What a file of MCP_CONFIG says of single tools, and what is wrong with it.
func TestFileNamesTools(t *testing.T) {
	t.Parallel()
	got := listed(t, mcpWorld(`{"mcpServers":{"a":{"command":"x","fallback":{"f":["g","b/f"]},"confirm":{"f":"always","g":"never"},"on_unknown":"tell"},"b":{"builtin":"todo"}}}`))
	if diff := cmp.Diff(map[string][]string{"f": {"g", "b/f"}}, got[0].Fallback); diff != "" {
		t.Errorf("fallback (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]tool.Confirm{"f": tool.ConfirmAlways, "g": tool.ConfirmNever}, got[0].Confirm); diff != "" {
		t.Errorf("confirm (-want +got):\n%s", diff)
	}
	if got[0].OnUnknown != ReportUnknown || got[1].Transport != mcpclient.InProcess {
		t.Errorf("got %q, %q", got[0].OnUnknown, got[1].Transport)
	}
	_, err := load(mcpWorld(`{"mcpServers":{"a":{"command":"x","fallback":{"f":[],"g":["","h","h",1],"":["x"]},"confirm":{"":"always","f":"perhaps","g":1},"on_unknown":"guess"},
		"b":{"builtin":"todo","args":[],"type":"stdio"},"c":{"command":"x","confirm":[]}}}`))
	want := []string{
		"a/fallback/f: must name a tool, or be left out", "a/fallback/g/0: must not be empty", "a/fallback/g/2: is named twice", "a/fallback/g/3: must be a string",
		"a/fallback//0: must not be empty", "a/confirm/: must not be empty", "a/confirm/f: must be always or never", "a/confirm/g: must be a string", "a/on_unknown: must be one of ask, tell",
		"b/type: belongs to a server that is not built in", "b/args: belongs to a server that is not built in",
		`c/confirm: must be an object of always and never, such as {"refund": "always"}`,
	}
	for i := range want {
		want[i] = "MCP_CONFIG: /mcpServers/" + want[i]
	}
	if diff := cmp.Diff(want, faults(t, err)); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}
