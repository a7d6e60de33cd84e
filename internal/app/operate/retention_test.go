package operate

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/app/records"
	"sluice/internal/app/settings"
	"sluice/internal/base/config"
	flow "sluice/internal/engine/workflow/records"
	"sluice/internal/state/store"
	"sluice/internal/state/store/sqlite"
	"sluice/internal/state/task"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// unattended is an output that belongs to nobody.
type unattended struct{}

func (unattended) Write(stream.Stamp, stream.Event) error { return nil }
func (unattended) Flush() error                           { return nil }
func (unattended) Blocked() time.Duration                 { return 0 }

// swept sweeps, and lists what is said of each task, by the names of the tasks.
func swept(t *testing.T, cfg settings.Config, dry bool, names map[string]string) map[string]string {
	t.Helper()
	got := map[string]string{}
	if err := SweepRetention(t.Context(), cfg, dry, func(s task.Swept) {
		said := "stays"
		if s.Removed {
			said = "goes"
		}
		if s.State == "" {
			said += ", its task is gone"
		}
		got[names[s.ID]] = said
	}); err != nil {
		t.Fatal(err)
	}
	return got
}

// A sweep removes what is over with all its records, and a dry one changes nothing, also while
// the owner of the file runs.
func TestSweepRetention(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.db")
	st, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	cfg := settings.Config{File: settings.File{Retention: task.Retention{Set: true, Days: 7}}}
	setStore(&cfg.Config, "sqlite:"+path)
	tasks := task.New(task.Config{Store: st, Retention: cfg.Retention})
	names := map[string]string{}
	run := func(name string, days *int) string {
		t.Helper()
		turn, err := tasks.Begin(t.Context(), task.Request{Chat: &chat.Request{Input: "hi", Keeping: chat.Keeping{RetentionDays: days}}, RequestID: "req_1"})
		if err != nil {
			t.Fatal(err)
		}
		out := turn.Before(unattended{})
		for i, ev := range []stream.Event{&stream.Start{}, &stream.Done{Reason: stream.Stop}} {
			if err := errors.Join(out.Write(stream.Stamp{N: i + 1}, ev), out.Flush()); err != nil {
				t.Fatal(err)
			}
		}
		turn.End()
		names[turn.Task()] = name
		return turn.Task()
	}
	none := 0
	over, kept := run("over", &none), run("kept", nil)
	session := &flow.SubAgentSession{SessionID: "6f1c9a52-7b1e-4c1f-9b53-0d4bd9a6b8a1", ParentTaskID: over}
	if err := records.Of(st).Sessions.Put(t.Context(), session, 0); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"over": "goes", "kept": "stays"}
	for range 2 {
		if diff := cmp.Diff(want, swept(t, cfg, true, names)); diff != "" {
			t.Errorf("dry, beside the owner (-want +got):\n%s", diff)
		}
	}
	err = SweepRetention(t.Context(), cfg, false, nil)
	if _, ok := errors.AsType[*config.Error](err); !ok || !strings.Contains(err.Error(), "--dry-run") {
		t.Errorf("beside the owner: %v", err)
	}
	tasks.Close()
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, swept(t, cfg, false, names)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"kept": "stays"}, swept(t, cfg, false, names)); diff != "" {
		t.Errorf("again (-want +got):\n%s", diff)
	}
	left, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer left.Close()
	if _, err := left.Task(t.Context(), over); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the task that was over: %v", err)
	}
	if _, err := records.Of(left).Sessions.Get(t.Context(), session.SessionID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("its session: %v", err)
	}
	if _, err := left.Task(t.Context(), kept); err != nil {
		t.Errorf("the other task: %v", err)
	}
}

func TestStoresThatCannotBeSwept(t *testing.T) {
	t.Parallel()
	for _, location := range []string{"", "none", "memory"} {
		var cfg settings.Config
		setStore(&cfg.Config, location)
		if err := SweepRetention(t.Context(), cfg, true, nil); !errors.Is(err, ErrNoRetention) {
			t.Errorf("%q: %v", location, err)
		}
		if err := Export(t.Context(), cfg, "task_1", t.TempDir()); !errors.Is(err, ErrNoExport) {
			t.Errorf("%q: %v", location, err)
		}
	}
	var missing settings.Config
	setStore(&missing.Config, "sqlite:"+filepath.Join(t.TempDir(), "nowhere.db"))
	if err := SweepRetention(t.Context(), missing, true, nil); err == nil {
		t.Error("a file that is not there is swept")
	}
}
