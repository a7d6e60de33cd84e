package task

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/config"
	"sluice/internal/base/config/file"
	"sluice/internal/base/telemetry/metrics"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/internal/state/store/sqlite"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

func TestRetentionSection(t *testing.T) {
	t.Parallel()
	read := func(content string) (r Retention, faults []string) {
		got := file.Table{RetentionSection(&r)}.Read("f", []byte(content), config.Sources{Lookup: func(string) (string, bool) { return "", false }})
		for _, f := range got.Faults {
			faults = append(faults, f.Message)
		}
		return r, faults
	}
	got, faults := read("retention: {default_days: 0, by_task: {critical: 30, a-b: 3650}, by_status: {failed: 14}}")
	want := Retention{Set: true, ByTask: map[string]int{"critical": 30, "a-b": 3650}, ByStatus: map[string]int{"failed": 14}}
	if diff := cmp.Diff(want, got); diff != "" || faults != nil {
		t.Errorf("%v (-want +got):\n%s", faults, diff)
	}
	if got, faults := read("retention: {}"); !got.equals(Retention{Set: true, Days: 7}) || faults != nil {
		t.Errorf("%+v %v", got, faults)
	}
	if got, _ := read("tasks: {}"); !got.equals(Retention{}) {
		t.Errorf("%+v", got)
	}
	for content, want := range map[string]string{
		"default_days: -1":         "/retention/default_days: must be",
		"default_days: 3651":       "/retention/default_days: must be",
		"default_days: 1.5":        "/retention/default_days: must be",
		"by_task: {Big: 1}":        "/retention/by_task",
		"by_task: {x: one}":        "/retention/by_task/x: must be",
		"by_status: {working: 1}":  "/retention/by_status/working: there is no such key",
		"by_status: {failed: 1d}":  "/retention/by_status/failed: must be",
		"days: 7":                  "/retention/days: there is no such key",
		"by_task: [critical]":      "/retention/by_task: must be",
		"by_task: {critical: ~}":   "/retention/by_task/critical: must be",
		"by_task: {x: 9999999999}": "/retention/by_task/x: must be",
	} {
		if _, faults := read("retention: {" + content + "}"); len(faults) != 1 || !strings.HasPrefix(faults[0], want) {
			t.Errorf("%s: %q", content, faults)
		}
	}
}

// The most specific that is said counts.
func TestMostSpecificRetentionWins(t *testing.T) {
	t.Parallel()
	own := func(n int) *int { return &n }
	set := Retention{Set: true, Days: 1, ByTask: map[string]int{"debug": 2}, ByStatus: map[string]int{"failed": 3}}
	for i, tt := range []struct {
		r            Retention
		own          *int
		kind, status string
		want         int
	}{
		{set, own(0), "debug", "failed", 0},
		{set, own(9), "debug", "failed", 9},
		{set, nil, "debug", "failed", 2},
		{set, nil, "other", "failed", 3},
		{set, nil, "", "failed", 3},
		{set, nil, "", "completed", 1},
		{Retention{}, nil, "critical", "failed", 30},
		{Retention{}, nil, "debug", "completed", 3},
		{Retention{}, nil, "", "completed", 7},
		{Retention{}, nil, "", "failed", 14},
		{Retention{Set: true}, nil, "critical", "failed", 0},
	} {
		if got := tt.r.DaysOf(tt.own, tt.kind, tt.status); got != tt.want {
			t.Errorf("%d: %d days, not %d", i, got, tt.want)
		}
	}
}

// runTurn runs a turn to its end: a workflow's if flow is not empty.
func runTurn(t *testing.T, s *Service, flow, kind string, days *int, end ...stream.Event) string {
	t.Helper()
	turn, err := s.Begin(t.Context(), Request{Chat: &chat.Request{Input: "hi", ConversationID: "conv_1", Workflow: flow, Keeping: chat.Keeping{Kind: kind, RetentionDays: days}}, RequestID: "req_1"})
	if err != nil || turn == nil {
		t.Fatal(turn, err)
	}
	out := turn.Before(nowhere{})
	for i, ev := range append([]stream.Event{&stream.Start{}}, end...) {
		if err := errors.Join(out.Write(stream.Stamp{N: i + 1}, ev), out.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	turn.End()
	return turn.Task()
}

// recordsOf is what the store has of a task.
func recordsOf(t *testing.T, st store.Store, id string) (all []string) {
	t.Helper()
	if _, err := st.Task(t.Context(), id); err == nil {
		all = append(all, "task")
	} else if !errors.Is(err, store.ErrNotFound) {
		t.Fatal(err)
	}
	for name, key := range map[string]string{"trace": store.TraceKey(id), "other": "other:" + id} {
		if items, err := st.List(t.Context(), key, 0, 0); err != nil {
			t.Fatal(err)
		} else if len(items) > 0 {
			all = append(all, name)
		}
	}
	members, err := st.Index(t.Context(), store.RetainIndex, store.Range{Min: -1 << 53, Max: 1 << 53, Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(members, func(m store.Member) bool { return m.ID == id }) {
		all = append(all, "entry")
	}
	slices.Sort(all)
	return all
}

// Every engine keeps the records of an ended task until its time has come, and loses them
// together then; whatever lives or waits stays.
func TestRetention(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) store.Store{
		"memory": func(*testing.T) store.Store { return memory.New(memory.Config{}) },
		"sqlite": func(t *testing.T) store.Store {
			st, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "s.db")})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { st.Close() })
			return st
		},
		"redis": openRedis,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			retentionOn(t, open(t))
		})
	}
}

func retentionOn(t *testing.T, st store.Store) {
	forget := func(ctx context.Context, id string) error { return st.DeleteList(ctx, "other:"+id) }
	s := New(Config{Store: st, TTL: time.Hour, Forget: []Forget{forget}})
	defer s.Close()
	done, failed := &stream.Done{Reason: stream.Stop}, &stream.Done{Reason: stream.Failed}
	days := func(n int) *int { return &n }
	tasks := map[string]string{ // by name; those that continue day n are called n
		"plain":                 runTurn(t, s, "", "", nil, done),
		"7":                     runTurn(t, s, "flow", "", nil, done),
		"14":                    runTurn(t, s, "flow", "", nil, failed),
		"14, ended by its user": runTurn(t, s, "flow", "", nil, &stream.Done{Reason: stream.Cancelled}),
		"30":                    runTurn(t, s, "flow", "critical", nil, failed),
		"5":                     runTurn(t, s, "flow", "critical", days(5), done),
		"0":                     runTurn(t, s, "flow", "", days(0), done),
		"waiting":               runTurn(t, s, "flow", "", days(0), &stream.Approval{ID: "a1"}, &stream.Done{Reason: stream.ApprovalRequired}),
	}
	live, err := s.Begin(t.Context(), Request{Chat: &chat.Request{Input: "hi", Workflow: "flow", Keeping: chat.Keeping{RetentionDays: days(0)}}})
	if err != nil {
		t.Fatal(err)
	}
	defer live.End()
	tasks["live"] = live.Task()
	for _, id := range tasks {
		if err := st.PushList(t.Context(), "other:"+id, []byte("x"), store.Bounds{}, 0); err != nil {
			t.Fatal(err)
		}
	}
	w := s.newSweeper(Retention{})
	// Entries of what has not ended are there when a process died before it wrote the end.
	for _, name := range []string{"live", "waiting"} {
		if err := st.PutIndex(t.Context(), store.RetainIndex, store.Member{ID: tasks[name], Score: 1}, 0); err != nil {
			t.Fatal(err)
		}
	}
	for _, days := range []int{0, 5, 6, 7, 14, 29, 30} {
		now := time.Now().Add(time.Duration(days)*day + time.Second)
		for range 2 { // another gateway sweeps as well
			if _, err := w.Due(t.Context(), now); err != nil {
				t.Fatal(err)
			}
		}
		for name, id := range tasks {
			var n int
			var want []string
			switch _, err := fmt.Sscan(name, &n); {
			case name == "plain":
				want = []string{"other", "task", "trace"} // it has a TTL
			case name == "live":
				want = []string{"entry", "other", "task"}
			case err != nil || days < n:
				want = []string{"entry", "other", "task", "trace"}
			}
			if diff := cmp.Diff(want, recordsOf(t, st, id)); diff != "" {
				t.Errorf("day %d, %s (-want +got):\n%s", days, name, diff)
			}
		}
	}
}

// The keeper sweeps by itself, reports it, and follows a policy that changes: for tasks that
// have ended too.
func TestRetentionReloads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st, m := memory.New(memory.Config{}), metrics.New()
		s := New(Config{Store: st, Metrics: m, Retention: Retention{Set: true, Days: 5}})
		defer s.Close()
		var ids []string
		for range 250 { // more than two pages
			ids = append(ids, runTurn(t, s, "", "", nil, &stream.Done{Reason: stream.Stop}))
		}
		left := func() (n int) {
			for _, id := range ids {
				if len(recordsOf(t, st, id)) > 0 {
					n++
				}
			}
			return n
		}
		time.Sleep(3 * day)
		if n := left(); n != 250 {
			t.Errorf("%d after three days", n)
		}
		s.SetRetention(Retention{Set: true, Days: 4})
		time.Sleep(time.Minute)
		if n := left(); n != 250 {
			t.Errorf("%d when it has changed", n)
		}
		time.Sleep(day)
		if n := left(); n != 0 {
			t.Errorf("%d after four days", n)
		}
		families, err := m.Gatherer().Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			if n := f.GetMetric()[0].GetCounter().GetValue(); f.GetName() == "sluice_retention_deleted_total" && n != 250 {
				t.Errorf("the metric is %v", n)
			}
		}
		late := runTurn(t, s, "", "", nil, &stream.Done{Reason: stream.Stop})
		time.Sleep(time.Minute)
		s.SetRetention(Retention{Set: true})
		time.Sleep(time.Minute)
		if got := recordsOf(t, st, late); got != nil {
			t.Errorf("with 0 days there is still %v", got)
		}
	})
}

// A dry run says what would go by the policy as it is now, and changes nothing.
func TestRetentionDryRun(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.db")
	owner, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Close()
	s := New(Config{Store: owner})
	defer s.Close()
	id := runTurn(t, s, "flow", "debug", nil, &stream.Done{Reason: stream.Stop})
	reader, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	for _, tt := range []struct {
		policy Retention
		days   int
		gone   bool
	}{{Retention{}, 3, false}, {Retention{Set: true, Days: 40}, 40, false}, {Retention{Set: true}, 0, true}} {
		var got []Swept
		w := &Sweeper{Store: reader, Policy: tt.policy, DryRun: true}
		if err := w.All(t.Context(), time.Now(), func(w Swept) { got = append(got, w) }); err != nil {
			t.Fatal(err)
		}
		if len(got) != 1 || got[0].ID != id || got[0].Days != tt.days || got[0].Removed != tt.gone || got[0].State != Completed {
			t.Errorf("%+v", got)
		}
	}
	if got := recordsOf(t, owner, id); len(got) != 3 {
		t.Errorf("there is %v", got)
	}
}

// Whatever fails while a task is removed, its entry is there until the rest has gone: another
// sweep finishes.
func TestRemovalThatFails(t *testing.T) {
	t.Parallel()
	failures := 0
	for n := range 6 {
		st := &breaking{Store: memory.New(memory.Config{})}
		s := New(Config{Store: st, Forget: []Forget{func(ctx context.Context, id string) error { return st.DeleteList(ctx, "other:"+id) }}})
		id := runTurn(t, s, "flow", "", nil, &stream.Done{Reason: stream.Stop})
		if err := st.PushList(t.Context(), "other:"+id, []byte("x"), store.Bounds{}, 0); err != nil {
			t.Fatal(err)
		}
		later := time.Now().Add(8 * day)
		st.after.Store(int64(n) + 1)
		if _, err := s.newSweeper(Retention{}).Due(t.Context(), later); err != nil {
			failures++
			if got := recordsOf(t, st, id); !slices.Contains(got, "entry") {
				t.Errorf("%d removals succeeded: there is %q", n, got)
			}
		}
		st.after.Store(0)
		if _, err := s.newSweeper(Retention{}).Due(t.Context(), later); err != nil || len(recordsOf(t, st, id)) > 0 {
			t.Errorf("%d removals succeeded: %v, and then there is %q", n, err, recordsOf(t, st, id))
		}
		s.Close()
	}
	if failures != 5 { // of the task, its trace, its long texts, the other list and the entry
		t.Errorf("%d sweeps have failed", failures)
	}
}

// breaking is a store in which one of the next removals fails.
type breaking struct {
	*memory.Store
	after atomic.Int64 // how many more, until that one; 0: none
}

func (b *breaking) removal() error {
	if b.after.Load() > 0 && b.after.Add(-1) == 0 {
		return store.ErrUnavailable
	}
	return nil
}

func (b *breaking) DeleteTask(ctx context.Context, id string) error {
	if err := b.removal(); err != nil {
		return err
	}
	return b.Store.DeleteTask(ctx, id)
}

func (b *breaking) DeleteList(ctx context.Context, key string) error {
	if err := b.removal(); err != nil {
		return err
	}
	return b.Store.DeleteList(ctx, key)
}

func (b *breaking) RemoveIndex(ctx context.Context, name, id string) error {
	if err := b.removal(); err != nil {
		return err
	}
	return b.Store.RemoveIndex(ctx, name, id)
}

// A sweep of all reports each task once, also of those whose entries it moves behind the
// others; and the index is then known to be right, so that no gateway walks through it.
func TestSweepOfAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(memory.Config{})
		s := New(Config{Store: st, Retention: Retention{Set: true, Days: 5}})
		defer s.Close()
		for range retainPage + 50 {
			runTurn(t, s, "", "", nil, &stream.Done{Reason: stream.Stop})
		}
		w := s.newSweeper(Retention{Set: true, Days: 9})
		reported := map[string]int{}
		if err := w.All(t.Context(), time.Now(), func(w Swept) { reported[w.ID]++ }); err != nil {
			t.Fatal(err)
		}
		for id, n := range reported {
			if n != 1 {
				t.Errorf("%s is told of %d times", id, n)
			}
		}
		if known, err := w.Policy.isMarked(t.Context(), st); err != nil || !known || len(reported) != retainPage+50 {
			t.Errorf("%d tasks; known %v, %v", len(reported), known, err)
		}
	})
}

// A gateway that has walked through the index says so: others with its policy need not.
func TestIndexIsKnownToBeRight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st, policy := memory.New(memory.Config{}), Retention{Set: true, Days: 5}
		s := New(Config{Store: st, Retention: policy})
		defer s.Close()
		time.Sleep(time.Minute)
		if known, err := policy.isMarked(t.Context(), st); err != nil || !known {
			t.Errorf("known %v, %v", known, err)
		}
		if known, err := (Retention{Set: true, Days: 6}).isMarked(t.Context(), st); err != nil || known {
			t.Errorf("by another policy: known %v, %v", known, err)
		}
	})
}

// A task of which nobody knows when it ended has no time left.
func TestEndThatIsNotKnown(t *testing.T) {
	t.Parallel()
	st := memory.New(memory.Config{})
	if err := st.CreateTask(t.Context(), "task_1", store.Task{Doc: []byte(`{"status":{"state":"completed"}}`), Meta: store.Meta{State: Completed}}, 0); err != nil {
		t.Fatal(err)
	}
	if err := st.PutIndex(t.Context(), store.RetainIndex, store.Member{ID: "task_1", Score: 1}, 0); err != nil {
		t.Fatal(err)
	}
	gone, err := (&Sweeper{Store: st}).Due(t.Context(), time.Now())
	if got := recordsOf(t, st, "task_1"); gone != 1 || err != nil || len(got) > 0 {
		t.Errorf("%d gone, %v; there is %q", gone, err, got)
	}
}
