//go:build unix

package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"sluice/internal/base/testnet"
	"sluice/internal/state/store"
	"sluice/internal/state/store/redis"
	"sluice/internal/state/store/redis/redistest"
	"sluice/internal/state/task"
)

// The command sweeps a Redis while gateways run with it: a dry run says what would
// go, by the policy of the file, and changes nothing; then it goes, and a second sweep finds
// nothing. What waits stays. Without the server it says so.
func TestRetentionOverRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "redis-server", os.Getenv("SLUICE_REQUIRE_PEERS") != "")
	st := redis.New(redis.Config{Location: server.Location(), Calls: store.NewCalls(store.CallsConfig{Timeout: 10 * time.Second})})
	t.Cleanup(func() { _ = st.Close() })
	testnet.Eventually(t, "the server answers", func() bool { _, err := st.Counter(t.Context(), "x"); return err == nil })
	put := func(n int, state string, days int) string {
		t.Helper()
		id := fmt.Sprintf("task_%026d", n)
		ended := time.Now().Add(-time.Duration(days) * 24 * time.Hour).UTC().Format(time.RFC3339)
		doc := fmt.Sprintf(`{"id":%q,"status":{"state":%q,"timestamp":%q},"metadata":{"workflow":"w"}}`, id, state, ended)
		err := st.CreateTask(t.Context(), id, store.Task{Doc: []byte(doc), Meta: store.Meta{State: state, Created: time.Now()}}, 0)
		for _, key := range []string{store.CheckpointsKey(id), store.MessagesKey(id), store.TraceKey(id)} {
			if err == nil {
				err = st.PushList(t.Context(), key, []byte(`{}`), store.Bounds{}, 0)
			}
		}
		if err == nil {
			err = st.PutIndex(t.Context(), store.RetainIndex, store.Member{ID: id, Score: time.Now().UnixMilli()}, 0)
		}
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	old, failed, young, waits := put(1, task.Completed, 8), put(2, task.Failed, 8), put(3, task.Completed, 1), put(4, task.InputRequired, 90)
	env := map[string]string{"SLUICE_STORE": "unix://" + server.Socket}
	for _, tt := range []struct{ args, want string }{
		{"retention run --dry-run", old + ": completed, kept for 7 days until "},
		{"retention run --dry-run", "1 of 4 tasks would be removed\n"},
		{"retention run", "1 of 4 tasks removed\n"},
		{"retention run", "0 of 3 tasks removed\n"},
	} {
		if code, out, errOut := runCommand(t, env, strings.Fields(tt.args)...); code != exitOK || !strings.Contains(out, tt.want) {
			t.Errorf("%s: exit %d, %q, %q, want %q", tt.args, code, out, errOut, tt.want)
		}
	}
	for id, want := range map[string]int{old: 0, failed: 4, young: 4, waits: 4} {
		n := 0
		if _, err := st.Task(t.Context(), id); err == nil {
			n++
		}
		for _, key := range []string{store.CheckpointsKey(id), store.MessagesKey(id), store.TraceKey(id)} {
			if items, err := st.List(t.Context(), key, 0, 0); err != nil {
				t.Fatal(err)
			} else if len(items) > 0 {
				n++
			}
		}
		if n != want {
			t.Errorf("%s has %d of its records, want %d", id, n, want)
		}
	}
	server.Kill()
	if code, out, errOut := runCommand(t, env, "retention", "run"); code != exitFailed || out != "" || !strings.Contains(errOut, "unavailable") {
		t.Errorf("without the server: exit %d, %q, %q", code, out, errOut)
	}
}
