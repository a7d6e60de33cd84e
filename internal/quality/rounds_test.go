package quality

import (
	"strings"
	"testing"

	"sluice/stream"
)

// judged returns an attempt by its verdicts: one letter a criterion, m and w for one that must
// pass and one that may fail; capital: it passed; ? behind it: nobody judged it.
func judged(verdicts string, unchanged bool) *attempt {
	a := &attempt{unchanged: unchanged}
	for i := 0; i < len(verdicts); i++ {
		v := verdict{given: true, passed: verdicts[i] < 'a'}
		must := verdicts[i] == 'm' || verdicts[i] == 'M'
		if i+1 < len(verdicts) && verdicts[i+1] == '?' {
			i++
			v = verdict{}
		}
		id := string(rune('a' + len(a.card)))
		a.card, a.verdicts = append(a.card, criterion{Criterion: Criterion{ID: id, Must: must}}), append(a.verdicts, v)
	}
	return a
}

// An attempt without a failed requirement counts before one with. Of two without it is the second,
// of two with the one that fails less, or the second if they fail alike.
func TestTheAttemptThatCounts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		first, second string
		want          int // its index
	}{
		{"Mw", "MW", 1}, {"mW", "Mw", 1}, {"Mww", "mWW", 0}, {"Mw", "Mw", 1}, {"MwW", "Mww", 1}, {"mw", "mw", 1}, {"mW", "mw", 0}, {"MW", "", 0},
	} {
		r := rounds{attempts: []*attempt{judged(test.first, true)}}
		if test.second != "" {
			r.attempts = append(r.attempts, judged(test.second, false))
		}
		if got := r.bestAttempt(); got != r.attempts[test.want] || r.countedAttempt() != got {
			t.Errorf("%s and %s: attempt %d is not the one that counts", test.first, test.second, test.want+1)
		}
	}
	none := rounds{outcome: stream.NotEvaluated, attempts: []*attempt{judged("M", true)}}
	if a := none.countedAttempt(); len(a.verdicts) > 0 {
		t.Error("an attempt counts of a turn that was not evaluated")
	}
}

// What becomes of an answer follows from its verdicts and the settings.
func TestRoundsDecide(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		verdicts  string
		unchanged bool
		set       Settings
		want      stream.Outcome
		passed    bool
		withheld  bool
	}{
		{"MW", true, Settings{Mode: modeEnforce}, stream.Passed, true, false},
		{"MW", false, Settings{Mode: modeEnforce}, stream.Refined, true, false},
		{"Mw", false, Settings{Mode: modeEnforce, OnFail: fallbackGraceful}, stream.SentFailed, false, false},
		{"mW", true, Settings{Mode: modeEnforce, OnFail: fallbackGraceful}, stream.GracefulFailure, false, true},
		{"mW?", true, Settings{Mode: modeEnforce, OnFail: fallbackSend, OnUnjudged: fallbackGraceful}, stream.SentFailed, false, false},
		{"Mw?", true, Settings{Mode: modeEnforce, OnUnjudged: fallbackGraceful}, stream.Unjudged, false, true},
		{"MwW?", true, Settings{Mode: modeEnforce, OnUnjudged: fallbackSend}, stream.Unjudged, false, false},
		{"mW", true, Settings{Mode: modeObserve, OnFail: fallbackGraceful}, stream.Observed, false, false},
		{"MW", true, Settings{Mode: modeObserve}, stream.Observed, true, false},
	} {
		var r rounds
		r.decideOutcome(&test.set, judged(test.verdicts, test.unchanged))
		if r.outcome != test.want || r.passed != test.passed || r.isWithheld(&test.set) != test.withheld {
			t.Errorf("%s, unchanged %v, %+v: %s, passed %v, withheld %v; want %s, %v, %v", test.verdicts, test.unchanged, test.set,
				r.outcome, r.passed, r.isWithheld(&test.set), test.want, test.passed, test.withheld)
		}
	}
}

// The log says which attempt failed at what, and why there is no second one.
func TestWhyAnAnswerFailed(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		mode    Mode
		attempt int
		all     string // attempts
		want    string
	}{
		{modeEnforce, 1, "mW", "the first attempt failed a; there was no time left for a second one"},
		{modeObserve, 1, "mW", "the first attempt failed a"},
		{modeEnforce, 2, "mW", "the first attempt failed a; the refinement did not come"},
		{modeEnforce, 2, "Mw Mw?", "the first attempt failed b; the second attempt has no verdict of the judge on b"},
		{modeEnforce, 2, "mw?W MW", "the first attempt failed a"},
	} {
		r := rounds{attempt: test.attempt}
		for _, verdicts := range strings.Fields(test.all) {
			r.attempts = append(r.attempts, judged(verdicts, false))
		}
		if got := r.whyFailed(&Settings{Mode: test.mode}); got != test.want {
			t.Errorf("%s in attempt %d of %s: %q, want %q", test.mode, test.attempt, test.all, got, test.want)
		}
	}
}
