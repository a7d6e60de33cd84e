package records

import (
	"context"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/base/fault"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/internal/state/store/sqlite"
	"sluice/internal/state/task"
)

const (
	ofTask = "task_0123456789abcdefghijklmnop"
	ofTurn = "turn_0123456789abcdefghijklmnop"
)

// withTask makes the task of a response.
func withTask(t *testing.T, in store.Store) Responses {
	t.Helper()
	if err := in.CreateTask(t.Context(), ofTask, store.Task{Doc: []byte(`{}`), Meta: store.Meta{State: task.Working, Created: time.Now()}}, 48*time.Hour); err != nil {
		t.Fatal(err)
	}
	return Responses{Store: in}
}

// kept returns what is kept of the response.
func (r Responses) kept(t *testing.T) string {
	t.Helper()
	data, _, err := r.Response(t.Context(), ofTurn)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// What is kept is replaced by what follows its version alone: a response that was removed while its
// turn ran does not come back.
func TestResponses(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func() (store.Store, error){
		"memory": func() (store.Store, error) { return memory.New(memory.Config{}), nil },
		"sqlite": func() (store.Store, error) {
			return sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "state.db"), Calls: store.NewCalls(store.CallsConfig{Timeout: time.Minute})})
		},
	} {
		t.Run(name, func(t *testing.T) {
			in, err := open()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { in.Close() })
			r := withTask(t, in)
			step := func(what, want string) {
				t.Helper()
				if got := r.kept(t); got != want {
					t.Errorf("%s: %q is kept, want %q", what, got, want)
				}
			}
			step("first", "")
			r.KeepResponse(t.Context(), ofTask, ofTurn, []byte("begun"), 0)
			step("begun", "begun")
			r.KeepResponse(t.Context(), ofTask, ofTurn, []byte("again"), 0)
			step("begun again", "begun")
			r.KeepResponse(t.Context(), ofTask, ofTurn, []byte("ended"), 1)
			r.KeepResponse(t.Context(), ofTask, ofTurn, []byte("by another"), 1)
			step("ended", "ended")
			if err := r.DropResponse(t.Context(), ofTurn); err != nil {
				t.Fatal(err)
			}
			step("removed", "")
			r.KeepResponse(t.Context(), ofTask, ofTurn, []byte("late"), 2)
			step("after that", "")
			r.KeepResponse(t.Context(), ofTask, ofTurn, []byte("another"), 0)
			for range 2 {
				if err := Of(in).Forget(t.Context(), ofTask); err != nil {
					t.Fatal(err)
				}
			}
			step("without its task", "")
		})
	}
}

func TestResponseLivesADay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := withTask(t, memory.New(memory.Config{}))
		r.KeepResponse(t.Context(), ofTask, ofTurn, []byte("begun"), 0)
		time.Sleep(23 * time.Hour)
		if r.kept(t) != "begun" {
			t.Error("it is gone after 23 hours")
		}
		time.Sleep(2 * time.Hour)
		if r.kept(t) != "" {
			t.Error("it is there after 25 hours")
		}
	})
}

// silent is a store that does not answer.
type silent struct{ store.Store }

func (silent) Value(context.Context, string) (store.Value, error) {
	return store.Value{}, store.ErrUnavailable
}

func (silent) PutValue(context.Context, string, store.Value, time.Duration) (store.Value, error) {
	return store.Value{}, store.ErrUnavailable
}

func (silent) DeleteValue(context.Context, string) error { return store.ErrUnavailable }

func TestResponsesOfASilentStore(t *testing.T) {
	t.Parallel()
	r := Responses{Store: silent{memory.New(memory.Config{})}}
	_, _, err := r.Response(t.Context(), ofTurn)
	wantType(t, "a response", err, fault.StoreUnavailable)
	wantType(t, "its end", r.DropResponse(t.Context(), ofTurn), fault.StoreUnavailable)
	r.KeepResponse(t.Context(), ofTask, ofTurn, []byte("begun"), 0) // goes on without
}
