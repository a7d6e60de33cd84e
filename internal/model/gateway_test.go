package model_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/gateway/wholetest"
)

// dying is an answer of the first model that breaks off.
type dying struct {
	name   string
	before string // answers that are whole; empty: none
	lines  []string
	steps  int // that were whole
}

func dyings() []dying {
	thought, text, call := "thought **Hm**", `text "F irst answers."`, `call add {"n":1}`
	whole := thought + "\n" + call + "\n---\n"
	return []dying{
		{"text", "", []string{thought, text}, 0},
		{"call", "", []string{thought, call}, 0},
		{"text_in_step_2", whole, []string{thought, text}, 1},
		{"call_in_step_2", whole, []string{thought, call}, 1},
	}
}

// script is the answer in the protocol of w, cut in place of event n.
func (d dying) script(w wholetest.Protocol, n int) string {
	begin := ""
	if w.Name == "chat" {
		begin = "reasoning content\n"
	}
	if w.Path != "" {
		return begin + d.before + begin + strings.Join(d.lines, "\n") + fmt.Sprintf("\ncut %d\n---\nloop\ntext Over.", n)
	}
	lines := []string{d.lines[0], d.lines[1]}
	if strings.HasPrefix(d.lines[1], "text") {
		lines = []string{d.lines[0], "text F", `text " irst answers."`}
	}
	lines = append(lines, "finish STOP")
	if n <= len(lines) {
		lines = append(lines[:n-1:n-1], "cut")
	}
	return strings.ReplaceAll(d.before, "\n---", "\nfinish STOP\n---") + strings.Join(lines, "\n") + "\n---\nloop\ntext Over.\nfinish STOP"
}

// A model that breaks off is followed by the next one as long as no text of its answer
// was shown, and by an error from then on: at each event, in each protocol, in the first
// step and after a tool ran.
func TestModelThatBreaksOff(t *testing.T) {
	t.Parallel()
	for _, w := range wholetest.Protocols() {
		for _, d := range dyings() {
			t.Run(w.Name+"/"+d.name, func(t *testing.T) {
				t.Parallel()
				seen := ""
				for n := 1; !strings.HasSuffix(seen, "whole"); n++ {
					if n > 40 {
						t.Fatalf("no end after %s", seen)
					}
					seen += " " + d.play(t, w, n)
				}
				// However many events there are, the outcomes come in this order.
				var order []string
				for _, o := range strings.Fields(seen) {
					if len(order) == 0 || order[len(order)-1] != o {
						order = append(order, o)
					}
				}
				want := "second second-after-thought error whole"
				if strings.HasPrefix(d.name, "call") {
					want = "second second-after-thought whole"
				}
				if got := strings.Join(order, " "); got != want {
					t.Errorf("outcomes %s, want %s", got, want)
				}
			})
		}
	}
}

// play plays the answer, cut in place of event n, and says what came of it.
func (d dying) play(t *testing.T, w wholetest.Protocol, n int) string {
	t.Helper()
	ran := new(atomic.Int64)
	spare := wholetest.Protocols()[1]
	r := wholetest.StartFile(t, "models:\n"+
		w.Spec("default", w.Simulate(t, d.script(w, n)), "retries: 0, fallback: [spare]")+
		spare.Spec("spare", spare.Simulate(t, "loop\ntext Second."), ""), "MCP_CONFIG", wholetest.TwoTools(t, ran))
	defer r.Stop()
	frames := r.Ask("go")
	changes, done := gatewaytest.Only(frames, "model"), gatewaytest.Done(frames)
	switch final := done.Str("final_output"); {
	case len(changes) == 1:
		d.wantSecond(t, r, frames, changes[0], ran.Load())
		for _, f := range frames[d.begins(frames):] {
			switch f.Kind {
			case "thinking":
				return "second-after-thought"
			case "model":
				return "second"
			}
		}
	case done.Data["success"] == true:
		if final != "F irst answers." && final != "Over." {
			t.Errorf("after %d events: %s", n-1, done.Raw)
		}
		return "whole"
	default:
		e := gatewaytest.WantFailure(t, frames, "model_unavailable", "error")
		if !strings.HasPrefix(final, "F") || len(changes) > 0 || e.Str("service") != "model:default" || strings.Contains(final, "Second") {
			t.Errorf("after %d events: %s %v", n-1, done.Raw, changes)
		}
		return "error"
	}
	return "nothing"
}

// begins returns where the events of the step that breaks off begin.
func (d dying) begins(frames []gatewaytest.Frame) int {
	for i, f := range frames {
		if d.steps > 0 && f.Kind == "tool_call" && f.Str("status") == "completed" {
			return i + 1
		}
	}
	return 0
}

// wantSecond checks a turn that the second model ended.
func (d dying) wantSecond(t *testing.T, r *gatewaytest.Running, frames []gatewaytest.Frame, change gatewaytest.Frame, ran int64) {
	t.Helper()
	done := gatewaytest.Done(frames)
	gatewaytest.WantSuccess(t, frames, "stop")
	got := fmt.Sprint(change.Data["step"], change.Data["key"], change.Data["model"], change.Data["previous"], change.Data["reason"])
	if want := fmt.Sprint(float64(d.steps+1), "spare", "m-chat", "default", "unavailable"); got != want {
		t.Errorf("event model %s", change.Raw)
	}
	if done.Str("final_output") != "Second." || ran != int64(d.steps) {
		t.Errorf("%d tools ran, and the answer is %s", ran, done.Raw)
	}
	want := "[spare]" // the one that gave a part
	if len(gatewaytest.Only(frames, "thinking")) > 0 {
		want = "[default spare]"
	}
	if done.Str("models") != want {
		t.Errorf("models %s, want %s", done.Str("models"), want)
	}
	r.Log.Await(t, "request_completed", r.Ended) // all lines of the turn are there
	if n := len(r.Log.All("model_fallback", "from", "default", "to", "spare", "reason", "unavailable", "step", fmt.Sprint(d.steps+1))); n != 1 {
		t.Errorf("model_fallback %d times:\n%s", n, r.Log)
	}
	if m := wholetest.MetricLines(r, "sluice_model_fallbacks_total{"); len(m) != 1 || m[0] != `sluice_model_fallbacks_total{from="default",reason="unavailable",to="spare"} 1` {
		t.Errorf("metrics %q", m)
	}
	wantBreakers(t, r, "model:default closed 1", "model:spare closed 0")
}

// wantBreakers checks breakers of models: name, state and failures.
func wantBreakers(t *testing.T, r *gatewaytest.Running, want ...string) {
	t.Helper()
	var got []string
	_, ready := r.Ready()
	for _, b := range ready.Breakers {
		if strings.HasPrefix(b.Service, "model:") {
			got = append(got, fmt.Sprintf("%s %s %d", b.Service, b.State, b.FailureCount))
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("breakers %q, want %q", got, want)
	}
}
