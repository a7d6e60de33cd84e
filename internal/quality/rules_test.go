package quality

import (
	"testing"

	"sluice/internal/turn/chat"
)

// The settings of the agent that answers say what becomes of its answer, once: who speaks
// afterwards changes nothing.
func TestRulesAreSettledOnce(t *testing.T) {
	t.Parallel()
	strict, open := defaultSettings(), defaultSettings()
	strict.Mode, strict.Drafts, open.Mode = modeEnforce, askDrafts, modeObserve
	spec := &Spec{begun: true, settings: defaultSettings(), agents: map[string]Settings{"strict": strict, "open": open}}
	for _, test := range []struct {
		agent string
		form  Formatter
		want  [3]bool // watched, held, drafts
	}{
		{"strict", nil, [3]bool{true, true, true}},
		{"open", nil, [3]bool{true, false, false}},
		{"other", nil, [3]bool{false, false, false}},
		{"other", struct{ Formatter }{}, [3]bool{false, true, false}},
	} {
		b := &brief{req: &chat.Request{ReplyForm: chat.ReplyForm{Drafts: chat.Yes}}, channel: web, form: test.form}
		var r rules
		if r.assignAgent(test.agent); !r.fixSettings(spec, b) {
			t.Fatalf("%s: refused", test.agent)
		}
		if got := [3]bool{r.watched, r.held, r.drafts}; got != test.want {
			t.Errorf("%s with form %v: watched, held, drafts are %v, want %v", test.agent, test.form != nil, got, test.want)
		}
		before := r
		if r.assignAgent("strict"); r.fixSettings(spec, b) || r.agent != before.agent || r.set.Mode != before.set.Mode {
			t.Errorf("%s: settled again, for %q", test.agent, r.agent)
		}
	}
}
