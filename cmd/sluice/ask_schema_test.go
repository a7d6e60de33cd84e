package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/sim/modelsim"
)

// written returns the path of a new file.
func written(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const personSchema = `{"type":"object","required":["name","age"],"properties":{"name":{"type":"string"},"age":{"type":"integer","minimum":1}},"additionalProperties":false}`

// Without any key the simulator answers.
func TestAskForAnObject(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := runCommand(t, nil, "ask", "--schema", written(t, "person.json", personSchema), "Who is it?")
	if code != exitOK || stdout != `{"age":1,"name":""}`+"\n" || stderr != "" {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

// The model is one of the file, in whatever protocol; an answer that never fits is exit
// code 1, and nothing on stdout.
func TestAskAModelForAnObject(t *testing.T) {
	t.Parallel()
	script, err := modelsim.ParseScript("text nonsense\n---\n" + `text {"name":"Ada\u001b[31m","age":36}` + "\n---\nloop\n" + `text {"name":"s3cret"}`)
	if err != nil {
		t.Fatal(err)
	}
	s := modelsim.New(modelsim.Config{Script: script})
	var ids sync.Map
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ids.Store(r.Header.Get("X-Request-ID"), true)
		s.ServeHTTP(w, r)
	})
	file := written(t, "sluice.yaml", "models:\n  other:\n    {provider: anthropic, model: m, endpoint: \""+gatewaytest.ServeHandler(t, api)+"/v1/messages\", api_key: \"${KEY}\"}\n")
	schema := written(t, "person.json", personSchema)
	args := []string{"ask", "--config", file, "--schema", schema, "--model", "other", "Who is it?"}
	code, stdout, stderr := runCommand(t, map[string]string{"KEY": "k"}, args...)
	if code != exitOK || stdout != `{"name":"Ada\u001b[31m","age":36}`+"\n" || stderr != "" || s.Calls() != 2 {
		t.Errorf("exit code %d after %d calls, stdout %q, stderr %q", code, s.Calls(), stdout, stderr)
	}
	code, stdout, stderr = runCommand(t, map[string]string{"KEY": "k"}, args...)
	if code != exitFailed || stdout != "" || !strings.Contains(stderr, "structured_output_invalid") || strings.Contains(stderr, "s3cret") || s.Calls() != 5 {
		t.Errorf("exit code %d after %d calls, stdout %q, stderr %q", code, s.Calls(), stdout, stderr)
	}
	for _, f := range s.Failures() {
		t.Error(f)
	}
	ids.Range(func(id, _ any) bool {
		if !strings.HasPrefix(id.(string), "req_") {
			t.Errorf("X-Request-ID %q", id)
		}
		return true
	})
}

func TestAskForAnObjectFlags(t *testing.T) {
	t.Parallel()
	schema := written(t, "person.json", personSchema)
	for _, tt := range []struct {
		want string
		args []string
	}{
		{"--model: belongs to --schema", []string{"--model", "x", "hi"}},
		{"--schema: asks a model itself", []string{"--schema", schema, "--json", "hi"}},
		{"--schema: asks a model itself", []string{"--schema", schema, "--chat"}},
		{"--schema: asks a model itself", []string{"--schema", schema, "--url", "http://127.0.0.1:1", "hi"}},
		{"--schema: open", []string{"--schema", schema + ".no", "hi"}},
		{"--schema is no JSON Schema", []string{"--schema", written(t, "bad.json", `{"type":"nothing"}`), "hi"}},
		{"--schema is no JSON Schema", []string{"--schema", written(t, "bad.json", `{"$ref":"http://127.0.0.1:1/"}`), "hi"}},
		{"--schema is no JSON Schema", []string{"--schema", written(t, "bad.json", `[`), "hi"}},
		{"--model names no model", []string{"--schema", schema, "--model", "nobody", "hi"}},
		{"give the message", []string{"--schema", schema}},
	} {
		code, stdout, stderr := runCommand(t, nil, append([]string{"ask"}, tt.args...)...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, tt.want) {
			t.Errorf("%q: exit code %d, stdout %q, stderr %q", tt.args, code, stdout, stderr)
		}
	}
}
