package peers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// a2aReset reads turns whose text is taken back, with A2A's SDK.
const a2aReset = "e2e/peers/testdata/a2a_reset.py"

// begunAgain are questions whose answers break off, and what is answered in the end: in the last
// step of a turn, twice, so that the text of the step before stays; and in the first one.
var begunAgain = map[string]string{
	"look it up and break": "I look that up. Your list is empty.",
	"break at once":        "Nothing to do.",
}

// startBreaking starts a gateway whose first two models break off in the middle of an answer.
func startBreaking(t *testing.T, env ...string) *gateway {
	t.Helper()
	needPeers(t)
	const look, first = "look it up and break", "break at once"
	calls := "text \"I look that up. \"\ncall list_todos {}\nfinish STOP"
	broken := withAsides(t, aside{look, calls, "text \"You \"\ndelay 50ms\ntext \"have thr\"\ndelay 50ms\ncut"}, aside{first, "text \"You have a gr\"\ndelay 50ms\ncut", "cut"})
	second := withAsides(t, aside{look, "cut", "text \"Your li\"\ndelay 50ms\ncut"}, aside{first, "text \"Noth\"\ndelay 50ms\ntext \"ing \"\ntext \"to do.\"\nfinish STOP", "cut"})
	third := withAsides(t, aside{look, "cut", "text \"Your \"\ndelay 50ms\ntext \"list is empty.\"\nfinish STOP"}, aside{first, "cut", "cut"})
	path := filepath.Join(t.TempDir(), "sluice.yaml")
	file := fmt.Sprintf(`a2a: {enabled: true}
models:
  default: {provider: gemini, endpoint: %q, model: first, retries: 0, breaker: "1000,1s,3", fallback: [second, third], fallback_after_text: true}
  second: {provider: gemini, endpoint: %q, model: second, retries: 0, breaker: "1000,1s,3"}
  third: {provider: gemini, endpoint: %q, model: third, retries: 0}
`, broken.url, second.url, third.url)
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	return startGateway(t, with(broken.env("SLUICE_CONFIG", path), env...))
}

// A client of A2A's SDK has the text that counts: with the stream, with the task, and if it joins
// in the middle; of a task that is kept, and of one that is not.
func TestTextThatIsTakenBackOverA2A(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ store, binding, version string }{
		{"memory", "JSONRPC", "1.0"}, {"memory", "HTTP+JSON", "0.3"}, {"", "JSONRPC", "0.3"}, {"", "HTTP+JSON", "1.0"},
	} {
		kept := map[bool]string{true: "yes", false: "no"}[tt.store != ""]
		t.Run("kept "+kept+" "+tt.binding+" "+tt.version, func(t *testing.T) {
			t.Parallel()
			python, script := installed(t, a2aPython), installed(t, a2aReset)
			args := []string{script, startBreaking(t, "SLUICE_STORE", tt.store).base, teamCard, tt.binding, tt.version, kept}
			var want []string
			for input, text := range begunAgain {
				args = append(args, input)
				want = append(want, text)
			}
			out, err := exec.CommandContext(t.Context(), python, args...).CombinedOutput()
			if err != nil || strings.TrimSpace(string(out)) != strings.Join(want, "\n") {
				t.Errorf("the judge: %v, want %q\n%s", err, want, out)
			}
		})
	}
}

// ChatKit's own types read such a stream, and its items have the text that counts.
func TestTextThatIsTakenBackInChatKit(t *testing.T) {
	t.Parallel()
	installed(t, chatKitPython)
	g := startBreaking(t, "SLUICE_STORE", "memory", "SLUICE_CHATKIT_HISTORY", "store")
	var replies []chatKitReply
	for input := range begunAgain {
		_, body := g.chatKit(t, fmt.Sprintf(`{"type":"threads.create","params":{"input":{"content":[{"type":"input_text","text":%q}]}},"metadata":{"user_id":"ann"}}`, input))
		replies = append(replies, chatKitReply{Name: input, Kind: "stream", Body: body})
		thread := chatKitMessage.FindStringSubmatch(body)
		if thread == nil {
			t.Fatalf("%s: the turn is\n%s", input, body)
		}
		_, items := g.chatKit(t, fmt.Sprintf(`{"type":"items.list","params":{"thread_id":%q,"order":"asc"},"metadata":{"user_id":"ann"}}`, thread[2]))
		replies = append(replies, chatKitReply{Name: input + ", later", Kind: "items.list", Body: items})
	}
	for _, v := range runChatKitJudge[chatKitReply, chatKitVerdict](t, replies) {
		input, _, later := strings.Cut(v.Name, ",")
		if len(v.Faults) > 0 || v.Text != begunAgain[input] {
			t.Errorf("%s: the text is %q, faults %q", v.Name, v.Text, v.Faults)
		}
		if removed := strings.Count(strings.Join(v.Seen, " "), "thread.item.removed"); !later && removed == 0 {
			t.Errorf("%s: nothing was removed: %q", v.Name, v.Seen)
		}
	}
}
