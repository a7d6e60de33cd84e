package browser

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// flow is what npm/flows.mjs is asked to do, and how it went.
type flow struct {
	Name string `json:"name"`
	Base string `json:"base"` // of the page
}

type journey struct {
	Name   string
	Faults []string
	Facts  struct {
		RequestID        string `json:"request_id"`
		Curl             string
		Task, Transcript string   // of a turn that is kept
		Seen             []string // by EventSources
		Note             string   // what was measured
		Figures          map[string]float64
	}
	MS int
}

const hostile = `<script>globalThis.pwned=1</script> <img src=https://evil.example/a.png onerror=globalThis.pwned=1>

![alt text](https://evil.example/b.png) [click](javascript:globalThis.pwned=1) [data](data:text/html,<script>globalThis.pwned=1</script>)
[bank](https://evil.example/bank) <https://evil.example/auto> https://evil.example/bare [x]( java
script:globalThis.pwned=1) <iframe src=https://evil.example></iframe> <style>body{display:none}</style>

[ref]: javascript:globalThis.pwned=1

[ref] <svg onload=globalThis.pwned=1> <a href="https://evil.example" onclick="globalThis.pwned=1">`

const markdown = "# Plan\n\nSome *text*, `code` and a " + "word" + "\n\n```go\nfunc main() { fmt.Println(\"a line of code that is much longer than a narrow screen is wide, so that it has to go somewhere\") }\n```\n\n" +
	"| task | due | priority |\n|---|---|---|\n| buy eggs | tomorrow at 3pm | medium |\n| write a long description of what has to be done | next week | high |\n\n" +
	"1. one\n2. two\n   - nested\n\n> quoted\n\n- [x] done\n- [ ] open\n\nhttps://example.com/"

// endless is what makes a reader of Markdown slow, or overflows its stack.
var endless = strings.Join([]string{strings.Repeat("*", 20_000), strings.Repeat("[", 20_000), strings.Repeat(">", 5000) + "deep",
	strings.Repeat("- ", 5000) + "deep", strings.Repeat("*a_", 10_000), strings.Repeat("some *words* and ", 4000), "**The end**"}, "\n\n")

// arabic has a list item of another direction.
const arabic = "مرحبا\n\n- قائمة أولى\n- English\n\n1. شيء\n\nثم\n\n- [x] منجز\n\n> اقتباس\n\n| اسم | قيمة |\n|---|---|\n| واحد | 1 |\n\n### عنوان"

// pageScripts are the answers that the flows ask for.
func pageScripts() map[string]string {
	text := func(s string) string {
		quoted, _ := json.Marshal(s) // what is a string in JSON is one in Go
		return "text " + string(quoted) + "\nfinish STOP"
	}
	return map[string]string{
		"plain":         answer,
		"stalls":        "text \"One \"\nstall",
		"flaky":         "text \"Half an answer\"\ncut\n---\ntext Better now.\nfinish STOP",
		"cuts":          "text \"Half an answer\"\ncut",
		"fails":         "error 400 No such luck",
		"badtool":       "call delete_todo {\"id\":\"todo_none\"}\nfinish STOP\n---\ntext I could not find it.\nfinish STOP",
		"thinks\naloud": "thought **Weighing it up**\\n\\nIt is so.\ntext Done.\nfinish STOP",
		"arabic":        text(arabic),
		"hostile":       text(hostile),
		"endless":       text(endless),
		"rich":          text("```python\ndef share(t):\n    return 2 ** -t  # of the whole\n```\n\nIt is $x^2 e^{-x}\\,dx$, costs $5 and $6[^1]:\n\n\\[ N(t) = N_0 e^{-\\lambda t} \\]\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n[^1]: From a *book*."),
		"markdown":      text(markdown + strings.Repeat("endless", 40)),
	}
}

// The page in Chromium. In each flow nothing is wrong in the console, no request goes
// to another origin, no content policy is breached, and axe finds no serious fault in
// either theme and width.
func TestPage(t *testing.T) {
	t.Parallel()
	browser := chromium(t)
	sim := startGemini(t, pageScripts())
	offline := startGateway(t, nil)
	scripted := startGateway(t, sim.env("SLUICE_GEMINI_BREAKER", "100,60s,1"))
	fragile := startGateway(t, sim.env("SLUICE_GEMINI_BREAKER", "1,60s,1"))
	full := startGateway(t, sim.env("SLUICE_MAX_STREAMS", "1"))
	house := startGateway(t, map[string]string{"SLUICE_CONFIG": root + "/examples/home/sluice.yaml"})
	careful := startGateway(t, map[string]string{"SLUICE_CONFIRM": "writes"})
	pass := cut{headers: true, events: uncut} // until the flow asks for the cut
	flows := []flow{{"welcome", offline.base}, {"team", house.base}, {"mention", house.base}, {"question", house.base}, {"allowed", careful.base}, {"changed", careful.base}, {"disallowed", careful.base}, {"unfit", careful.base}, {"ask", offline.base}, {"breaker", fragile.base}, {"refused", full.base}, {"repeated", startCutter(t, scripted, cut{}).url},
		{"droppedFetch", startCutter(t, scripted, pass).url}, {"droppedEventSource", startCutter(t, scripted, pass).url}}
	flows = append(flows, flow{"fallback", startGateway(t, map[string]string{"SLUICE_CONFIG": brokenFirst(t, sim.url)}).base})
	for _, name := range []string{"eventsource", "history", "versions", "waits", "draft", "background", "rich", "stop", "retry", "hopeless", "tool", "reload", "narrow", "latest", "fromTheRight", "forced", "dark", "still", "keyboard", "hostile", "endless"} {
		flows = append(flows, flow{name, scripted.base})
	}
	journeys := travel(t, browser, flows)
	for _, f := range flows {
		t.Run(f.Name, func(t *testing.T) {
			j, ok := journeys[f.Name]
			if !ok {
				t.Fatal("nothing was reported")
			}
			for _, fault := range j.Faults {
				t.Error(fault)
			}
			t.Logf("%d ms", j.MS)
		})
	}
	t.Run("curl", func(t *testing.T) { checkCurl(t, journeys["ask"].Facts.Curl) })
	t.Run("cancelled", func(t *testing.T) { checkCancelled(t, scripted, journeys["stop"].Facts.RequestID) })
	// Two flows drop their connection.
	for question, most := range map[string]int{"stalls-reload": 1, "stalls-dropped": 2, "plain-repeated": 1} {
		if n := sim.turns(question); n > most {
			t.Errorf("%s: %d turns, want %d: one was run again", question, n, most)
		}
	}
}

// brokenFirst returns the path of a configuration file whose first model breaks off after
// a thought, and whose second one is at url.
func brokenFirst(t *testing.T, url string) string {
	t.Helper()
	broken := startGemini(t, map[string]string{"plain": "thought **I begin**\ndelay 20ms\ncut"})
	path := filepath.Join(t.TempDir(), "sluice.yaml")
	content := fmt.Sprintf("models:\n  default: {provider: gemini, endpoint: %q, model: gemini-first, fallback: [spare], retries: 0}\n"+
		"  spare: {provider: gemini, endpoint: %q, model: gemini-second}\n", broken.url, url)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Text that is taken back, in Chromium.
func TestTextThatIsTakenBack(t *testing.T) {
	t.Parallel()
	browser := chromium(t)
	flows := []flow{{"takenBack", startGateway(t, map[string]string{"SLUICE_CONFIG": brokenTwice(t)}).base}}
	check(t, flows, travel(t, browser, flows))
}

// brokenTwice returns the path of a configuration file whose first model breaks off in the middle
// of its answer, of "plain" behind a step with a call, and whose second one answers from the
// beginning, until "stalls" is asked: then it says nothing more.
func brokenTwice(t *testing.T) string {
	t.Helper()
	table := `"| task | due |\n|---|---|\n| buy eggs | tomo"`
	first := startGemini(t, map[string]string{
		"plain": "lenient\ntext \"**I look** that up.\"\ncall list_todos {}\nfinish STOP\n---\ntext " + table + "\ndelay 200ms\ncut",
		"holds": "text \"Half an answer, and it \"\ntext \"is wrong.\"\ndelay 200ms\ncut",
	})
	second := startGemini(t, map[string]string{
		"plain": "lenient\ntext \"You have \"\ndelay 50ms\ntext \"*nothing* to do.\"\nfinish STOP",
		"holds": "text \"Another\"\nstall",
	})
	return written(t, "sluice.yaml", fmt.Sprintf("models:\n  default: {provider: gemini, endpoint: %q, model: gemini-first, fallback: [spare], fallback_after_text: true, retries: 0}\n"+
		"  spare: {provider: gemini, endpoint: %q, model: gemini-second}\n", first.url, second.url))
}

// travel goes through flows: each a flow, with more if that needs it.
func travel[F any](t *testing.T, browser string, flows []F) map[string]journey {
	t.Helper()
	screenshots, err := filepath.Abs(root + "/.artifacts/screenshots")
	if err == nil {
		err = os.MkdirAll(screenshots, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	journeys := map[string]journey{}
	job := map[string]any{"chromium": browser, "screenshots": screenshots, "flows": flows}
	for _, j := range drive[journey](t, "flows.mjs", job) {
		journeys[j.Name] = j
	}
	return journeys
}

// checkCurl runs the line that the page gives to copy.
func checkCurl(t *testing.T, line string, env ...string) {
	t.Helper()
	if !strings.HasPrefix(line, "curl ") {
		t.Fatalf("no line for curl: %q", line)
	}
	cmd := exec.CommandContext(t.Context(), installed(t, "bash"), "-c", line)
	cmd.Env = append(os.Environ(), env...)
	out, code := ended(t, cmd)
	if code != 0 || !strings.Contains(out.stdout, "\nevent: done\n") {
		t.Errorf("%s: exit code %d\n%s%s", line, code, out.stdout, out.stderr)
	}
}

// checkCancelled looks for the end of a turn in the log.
func checkCancelled(t *testing.T, g *gateway, requestID string) {
	t.Helper()
	for _, e := range g.log.of("request_completed") {
		if e.RequestID == requestID && e.Details["finish_reason"] == "cancelled" {
			return
		}
	}
	t.Errorf("turn %q was not cancelled", requestID)
}
