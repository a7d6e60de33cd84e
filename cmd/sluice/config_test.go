package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func writeConfig(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sluice.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// exampleKeys are the variables that the examples name.
func exampleKeys() map[string]string {
	return map[string]string{
		"OPENAI_API_KEY": "sk-canary-1", "ANTHROPIC_API_KEY": "sk-canary-2", "OPENROUTER_API_KEY": "sk-canary-3", "GROQ_API_KEY": "sk-canary-4",
		"AZURE_OPENAI_API_KEY": "canary-5", "AZURE_OPENAI_RESOURCE": "res", "AZURE_OPENAI_DEPLOYMENT": "dep", "GEMINI_API_KEY": "canary-6",
	}
}

func TestExamplesPassTheCheck(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../examples/models/*.yaml")
	if err != nil || len(files) < 6 {
		t.Fatalf("%d examples: %v", len(files), err)
	}
	for _, path := range files {
		code, stdout, stderr := runCommand(t, exampleKeys(), "config", "check", path)
		if code != exitOK || stdout != "ok\n" {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q", path, code, stdout, stderr)
		}
		if strings.Contains(stderr, "canary") {
			t.Errorf("%s: a value is shown: %s", path, stderr)
		}
	}
}

func TestConfigCheck(t *testing.T) {
	t.Parallel()
	env := map[string]string{"TOKEN": "canary-token", "MCP_SERVER_URL": "http://127.0.0.1:1/mcp", "SLUICE_MAX_STEPS": "0"}
	path := writeConfig(t, `models:
  fast: {provider: openai, model: m, api_key: "${TOKEN}", retires: 1}
budgets: {}
mcpServers:
  todo: {url: http://127.0.0.1:2/mcp}
  a: {command: x, url: "http://h/${TOKEN}"}
  b: {command: x, args: ["${GEMINI_API_KEY}"], env: {A: "${UNSET}"}}
  c: {command: x, headers: {A: b}}
`)
	want := strings.ReplaceAll(`SLUICE_MAX_STEPS: must be a whole number from 1 to 64
FILE:2:59: /models/fast/retires: there is no such key; did you mean retries?
FILE:3:1: /budgets: there is no such key; did you mean budget?
FILE:5:3: /mcpServers/todo: MCP_SERVER_URL or MCP_CONFIG has a server of this name already
FILE:6:6: /mcpServers/a: must have either command or url
FILE:7:26: /mcpServers/b/args/0: the variable GEMINI_API_KEY is not set
FILE:7:57: /mcpServers/b/env/A: the variable UNSET is not set
FILE:8:19: /mcpServers/c/headers: belongs to a server with url
`, "FILE", path)
	for _, args := range [][]string{{path}, {"--config", path}, {"--config=" + path}} {
		code, stdout, stderr := runCommand(t, env, append([]string{"config", "check"}, args...)...)
		if diff := cmp.Diff(want, stdout); diff != "" || code != exitUsage || stderr != "" {
			t.Errorf("%q: exit code %d, stderr %q, stdout (-want +got):\n%s", args, code, stderr, diff)
		}
	}
	env["SLUICE_CONFIG"] = path
	if code, stdout, _ := runCommand(t, env, "config", "check"); code != exitUsage || stdout != want {
		t.Errorf("by the variable: exit code %d, stdout %q", code, stdout)
	}
	env["SLUICE_MAX_STEPS"], env["GEMINI_API_KEY"] = "", "canary-key"
	env["SLUICE_CONFIG"] = writeConfig(t, `mcpServers: {b: {command: x, args: ["${GEMINI_API_KEY}"]}}`)
	want = env["SLUICE_CONFIG"] + ":1:37: /mcpServers/b/args/0: GEMINI_API_KEY is never passed on\n"
	if _, stdout, _ := runCommand(t, env, "config", "check"); stdout != want {
		t.Errorf("our key for a server: %q, want %q", stdout, want)
	}
}

// The commands that start a gateway refuse a faulty file like any other fault.
func TestStartWithFaultyFile(t *testing.T) {
	t.Parallel()
	path := writeConfig(t, "models: {a: {provider: openai, model: 5}}\n")
	for _, command := range [][]string{nil, {"ask", "hi"}, {"doctor", "--url", "http://127.0.0.1:1"}} {
		code, stdout, stderr := runCommand(t, nil, append(command, "--config", path)...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, "\n  "+path+":1:39: /models/a/model: must be a string\n") {
			t.Errorf("%q: exit code %d, stdout %q, stderr %q", command, code, stdout, stderr)
		}
	}
}

func TestConfigUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"config"}, {"config", "show"}, {"config", "check"}, {"config", "check", "a", "b"}, {"config", "schema", "x"}, {"config", "check", "/nowhere.yaml"}} {
		if code, stdout, stderr := runCommand(t, nil, args...); code != exitUsage || stdout+stderr == "" {
			t.Errorf("%q: exit code %d, stdout %q, stderr %q", args, code, stdout, stderr)
		}
	}
	for _, args := range [][]string{{"config", "--help"}, {"config", "check", "--help"}, {"config", "schema", "--help"}} {
		if code, stdout, _ := runCommand(t, nil, args...); code != exitOK || !strings.Contains(stdout, "sluice "+strings.Join(args[:len(args)-1], " ")) {
			t.Errorf("%q: exit code %d, stdout %q", args, code, stdout)
		}
	}
}

// Editors need titles and descriptions.
func TestConfigSchema(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := runCommand(t, map[string]string{"SLUICE_MAX_STEPS": "0"}, "config", "schema")
	var schema map[string]any
	if err := json.Unmarshal([]byte(stdout), &schema); err != nil || code != exitOK || stderr != "" {
		t.Fatalf("exit code %d, stderr %q: %v", code, stderr, err)
	}
	if schema["$schema"] != "https://json-schema.org/draft/2020-12/schema" {
		t.Errorf("$schema is %v", schema["$schema"])
	}
	var look func(at string, v any)
	look = func(at string, v any) {
		object, _ := v.(map[string]any)
		properties, _ := object["properties"].(map[string]any)
		for name, p := range properties {
			if title, _ := p.(map[string]any)["title"].(string); title == "" {
				t.Errorf("%s/%s has no title", at, name)
			}
			look(at+"/"+name, p)
		}
		if more, ok := object["additionalProperties"].(map[string]any); ok {
			look(at+"/*", more)
		}
	}
	look("", schema)
}
