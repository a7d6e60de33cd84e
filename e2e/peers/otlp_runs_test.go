package peers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/telemetry/otlp/otlptest"
)

// streamed posts JSON, reads the stream to its end, and returns the last data of an event.
func (g *gateway) streamed(t *testing.T, path, body, event string) map[string]any {
	t.Helper()
	resp, err := g.client.Post(g.base+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %v: %s", resp.Status, err, text)
	}
	i := bytes.LastIndex(text, []byte("event: "+event+"\ndata: "))
	if i < 0 {
		t.Fatalf("no %s in\n%s", event, text)
	}
	line, _, _ := bytes.Cut(text[i+len("event: \ndata: ")+len(event):], []byte("\n"))
	data := map[string]any{}
	if err := json.Unmarshal(line, &data); err != nil {
		t.Fatal(err)
	}
	return data
}

// What a whole process reports of a run: one tree up to where it waits, and one of its own for
// what follows. OpenTelemetry's Python package reads the links.
func TestOTLPOfRuns(t *testing.T) {
	t.Parallel()
	installed(t, otlpPython)
	c := otlptest.Start(t)
	g := startGateway(t, with(offline(t).env(), "SLUICE_OTEL", "otlp", "OTEL_EXPORTER_OTLP_ENDPOINT", c.URL,
		"SLUICE_CONFIG", installed(t, "examples/workflows/refund.yaml"), "SLUICE_STORE", "memory", "GEMINI_MODEL", "gemini-x"))
	asked := g.streamed(t, "/chat/stream", `{"input":"I want a refund of 30 EUR, says CANARY","workflow":"refund"}`, "approval")
	done := g.streamed(t, fmt.Sprintf("/tasks/%s/decision", asked["task_id"]), fmt.Sprintf(`{"approval_id":%q,"action":"approve","message":"CANARY"}`, asked["approval_id"]), "done")
	if done["success"] != true {
		t.Fatalf("the run ended with %v", done)
	}
	g.stop(syscall.SIGTERM)

	verdicts := slices.DeleteFunc(judgeOTLP(t, c), func(v otlpVerdict) bool { return v.Name == "" })
	for _, v := range verdicts {
		if len(v.Faults) > 0 {
			t.Errorf("span %s: %v", v.Name, v.Faults)
		}
		if text := fmt.Sprint(v); strings.Contains(text, "CANARY") {
			t.Errorf("somebody's text is in %s", text)
		}
	}
	if diff := cmp.Diff(strings.Join([]string{
		"POST /chat/stream [1]",
		"  invoke_workflow refund waiting [2]",
		"    node triage",
		"      invoke_agent support",
		"        chat gemini-x",
		"POST /tasks/{id}/decision follows 1",
		"  invoke_workflow refund completed follows 2",
		"    node answer",
		"      invoke_agent writer",
		"        chat gemini-x",
		"    node draft",
		"      chat gemini-x", // the critic's
		"      chat gemini-x",
		"      chat gemini-x",
		"      invoke_agent writer",
		"        chat gemini-x",
		"      invoke_agent writer",
		"        chat gemini-x",
		"      invoke_agent writer",
		"        chat gemini-x",
		"    node pay",
		"      execute_tool refund",
	}, "\n"), runTree(verdicts)); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
}

// runTree reports spans as lines: the roots in the order in which they ended, what is below
// them by name, with numbers for those that others link to.
func runTree(spans []otlpVerdict) string {
	children, numbers := map[string][]otlpVerdict{}, map[string]string{}
	for _, s := range spans {
		children[s.Parent] = append(children[s.Parent], s)
	}
	var order func(parent string)
	order = func(parent string) {
		below := children[parent]
		if parent != "" {
			slices.SortFunc(below, func(a, b otlpVerdict) int { return strings.Compare(a.Name, b.Name) })
		}
		for _, s := range below {
			if slices.ContainsFunc(spans, func(o otlpVerdict) bool { return slices.Contains(o.Links, s.Trace+"-"+s.ID) }) {
				numbers[s.Trace+"-"+s.ID] = fmt.Sprint(len(numbers) + 1)
			}
			order(s.ID)
		}
	}
	order("")
	var lines []string
	var write func(parent, indent string)
	write = func(parent, indent string) {
		for _, s := range children[parent] {
			line := indent + s.Name
			if status := s.Attributes["sluice.workflow.status"]; status != "" {
				line += " " + status
			}
			for _, l := range s.Links {
				line += " follows " + numbers[l]
			}
			if s.Failed {
				line += " " + s.Attributes["error.type"]
			}
			if n := numbers[s.Trace+"-"+s.ID]; n != "" {
				line += " [" + n + "]"
			}
			lines = append(lines, line)
			write(s.ID, indent+"  ")
		}
	}
	write("", "")
	return strings.Join(lines, "\n")
}
