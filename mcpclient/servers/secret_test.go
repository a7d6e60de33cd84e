package servers

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/config"
	"sluice/internal/base/config/configtest"
)

// canary begins every secret of these tests.
const canary = "cAnArY"

func secretWorld() configtest.World {
	return configtest.World{
		Env: map[string]string{
			"GEMINI_API_KEY": canary + "-key", "TOKEN": canary + "-token", "PART": canary + "-part", "ARG": canary + "-arg",
		},
		Files: map[string]string{"mcp.json": `{"mcpServers":{
			"files":{"url":"https://h/${PART}/mcp","headers":{"Authorization":"Bearer ${TOKEN}","X-Mode":"fast"}},
			"local":{"command":"x","args":["--token=${ARG}"],"env":{"DB_PASSWORD":"` + canary + `-password","DEBUG":"1"}}}}`},
	}
}

func TestSecretsStayHidden(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, secretWorld(), "--mcp-config", "mcp.json")
	list := config.Of[List](&c)
	key := config.Of[config.Secret](&c)
	shown := []string{key.String(), key.GoString()}
	for _, v := range []any{c, &c, list, list[0], key, list[0].Headers, list[1].Env} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%t"} {
			shown = append(shown, fmt.Sprintf(verb, v))
		}
		v1, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		v2, _ := jsonv2.Marshal(v) // of the whole Config an error, as it refuses durations
		shown = append(shown, string(v1), string(v2))
	}
	hexed := fmt.Sprintf("%x", canary)
	for _, s := range shown {
		if strings.Contains(s, canary) || strings.Contains(s, hexed) {
			t.Errorf("a secret shows in %s", s)
		}
	}
	if got := fmt.Sprintf("%+v", key); got != "[REDACTED]" {
		t.Errorf("got %s, want [REDACTED]", got)
	}
}

func TestSecretsForTheScrubber(t *testing.T) {
	t.Parallel()
	got := mustLoad(t, secretWorld(), "--mcp-config", "mcp.json").Secrets()
	want := []string{
		"Bearer " + canary + "-token", canary + "-arg", canary + "-key", canary + "-part", canary + "-password", canary + "-token",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Secrets() (-want +got):\n%s", diff)
	}
	if slices.Contains(got, "1") || slices.Contains(got, "fast") {
		t.Error("a setting that is no secret would be blotted out everywhere")
	}
}

// A short value cannot be searched for: it would be found in everything. The log warns who set
// it, without the value.
func TestShortSecrets(t *testing.T) {
	t.Parallel()
	w := configtest.World{
		Env: map[string]string{"GEMINI_API_KEY": "test", "MCP_CONFIG": "mcp.json"},
		Files: map[string]string{"mcp.json": `{"mcpServers":{
			"a":{"url":"http://h","headers":{"Authorization":"Bearer abc","X-Level":"1","X-Api-Key":"long-enough"}},
			"b":{"command":"x","env":{"API_TOKEN":"short","DEBUG":"1","OTHER_TOKEN":""}}}}`},
	}
	cfg := mustLoad(t, w)
	want := []string{"GEMINI_API_KEY", "MCP_CONFIG: /mcpServers/a/headers/Authorization", "MCP_CONFIG: /mcpServers/b/env/API_TOKEN"}
	if diff := cmp.Diff(want, cfg.ShortSecrets()); diff != "" {
		t.Errorf("ShortSecrets() (-want +got):\n%s", diff)
	}
	for _, s := range cfg.Secrets() {
		if len(s) < 8 {
			t.Errorf("%q would be searched for", s)
		}
	}
}

// Whatever is wrong, no error repeats what may be a secret.
func TestErrorsHoldNoSecret(t *testing.T) {
	t.Parallel()
	const s = canary + "-0123456789"
	in := func(server string) configtest.World {
		return configtest.World{Env: map[string]string{"MCP_CONFIG": "mcp.json", "TOKEN": s}, Files: map[string]string{"mcp.json": `{"mcpServers":{"a":` + server + `}}`}}
	}
	worlds := map[string]configtest.World{
		"key":            {Env: map[string]string{"GEMINI_API_KEY": s + " x"}},
		"second key":     {Env: map[string]string{"GOOGLE_API_KEY": s + "\x01"}},
		"wrong variable": {Env: map[string]string{"SLUICE_MAX_STEPS": s, "SLUICE_LOG_LEVEL": s, "SLUICE_TIMEZONE": s, "SLUICE_MCP_BREAKER": s, "SLUICE_CORS_ORIGINS": s, "GEMINI_THINKING": s, "SLUICE_TOOL_TIMEOUT": s, "SLUICE_ADDR": s, "MCP_CONFIG": s, "SLUICE_SYSTEM_PROMPT": s}},
		"user info":      {Env: map[string]string{"GEMINI_BASE_URL": "https://u:" + s + "@h", "MCP_SERVER_URL": "https://h/mcp?key=" + s}},
		"not a URL":      {Env: map[string]string{"MCP_SERVER_URL": "http://" + s + "\x7f"}},
		"header":         in(`{"url":"http://h","headers":{"Authorization":"` + s + `\n"}}`),
		"expansion":      in(`{"url":"http://u:${TOKEN}@h","args":"${TOKEN}","headers":{"A":"${TOKEN}\u0000"}}`),
		"env":            in(`{"command":"x","env":{"A=B":"` + s + `"}}`),
		"unclosed":       in(`{"command":"x","env":{"A":"${` + s + `"}}`),
		"syntax":         in(`{"command":"x","env":{"A":"` + s + `" "B"}}`),
		"wrong types":    in(`{"command":["` + s + `"],"env":"` + s + `","timeout":"` + s + `","type":"` + s + `","protocolVersion":"` + s + `"}`),
		"trailing":       {Env: map[string]string{"MCP_CONFIG": "mcp.json"}, Files: map[string]string{"mcp.json": `{"mcpServers":{}} ` + s}},
	}
	for name, w := range worlds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := load(w)
			faults(t, err)
			if all := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(all, canary) {
				t.Errorf("a secret shows in %s", all)
			}
		})
	}
}
