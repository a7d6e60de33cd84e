package main

import (
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/internal/app/gateway/gatewaytest"
)

// wrongKey is a model's API that knows no key.
func wrongKey(t *testing.T) string {
	return gatewaytest.ServeHandler(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT",` +
			`"details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com"}]}}`))
	}))
}

// taken returns an address at which something listens.
func taken(t *testing.T) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	return ln.Addr().String()
}

// What people do wrong in their first hour ends with words that say what to change.
func TestMistakesOfTheFirstHour(t *testing.T) {
	t.Parallel()
	const one = "agents:\n  writer:\n    description: Writes answers\n    role: Writer\n"
	const flow = one + "workflows:\n  w:\n    description: d\n    nodes:\n"
	busy, refuses := taken(t), wrongKey(t)
	for name, tt := range map[string]struct {
		file string // the configuration
		env  map[string]string
		args []string // a word FILE stands for the file's name
		code int
		want []string
	}{
		"typo in a key": {file: "agents:\n  writer:\n    descriptoin: Writes answers\n    role: Writer\n", args: []string{"config", "check", "FILE"}, code: exitUsage,
			want: []string{":3:5: /agents/writer/descriptoin: there is no such key; did you mean description?"}},
		"typo in a variable": {file: one, env: map[string]string{"SLUICE_CONFRIM": "writes"}, args: []string{"config", "check", "FILE"}, code: exitOK,
			want: []string{"warning: SLUICE_CONFRIM: there is no such variable; did you mean SLUICE_CONFIRM?"}},
		"typo in a variable, beside a fault": {env: map[string]string{"SLUICE_CONFRIM": "writes", "SLUICE_ADDR": "nonsense"}, code: exitUsage,
			want: []string{"warning: SLUICE_CONFRIM: there is no such variable; did you mean SLUICE_CONFIRM?", "SLUICE_ADDR: must be host:port"}},
		"typo in a variable, strict": {file: one, env: map[string]string{"SLUICE_CONFRIM": "writes", "SLUICE_STRICT": "true"}, args: []string{"config", "check", "FILE"}, code: exitUsage,
			want: []string{"SLUICE_CONFRIM: there is no such variable; did you mean SLUICE_CONFIRM?"}},
		"typo in a flag":     {args: []string{"ask", "--chanel", "sms", "hi"}, code: exitUsage, want: []string{"--chanel: there is no such flag; did you mean --channel?"}},
		"typo in a command":  {args: []string{"asc", "hi"}, code: exitUsage, want: []string{`there is no command "asc"; did you mean ask?`}},
		"tab":                {file: "agents:\n\twriter: {}\n", args: []string{"config", "check", "FILE"}, code: exitUsage, want: []string{":2:1: is not valid YAML: a tab stands here, and YAML is indented with spaces alone"}},
		"wrong dedent":       {file: "agents:\n  writer:\n    description: x\n   role: y\n", args: []string{"config", "check", "FILE"}, code: exitUsage, want: []string{":4:4: is not valid YAML: does not belong here: indent it like a line above"}},
		"port in use":        {env: map[string]string{"SLUICE_ADDR": busy}, code: exitFailed, want: []string{"SLUICE_ADDR: another process listens on " + busy + ": end it, or choose another port"}},
		"unreachable server": {env: map[string]string{"MCP_SERVER_URL": "http://127.0.0.1:1/mcp"}, args: []string{"ask", "hi"}, code: exitOK, want: []string{"MCP service temporarily unavailable"}},
		"wrong key of a model": {env: map[string]string{"GEMINI_API_KEY": "AIza-wrong", "GEMINI_BASE_URL": refuses}, args: []string{"ask", "hi"}, code: exitFailed,
			want: []string{"AI service is not set up correctly", "with SLUICE_LOG_LEVEL=warning the gateway's log says why; sluice doctor --config FILE asks each model"}},
		"wrong key of a model, asked for": {file: "models:\n  m: {provider: gemini, model: g, api_key: AIza-wrong, endpoint: \"" + refuses + "\"}\n", args: []string{"doctor", "--config", "FILE"}, code: exitFailed,
			want: []string{"API key not valid", "→ Correct api_key, model or endpoint"}},
		"unknown agent": {file: flow + "      n: {type: agent, agent: wrtier}\n", args: []string{"config", "check", "FILE"}, code: exitUsage,
			want: []string{"/workflows/w/nodes/n/agent: there is no such agent; did you mean writer?"}},
		"unknown agent of a question": {file: one, args: []string{"ask", "--config", "FILE", "--agent", "wrtier", "hi"}, code: exitFailed, want: []string{"/agent names no agent; GET /agents lists them"}},
		"bad CEL": {file: flow + "      n: {type: agent, agent: writer}\n      c: {type: condition, expression: \"a ===\"}\n    edges: [{from: n, to: c}]\n", args: []string{"config", "check", "FILE"}, code: exitUsage,
			want: []string{"/workflows/w/nodes/c/expression: is no expression: Syntax error"}},
		"missing variable": {file: "models:\n  m: {provider: openai, model: x, api_key: \"${NO_SUCH_KEY}\"}\n", args: []string{"config", "check", "FILE"}, code: exitUsage,
			want: []string{"/models/m/api_key: the variable NO_SUCH_KEY is not set"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "sluice.yaml")
			if err := os.WriteFile(file, []byte(tt.file), 0o600); err != nil {
				t.Fatal(err)
			}
			var args []string
			for _, arg := range tt.args {
				args = append(args, strings.Replace(arg, "FILE", file, 1))
			}
			code, stdout, stderr := runCommand(t, tt.env, args...)
			if code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			for _, want := range tt.want {
				if !strings.Contains(stdout+stderr, want) {
					t.Errorf("want %q:\n%s%s", want, stdout, stderr)
				}
			}
		})
	}
}

// A model without its key is named with the variable to set, where a person looks first and where
// a monitor looks.
func TestModelWithoutItsKey(t *testing.T) {
	t.Parallel()
	r := start(t, map[string]string{"SLUICE_CONFIG": writeConfig(t, "models: {default: {provider: openai, model: gpt-5-mini}, own: {provider: ollama, model: m}}")})
	if out := r.Stderr.String(); !strings.Contains(out, "\n  Missing key of default: set OPENAI_API_KEY\n") || strings.Contains(out, "key of own") {
		t.Errorf("the banner says:\n%s", out)
	}
	resp, err := http.Get(r.Base + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	if body := string(text); !strings.Contains(body, `"status":"degraded"`) || strings.Count(body, "missing_key") != 1 ||
		!strings.Contains(body, `"missing_key":"OPENAI_API_KEY"`) {
		t.Errorf("/readyz says %s", body)
	}
}

// A part that is missing at the start is named where a person looks first. Two gateways on one
// SQLite file are not started.
func TestMistakesAroundTheStore(t *testing.T) {
	t.Parallel()
	t.Run("Redis is not there", func(t *testing.T) {
		t.Parallel()
		r := start(t, map[string]string{"SLUICE_STORE": "redis://127.0.0.1:1"})
		r.Log.Await(t, "store_unavailable", r.Ended)
		if out := r.Stderr.String(); !strings.Contains(out, "Missing   store: the log says why, and it is tried again by itself") {
			t.Errorf("it says:\n%s", out)
		}
	})
	t.Run("two on one SQLite file", func(t *testing.T) {
		t.Parallel()
		env := map[string]string{"SLUICE_STORE": "sqlite:" + filepath.Join(t.TempDir(), "sluice.db")}
		start(t, env)
		code, _, stderr := runCommand(t, env)
		if code != exitUsage || !strings.Contains(stderr, "SLUICE_STORE: another process runs turns with this file: end it, name another file, or have both use one Redis") {
			t.Errorf("exit code %d:\n%s", code, stderr)
		}
	})
}
