package browser

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Answers that are checked, and their forms for channels, in Chromium.
func TestChannelPreviews(t *testing.T) {
	t.Parallel()
	browser := chromium(t)
	sim := startGemini(t, map[string]string{"long": "text " + strings.Repeat("This sentence is one of many that an answer has. ", 45) + "\nfinish STOP"})
	checked := startGateway(t, map[string]string{"SLUICE_CONFIG": root + "/examples/quality/sluice.yaml"})
	scripted := startGateway(t, sim.env())
	resp, err := http.Post(checked.base+"/chat/stream", "application/json", strings.NewReader(`{"input":"Remind me to buy eggs tomorrow at 3pm"}`)) // for a table to have a row
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	flows := []flow{{"parts", scripted.base}}
	for _, name := range []string{"refined", "withheld", "sms", "email", "teams", "whatsapp"} {
		flows = append(flows, flow{name, checked.base})
	}
	check(t, flows, travel(t, browser, flows))
}

// What waits for a person, in Chromium: at a page that knows nothing of the turn.
func TestInbox(t *testing.T) {
	t.Parallel()
	browser := chromium(t)
	careful := startGateway(t, map[string]string{"SLUICE_CONFIRM": "writes", "SLUICE_STORE": "memory"})
	refunds := startGateway(t, map[string]string{"SLUICE_CONFIG": root + "/examples/workflows/refund.yaml", "SLUICE_STORE": "memory"})
	hasty := startGateway(t, map[string]string{"SLUICE_CONFIRM": "writes", "SLUICE_STORE": "memory", "SLUICE_APPROVAL_TTL": "10s"})
	boss := startGateway(t, map[string]string{"SLUICE_CONFIG": written(t, "boss.yaml", bossFile), "SLUICE_STORE": "memory"})
	flows := []flow{{"waitingCall", careful.base}, {"waitingChanged", careful.base}, {"waitingTaken", careful.base}, {"waitingLate", hasty.base}, {"waitingStep", refunds.base}, {"waitingNo", refunds.base},
		{"waitingBoss", boss.base}}
	check(t, flows, travel(t, browser, flows))
}

// bossFile has a question to somebody who did not begin its run.
const bossFile = `
workflows:
  pay:
    nodes:
      ask:
        type: human
        prompt: Pay for it?
        approvers: [boss]
        schema:
          type: object
          required: [reason]
          properties: {amount: {type: number}, reason: {type: string}, currency: {type: string, default: EUR}}
`

// written returns the path of a file with that content.
func written(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// check reports what went wrong.
func check(t *testing.T, flows []flow, journeys map[string]journey) {
	t.Helper()
	for _, f := range flows {
		j, ok := journeys[f.Name]
		if !ok {
			t.Errorf("%s: nothing was reported", f.Name)
		}
		for _, fault := range j.Faults {
			t.Errorf("%s: %s", f.Name, fault)
		}
	}
}

// The trace of a task, in Chromium: reported by the gateway, and one with all that it can have.
func TestTraceOnThePage(t *testing.T) {
	t.Parallel()
	browser := chromium(t)
	kept := startGateway(t, map[string]string{"SLUICE_STORE": "memory"})
	refunds := startGateway(t, map[string]string{"SLUICE_CONFIG": root + "/examples/workflows/refund.yaml", "SLUICE_STORE": "memory"})
	flows := []flow{{"tracePlain", kept.base}, {"traceRun", refunds.base}, {"traceLive", startGateway(t, map[string]string{"SLUICE_CONFIG": root + "/examples/workflows/research.yaml"}).base}, {"traceTruth", startGateway(t, nil).base}, {"traceEverything", kept.base}, {"traceKeyboard", kept.base}, {"traceForty", kept.base}}
	check(t, flows, travel(t, browser, flows))
}

// A trace of a thousand rows is scrolled. On a machine that has other work a frame may be late: what
// is judged is what a picture takes of the processor, usually, and all figures are printed.
func TestLongTraceIsScrolled(t *testing.T) {
	t.Parallel()
	browser := chromium(t)
	flows := []flow{{"traceThousand", startGateway(t, map[string]string{"SLUICE_STORE": "memory"}).base}}
	journeys := travel(t, browser, flows)
	check(t, flows, journeys)
	figures := journeys["traceThousand"].Facts.Figures
	t.Logf("%v", figures)
	if work := figures["work_ms"]; work == 0 || work > 50 {
		t.Errorf("a picture took %v ms of the processor, want 50 at most", work)
	}
}
