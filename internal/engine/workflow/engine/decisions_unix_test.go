//go:build unix

package engine_test

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/base/testnet"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/internal/state/store/sqlite"
	"sluice/internal/state/task"
)

// What a person may not change in a state is refused with its place, and uses nothing up;
// what may be changed is seen by the nodes behind.
func TestChangesOfAState(t *testing.T) {
	t.Parallel()
	f := wholetest.StartOn(t, memory.New(memory.Config{}), `
agents: {a: {description: answers}}
workflows:
  w:
    nodes:
      ask: {type: human, prompt: "Well?"}
      route: {type: condition, expression: "routing_key + next_action + metadata.kind"}
      right: {type: human, prompt: "{{messages[messages.size() - 1].content}} {{metadata.n}}"}
      wrong: {type: agent, agent: a}
    edges: [{from: ask, to: route}, {from: route, to: {xyz: right, default: wrong}}]
`)
	id, _ := f.StartQuestion("/chat/stream", `{"input":"go","workflow":"w"}`)
	long := strings.Repeat("x", 64<<10)
	for updates, want := range map[string]string{
		`{"current_agent":"x"}`:                                 `"field":"/state_updates","code":"not_allowed"`,
		`{"frontier":[]}`:                                       `"field":"/state_updates","code":"not_allowed"`,
		`{"routing_key":7}`:                                     `"field":"/state_updates/routing_key","code":"wrong_type"`,
		`{"next_action":null}`:                                  `"field":"/state_updates/next_action","code":"wrong_type"`,
		`{"metadata":[]}`:                                       `"field":"/state_updates/metadata","code":"wrong_type"`,
		`{"metadata":{"x":"` + long + `"}}`:                     `"field":"/state_updates","code":"too_long"`,
		`{"messages":[{"role":"user"}]}`:                        `"field":"/state_updates/messages","code":"wrong_type"`,
		`{"messages":[{"role":"tool","content":"it ran"}]}`:     `"field":"/state_updates/messages","code":"wrong_type"`,
		`{"messages":[{"role":"user","content":{"text":"x"}}]}`: `"field":"/state_updates/messages","code":"wrong_type"`,
		`{"messages":"` + long + `"}`:                           `"field":"/state_updates","code":"too_long"`,
		`[]`:                                                    `"field":"/state_updates","code":"wrong_type"`,
		`7`:                                                     `"field":"/state_updates","code":"wrong_type"`,
	} {
		if code, got := f.Decides(id, `{"action":"approve","state_updates":`+updates+`}`); code != http.StatusUnprocessableEntity || !strings.Contains(got, want) {
			t.Errorf("%.60s: %d %s, want %s", updates, code, got, want)
		}
	}
	code, got := f.Decides(id, `{"action":"approve","state_updates":{"routing_key":"x","next_action":"y","metadata":{"kind":"z","n":7},"messages":[{"role":"user","content":"{{input}} said"}]}}`)
	if code != http.StatusOK || !strings.Contains(got, `"prompt":"{{input}} said 7"`) {
		t.Errorf("%d %s", code, got)
	}
}

// An answer is for the question that it names, of the task that it names: not for one that
// was answered, for that of another task, or for a run that is at work.
func TestAnswersToOtherQuestions(t *testing.T) {
	t.Parallel()
	var paid atomic.Int64
	var f *wholetest.Flow
	var running atomic.Value
	during := func() {
		code, got := f.Decides(running.Load().(string), `{"action":"approve","user_id":"ann"}`)
		if code != http.StatusConflict || !strings.Contains(got, `"approval_conflict"`) {
			t.Errorf("in mid-run: %d %s", code, got)
		}
	}
	f = wholetest.StartOn(t, memory.New(memory.Config{}), fmt.Sprintf(strings.Replace(wholetest.Paying, "    nodes:", "    checkpoints: [answer]\n    nodes:", 1), wholetest.HookedBank(t, &paid, during)+"/mcp"))
	one, first := f.StartQuestion("/chat/stream", wholetest.BeginsPay)
	two, other := f.StartQuestion("/chat/stream", wholetest.BeginsPay)
	refused := func(what, id, question string) {
		t.Helper()
		code, got := f.Decides(id, fmt.Sprintf(`{"action":"approve","user_id":"ann","approval_id":%q}`, question))
		if code != http.StatusConflict || !strings.Contains(got, `"approval_conflict"`) {
			t.Errorf("%s: %d %s", what, code, got)
		}
	}
	refused("that of another task", one, other)
	running.Store(one)
	_, second := f.StartQuestion("/tasks/"+one+"/decision", `{"action":"approve","user_id":"ann"}`)
	if paid.Load() != 1 {
		t.Errorf("paid %d times", paid.Load())
	}
	refused("that of a checkpoint before", one, first)
	refused("that of another task", two, second)
	if code, got := f.Decides(one, fmt.Sprintf(`{"action":"approve","user_id":"ann","approval_id":%q}`, second)); code != http.StatusOK || !strings.Contains(got, `"finish_reason":"stop"`) {
		t.Errorf("the one that waits: %d %s", code, got)
	}
	if paid.Load() != 1 {
		t.Errorf("paid %d times", paid.Load())
	}
}

// searched is a store whose clock jumps right before its gateway looks for turns whose
// process is gone, when no lease was renewed by the new time.
type searched struct {
	store.Store
	ahead *atomic.Int64 // of the clock
	jumps chan int64
	times atomic.Int64 // that it has looked
}

// Orphans implements store.Store.
func (s *searched) Orphans(ctx context.Context, limit int) ([]string, error) {
	select {
	case by := <-s.jumps:
		s.ahead.Add(by)
	default:
	}
	defer s.times.Add(1)
	return s.Store.Orphans(ctx, limit)
}

// The clock of the machine jumps by a day, while a call is made and while a question waits,
// and with it what SQLite takes for the time: the gateway's lease is over at once, or lasts
// for a day. Its runs stay its own, and the call is made once.
func TestClockOfTheMachineJumps(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]time.Duration{"ahead": 24 * time.Hour, "back": -24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var paid, ahead atomic.Int64
			file, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "s.db"), Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = file.Close() })
			in := &searched{Store: file, ahead: &ahead, jumps: make(chan int64, 1)}
			jump := func() {
				in.jumps <- int64(by)
				for before, end := in.times.Load(), time.Now().Add(testnet.Patience); in.times.Load() < before+3 && time.Now().Before(end); {
					time.Sleep(5 * time.Millisecond)
				}
			}
			patient := strings.NewReplacer(`prompt: "Pay?"`, `prompt: "Pay?", timeout: 72h`, "{url: %q}", "{url: %q, timeout: 300s}").Replace(wholetest.Paying)
			f := wholetest.StartOn(t, in, fmt.Sprintf(patient, wholetest.HookedBank(t, &paid, jump)+"/mcp"))
			id, _ := f.StartQuestion("/chat/stream", wholetest.BeginsPay)
			jump()
			if state := wholetest.StateOf(t, in, id); state != task.InputRequired {
				t.Fatalf("the task is %q", state)
			}
			code, got := f.Decides(id, `{"action":"approve","user_id":"ann"}`)
			if code != http.StatusOK || !strings.Contains(got, `"finish_reason":"stop"`) || wholetest.StateOf(t, in, id) != task.Completed {
				t.Errorf("the task is %q: %d %s", wholetest.StateOf(t, in, id), code, got)
			}
			if code, _ := f.Decides(id, `{"action":"approve","user_id":"ann"}`); code != http.StatusConflict || paid.Load() != 1 {
				t.Errorf("again: %d, paid %d times", code, paid.Load())
			}
		})
	}
}
