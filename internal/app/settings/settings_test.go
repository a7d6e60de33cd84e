package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/breaker"
	"sluice/handlers"
	"sluice/internal/base/config"
	"sluice/internal/base/config/configtest"
	"sluice/internal/edge/access/door"
	"sluice/internal/engine/agent"
	"sluice/internal/engine/agent/remote"
	"sluice/internal/engine/approval"
	"sluice/internal/model/gemini"
	"sluice/internal/state/store"
	"sluice/internal/state/task/recording"
	"sluice/internal/turn/chat"
	"sluice/mcpclient/servers"
)

// load reads the settings of a machine.
func load(w configtest.World, args ...string) (config.Config, error) {
	return Loader().Load(args, w.Lookup, w.ReadFile)
}

func mustLoad(t *testing.T, w configtest.World, args ...string) config.Config {
	t.Helper()
	c, err := load(w, args...)
	if err != nil {
		t.Fatalf("Load(%q) = %v", args, err)
	}
	return c
}

// faults returns the lines of err, which must be an *Error.
func faults(t *testing.T, err error) []string {
	t.Helper()
	e, ok := errors.AsType[*config.Error](err)
	if !ok {
		t.Fatalf("error is a %T (%v), want *Error", err, err)
	}
	lines := strings.Split(e.Error(), "\n")
	if len(lines) != len(e.Faults) {
		t.Errorf("%d faults on %d lines:\n%v", len(e.Faults), len(lines), e)
	}
	return lines
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	home := filepath.FromSlash("/home/u")
	got := mustLoad(t, configtest.World{Env: map[string]string{"HOME": home, "LOCALAPPDATA": home, "XDG_DATA_HOME": home, "SECRET_OF_OTHERS": "x"}})
	five := breaker.Config{Failures: 5, Recovery: 30 * time.Second, HalfOpenCalls: 3}
	want := map[string]any{
		"process": Process{Addr: "127.0.0.1:8080", DrainTimeout: 30 * time.Second},
		"gemini": gemini.Config{
			Model: "gemini-flash-latest", BaseURL: "https://generativelanguage.googleapis.com", Driver: "rest", Thinking: "summary",
			Timeout: 15 * time.Second, Breaker: breaker.Config{Failures: 3, Recovery: 60 * time.Second, HalfOpenCalls: 3},
		},
		"agent":     agent.Config{Location: time.UTC, MaxSteps: 8},
		"servers":   servers.Common{Timeout: 10 * time.Second, Breaker: five},
		"remote":    remote.Common{Breaker: five},
		"todo":      Todos{DB: filepath.Join(home, "sluice", "todo.db"), IsDefault: true},
		"streams":   handlers.Config{Limits: handlers.Limits{Timeout: 30 * time.Second, Heartbeat: 15 * time.Second, WriteTimeout: 5 * time.Second, MaxStreams: 10000}},
		"policy":    handlers.Policy{Admission: "adaptive", GetTools: chat.ToolsAll},
		"store":     store.Config{At: store.Location{Kind: store.None}},
		"approval":  approval.Config{Mode: "off"},
		"chatkit":   ChatKit{History: "none"},
		"log":       Logging{Level: "info"},
		"telemetry": config.OTel{},
		"recording": recording.Config{Max: 256 << 20},
	}
	parts := map[string]any{
		"process": config.Of[Process](&got), "gemini": config.Of[gemini.Config](&got), "agent": config.Of[agent.Config](&got),
		"servers": config.Of[servers.Common](&got), "remote": config.Of[remote.Common](&got), "todo": config.Of[Todos](&got),
		"streams": config.Of[handlers.Config](&got), "policy": config.Of[handlers.Policy](&got), "store": config.Of[store.Config](&got),
		"approval": config.Of[approval.Config](&got), "chatkit": config.Of[ChatKit](&got), "log": config.Of[Logging](&got),
		"telemetry": config.Of[config.OTel](&got), "recording": config.Of[recording.Config](&got),
	}
	for name := range want {
		if !reflect.DeepEqual(want[name], parts[name]) {
			t.Errorf("%s: got %+v, want %+v", name, parts[name], want[name])
		}
	}
	env := []string{"HOME=" + home, "XDG_DATA_HOME=" + home}
	if runtime.GOOS == "windows" {
		env = append(env, "LOCALAPPDATA="+home)
	}
	if diff := cmp.Diff(env, got.ChildEnv); diff != "" {
		t.Errorf("ChildEnv (-want +got):\n%s", diff)
	}
	if !config.Of[gemini.Config](&got).Offline() {
		t.Error("Offline() = false without a key")
	}
}

func TestGoodValues(t *testing.T) {
	keyFile := filepath.Join(t.TempDir(), "keys.yaml")
	if err := os.WriteFile(keyFile, []byte("keys: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Parallel()
	files := map[string]string{
		"prompt.txt": "Be brief.\n",
		"mcp.json":   `{"mcpServers":{"files":{"url":"http://f.test/mcp"}}}`,
	}
	tests := []struct {
		name, value string
		field       func(config.Config) any
		want        any
	}{
		{"SLUICE_ADDR", "127.0.0.1:0", func(c config.Config) any { return config.Of[Process](&c).Addr }, "127.0.0.1:0"},
		{"SLUICE_ADMIN_ADDR", "127.0.0.1:0", func(c config.Config) any { return config.Of[Process](&c).AdminAddr }, "127.0.0.1:0"},
		{"SLUICE_ADDR", "[::1]:9000", func(c config.Config) any { return config.Of[Process](&c).Addr }, "[::1]:9000"},
		{"SLUICE_ADDR", "my-host.internal:65535", func(c config.Config) any { return config.Of[Process](&c).Addr }, "my-host.internal:65535"},
		{"PORT", "3000", func(c config.Config) any { return config.Of[Process](&c).Addr }, ":3000"},
		{"GEMINI_API_KEY", " AIza-0123456789\n", func(c config.Config) any { return config.Of[gemini.Config](&c).APIKey.Reveal() }, "AIza-0123456789"},
		{"GOOGLE_API_KEY", "AIza-second", func(c config.Config) any { return config.Of[gemini.Config](&c).APIKey.Reveal() }, "AIza-second"},
		{"GEMINI_MODEL", "gemini-3.5-flash-lite", func(c config.Config) any { return config.Of[gemini.Config](&c).Model }, "gemini-3.5-flash-lite"},
		{"GEMINI_BASE_URL", "http://127.0.0.1:9/v/", func(c config.Config) any { return config.Of[gemini.Config](&c).BaseURL }, "http://127.0.0.1:9/v"},
		{"GEMINI_DRIVER", "rest", func(c config.Config) any { return config.Of[gemini.Config](&c).Driver }, "rest"},
		{"GEMINI_DRIVER", "sdk", func(c config.Config) any { return config.Of[gemini.Config](&c).Driver }, "sdk"},
		{"GEMINI_THINKING", "off", func(c config.Config) any { return config.Of[gemini.Config](&c).Thinking }, "off"},
		{"GEMINI_THINKING", "high", func(c config.Config) any { return config.Of[gemini.Config](&c).Thinking }, "high"},
		{"GEMINI_THINKING", "-1", func(c config.Config) any { return config.Of[gemini.Config](&c).Thinking }, "-1"},
		{"GEMINI_THINKING", "+0512", func(c config.Config) any { return config.Of[gemini.Config](&c).Thinking }, "512"},
		{"MCP_SERVER_URL", "http://[::1]:8000/mcp", func(c config.Config) any { return config.Of[servers.List](&c)[0].URL }, "http://[::1]:8000/mcp"},
		{"MCP_SERVER_URL", "http://h/mcp", func(c config.Config) any { return config.Of[servers.List](&c)[0].String() }, "todo (http)"},
		{"MCP_CONFIG", "mcp.json", func(c config.Config) any { return config.Of[servers.List](&c)[0].Name }, "files"},
		{"SLUICE_TODO_DB", ":memory:", func(c config.Config) any { return config.Of[Todos](&c).DB }, ":memory:"},
		{"SLUICE_SYSTEM_PROMPT", "prompt.txt", func(c config.Config) any { return config.Of[agent.Config](&c).Prompt }, "Be brief.\n"},
		{"SLUICE_TIMEZONE", "Asia/Kathmandu", func(c config.Config) any { return config.Of[agent.Config](&c).Location.String() }, "Asia/Kathmandu"},
		{"SLUICE_REQUEST_TIMEOUT", "1m30s", func(c config.Config) any { return config.Of[handlers.Config](&c).Timeout }, 90 * time.Second},
		{"SLUICE_MODEL_TIMEOUT", "500ms", func(c config.Config) any { return config.Of[gemini.Config](&c).Timeout }, 500 * time.Millisecond},
		{"SLUICE_TOOL_TIMEOUT", "1ns", func(c config.Config) any { return config.Of[servers.Common](&c).Timeout }, time.Nanosecond},
		{"SLUICE_MAX_STEPS", "64", func(c config.Config) any { return config.Of[agent.Config](&c).MaxSteps }, 64},
		{"SLUICE_HEARTBEAT", "0", func(c config.Config) any { return config.Of[handlers.Config](&c).Heartbeat }, time.Duration(0)},
		{"SLUICE_WRITE_TIMEOUT", "2s", func(c config.Config) any { return config.Of[handlers.Config](&c).WriteTimeout }, 2 * time.Second},
		{"SLUICE_MAX_STREAMS", "1000000", func(c config.Config) any { return config.Of[handlers.Config](&c).MaxStreams }, 1000000},
		{"SLUICE_DRAIN_TIMEOUT", "0s", func(c config.Config) any { return config.Of[Process](&c).DrainTimeout }, time.Duration(0)},
		{"SLUICE_ADMISSION", "count", func(c config.Config) any { return config.Of[handlers.Policy](&c).Admission }, handlers.Count},
		{"SLUICE_MAX_CONNECTIONS", "700", func(c config.Config) any { return config.Of[Process](&c).MaxConnections }, 700},
		{"SLUICE_GET_TOOLS", "readonly", func(c config.Config) any { return config.Of[handlers.Policy](&c).GetTools }, chat.ToolsReadOnly},
		{"SLUICE_HOSTS", "Chat.example.com, [2001:db8::1],b", func(c config.Config) any { return strings.Join(config.Of[handlers.Config](&c).Hosts, " ") }, "chat.example.com 2001:db8::1 b"},
		{"SLUICE_CORS_ORIGINS", "*", func(c config.Config) any { return strings.Join(config.Of[handlers.Config](&c).Origins, " ") }, "*"},
		{"SLUICE_CORS_ORIGINS", "https://a.test, http://b.test:8080,app://x", func(c config.Config) any { return strings.Join(config.Of[handlers.Config](&c).Origins, " ") }, "https://a.test http://b.test:8080 app://x"},
		{"SLUICE_AUTH", "auto", func(c config.Config) any { return config.Of[door.Environment](&c).Mode }, door.Auto},
		{"SLUICE_API_KEYS", keyFile, func(c config.Config) any { return config.Of[door.Environment](&c).Keys }, keyFile},
		{"SLUICE_TRUSTED_PROXIES", "10.1.2.3/8, ::1,::ffff:192.0.2.1,2001:db8::/32", func(c config.Config) any {
			return fmt.Sprint(config.Of[door.Environment](&c).TrustedProxies)
		}, "[10.0.0.0/8 ::1/128 192.0.2.1/32 2001:db8::/32]"},
		{"SLUICE_CONFIRM", "writes", func(c config.Config) any { return config.Of[approval.Config](&c).Mode }, approval.Writes},
		{"SLUICE_APPROVAL_KEY", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", func(c config.Config) any { return len(config.Of[approval.Config](&c).Keys) }, 1},
		{"SLUICE_APPROVAL_TTL", "720h", func(c config.Config) any { return config.Of[approval.Config](&c).TTL }, 720 * time.Hour},
		{"SLUICE_CHATKIT_HISTORY", "memory", func(c config.Config) any { return config.Of[ChatKit](&c).History }, HistoryInMemory},
		{"SLUICE_STORE", "memory", func(c config.Config) any { return config.Of[ChatKit](&c).History }, HistoryInStore},
		{"SLUICE_LOG_LEVEL", "warning", func(c config.Config) any { return config.Of[Logging](&c).Level }, "warning"},
		{"SLUICE_OTEL", "otlp", func(c config.Config) any {
			return config.Of[config.OTel](&c).Traces && config.Of[config.OTel](&c).Metrics
		}, true},
		{"SLUICE_LOG_PAYLOADS", "1", func(c config.Config) any { return config.Of[Logging](&c).Payloads }, true},
		{"SLUICE_STRICT", "true", func(c config.Config) any { return c.Strict }, true},
		{"SLUICE_A2A_BREAKER", "2, 1m, 4", func(c config.Config) any { return config.Of[remote.Common](&c).Breaker }, breaker.Config{Failures: 2, Recovery: time.Minute, HalfOpenCalls: 4}},
		{"SLUICE_MCP_BREAKER", "1, 2m, 9", func(c config.Config) any { return config.Of[servers.Common](&c).Breaker }, breaker.Config{Failures: 1, Recovery: 2 * time.Minute, HalfOpenCalls: 9}},
		{"SLUICE_GEMINI_BREAKER", "1000,1ms,1", func(c config.Config) any { return config.Of[gemini.Config](&c).Breaker }, breaker.Config{Failures: 1000, Recovery: time.Millisecond, HalfOpenCalls: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name+"="+tt.value, func(t *testing.T) {
			t.Parallel()
			c := mustLoad(t, configtest.World{Env: map[string]string{tt.name: tt.value}, Files: files})
			if got := tt.field(c); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("by the environment: got %v, want %v", got, tt.want)
			}
			flag := "--" + strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(tt.name, "SLUICE_")), "_", "-")
			if tt.name == "PORT" || strings.HasSuffix(tt.name, "_API_KEY") || tt.name == "SLUICE_APPROVAL_KEY" {
				return
			}
			c = mustLoad(t, configtest.World{Env: map[string]string{tt.name: "\x00 not looked at"}, Files: files}, flag+"="+tt.value)
			if got := tt.field(c); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("by the flag: got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestBadValues(t *testing.T) {
	t.Parallel()
	files := map[string]string{"empty.txt": " \n", "latin1.txt": "\xe9", "huge.txt": strings.Repeat("x", 64<<10+1)}
	bad := map[string][]string{
		"SLUICE_AUTH":            {"on", "none", "Required", "required"}, // the last one for lack of a method
		"SLUICE_API_KEYS":        {"a\x00b"},
		"SLUICE_TRUSTED_PROXIES": {"0.0.0.0/0", "::/0", "192.0.2.1,", "host", "10.0.0.1:80", "10.0.0.0/33", "fe80::1%eth0", "::ffff:0.0.0.0/96", "*"},
		"SLUICE_ADMIN_ADDR":      {"8080", "h:http"},
		"SLUICE_ADDR":            {"8080", "host", "h:http", ":65536", ":-1", ":08", "a b:1", "http://h:1", "[::1:1"},
		"SLUICE_CONFIG":          {"nowhere.yaml"},
		"PORT":                   {"http", ":80", "65536", "-1"},
		"GEMINI_API_KEY":         {"two words", "ключ", "a\x01b"},
		"SLUICE_KEY":             {"two words", "ключ", "a\x01b"},
		"GOOGLE_API_KEY":         {"two words"},
		"GEMINI_MODEL":           {"models/x", "../x", "-x", "x?y", strings.Repeat("m", 129)},
		"GEMINI_BASE_URL":        {"generativelanguage.googleapis.com", "ftp://h", "http://", "http://:80", "http://u:p@h", "http://h?k=v", "http://h?", "http://h#f", "http://h#", "http://h:99999", "http://h:x", "http://a b", "//h"},
		"GEMINI_DRIVER":          {"grpc", "REST", "rest,sdk"},
		"GEMINI_THINKING":        {"on", "minimal", "1.5", "-2", "32769", "99999999999999999999"},
		"MCP_SERVER_URL":         {"127.0.0.1:8000", "http://token@h/mcp", "https://h/mcp?key=1", "unix:///x", "http://h\x7f/"},
		"MCP_CONFIG":             {"nowhere.json", "a\x00b"},
		"SLUICE_TODO_DB":         {"a\x00b"},
		"SLUICE_SYSTEM_PROMPT":   {"nowhere.txt", "empty.txt", "latin1.txt", "huge.txt"},
		"SLUICE_TIMEZONE":        {"Local", "localtime", "posixrules", "posix/Europe/Berlin", "right/UTC", "./UTC", "Europe//Berlin", "Mars/Base", "../etc/passwd", "+02:00"},
		"SLUICE_REQUEST_TIMEOUT": {"0", "-1s", "30", "soon"},
		"SLUICE_MODEL_TIMEOUT":   {"0s", "1"},
		"SLUICE_TOOL_TIMEOUT":    {"0", "1h1"},
		"SLUICE_MAX_STEPS":       {"0", "65", "-1", "1.5", "many"},
		"SLUICE_HEARTBEAT":       {"-1ns", "off"},
		"SLUICE_WRITE_TIMEOUT":   {"0", "-5s"},
		"SLUICE_MAX_STREAMS":     {"0", "1000001", "1e3"},
		"SLUICE_ADMISSION":       {"Adaptive", "none"},
		"SLUICE_MAX_CONNECTIONS": {"0", "-1", "many"},
		"SLUICE_GET_TOOLS":       {"none", "read-only"},
		"SLUICE_HOSTS":           {",", "a,", "a:80", "http://a", "a b", "[]"},
		"SLUICE_DRAIN_TIMEOUT":   {"-1s", "x"},
		"SLUICE_TLS_CERT":        {"nowhere.pem"},
		"SLUICE_TLS_KEY":         {"nowhere.pem", "latin1.txt"},
		"SLUICE_TLS_MIN":         {"1.1", "TLS1.2", "1"},
		"SLUICE_CORS_ORIGINS": {"a.test", "https://a.test/", "https://a.test,", ",", "https://A.test", "https://a.test:443", "http://a.test:80",
			"https://u@a.test", "https://a.test?x", "*,https://a.test", "null", "https://*.a.test:x", "https://a.test:99999", "https://*.a.test", "https://a*.test", "https://münchen.test", "https://a.test,https://*"},
		"SLUICE_STORE":           {"disk", "Memory", "redis://u:password9@h:port", "http://h"},
		"SLUICE_STORE_PREFIX":    {"a b", "é", strings.Repeat("x", 65)},
		"SLUICE_STORE_REQUIRED":  {"yes"},
		"SLUICE_CONFIRM":         {"write", "on", "Destructive", "true"},
		"SLUICE_APPROVAL_KEY":    {"c2hvcnQ=", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=,", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=,x", strings.Repeat("!", 44)},
		"SLUICE_APPROVAL_TTL":    {"9s", "721h", "5", "0"},
		"SLUICE_DIALECTS":        {"chatgpt", "openai,none", "openai,,ag-ui", "OpenAI"},
		"SLUICE_CHATKIT_HISTORY": {"redis", "Memory", "true", "store"},
		"SLUICE_LOG_LEVEL":       {"warn", "INFO", "trace"},
		"SLUICE_LOG_PAYLOADS":    {"yes", "2"},
		"SLUICE_STRICT":          {"yes", "2"},
		"SLUICE_A2A_BREAKER":     {"5", "5,30s,0"},
		"SLUICE_MCP_BREAKER":     {"5", "5,30s", "5,30s,3,1", "0,30s,3", "5,0s,3", "5,30s,0", "5,30,3", "1001,1s,1", ",,"},
		"SLUICE_GEMINI_BREAKER":  {"x,30s,3", "3,60s,1001"},
		"SLUICE_OTEL":            {"on", "grpc", "OTLP"},
		"SLUICE_RECORD":          {"a\nb"},
		"SLUICE_RECORD_MAX":      {"1", "256", "0MiB", "-1MiB", "1.5GiB", "65GiB", "99999999999999MiB", "1MB", "1 MiB"},
	}
	for _, section := range Sections(new(config.Config), new(File)) {
		for _, s := range section.Settings {
			if len(bad[s.Variable]) == 0 {
				t.Errorf("no bad value of %s is tried", s.Variable)
			}
		}
	}
	for name, values := range bad {
		for _, value := range values {
			t.Run(name+"="+value[:min(len(value), 40)], func(t *testing.T) {
				t.Parallel()
				_, err := load(configtest.World{Env: map[string]string{name: value}, Files: files})
				lines := faults(t, err)
				if len(lines) != 1 || !strings.HasPrefix(lines[0], name+": ") {
					t.Errorf("faults are %q, want one of %s", lines, name)
				}
				shown := value == "127.0.0.1:8000" || strings.Contains(value, ".") && strings.HasPrefix(lines[0], name+": "+value+": ") // an address, or a file
				if len(value) > 6 && strings.Contains(err.Error(), value) && !shown {
					t.Errorf("the rejected value is repeated: %v", err)
				}
			})
		}
	}
}

func TestUnreadableFile(t *testing.T) {
	t.Parallel()
	for cause, want := range map[error]string{
		fs.ErrPermission:            "SLUICE_SYSTEM_PROMPT: /etc/x: we may not read the file (given as --system-prompt)",
		errors.New("/etc/x is odd"): "SLUICE_SYSTEM_PROMPT: /etc/x: the file cannot be read (given as --system-prompt)",
	} {
		readFile := func(string) ([]byte, error) { return nil, cause }
		_, err := Loader().Load([]string{"--system-prompt=/etc/x"}, configtest.World{}.Lookup, readFile)
		if diff := cmp.Diff([]string{want}, faults(t, err)); diff != "" {
			t.Errorf("faults (-want +got):\n%s", diff)
		}
	}
}

func TestAllFaultsAtOnce(t *testing.T) {
	t.Parallel()
	w := configtest.World{
		Env: map[string]string{
			"SLUICE_ADDR":          "nonsense",
			"SLUICE_MAX_STEPS":     "0",
			"GEMINI_API_KEY":       "key with spaces",
			"SLUICE_SYSTEM_PROMPT": "nowhere.txt",
			"MCP_CONFIG":           "mcp.json",
			"SLUICE_API_KEYS":      "/nowhere/keys.yaml",
		},
		Files: map[string]string{"mcp.json": `{"mcpServers":{"a":{"comand":"x"},"b":{"url":"http://h","timeout":0}}}`},
	}
	_, err := load(w, "--heartbeat", "never", "--nope", "stray", "--gemini-api-key=AIzaLEAK", "--tool-timeout")
	want := []string{
		"--nope: there is no such flag",
		"GEMINI_API_KEY: is not taken from the command line, because others on this machine can see it; set the variable",
		"SLUICE_TOOL_TIMEOUT: --tool-timeout needs a value",
		"SLUICE_ADDR: must be host:port or :port, with a port from 0 to 65535",
		"GEMINI_API_KEY: must be printable ASCII without spaces",
		"SLUICE_MAX_STEPS: must be a whole number from 1 to 64",
		"SLUICE_HEARTBEAT: must be a duration with its unit, such as 15s, 500ms or 1m30s (given as --heartbeat)",
		"SLUICE_SYSTEM_PROMPT: nowhere.txt: there is no such file",
		"MCP_CONFIG: /mcpServers/a/comand: there is no such key; there are type, command, builtin, args, env, dir, url, headers, timeout, protocolVersion, allow, deny, fallback, readOnly, idempotent, destructive, confirm, on_unknown, trust, cache, cache_shared, identity",
		"MCP_CONFIG: /mcpServers/a: must have either command or url",
		"MCP_CONFIG: /mcpServers/b/timeout: must be from 0.001 seconds to a day",
		"SLUICE_API_KEYS: /nowhere/keys.yaml: there is no such file",
	}
	if diff := cmp.Diff(want, faults(t, err)); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}

// The key file of the configuration file is read with all settings; that of the variable hides it.
func TestKeyFileOfTheFileIsChecked(t *testing.T) {
	t.Parallel()
	env := map[string]string{"SLUICE_CONFIG": "/etc/sluice.yaml", "SLUICE_ADDR": "nonsense"}
	files := map[string]string{"/etc/sluice.yaml": "auth: {keys: gone/keys.yaml}\nstray: 1\n"}
	_, err := load(configtest.World{Env: env, Files: files})
	got := faults(t, err)
	want := "/etc/sluice.yaml:1:14: /auth/keys: " + filepath.FromSlash("/etc/gone/keys.yaml") + ": there is no such file"
	if len(got) != 3 || !slices.Contains(got, want) {
		t.Errorf("%q, want %q and two more", got, want)
	}
	env["SLUICE_API_KEYS"] = "/etc/gone/keys.yaml"
	if _, err = load(configtest.World{Env: env, Files: files}); len(faults(t, err)) != 3 || slices.Contains(faults(t, err), want) {
		t.Errorf("with the variable: %q", faults(t, err))
	}
}

func TestPrecedence(t *testing.T) {
	t.Parallel()
	addr := func(env map[string]string, args ...string) string {
		c := mustLoad(t, configtest.World{Env: env}, args...)
		return config.Of[Process](&c).Addr
	}
	both := map[string]string{"SLUICE_ADDR": ":1", "PORT": "2"}
	if got := addr(both, "--addr", ":3", "-addr=:4"); got != ":4" {
		t.Errorf("last flag: got %s, want :4", got)
	}
	if got := addr(both); got != ":1" {
		t.Errorf("SLUICE_ADDR before PORT: got %s, want :1", got)
	}
	if got := addr(map[string]string{"SLUICE_ADDR": " ", "PORT": "2"}); got != ":2" {
		t.Errorf("an empty variable is none: got %s, want :2", got)
	}
	if got := addr(both, "--addr="); got != ":2" {
		t.Errorf("an empty flag asks for the default: got %s, want :2", got)
	}
	if got := addr(map[string]string{"SLUICE_ADDR": ":1", "PORT": "nonsense"}); got != ":1" {
		t.Errorf("a PORT that is not used is not looked at: got %s", got)
	}
	keys := map[string]string{"GEMINI_API_KEY": "first", "GOOGLE_API_KEY": "second"}
	c := mustLoad(t, configtest.World{Env: keys})
	if got := config.Of[gemini.Config](&c).APIKey.Reveal(); got != "first" {
		t.Errorf("key: got %s, want that of GEMINI_API_KEY", got)
	}
}

func TestOffline(t *testing.T) {
	t.Parallel()
	tests := []struct {
		key, baseURL string
		want         bool
	}{
		{"", "", true},
		{"", gemini.DefaultBaseURL + "/", true}, // Google's own always wants a key
		{"", "http://127.0.0.1:9", false},
		{"k", "", false},
		{"k", "http://127.0.0.1:9", false},
	}
	for _, tt := range tests {
		c := mustLoad(t, configtest.World{Env: map[string]string{"GEMINI_API_KEY": tt.key, "GEMINI_BASE_URL": tt.baseURL}})
		if got := config.Of[gemini.Config](&c).Offline(); got != tt.want {
			t.Errorf("key %q, base URL %q: Offline() = %v, want %v", tt.key, tt.baseURL, got, tt.want)
		}
	}
}

// A setting stands in one place: no variable, flag or section twice, and each says
// what it takes and means.
func TestSettingsAreWhole(t *testing.T) {
	t.Parallel()
	variables, sections := map[string]bool{}, map[string]bool{}
	for _, section := range Sections(new(config.Config), new(File)) {
		if section.Name == "" || sections[section.Name] || len(section.Settings) == 0 {
			t.Errorf("section %q is empty, or there are two", section.Name)
		}
		sections[section.Name] = true
		for _, s := range section.Settings {
			flag := strings.TrimPrefix(s.Variable, "SLUICE_")
			if variables[flag] {
				t.Errorf("there are two of %s", s.Variable)
			}
			variables[flag] = true
			if s.Variable == "" || s.Values == "" || s.Meaning == "" || s.Default == "" && s.DefaultText == "" || strings.ContainsAny(s.Values+s.Meaning+s.DefaultText, "|\n") {
				t.Errorf("%+v lacks something, or does not fit into a table", s)
			}
		}
	}
}
