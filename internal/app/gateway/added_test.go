package gateway_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/base/testnet"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
)

// An agent that an operator adds answers on every gateway of the store within two seconds,
// and is gone as soon; what is wrong with it is reported with pointers.
func TestAgentIsAddedWhileGatewaysRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		far := wholetest.StartRemote(t, nil)
		st := memory.New(memory.Config{})
		first, _ := wholetest.AskingTeam(t, far.Client.Transport, st)
		_, second := wholetest.AskingTeam(t, far.Client.Transport, st)
		admin := wholetest.Peer{Client: http.Client{Transport: testnet.Serve(t, first.Admin())}}
		const agent = `{"description":"New","card":"http://far","headers":{"X-A":"${SLUICE_AGENT_NONE}"}}`
		for _, tt := range []struct {
			method, path, body string
			status             int
			reply              string
		}{
			{"PUT", "/agents/new", agent, 422, `"field":"/headers/X-A"`},
			{"PUT", "/agents/new", `{"card":"x","quality":{}}`, 422, `{"field":"/description","code":"required"`},
			{"PUT", "/agents/new", `{"description":"x"}`, 422, `{"field":"/card","code":"required"`},
			{"PUT", "/agents/new", `{"description":"x","card":"http://far","tools":["todo"]}`, 422, `{"field":"/tools","code":"not_allowed"`},
			{"PUT", "/agents/new", `{"a":1,"a":2}`, 422, `"code":"invalid_json"`},
			{"PUT", "/agents/new", `{}}, "b": {}`, 422, `"code":"invalid_json"`},
			{"PUT", "/agents/A", `{"description":"x","card":"http://far"}`, 422, `"field":""`},
			{"PUT", "/agents/far", `{"description":"x","card":"http://far"}`, 422, `"code":"not_allowed"`},
			{"PUT", "/agents/new", strings.Repeat(" ", 128<<10) + "{}", 413, "payload_too_large"},
			{"POST", "/agents/new", `{}`, 405, "method_not_allowed"},
			{"PUT", "/agents", `{}`, 404, "not_found"},
			{"DELETE", "/agents/new", "", 404, "not_found"},
			{"DELETE", "/agents/far", "", 422, "not_allowed"},
			{"PUT", "/agents/new", `{"description":"New","card":"http://far"}`, 201, `{"id":"new","name":"Sluice","description":"New","capabilities":`},
			{"PUT", "/agents/new", `{"description":"Newer","card":"http://far"}`, 200, `"description":"Newer"`},
		} {
			if status, text := admin.Ask(t, tt.method, tt.path, tt.body); status != tt.status || !strings.Contains(text, tt.reply) {
				t.Errorf("%s %s %.80s: %d %s", tt.method, tt.path, tt.body, status, text)
			}
		}
		time.Sleep(2 * time.Second)
		if got := second.RunTurn(t, `{"input":"hello","agent":"new"}`); got.Final != "You said: hello" {
			t.Errorf("on the other gateway: %+v", got)
		}
		if status, text := admin.Ask(t, "DELETE", "/agents/new", ""); status != http.StatusNoContent {
			t.Errorf("DELETE: %d %s", status, text)
		}
		time.Sleep(2 * time.Second)
		if status, _ := second.Ask(t, "GET", "/agents/new", ""); status != http.StatusNotFound {
			t.Errorf("after DELETE the other gateway has it: %d", status)
		}
	})
}

// A list that somebody else wrote adds what can be read of it, and breaks nothing.
func TestDamagedListOfAgents(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"no JSON": "nonsense", "another form": `{"a":1}`, "an agent that is none": `[{"id":"x","agent":1},{"id":"new","agent":{"description":"New","card":"http://far"}}]`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				far := wholetest.StartRemote(t, nil)
				st := memory.New(memory.Config{})
				if _, err := st.PutValue(t.Context(), store.AgentsKey, store.Value{Data: []byte(text)}, 0); err != nil {
					t.Fatal(err)
				}
				_, near := wholetest.AskingTeam(t, far.Client.Transport, st)
				want := 1
				if strings.Contains(text, "New") {
					want = 2
				}
				if _, got := near.Ask(t, "GET", "/agents", ""); strings.Count(got, `"kind":"remote"`) != want {
					t.Errorf("GET /agents: %s", got)
				}
			})
		})
	}
}
