package model_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/settings"
)

// echo is a service that repeats all that it was sent, in the words of an error, and
// closes the connection in the middle if the status is 200.
func echo(t *testing.T, canaries []string) http.Handler {
	n := 0
	statuses := []int{400, 401, 403, 404, 422, 429, 500, 200}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var head strings.Builder
		_ = r.Header.Write(&head)
		for _, c := range canaries {
			if !strings.Contains(head.String()+string(body), c) {
				t.Errorf("%s was not sent", c)
			}
		}
		status := statuses[n%len(statuses)]
		n++
		w.Header().Set("Content-Type", "application/json")
		if status == 200 {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		w.WriteHeader(status)
		fmt.Fprintf(w, `data: {"error":{"message":%q,"type":%q,"code":%q,"param":%q,"status":%q}}`+"\n\n", head.String()+string(body), canaries[n%3], canaries[(n+1)%3], canaries[(n+2)%3], canaries[n%3])
	})
}

// Keys, values of headers and of extra are neither in the log, nor in events, /readyz,
// metrics and the environment of children, whatever the service makes of them.
func TestSecretsOfModelsStaySecret(t *testing.T) {
	t.Parallel()
	env := map[string]string{
		"TEST_KEY": "c4nary-of-the-key", "TEST_HEADER": "c4nary-of-the-header", "TEST_EXTRA": "c4nary-of-extra",
		"OPENAI_API_KEY": "c4nary-of-openai", "ANTHROPIC_API_KEY": "c4nary-of-anthropic", "OPENROUTER_API_KEY": "c4nary-of-openrouter",
		"SLUICE_LOG_LEVEL": "debug", "SLUICE_LOG_PAYLOADS": "true",
		"MCP_CONFIG": gatewaytest.MCPConfig(t, map[string]any{"child": gatewaytest.StdioChild(nil)}),
	}
	for _, w := range wholetest.Protocols() {
		t.Run(w.Name, func(t *testing.T) {
			t.Parallel()
			sent := []string{env["TEST_KEY"], env["TEST_HEADER"], env["TEST_EXTRA"]}
			url := gatewaytest.ServeHandler(t, echo(t, sent))
			chatWay := wholetest.Protocols()[1]
			r := wholetest.StartFile(t, "models:\n"+
				w.Spec("default", url, `retries: 0, breaker: "100,60s,1", headers: {X-Secret: "${TEST_HEADER}"}, extra: {metadata: {user: "${TEST_EXTRA}"}}, fallback: [spare], fallback_on: [unavailable]`)+
				chatWay.Spec("spare", chatWay.Simulate(t, "call env {}\n---\ntext Fine.\n---\nloop\ntext Fine."), ""), flat(env)...)
			var seen strings.Builder
			children := 0
			for range 16 { // each status twice
				for _, f := range r.Ask("go") {
					seen.WriteString(f.Raw + "\n")
					if f.Kind == "tool_call" && f.Str("status") == "completed" {
						children++
					}
				}
			}
			if children != 1 {
				t.Errorf("%d children told their environment", children)
			}
			for _, path := range []string{"/readyz", "/metrics", "/tools"} {
				_, text := r.Get(path)
				seen.WriteString(text)
			}
			r.Log.AwaitAll(t, 16, "request_completed", r.Ended)
			seen.WriteString(r.Log.String())
			if i := strings.Index(seen.String(), "c4nary"); i >= 0 {
				t.Errorf("…%s…", seen.String()[max(0, i-300):min(seen.Len(), i+60)])
			}
		})
	}
}

func flat(env map[string]string) (list []string) {
	for name, value := range env {
		list = append(list, name, value)
	}
	return list
}

// What is wrong with a file is reported without what its variables hold.
func TestFaultsOfAFileHoldNoSecret(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sluice.yaml")
	content := `models:
  a: {provider: openai, model: m, endpoint: "http://u:${S}@h/v1", api_key: "${S}\n"}
  b: {provider: "${S}", model: "${S}", temperature: "${S}", headers: {"${S}": x}}
  c: {provider: openai, model: m, thinking: "${S}", timeout: "${S}", breaker: "${S}", fallback: ["${S}"], extra: {messages: "${S}"}, headers: {Host: "${S}"}}
`
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := settings.Loader().Load([]string{"--config", path}, gatewaytest.LookupIn(map[string]string{"S": "c4nary"}), os.ReadFile)
	if err == nil || strings.Contains(err.Error(), "c4nary") || strings.Count(err.Error(), "\n") < 8 {
		t.Errorf("faults: %v", err)
	}
}
