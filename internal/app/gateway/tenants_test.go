package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/settings"
	"sluice/internal/state/store/memory"
)

// A tenant sees and uses the agents and workflows that the file gives it, by whichever way it names
// them; what it may not use is as if it were not there.
func TestTenantsHaveTheirOwnCatalogue(t *testing.T) {
	t.Parallel()
	cfg, file := wholetest.Configured(t, `
agents: {light: {description: answers briefly}, deep: {description: thinks for long}}
workflows: {flow: {nodes: {last: {type: agent, agent: deep}}, edges: []}, other: {nodes: {last: {type: agent, agent: light}}, edges: []}}
a2a: {enabled: true}
tenants: {acme: {agents: [light], workflows: [flow]}, blue: {}, none: {agents: [], workflows: []}}
`, nil)
	g, err := gateway.New(t.Context(), settings.Config{Config: cfg, File: file, Version: "test"}, zerolog.New(io.Discard),
		gateway.Seams{Store: memory.New(memory.Config{}), Door: wholetest.Door{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	all := []string{"light", "deep", "flow", "other"}
	for tenant, has := range map[string]string{"acme": "light flow", "blue": "light deep flow other", "none": ""} {
		who := tenant + "/ann"
		lists := ask(g, "GET", "/agents", who).body + ask(g, "GET", "/v1/models", who).body + ask(g, "GET", "/workflows", who).body
		for _, name := range all {
			may := strings.Contains(has, name)
			if found := strings.Contains(lists, `"`+name+`"`) && strings.Contains(lists, `sluice/`+name+`"`); found != may || !may && strings.Contains(lists, `"id":"`+name) {
				t.Errorf("lists of %s have %s: %v, want %v\n%s", tenant, name, found, may, lists)
			}
			field, v1 := "agent", http.StatusNotFound
			if name == "flow" || name == "other" {
				field = "workflow"
			}
			native := askWith(g, "POST", "/chat/stream", who, `{"input":"hi","`+field+`":"`+name+`"}`)
			if refused := native.code == http.StatusUnprocessableEntity && strings.Contains(native.body, `"unknown_value"`); refused == may || !refused && native.code != http.StatusOK {
				t.Errorf("%s asks %s: %d %s", tenant, name, native.code, native.body)
			}
			chat := askWith(g, "POST", "/v1/chat/completions", who, `{"model":"sluice/`+name+`","messages":[{"role":"user","content":"hi"}]}`)
			if (chat.code == v1) == may || may && chat.code != http.StatusOK {
				t.Errorf("%s asks model %s: %d %s", tenant, name, chat.code, chat.body)
			}
			if got := askWith(g, "POST", "/agui/"+name, who, `{"threadId":"t_`+tenant+name+`","runId":"r","messages":[{"id":"m","role":"user","content":"hi"}],"tools":[],"context":[],"state":{},"forwardedProps":{}}`); (got.code == http.StatusOK) != may {
				t.Errorf("%s asks path %s: %d %s", tenant, name, got.code, got.body)
			}
		}
		routed := askWith(g, "POST", "/chat/stream", who, `{"input":"think for long please"}`)
		if tenant != "blue" && strings.Contains(routed.body, `"deep"`) {
			t.Errorf("%s is routed to deep: %s", tenant, routed.body)
		}
		if !strings.HasSuffix(strings.TrimSpace(routed.body), "}") || strings.Count(routed.body, "event: done") != 1 {
			t.Errorf("%s has no whole turn: %d %s", tenant, routed.code, routed.body)
		}
	}
}
