package gateway_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/operate"
	"sluice/internal/app/providers"
	"sluice/internal/app/records"
	"sluice/internal/app/settings"
	flow "sluice/internal/engine/workflow/records"
	"sluice/internal/state/store"
	"sluice/internal/state/task"
)

// Nothing is left of a run whose time is over but the logs of its turns, which end by
// themselves, and for a while the definition. What the workflow says of its
// runs counts where the request says nothing.
func TestRetentionOfRuns(t *testing.T) {
	t.Parallel()
	const content = `
agents: {a: {description: a, prompt: "You are a writer."}}
workflows:
  short: {kind: debug, retention_days: 0, nodes: {one: {type: agent, agent: a}}}
  long: {kind: debug, nodes: {one: {type: agent, agent: a}}}
retention: {default_days: 7, by_task: {debug: 3}}
`
	dir := t.TempDir()
	env := map[string]string{"SLUICE_STORE": "sqlite:" + filepath.Join(dir, "s.db"), "GEMINI_MODEL": providers.OfflineModel}
	f := wholetest.StartFlows(t, content, env)
	begin := func(body string) string {
		t.Helper()
		_, reply := f.Post(body)
		var start struct {
			Task string `json:"task_id"`
		}
		wholetest.DataOf(t, reply, "start", &start)
		if !strings.Contains(reply, `"finish_reason":"stop"`) {
			t.Fatal(reply)
		}
		return start.Task
	}
	short, long, kept := begin(`{"input":"hi","workflow":"short"}`), begin(`{"input":"hi","workflow":"long"}`), begin(`{"input":"hi","workflow":"short","retention_days":30}`)
	st := f.Store()
	sessions := &flow.Sessions{Store: st}
	if err := sessions.Put(t.Context(), &flow.SubAgentSession{SessionID: "6f1c9a52-7b1e-4c1f-9b53-0d4bd9a6b8a1", ParentTaskID: short}, 0); err != nil {
		t.Fatal(err)
	}
	left := func(id string) (n int) {
		for _, key := range []string{store.RunKey(id), store.SessionKey("6f1c9a52-7b1e-4c1f-9b53-0d4bd9a6b8a1")} {
			if _, err := st.Value(t.Context(), key); err == nil {
				n++
			} else if !errors.Is(err, store.ErrNotFound) {
				t.Fatal(err)
			}
		}
		for _, key := range []string{store.CheckpointsKey(id), store.MessagesKey(id), store.TraceKey(id), store.SessionsKey(id)} {
			if items, err := st.List(t.Context(), key, 0, 0); err != nil {
				t.Fatal(err)
			} else if len(items) > 0 {
				n++
			}
		}
		if _, err := st.Task(t.Context(), id); err == nil {
			n++
		}
		return n
	}
	sweep := func(days int) {
		t.Helper()
		w := &task.Sweeper{Store: st, Policy: f.Settings().Retention, Forget: []task.Forget{records.Of(st).Forget}}
		if _, err := w.Due(t.Context(), time.Now().Add(time.Duration(days)*24*time.Hour+time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	sweep(0)
	if n := left(short); n != 0 {
		t.Errorf("there are %d records of a run that was to go at its end", n)
	}
	for day, want := range map[int]int{1: 5, 2: 5} {
		sweep(day)
		if n := left(long); n != want {
			t.Errorf("on day %d there are %d records of a run of kind debug", day, n)
		}
	}
	sweep(3)
	if n := left(long); n != 0 {
		t.Errorf("there are %d records of a run of kind debug", n)
	}
	if n := left(kept); n != 5 {
		t.Errorf("there are %d records of a run whose request said 30 days", n)
	}
	// The command looks at the same index, next to the gateway if it only reads.
	cfg, file := wholetest.Configured(t, content, env)
	var swept []task.Swept
	report := func(w task.Swept) { swept = append(swept, w) }
	if err := operate.SweepRetention(t.Context(), settings.Config{Config: cfg, File: file}, true, report); err != nil || len(swept) != 1 || swept[0].ID != kept || swept[0].Days != 30 {
		t.Errorf("%v %+v", err, swept)
	}
	if err := operate.SweepRetention(t.Context(), settings.Config{Config: cfg, File: file}, false, report); err == nil || !strings.Contains(err.Error(), "--dry-run") {
		t.Errorf("beside a gateway: %v", err)
	}
	wholetest.SetStore(&cfg, "memory")
	if err := operate.SweepRetention(t.Context(), settings.Config{Config: cfg, File: file}, false, report); !errors.Is(err, operate.ErrNoRetention) {
		t.Error(err)
	}
}
