package router_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/engine/router"
	core "sluice/internal/engine/run"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// worker is an agent that says its words, calls call_1, and waits for a person before it does
// so again; it continues with what was decided.
type worker struct {
	id    string
	waits int // how often it waits
	round int
	seen  []chat.Decision
}

func (w *worker) Run(ctx context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
	w.round++
	if req.Resumed != nil {
		w.seen = append(w.seen, req.Resumed.Decisions...)
		var state map[string]int
		p, err := core.ReadPaused(chat.PausedAgent, req.Resumed.State)
		if err == nil {
			err = p.Into(&state)
		}
		if err != nil {
			return stream.Result{}, err
		}
		w.round = state["round"] + 1
	}
	call := stream.Call{ID: "call_1", Tool: "t", Server: "s"}
	err := errors.Join(
		sink.Emit(&stream.Delta{Text: fmt.Sprintf("%s%d.", w.id, w.round)}),
		sink.Emit(&stream.ToolStarted{Call: call, Repeatable: true}), sink.Emit(&stream.ToolCompleted{Call: call, Result: "r"}))
	result := stream.Result{Reason: stream.Stop, Usage: chat.Usage{InputTokens: 1}}
	if w.round <= w.waits && req.Facts.Ask != nil {
		result.Reason = stream.ApprovalRequired
		result.Paused = &chat.Paused{By: chat.PausedAgent, State: roundOf(w.round), Usage: chat.Usage{InputTokens: 7},
			Questions: []chat.Question{{Kind: chat.AskTools, Calls: []chat.PendingCall{{ID: "call_1", Tool: "t"}}}}}
	}
	return result, err
}

// roundOf is what a worker waits with.
func roundOf(n int) []byte {
	p, _ := core.Pause(chat.PausedAgent, map[string]int{"round": n})
	return p.Encode()
}

// pausing runs a turn that can pause, and returns what was emitted and what it paused with.
func pausing(t *testing.T, cfg router.Config, req *chat.Request, refusal string) (lines []string, paused *chat.Paused) {
	t.Helper()
	sink := new(record)
	own := *req
	own.Facts.Ask = func(*chat.Paused) string { return refusal }
	result, err := router.New(cfg).Run(t.Context(), &own, sink)
	if err != nil {
		t.Fatal(err)
	}
	return append(sink.lines, fmt.Sprintf("done %s agents=%d", result.Reason, len(result.Agents))), result.Paused
}

// three are agents that work one after the other, so that their lines have one order. The
// second waits twice.
func three(sequential bool) (router.Config, []*worker) {
	list := []*worker{{id: "A"}, {id: "B", waits: 2}, {id: "C"}}
	cfg := router.Config{Asker: &asker{choose("A", 0.9, "B", "C")}, Dispatch: router.Dispatch{MaxAgents: 4, Sequential: sequential, Timeout: time.Minute}}
	for _, w := range list {
		cfg.Agents = append(cfg.Agents, router.Agent{ID: w.id, Description: "Does " + w.id, Runner: w})
	}
	return cfg, list
}

// pausedState is a team that waits, as the version before the tree has stored it: the third
// agent has not begun.
func pausedState(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile("../run/testdata/team-1.json")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A team whose agent waits is stored, and another process continues from what was stored: what
// was emitted is not emitted again, ids stay, and who comes later begins then.
func TestTeamPauses(t *testing.T) {
	t.Parallel()
	cfg, _ := three(true)
	lines, paused := pausing(t, cfg, &chat.Request{Input: "do it"}, "")
	want := []string{
		`route route A [B C] model "because"`, "A started 1", "A> A1.", "A call call_1", "A completed 1",
		"B started 1", "> \n\n", "B> B1.", "B call call_1-2", "B completed 1", "done approval_required agents=2",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if c := paused.Questions[0].Calls; len(c) != 1 || c[0].ID != "call_1-2" || c[0].AgentID != "B" || paused.Usage.InputTokens != 8 {
		t.Errorf("asked about %+v, usage %+v", c, paused.Usage)
	}
	for name, state := range map[string][]byte{"as it is": paused.State, "of the version before": pausedState(t)} {
		cfg, list := three(true) // another process
		resumed := &chat.Resumed{By: chat.PausedTeam, State: state, Decisions: []chat.Decision{{CallID: "call_1-2", Action: chat.Approve}}}
		lines, paused := pausing(t, cfg, &chat.Request{Input: "do it", Resumed: resumed}, "")
		want := []string{`route route A [B C] model "because"`, "B started 1", "B> B2.", "B call call_1-2", "B completed 1", "done approval_required agents=2"}
		if diff := cmp.Diff(want, lines); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if d := list[1].seen; len(d) != 1 || d[0].CallID != "call_1" {
			t.Errorf("%s: the agent has %+v", name, d)
		}
		cfg, _ = three(true)
		resumed = &chat.Resumed{By: chat.PausedTeam, State: paused.State, Decisions: []chat.Decision{{CallID: "call_1-2", Action: chat.Reject}}}
		lines, paused = pausing(t, cfg, &chat.Request{Input: "do it", Resumed: resumed}, "")
		want = []string{
			`route route A [B C] model "because"`, "B started 1", "B> B3.", "B call call_1-2", "B completed 1",
			"C started 1", "> \n\n", "C> C1.", "C call call_1-3", "C completed 1", "done stop agents=3",
		}
		if diff := cmp.Diff(want, lines); diff != "" || paused != nil {
			t.Errorf("%s, again: %+v (-want +got):\n%s", name, paused, diff)
		}
	}
}

// Of agents that work at the same time those that wait stop nobody, and the text of those
// behind them waits too, also in what is stored.
func TestParallelTeamPauses(t *testing.T) {
	t.Parallel()
	cfg, _ := three(false)
	lines, paused := pausing(t, cfg, &chat.Request{Input: "do it"}, "")
	if text := strings.Join(lines, "\n"); strings.Contains(text, "C> C1.") || !strings.Contains(text, "C completed 1") || !strings.Contains(text, "B> B1.") {
		t.Errorf("emitted:\n%s", text)
	}
	asked := paused.Questions[0].Calls[0].ID
	cfg, _ = three(false)
	resumed := &chat.Resumed{By: chat.PausedTeam, State: paused.State, Decisions: []chat.Decision{{CallID: asked, Action: chat.Approve}}}
	lines, paused = pausing(t, cfg, &chat.Request{Input: "do it", Resumed: resumed}, "")
	want := []string{`route route A [B C] model "because"`, "B started 1", "B> B2.", "B call " + asked, "B completed 1", "done approval_required agents=3"}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	cfg, _ = three(false)
	resumed = &chat.Resumed{By: chat.PausedTeam, State: paused.State, Decisions: []chat.Decision{{CallID: asked, Action: chat.Approve}}}
	lines, _ = pausing(t, cfg, &chat.Request{Input: "do it", Resumed: resumed}, "")
	want = []string{`route route A [B C] model "because"`, "B started 1", "B> B3.", "B call " + asked, "B completed 1", "> \n\n", "C> C1.", "done stop agents=3"}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("again (-want +got):\n%s", diff)
	}
}

// Where nobody can be asked the calls are refused, and the team continues in the same stream.
func TestTeamCannotAsk(t *testing.T) {
	t.Parallel()
	cfg, list := three(true)
	lines, _ := pausing(t, cfg, &chat.Request{Input: "do it"}, "nobody")
	if text := strings.Join(lines, "\n"); strings.Count(text, "B started") != 1 || !strings.Contains(text, "B> B3.") || lines[len(lines)-1] != "done stop agents=3" {
		t.Errorf("emitted:\n%s", text)
	}
	if d := list[1].seen; len(d) != 2 || d[0].Action != chat.Refuse || d[0].Message != "nobody" || d[0].CallID != "call_1" {
		t.Errorf("the agent has %+v", d)
	}
}

// An agent that is gone when its team continues fails alone.
func TestPausedAgentIsGone(t *testing.T) {
	t.Parallel()
	cfg, _ := three(true)
	cfg.Agents = append(cfg.Agents[:1:1], cfg.Agents[2])
	resumed := &chat.Resumed{By: chat.PausedTeam, State: pausedState(t), Decisions: []chat.Decision{{CallID: "call_1-2", Action: chat.Approve}}}
	lines, _ := pausing(t, cfg, &chat.Request{Input: "do it", Resumed: resumed}, "")
	text := strings.Join(lines, "\n")
	if !strings.Contains(text, "B failed 1 The agent is not configured any more") || !strings.Contains(text, "C> C1.") || lines[len(lines)-1] != "done stop agents=3" {
		t.Errorf("emitted:\n%s", text)
	}
}

// A stored team that was damaged is refused before anything continues.
func TestUnreadableTeams(t *testing.T) {
	t.Parallel()
	readable := func(text []byte, agent func(*core.Paused) error) error {
		p, err := core.ReadPaused(chat.PausedTeam, text)
		if err == nil {
			err = router.Readable(p, agent)
		}
		return err
	}
	any := func(*core.Paused) error { return nil }
	if err := readable(pausedState(t), any); err != nil {
		t.Error(err)
	}
	if err := readable(pausedState(t), func(p *core.Paused) error { return errors.New(p.Kind + string(p.State)) }); err == nil || err.Error() != `agent{"version":1,"round":1}` {
		t.Errorf("the agent's state: %v", err)
	}
	for name, change := range map[string][2]string{
		"another version":     {`"version":1`, `"version":4`},
		"no JSON":             {`"version":1,`, `"version":`},
		"no route":            {`"route":{`, `"root":{`},
		"no members":          {`"members":[`, `"others":[`},
		"a speaker too many":  {`"speaker":1`, `"speaker":3`},
		"a speaker too early": {`"speaker":1`, `"speaker":-1`},
		"an agent is missing": {`"state":{`, `"waits":true,"other":{`},
	} {
		text := []byte(strings.Replace(string(pausedState(t)), change[0], change[1], 1))
		if err := readable(text, any); !errors.Is(err, core.ErrPaused) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := router.New(router.Config{}).Run(t.Context(), &chat.Request{Resumed: &chat.Resumed{State: text}}, new(record)); !errors.Is(err, core.ErrPaused) {
			t.Errorf("%s: it goes on with %v", name, err)
		}
	}
}

// An agent whose text has no end is stopped and not tried again; the others continue.
func TestEndlessText(t *testing.T) {
	t.Parallel()
	piece := strings.Repeat("x", 1<<20)
	for _, sequential := range []bool{false, true} {
		n := new(int)
		endless := scripted{script{says(0, piece, piece, piece)}, n}
		cfg := router.Config{Asker: &asker{choose("a", 0.9, "b")},
			Agents:   []router.Agent{agentOf("a", says(time.Millisecond, "A.")), {ID: "b", Description: "x", Runner: endless}},
			Dispatch: router.Dispatch{MaxAgents: 4, Retries: 2, Timeout: time.Minute, Sequential: sequential}}
		lines := run(t, cfg, &chat.Request{Input: "x"})
		text := strings.Join(lines, "\n")
		if *n != 1 || !strings.Contains(text, "a> A.") || !strings.Contains(text, "b failed 1 "+fault.ModelUnavailableMessage) || lines[len(lines)-1] != "done stop agents=2" {
			t.Errorf("sequential %v: %d attempts\n%.600s", sequential, *n, strings.ReplaceAll(text, piece, "…"))
		}
	}
}
