package delegate

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sluice/internal/engine/agent"
	"sluice/internal/engine/run"
	"sluice/internal/turn/chat"
)

// A session that waits and is of another version, has lost something, or is another agent's,
// is refused before anything continues.
func TestSavedSessionThatCannotGoOn(t *testing.T) {
	t.Parallel()
	state := agent.State{Messages: []chat.Message{{Role: chat.RoleUser, Parts: []chat.Part{{Text: "go"}}}}}
	within, err := state.Paused()
	if err != nil {
		t.Fatal(err)
	}
	good := saved{Agent: "a", Session: newSessionID(), Text: "so far", IDs: map[string]string{"own": "shown"}}
	for name, tt := range map[string]struct {
		change func(s *saved)
		bad    bool
	}{
		"good":            {func(*saved) {}, false},
		"no session":      {func(s *saved) { s.Session = "" }, true},
		"no agent":        {func(s *saved) { s.Agent = "" }, true},
		"another agent's": {func(s *saved) { s.Agent = "b" }, true},
		"another agent":   {func(s *saved) { s.State = []byte(`{"version":4}`) }, true},
	} {
		was := good
		tt.change(&was)
		p, err := run.Pause(run.KindSession, was, within)
		if err != nil {
			t.Fatal(err)
		}
		s := &session{id: "a", req: new(chat.Request)}
		err = s.resumeSession(&agent.Continued{State: p, Decisions: []chat.Decision{{CallID: "shown", Action: chat.Approve}, {CallID: "within", Action: chat.Reject}}})
		if errors.Is(err, run.ErrPaused) != tt.bad || err != nil && !tt.bad {
			t.Errorf("%s: %v", name, err)
		}
		if tt.bad {
			continue
		}
		if d := s.req.Resumed.Decisions; len(d) != 2 || d[0].CallID != "own" || d[1].CallID != "within" || s.CallID("own", false) != "shown" || s.answer.Text() != "so far" || s.session != good.Session {
			t.Errorf("%s: %+v, %+v", name, d, s)
		}
	}
}

// A turn whose delegates wait, one within another, continues from what the version before the
// tree has stored of it.
func TestSessionsOfTheVersionBefore(t *testing.T) {
	t.Parallel()
	state, err := os.ReadFile("../../run/testdata/agent-2.json")
	if err != nil {
		t.Fatal(err)
	}
	p, err := run.ReadPaused(chat.PausedAgent, state)
	if err == nil {
		err = Readable(p)
	}
	if err != nil {
		t.Fatal(err)
	}
	resumed := &chat.Resumed{By: chat.PausedAgent, State: state}
	for _, id := range slices.Compact(slices.Sorted(slices.Values(regexp.MustCompile(`d[0-9a-f]{8}_1`).FindAllString(string(state), -1)))) {
		resumed.Decisions = append(resumed.Decisions, chat.Decision{CallID: id, Action: chat.Approve})
	}
	resumed.Decisions = slices.DeleteFunc(resumed.Decisions, func(d chat.Decision) bool {
		return !strings.Contains(string(state), `{"id":"`+d.CallID+`","agent":"writer"`)
	})
	o := newOffice(map[string][]any{"boss": {"ok"}, "researcher": {"R"}, "writer": {"W", "W"}})
	o.turn(t.Context(), &chat.Request{Input: "x", Keeping: chat.Keeping{Task: "task_1"}, Resumed: resumed}, true, 3)
	if o.err != nil || o.paused != nil || len(resumed.Decisions) != 2 || begunBy(o.req) != 3 {
		t.Fatalf("%v, paused %+v, %d decisions, %d begun", o.err, o.paused, len(resumed.Decisions), begunBy(o.req))
	}
	if got := o.results(); !slices.Equal(got, []string{"R", "W"}) {
		t.Errorf("the boss is given %q:\n%s", got, strings.Join(o.lines(), "\n"))
	}
}
