package peers

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// scenario is one of the client scenarios of @modelcontextprotocol/conformance.
type scenario struct {
	version string // of the protocol
	// script says what the model does; nil: it calls nothing.
	script func(t *testing.T, peer peer) string
	// fails are the checks that are known to fail; the test says why.
	fails []string
}

// peer is the scenario's server.
type peer struct {
	entry   map[string]any // for mcpConfig
	context struct {       // what the scenario wants to be done
		ToolCalls []struct {
			Name      string
			Arguments json.RawMessage
		}
	}
}

// calling returns a script of calls that are written out.
func calling(calls ...string) func(*testing.T, peer) string {
	return func(*testing.T, peer) string {
		return "call " + strings.Join(calls, "\ncall ") + "\nfinish STOP\n---\ntext Done.\nfinish STOP"
	}
}

// makeCalls makes the calls that the scenario asks for. A null that the tool's schema
// does not allow is refused before it is sent; the model then leaves it out.
func makeCalls(t *testing.T, p peer) string {
	var calls []string
	for _, c := range p.context.ToolCalls {
		calls = append(calls, c.Name+" "+strings.ReplaceAll(string(c.Arguments), `"verbose":null,`, ""))
	}
	if calls == nil {
		t.Fatal("the scenario asks for no call")
	}
	return calling(calls...)(t, p)
}

// echoSchema gives a tool's schema back as we show it.
func echoSchema(t *testing.T, p peer) string {
	g := startWith(t, scripted(t, "end"), map[string]any{"peer": p.entry})
	for _, tool := range g.tools(t) {
		if tool.Name != "json_schema_echo" {
			return calling(`json_schema_echo {"schema":`+string(tool.InputSchema)+`}`)(t, p)
		}
	}
	t.Fatal("the scenario offers no tool")
	return ""
}

// The conformance suite of the Model Context Protocol judges us as a client: the
// whole gateway, with a model that calls what the scenario wants to see called.
//
// Not among them: what needs a capability that we do not declare (elicitation), and
// OAuth, as our servers are configured with their headers.
func TestConformance(t *testing.T) {
	t.Parallel()
	const v2025, v2026 = "2025-11-25", "2026-07-28"
	for name, s := range map[string]scenario{
		"initialize 2025":                       {version: v2025},
		"tools_call 2025":                       {version: v2025, script: calling(`add_numbers {"a":5,"b":3}`)},
		"tools_call 2026":                       {version: v2026, script: calling(`add_numbers {"a":5,"b":3}`)},
		"sse-retry 2025":                        {version: v2025, script: calling(`test_reconnection {}`)},
		"json-schema-2020-12-preservation 2026": {version: v2026, script: echoSchema},
		"json-schema-ref-no-deref 2026":         {version: v2026},
		// It refuses the very version that it supports, once. mcp-go takes that for an
		// old server and tries initialize; the next attempt to connect is sound.
		"request-metadata 2026": {version: v2026, fails: []string{"sep-2575-client-populates-meta", "sep-2575-client-sends-client-info",
			"sep-2575-http-client-sends-version-header"}},
		"http-standard-headers 2026": {version: v2026, script: calling(`test_headers {}`, `my-hyphenated-tool {}`)},
		"http-custom-headers 2026":   {version: v2026, script: makeCalls},
		"http-invalid-tool-headers 2026": {version: v2026, script: calling(`valid_tool {"region":"x"}`, `invalid_empty_header {"value":"x"}`,
			`invalid_number_header {"score":1}`, `invalid_space_in_name {"value":"x"}`, `invalid_duplicate_same_case {"field1":"x","field2":"y"}`)},
		// We can ask nobody, so a tool that wants to know something more has failed, and
		// its second round never comes.
		"sep-2322-client-request-state 2026": {version: v2026, script: calling(`test_mrtr_echo_state {}`, `test_mrtr_no_state {}`,
			`test_mrtr_unrelated {}`, `test_mrtr_no_result_type {}`),
			fails: []string{"sep-2322-client-jsonrpc-id-different", "sep-2322-client-no-state-omitted", "sep-2322-client-request-state-echoed"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scenarioName, _, _ := strings.Cut(name, " ")
			failures := s.judge(t, scenarioName)
			if diff := cmp.Diff(s.fails, failures); diff != "" {
				t.Errorf("failed checks (-want +got):\n%s", diff)
			}
		})
	}
}

// needNode22 ends a test of the conformance package where there is only an older
// Node: it imports what Node has since 22.
func needNode22(t *testing.T) {
	t.Helper()
	out, err := exec.Command(node(t), "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	major, _, _ := strings.Cut(strings.TrimPrefix(string(out), "v"), ".")
	if n, err := strconv.Atoi(major); err != nil || n < 22 {
		missing(t, "Node 22 or newer")
	}
}

// judge runs the scenario and returns the checks that failed.
func (s scenario) judge(t *testing.T, name string) []string {
	t.Helper()
	needNode22(t)
	modules := installed(t, npmFolder+"/node_modules/@modelcontextprotocol")
	client := &client{peers: make(chan peer), done: make(chan struct{})}
	out := t.TempDir()
	p := start(t, command{
		name: node(t),
		args: []string{modules + "/conformance/dist/index.js", "client", "--scenario", name, "--spec-version", s.version,
			"--timeout", "60000", "--output-dir", out, "--command", node(t) + " " + installed(t, npmFolder+"/conformance-client.mjs")},
		env: with(baseEnv(), "SLUICE_CONFORMANCE_TEST", serve(t, client),
			"NODE_OPTIONS", "--import="+installed(t, npmFolder+"/loopback.mjs")),
	})
	select {
	case peer := <-client.peers:
		peer.entry["protocolVersion"] = s.version
		s.use(t, peer)
	case <-p.ended:
		t.Fatalf("the scenario ended (%v) before it began", p.err)
	}
	close(client.done)
	select {
	case <-p.ended:
	case <-time.After(patience):
		t.Fatal("the scenario does not end")
	}
	return failures(t, out)
}

// use makes a turn with the scenario's server. The gateway has ended when it
// returns: a scenario waits for the end of all connections.
func (s scenario) use(t *testing.T, p peer) {
	t.Helper()
	script := "text Nothing to call.\nfinish STOP"
	if s.script != nil {
		script = s.script(t, p)
	}
	g := startWith(t, scripted(t, script), map[string]any{"peer": p.entry})
	if tu := g.ask(t, "go on"); !tu.done().Success {
		t.Errorf("%v", tu)
	}
	g.endWell(t)
}

// client is asked by npm/conformance-client.mjs.
type client struct {
	peers chan peer
	done  chan struct{} // closed when the test has used the peer
}

func (c *client) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		URL     string
		Context json.RawMessage
	}
	p := peer{}
	if json.NewDecoder(r.Body).Decode(&asked) != nil || json.Unmarshal(asked.Context, &p.context) != nil {
		http.Error(w, "no question", http.StatusBadRequest)
		return
	}
	p.entry = map[string]any{"url": asked.URL, "type": "http"}
	select {
	case c.peers <- p:
	case <-r.Context().Done():
		return
	}
	select {
	case <-c.done:
	case <-r.Context().Done():
	}
}

// failures reads the verdicts that a scenario has written below dir.
func failures(t *testing.T, dir string) (failed []string) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(dir, "*", "checks.json"))
	if len(files) != 1 {
		t.Fatalf("%d files of verdicts", len(files))
	}
	content, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var checks []struct {
		ID, Name, Status, ErrorMessage string
		Details                        json.RawMessage
	}
	if err := json.Unmarshal(content, &checks); err != nil {
		t.Fatal(err)
	}
	passed := 0
	for _, c := range checks {
		switch c.Status {
		case "SUCCESS":
			passed++
		case "FAILURE", "WARNING":
			t.Logf("%s %s (%s): %s %s", c.Status, c.ID, c.Name, c.ErrorMessage, c.Details)
			failed = append(failed, c.ID)
		}
	}
	if passed == 0 && failed == nil {
		t.Errorf("nothing was checked: %s", content)
	}
	t.Logf("%d checks passed", passed)
	slices.Sort(failed)
	return slices.Compact(failed)
}
