//go:build unix

package task_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/base/testnet"
	"sluice/internal/state/store/redis/redistest"
)

// storeReady is what /readyz says about the store.
type storeReady struct {
	Status string
	Store  struct {
		Kind, State string
		Warnings    []string
	}
}

func readyStore(t *testing.T, r *gatewaytest.Running) (ready storeReady) {
	t.Helper()
	_, body := r.Get("/readyz")
	if err := json.Unmarshal([]byte(body), &ready); err != nil {
		t.Fatal(err)
	}
	return ready
}

// A Redis that may forget what it has confirmed is warned of at the start and in /readyz, or
// once it is there if it comes later; turns are not refused.
func TestWarningsOfRedis(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		args []string
		want []string
		late bool // the server comes after the gateway
	}{
		"none":           {args: []string{"--appendonly", "yes"}},
		"no file":        {want: []string{"no append-only file"}},
		"it evicts":      {args: []string{"--appendonly", "yes", "--maxmemory-policy", "allkeys-lru"}, want: []string{"maxmemory-policy allkeys-lru"}},
		"it comes later": {args: []string{"--maxmemory-policy", "allkeys-lru"}, want: []string{"no append-only file", "maxmemory-policy allkeys-lru"}, late: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, "redis-server", os.Getenv("SLUICE_REQUIRE_PEERS") != "", tt.args...)
			if tt.late {
				server.Kill()
			}
			r := wholetest.Listen(t, gatewaytest.Scripted(t, "text Fine\nfinish STOP\n---\ntext Fine\nfinish STOP").Env("SLUICE_STORE", "unix://"+server.Socket))
			if tt.late {
				if got := readyStore(t, r); got.Status != "degraded" || got.Store.State != "unavailable" || len(got.Store.Warnings) > 0 {
					t.Errorf("without the server: %+v", got)
				}
				server.Start(t)
			}
			if len(tt.want) > 0 {
				r.Log.Await(t, "store_warning", r.Ended)
			}
			testnet.Eventually(t, "all is well", func() bool { return readyStore(t, r).Status == "ok" }) // tool servers, too
			got := readyStore(t, r)
			if got.Status != "ok" || got.Store.Kind != "redis" || !slices.EqualFunc(got.Store.Warnings, tt.want, strings.HasPrefix) {
				t.Errorf("/readyz: %+v", got)
			}
			gatewaytest.WantSuccess(t, r.Ask("hi"), "stop")
			r.Stop()
			if n := len(r.Log.All("store_warning")); n != min(1, len(tt.want)) {
				t.Errorf("%d warnings in the log", n)
			}
		})
	}
}

// redisClient speaks to the server itself.
func redisClient(t *testing.T, server *redistest.Server) *goredis.Client {
	c := goredis.NewClient(&goredis.Options{Network: "unix", Addr: server.Socket})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Whatever happens to Redis in the middle of a turn: its client gets the whole of it, and
// learns only of a store that is full; and when Redis is back the log is that stream or is
// gone, and the task has ended.
func TestRedisFailsInATurn(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		args     []string
		happens  func(t *testing.T, s *redistest.Server) (back func())
		logGone  bool // it may be, and its task too
		lostTask bool
		errors   int // in the stream
	}{
		"killed, its file stays": {[]string{"--appendonly", "yes", "--appendfsync", "always"}, func(t *testing.T, s *redistest.Server) func() {
			s.Kill()
			return func() { s.Start(t) }
		}, false, false, 0},
		"killed, it forgets all": {nil, func(t *testing.T, s *redistest.Server) func() {
			s.Kill()
			return func() { s.Start(t) }
		}, true, true, 0},
		"it hangs": {nil, func(t *testing.T, s *redistest.Server) func() {
			s.Pause(t)
			return func() { s.Resume(t) }
		}, false, false, 0},
		"read-only": {nil, func(t *testing.T, s *redistest.Server) func() {
			c := redisClient(t, s)
			mustDo(t, c.ReplicaOf(t.Context(), "127.0.0.1", "1").Err())
			return func() { mustDo(t, c.ReplicaOf(t.Context(), "NO", "ONE").Err()) }
		}, false, false, 0},
		"out of memory": {nil, func(t *testing.T, s *redistest.Server) func() {
			c := redisClient(t, s)
			mustDo(t, c.ConfigSet(t.Context(), "maxmemory", "1").Err())
			return func() { mustDo(t, c.ConfigSet(t.Context(), "maxmemory", "0").Err()) }
		}, true, false, 1},
		"scripts flushed": {nil, func(t *testing.T, s *redistest.Server) func() {
			mustDo(t, redisClient(t, s).ScriptFlush(t.Context()).Err())
			return func() {}
		}, false, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, "redis-server", os.Getenv("SLUICE_REQUIRE_PEERS") != "", tt.args...)
			f := &wholetest.Fleet{T: t}
			g := f.Gateway(map[string]string{"SLUICE_STORE": "unix://" + server.Socket})
			resp := g.Send(t, t.Context(), http.MethodPost, "/chat/stream", wholetest.Created)
			read, task, turn := wholetest.StartOf(t, resp)
			back := tt.happens(t, server)
			isBack := make(chan struct{})
			time.AfterFunc(2500*time.Millisecond, func() { // the turn takes five seconds
				defer close(isBack)
				back()
			})
			rest, err := io.ReadAll(resp.Body)
			<-isBack // also if the turn has ended early
			whole := read + string(rest)
			if err != nil || strings.Count(whole, "event: done") != 1 || strings.Count(whole, "event: error") != tt.errors || !strings.Contains(whole, `"success":true`) {
				t.Errorf("its client got, %v\n%s", err, whole)
			}
			wantSettled(f, g, task, turn, whole, tt.logGone, tt.lostTask)
		})
	}
}

func mustDo(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// wantSettled waits until a turn's task has ended, and checks its log.
func wantSettled(f *wholetest.Fleet, g wholetest.Peer, task, turn, whole string, logGone, lostTask bool) {
	t := f.T
	t.Helper()
	var state string
	testnet.Eventually(t, "the task has ended", func() bool {
		status, text := g.Ask(t, http.MethodGet, "/tasks/"+task, "")
		if lostTask && status == http.StatusNotFound {
			return true
		}
		var d wholetest.Document
		_ = json.Unmarshal([]byte(text), &d)
		state = d.Status.State
		return status == http.StatusOK && state != "working"
	})
	if state != "completed" && !lostTask {
		t.Errorf("the task is %q", state)
	}
	status, again := g.Resume(t, "/chat/stream?input=hi", turn+":1")
	switch {
	case status == http.StatusNoContent && logGone:
	case status != http.StatusOK || !strings.HasSuffix(whole, again):
		t.Errorf("resumed: %d\n%s\nwant the end of\n%s", status, again, whole)
	}
}
