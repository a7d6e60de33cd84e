//go:build unix

package gateway_test

import (
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/records"
	"sluice/internal/state/store"
	"sluice/internal/state/task"
)

// left returns which records there are of a task, and of what it asked.
func left(t *testing.T, in store.Store, id, asked string) (list []string) {
	t.Helper()
	for _, key := range []string{store.RunKey(id), store.ApprovalKey(asked)} {
		if _, err := in.Value(t.Context(), key); err == nil {
			list = append(list, key)
		} else if !errors.Is(err, store.ErrNotFound) {
			t.Fatal(err)
		}
	}
	for _, key := range []string{store.CheckpointsKey(id), store.MessagesKey(id), store.TraceKey(id), store.SessionsKey(id)} {
		items, err := in.List(t.Context(), key, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(items) > 0 {
			list = append(list, key)
		}
	}
	if wholetest.StateOf(t, in, id) != "" {
		list = append(list, id)
	}
	for _, index := range []string{store.DueIndex, store.RetainIndex} {
		members, err := in.Index(t.Context(), index, store.Range{Min: -1 << 53, Max: 1 << 53, Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range members {
			if m.ID == id {
				list = append(list, index)
			}
		}
	}
	return list
}

// waitsWith begins a run that waits, and returns its task and its question.
func waitsWith(f *wholetest.Flow, body string) (id, asked string) {
	f.T.Helper()
	var ev struct {
		ID   string `json:"approval_id"`
		Task string `json:"task_id"`
	}
	_, got := f.Post(body)
	wholetest.DataOf(f.T, got, "approval", &ev)
	return ev.Task, ev.ID
}

// Runs that were cancelled while they waited lose all their lists when their time is over: none
// is left out. Their definition loses its runs.
func TestRetentionOfCancelledRuns(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]func(t *testing.T) string{
		"memory": func(*testing.T) string { return "memory" },
		"sqlite": func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "s.db") },
		"redis":  wholetest.StartRedis,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var paid atomic.Int64
			f := wholetest.StartFlows(t, fmt.Sprintf(wholetest.Paying, wholetest.NewCountedBank(t, &paid)+"/mcp"), map[string]string{"SLUICE_STORE": at(t)})
			wholetest.AwaitTools(t, f)
			in := f.Store()
			asked := map[string]string{}
			for range 20 {
				id, q := waitsWith(f, wholetest.BeginsPay)
				if asked[id] = q; len(left(t, in, id, q)) < 5 {
					t.Fatalf("of a run that waits there are %v", left(t, in, id, q))
				}
				if status, text := f.PostTo("/tasks/"+id+"/cancel", ``); status != http.StatusOK && status != http.StatusAccepted {
					t.Fatal(status, text)
				}
			}
			sum := f.FlowSum("pay")
			w := &task.Sweeper{Store: in, Policy: f.Settings().Retention, Forget: []task.Forget{records.Of(in).Forget}}
			if gone, err := w.Due(t.Context(), time.Now().Add(13*24*time.Hour)); gone != 0 || err != nil {
				t.Errorf("before their time %d go, %v", gone, err)
			}
			if gone, err := w.Due(t.Context(), time.Now().Add(15*24*time.Hour)); gone != len(asked) || err != nil {
				t.Errorf("%d go, %v", gone, err)
			}
			for id, q := range asked {
				if list := left(t, in, id, q); len(list) > 0 && strings.Join(list, " ") != store.ApprovalKey(q) { // which expires by itself
					t.Errorf("of %s there are %v", id, list)
				}
			}
			if n, err := in.CountIndex(t.Context(), store.DefinitionRunsKey(sum)); n != 0 || err != nil {
				t.Errorf("%d runs are pinned, %v", n, err)
			}
		})
	}
}
