//go:build unix

package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/settings"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/internal/state/task"
)

// More runs than a gateway has room for wait their turn, and learn that they are there. When
// too many wait a run is refused before anything is kept of it, and so is an answer, which can
// be given again.
func TestRoomForRuns(t *testing.T) {
	t.Parallel()
	var paid atomic.Int64
	in := memory.New(memory.Config{})
	f := wholetest.StartOn(t, in, fmt.Sprintf(wholetest.Paying, wholetest.NewCountedBank(t, &paid)+"/mcp"))
	waits := f.Begun(wholetest.BeginsPay)
	free := f.FillRoom()
	first := make(chan string, 1)
	reply := make(chan string, 1)
	go func() {
		reply <- f.Serve("/chat/stream", wholetest.BeginsPay, firstOf(first))
	}()
	if reported := <-first; !strings.Contains(reported, "event: start") {
		t.Errorf("a run that waits for room is told %q", reported)
	}
	dismiss := f.Crowd()
	before, err := in.Tasks(t.Context(), store.Query{User: "ann", Limit: 10})
	if err != nil || len(before.IDs) != 2 {
		t.Fatal(err, before.IDs)
	}
	got := f.Serve("/chat/stream", wholetest.BeginsPay, io.Discard)
	if !strings.Contains(got, `"error_type":"overloaded"`) || !strings.Contains(got, `"status":503`) {
		t.Errorf("one too many: %s", got)
	}
	if code, got := f.Decides(waits, `{"action":"approve","user_id":"ann"}`); code != http.StatusServiceUnavailable || !strings.Contains(got, "overloaded") {
		t.Errorf("an answer: %d %s", code, got)
	}
	if got := f.Serve("/chat/stream", `{"input":"Show my todos"}`, io.Discard); !strings.Contains(got, `"success":true`) {
		t.Errorf("a plain turn: %s", got)
	}
	after, err := in.Tasks(t.Context(), store.Query{User: "ann", Limit: 10})
	if err != nil || len(after.IDs) != 2 || wholetest.StateOf(t, in, waits) != task.InputRequired {
		t.Errorf("%v %v, the one that waits is %s", err, after.IDs, wholetest.StateOf(t, in, waits))
	}
	dismiss()
	free()
	if got := <-reply; !strings.Contains(got, `"finish_reason":"approval_required"`) {
		t.Errorf("when there is room: %s", got)
	}
	if code, got := f.Decides(waits, `{"action":"approve","user_id":"ann"}`); code != http.StatusOK || paid.Load() != 1 {
		t.Errorf("the answer, given again: %d %s", code, got)
	}
}

// firstOf sends the first piece that is written.
func firstOf(to chan<- string) io.Writer { return &firstWriter{to} }

type firstWriter struct{ to chan<- string }

func (w *firstWriter) Write(p []byte) (int, error) {
	if w.to != nil {
		w.to <- string(p)
		w.to = nil
	}
	return len(p), nil
}

// A user for whom a thousand runs wait gets no more of them: the next one fails and says why.
// Another user is not concerned.
func TestRunsThatWaitForOneUser(t *testing.T) {
	t.Parallel()
	var paid atomic.Int64
	in := memory.New(memory.Config{})
	f := wholetest.StartOn(t, in, fmt.Sprintf(wholetest.Paying, wholetest.NewCountedBank(t, &paid)+"/mcp"))
	for i := range 999 {
		if err := in.CreateTask(t.Context(), fmt.Sprintf("task_%026d", i), store.Task{Doc: []byte("{}"), Meta: store.Meta{User: "ann", State: task.InputRequired, Created: time.Now()}}, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	f.Begun(wholetest.BeginsPay)
	if got := f.Serve("/chat/stream", wholetest.BeginsPay, io.Discard); !strings.Contains(got, `"error_type":"workflow_limit"`) || strings.Contains(got, "event: approval") {
		t.Errorf("one too many: %s", got)
	}
	f.Begun(strings.Replace(wholetest.BeginsPay, "ann", "bob", 1))
}

// A run continues with the agents' settings that it began with.
func TestRunKeepsItsAgents(t *testing.T) {
	t.Parallel()
	var paid atomic.Int64
	in := memory.New(memory.Config{})
	file := fmt.Sprintf(wholetest.Paying, wholetest.NewCountedBank(t, &paid)+"/mcp")
	f := wholetest.StartOn(t, in, file)
	id := f.Begun(wholetest.BeginsPay)
	prompt := func() string {
		agents, err := f.AgentsOfRun(t.Context(), id)
		if err != nil || len(agents) != 1 {
			t.Fatal(err, agents)
		}
		for _, a := range agents {
			return a.Prompt
		}
		return ""
	}
	cfg, read := wholetest.Configured(t, strings.Replace(file, "the first prompt", "the second prompt", 1), nil)
	if err := f.Reload(settings.Config{Config: cfg, File: read}, nil); err != nil {
		t.Fatal(err)
	}
	if got := prompt(); got != "the first prompt" {
		t.Errorf("the run's agent has %q", got)
	}
	if code, got := f.Decides(id, `{"action":"approve","user_id":"ann"}`); code != http.StatusOK || paid.Load() != 1 {
		t.Errorf("%d %s", code, got)
	}
	if id = f.Begun(wholetest.BeginsPay); prompt() != "the second prompt" {
		t.Error("a new run has the old prompt")
	}
}
