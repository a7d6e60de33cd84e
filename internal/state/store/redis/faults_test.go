//go:build unix

package redis_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"sluice/breaker"
	"sluice/internal/base/telemetry/health"
	"sluice/internal/base/testnet"
	"sluice/internal/state/store"
	"sluice/internal/state/store/redis"
	"sluice/internal/state/store/redis/redistest"
)

// open returns a store for a machine that is busy with other tests.
func open(t testing.TB, server *redistest.Server) *redis.Store {
	return openWith(t, server.Location(), store.CallsConfig{Timeout: patience})
}

// hasty returns a store with the time limit that it has in a gateway.
func hasty(t *testing.T, server *redistest.Server) *redis.Store {
	return openWith(t, server.Location(), store.CallsConfig{})
}

func openWith(t testing.TB, l store.Location, calls store.CallsConfig) *redis.Store {
	t.Helper()
	s := redis.New(redis.Config{Location: l, Prefix: "p:", Calls: store.NewCalls(calls)})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// admin returns a client of the server itself.
func admin(t *testing.T, server *redistest.Server) *goredis.Client {
	c := goredis.NewClient(&goredis.Options{Network: "unix", Addr: server.Socket})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func start(t *testing.T, args ...string) *redistest.Server {
	t.Helper()
	return redistest.Start(t, "redis-server", required(), args...)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, kind, err error) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("error %v, want %v", err, kind)
	}
}

// entry returns an append of one event.
func entry(n int) store.Append {
	return store.Append{Entry: store.Entry{N: n, Data: []byte("event")}, At: n - 1, TTL: time.Hour}
}

// tries repeats what a server that has just come back may refuse at first.
func tries(t *testing.T, what string, f func() error) {
	t.Helper()
	testnet.Eventually(t, what, func() bool { return f() == nil })
}

func TestKilledServer(t *testing.T) {
	t.Parallel()
	server := start(t, "--appendonly", "yes", "--appendfsync", "always")
	s := open(t, server)
	must(t, s.AppendLog(t.Context(), "x", entry(1)))
	server.Kill()
	began := time.Now()
	want(t, store.ErrUnavailable, s.AppendLog(t.Context(), "x", entry(2)))
	testnet.Prompt(t, "the refusal", time.Since(began), time.Second)
	if got := s.Check().(health.Store); got.State != health.Unavailable {
		t.Errorf("state %s", got.State)
	}
	server.Start(t)
	tries(t, "the log goes on", func() error { return s.AppendLog(t.Context(), "x", entry(2)) })
	if got := s.Check().(health.Store); got.State != health.Available {
		t.Errorf("state %s", got.State)
	}
	log, err := s.ReadLog(t.Context(), "x", 0, 9)
	must(t, err)
	if len(log) != 2 {
		t.Errorf("%d entries, want 2", len(log))
	}
}

// A restart without an append-only file loses all. Nothing is begun in the middle.
func TestForgetfulServer(t *testing.T) {
	t.Parallel()
	server := start(t)
	s := open(t, server)
	must(t, s.CreateTask(t.Context(), "a", store.Task{Doc: []byte("{}")}, time.Hour))
	must(t, s.AppendLog(t.Context(), "x", entry(1)))
	server.Kill()
	server.Start(t)
	var err error
	testnet.Eventually(t, "it answers", func() bool {
		err = s.AppendLog(t.Context(), "x", entry(2))
		return !errors.Is(err, store.ErrUnavailable)
	})
	want(t, store.ErrNotFound, err)
	want(t, store.ErrNotFound, s.UpdateTask(t.Context(), "a", store.Task{Meta: store.Meta{Version: 1}}, time.Hour))
}

// A server that hangs keeps nobody longer than the time limit, and what it received in that
// time a second try finds.
func TestPausedServer(t *testing.T) {
	t.Parallel()
	server := start(t)
	s, patient := hasty(t, server), open(t, server)
	must(t, patient.AppendLog(t.Context(), "x", entry(1)))
	server.Pause(t)
	began := time.Now()
	err := s.AppendLog(t.Context(), "x", entry(2))
	server.Resume(t)
	want(t, store.ErrUnavailable, err)
	testnet.Prompt(t, "the refusal", time.Since(began), time.Second)
	testnet.Eventually(t, "the second try tells", func() bool {
		err = s.AppendLog(t.Context(), "x", entry(2))
		return !errors.Is(err, store.ErrUnavailable)
	})
	if end, ok := errors.AsType[*store.EndError](err); err != nil && (!ok || end.End != 2) {
		t.Errorf("second try: %v, want none or the end 2", err)
	}
	log, err := patient.ReadLog(t.Context(), "x", 0, 9)
	must(t, err)
	if len(log) != 2 {
		t.Errorf("%d entries, want 2", len(log))
	}
}

// Many who wait for a server that hangs wait at the same time, and not one after another.
func TestPausedServerAndManyCallers(t *testing.T) {
	t.Parallel()
	server := start(t)
	s := hasty(t, server)
	server.Pause(t)
	defer server.Resume(t)
	began := time.Now()
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() {
			_, err := s.Task(t.Context(), "a")
			want(t, store.ErrUnavailable, err)
		})
	}
	wg.Wait()
	// A wait for a connection takes up to 2 s, and a command up to half a second more.
	testnet.Prompt(t, "all refusals", time.Since(began), 3*time.Second)
}

func TestBreakerKeepsCallsFromAServerThatHangs(t *testing.T) {
	t.Parallel()
	server := start(t)
	b := breaker.New(breaker.Config{Service: "store", Failures: 2, Recovery: 50 * time.Millisecond, HalfOpenCalls: 1})
	s := openWith(t, server.Location(), store.CallsConfig{Timeout: 300 * time.Millisecond, Allow: func(ctx context.Context) (func(store.Verdict, error), error) {
		done, err := b.Allow(ctx)
		if err != nil {
			return nil, err
		}
		return func(v store.Verdict, err error) {
			done(map[store.Verdict]breaker.Verdict{store.Well: breaker.Success, store.Ill: breaker.Failure, store.Unsaid: breaker.Neutral}[v], err)
		}, nil
	}})
	var err error
	testnet.Eventually(t, "the store answers", func() bool {
		_, err = s.Task(t.Context(), "a")
		return errors.Is(err, store.ErrNotFound)
	})
	server.Pause(t)
	for range 3 {
		_, err = s.Task(t.Context(), "a")
		want(t, store.ErrUnavailable, err)
	}
	if _, ok := errors.AsType[*breaker.OpenError](err); !ok {
		t.Errorf("error %v, want the breaker's", err)
	}
	server.Resume(t)
	testnet.Eventually(t, "the breaker is closed", func() bool {
		_, err := s.Task(t.Context(), "a")
		return errors.Is(err, store.ErrNotFound)
	})
}

// A reply of our own that is too long for the time of a command is no failure of the store;
// silence is one.
func TestLongReplyIsNoFailure(t *testing.T) {
	t.Parallel()
	server := start(t)
	must(t, open(t, server).PushList(t.Context(), "l", make([]byte, 8<<20), store.Bounds{}, time.Hour))
	slow := filepath.Join(t.TempDir(), "s")
	delay(t, slow, server.Socket, 20*time.Millisecond)
	var mu sync.Mutex
	var verdicts []store.Verdict
	s := openWith(t, store.Location{Kind: store.Redis, Addrs: []string{slow}, Socket: true}, store.CallsConfig{
		Timeout: 400 * time.Millisecond,
		Allow: func(context.Context) (func(store.Verdict, error), error) {
			return func(v store.Verdict, _ error) {
				mu.Lock()
				defer mu.Unlock()
				verdicts = append(verdicts, v)
			}, nil
		}})
	_, err := s.List(t.Context(), "l", 0, 0)
	want(t, store.ErrUnavailable, err)
	server.Pause(t)
	_, err = s.Task(t.Context(), "a")
	want(t, store.ErrUnavailable, err)
	server.Resume(t)
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(verdicts, []store.Verdict{store.Unsaid, store.Ill}) {
		t.Errorf("the breaker got %v", verdicts)
	}
}

func TestSlowServer(t *testing.T) {
	t.Parallel()
	server := start(t)
	slow := filepath.Join(t.TempDir(), "s")
	delay(t, slow, server.Socket, 100*time.Millisecond)
	s := openWith(t, store.Location{Kind: store.Redis, Addrs: []string{slow}, Socket: true}, store.CallsConfig{Timeout: patience})
	must(t, s.AppendLog(t.Context(), "x", entry(1)))
	if _, err := s.ReadLog(t.Context(), "x", 0, 9); err != nil {
		t.Error(err)
	}
	short := openWith(t, store.Location{Kind: store.Redis, Addrs: []string{slow}, Socket: true}, store.CallsConfig{Timeout: 50 * time.Millisecond})
	want(t, store.ErrUnavailable, short.AppendLog(t.Context(), "x", entry(2)))
}

// delay listens on a socket and hands on, later, what it reads.
func delay(t *testing.T, socket, to string, by time.Duration) {
	t.Helper()
	if len(socket) > 100 {
		t.Skip("the path of the test's folder is too long for a socket")
	}
	l, err := net.Listen("unix", socket)
	must(t, err)
	var wg sync.WaitGroup
	t.Cleanup(func() {
		_ = l.Close()
		wg.Wait()
	})
	pipe := func(from, to net.Conn) {
		defer from.Close()
		defer to.Close()
		buf := make([]byte, 1<<16)
		for {
			n, err := from.Read(buf)
			if err != nil {
				return
			}
			time.Sleep(by / 2)
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
	}
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			up, err := net.Dial("unix", to)
			if err != nil {
				_ = conn.Close()
				continue
			}
			wg.Go(func() { pipe(conn, up) })
			wg.Go(func() { pipe(up, conn) })
		}
	})
}

func TestReadOnlyServer(t *testing.T) {
	t.Parallel()
	server := start(t)
	s := open(t, server)
	must(t, s.CreateTask(t.Context(), "a", store.Task{Doc: []byte("{}")}, time.Hour))
	must(t, admin(t, server).ReplicaOf(t.Context(), "127.0.0.1", "1").Err())
	must(t, admin(t, server).ConfigSet(t.Context(), "replica-serve-stale-data", "yes").Err())
	want(t, store.ErrUnavailable, s.UpdateTask(t.Context(), "a", store.Task{Doc: []byte(`{"changed":1}`), Meta: store.Meta{Version: 1}}, time.Hour))
	want(t, store.ErrUnavailable, s.PushList(t.Context(), "l", []byte("x"), store.Bounds{}, time.Hour))
	got, err := s.Task(t.Context(), "a")
	must(t, err)
	if string(got.Doc) != "{}" || got.Version != 1 {
		t.Errorf("task %s of version %d was changed", got.Doc, got.Version)
	}
	if state := s.Check().(health.Store).State; state != health.Unavailable {
		t.Errorf("a store that answers, and takes no change, is %s", state)
	}
}

func TestServerWithoutMemory(t *testing.T) {
	t.Parallel()
	server := start(t)
	s := open(t, server)
	must(t, s.CreateTask(t.Context(), "a", store.Task{Doc: []byte("{}")}, time.Hour))
	must(t, s.AppendLog(t.Context(), "x", entry(1)))
	lives := store.Holder{Owner: "gw", Epoch: 1}
	must(t, s.RenewLease(t.Context(), lives, time.Hour))
	must(t, admin(t, server).ConfigSet(t.Context(), "maxmemory", "1").Err())
	must(t, s.RenewLease(t.Context(), lives, 2*time.Hour)) // who lives goes on to live
	want(t, store.ErrFull, s.CreateTask(t.Context(), "b", store.Task{Doc: []byte("{}")}, time.Hour))
	want(t, store.ErrFull, s.UpdateTask(t.Context(), "a", store.Task{Doc: []byte(`{"changed":1}`), Meta: store.Meta{Version: 1, State: "failed"}}, time.Hour))
	want(t, store.ErrFull, s.AppendLog(t.Context(), "x", entry(2)))
	want(t, store.ErrFull, s.CloseTask(t.Context(), "a", store.Closing{Task: store.Task{Meta: store.Meta{Version: 1}}, LogOf: "x", Log: entry(2)}))
	if _, err := s.Task(t.Context(), "a"); err != nil || s.Check().(health.Store).State != health.Full {
		t.Errorf("%v: the store is %+v, want full", err, s.Check())
	}
	must(t, admin(t, server).ConfigSet(t.Context(), "maxmemory", "0").Err())
	got, err := s.Task(t.Context(), "a")
	must(t, err)
	if string(got.Doc) != "{}" || got.Version != 1 || got.State != "" {
		t.Errorf("task %+v was changed in part", got)
	}
	log, err := s.ReadLog(t.Context(), "x", 0, 9)
	if err != nil || len(log) != 1 {
		t.Errorf("log %v, %v, want one entry", log, err)
	}
	_, err = s.Task(t.Context(), "b")
	want(t, store.ErrNotFound, err)
}

func TestFlushedScripts(t *testing.T) {
	t.Parallel()
	server := start(t)
	s := open(t, server)
	for n := 1; n <= 5; n++ {
		must(t, admin(t, server).ScriptFlush(t.Context()).Err())
		must(t, s.AppendLog(t.Context(), "x", entry(n)))
	}
}

// Those who wait for a log learn of what came while its connection was cut.
func TestSignalsAfterALostConnection(t *testing.T) {
	t.Parallel()
	server := start(t)
	s, other := open(t, server), open(t, server)
	must(t, s.AppendLog(t.Context(), "x", entry(1)))
	got, done := make(chan int), make(chan struct{})
	go func() {
		defer close(done)
		for e, err := range store.Follow(t.Context(), other, "x", 0) {
			if err != nil {
				t.Errorf("follow: %v", err)
				return
			}
			if got <- e.N; e.N == 3 {
				return
			}
		}
	}()
	<-got
	must(t, s.AppendLog(t.Context(), "x", entry(2)))
	<-got
	must(t, admin(t, server).ClientKillByFilter(t.Context(), "TYPE", "pubsub").Err())
	must(t, s.AppendLog(t.Context(), "x", entry(3)))
	<-got
	<-done
}

// A thousand who follow logs need no connections of their own.
func TestManyReaders(t *testing.T) {
	t.Parallel()
	const readers = 1000
	server := start(t)
	s, other := open(t, server), openWith(t, server.Location(), store.CallsConfig{Timeout: patience})
	must(t, s.AppendLog(t.Context(), "x", entry(1)))
	var wg sync.WaitGroup
	got := make(chan int, readers)
	for range readers {
		wg.Go(func() {
			for e, err := range store.Follow(t.Context(), other, "x", 0) {
				if err != nil {
					t.Errorf("follow: %v", err)
					return
				}
				if got <- e.N; e.N == 2 {
					return
				}
			}
		})
	}
	for range readers {
		<-got
	}
	must(t, s.AppendLog(t.Context(), "x", entry(2)))
	wg.Wait()
	clients, err := admin(t, server).ClientList(t.Context()).Result()
	must(t, err)
	if n := strings.Count(clients, "\n") - 2; n > 16 { // s has one, and the client that asks another
		t.Errorf("%d connections, want 16 at most:\n%s", n, clients)
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args []string
		want string
	}{
		{nil, "no append-only file"},
		{[]string{"--appendonly", "yes"}, ""},
		{[]string{"--appendonly", "yes", "--maxmemory-policy", "allkeys-lru"}, "maxmemory-policy allkeys-lru"},
		{[]string{"--maxmemory-policy", "volatile-ttl"}, "no append-only file|maxmemory-policy volatile-ttl"},
	} {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			t.Parallel()
			s := open(t, start(t, tt.args...))
			got, err := s.Inspect(t.Context())
			must(t, err)
			var expect []string
			if tt.want != "" {
				expect = strings.Split(tt.want, "|")
			}
			if !slices.EqualFunc(got, expect, strings.HasPrefix) {
				t.Errorf("warnings %q, want %q", got, expect)
			}
			if status := s.Check().(health.Store); !slices.Equal(status.Warnings, got) || !status.OK() {
				t.Errorf("status %+v", status)
			}
		})
	}
}

// Errors are logged. They report neither the password nor what was stored.
func TestErrorsHoldNoSecret(t *testing.T) {
	t.Parallel()
	server := start(t, "--requirepass", "right")
	for _, l := range []store.Location{
		{Addrs: []string{server.Socket}, Socket: true, Password: "canary"},
		{Addrs: []string{server.Socket}, Socket: true, User: "user", Password: "canary"},
		{Addrs: []string{"127.0.0.1:1"}, Password: "canary"},
		{Addrs: []string{"127.0.0.1:1"}, Password: "canary", TLS: true},
		{Addrs: []string{"127.0.0.1:1"}, Password: "canary", Master: "main"},
		{Addrs: []string{filepath.Join(os.TempDir(), "none")}, Socket: true, Password: "canary"},
	} {
		s := openWith(t, l, store.CallsConfig{})
		err := s.PushList(t.Context(), "key", []byte("canary"), store.Bounds{}, time.Hour)
		want(t, store.ErrUnavailable, err)
		if err != nil && strings.Contains(err.Error(), "canary") {
			t.Errorf("%v", err)
		}
	}
	right := openWith(t, store.Location{Addrs: []string{server.Socket}, Socket: true, Password: "right"}, store.CallsConfig{Timeout: patience})
	must(t, right.PushList(t.Context(), "key", []byte("x"), store.Bounds{}, time.Hour))
}

// What somebody else has written is read as far as it goes, or refused.
func TestForeignRecords(t *testing.T) {
	t.Parallel()
	server := start(t)
	s, a, ctx := open(t, server), admin(t, server), t.Context()
	must(t, a.Set(ctx, "p:task:hand", `{"Id":"hand"}`, 0).Err())
	got, err := s.Task(ctx, "hand")
	must(t, err)
	if string(got.Doc) != `{"Id":"hand"}` || got.Meta != (store.Meta{}) {
		t.Errorf("a document without a hash: %+v", got)
	}
	must(t, s.UpdateTask(ctx, "hand", store.Task{Doc: []byte("{}"), Meta: store.Meta{State: "completed"}}, time.Hour))
	want(t, store.ErrConflict, s.UpdateTask(ctx, "hand", store.Task{}, time.Hour))

	must(t, a.HSet(ctx, "p:sluice:task:odd", "version", "many", "epoch", "x", "created", "?").Err())
	must(t, a.Set(ctx, "p:task:odd", "no JSON", 0).Err())
	if got, err = s.Task(ctx, "odd"); err != nil || got.Version != 0 {
		t.Errorf("a hash of texts: %+v, %v", got, err)
	}
	must(t, a.LPush(ctx, "p:task:list", "x").Err())
	_, err = s.Task(ctx, "list")
	want(t, store.ErrDamaged, err)
	must(t, a.Set(ctx, "p:sluice:log:text", "x", 0).Err())
	_, err = s.ReadLog(ctx, "text", 0, 9)
	want(t, store.ErrDamaged, err)
	want(t, store.ErrDamaged, s.AppendLog(ctx, "text", entry(1)))
	must(t, a.XAdd(ctx, &goredis.XAddArgs{Stream: "p:sluice:log:odd", ID: "5-3", Values: []string{"x", "y"}}).Err())
	want(t, store.ErrConflict, s.AppendLog(ctx, "odd", entry(6)))
}

// The names of keys are a contract: other programs read them.
func TestKeys(t *testing.T) {
	t.Parallel()
	server := start(t)
	s, a, ctx := open(t, server), admin(t, server), t.Context()
	must(t, s.CreateTask(ctx, "task_1", store.Task{Doc: []byte(`{"id":"task_1"}`), Meta: store.Meta{
		Holder: store.Holder{Owner: "g", Epoch: 1_790_000_000_001}, Turn: "turn_1", User: "u"}}, time.Hour))
	must(t, s.AppendLog(ctx, "turn_1", store.Append{Entry: store.Entry{N: 4, Data: []byte("events")}, TTL: time.Hour}))
	must(t, s.AppendLog(ctx, "turn_1", store.Append{Entry: store.Entry{N: 5, Data: []byte("more")}, At: 4, TTL: time.Hour}))
	must(t, s.RenewLease(ctx, store.Holder{Owner: "g", Epoch: 1_790_000_000_001}, time.Hour))
	keys, err := a.Keys(ctx, "*").Result()
	must(t, err)
	slices.Sort(keys)
	expect := []string{
		"p:sluice:gw:g", "p:sluice:log:turn_1", "p:sluice:task:task_1", "p:sluice:tasks:holders", "p:sluice:tasks:of:g:1790000000001",
		"p:" + store.TasksKey("", "u", ""), "p:task:task_1",
	}
	slices.Sort(expect)
	if !slices.Equal(keys, expect) {
		t.Errorf("keys\n%q, want\n%q", keys, expect)
	}
	if doc := a.Get(ctx, "p:task:task_1").Val(); doc != `{"id":"task_1"}` {
		t.Errorf("document %q", doc)
	}
	entries, err := a.XRange(ctx, "p:sluice:log:turn_1", "-", "+").Result()
	must(t, err)
	if len(entries) != 2 || entries[0].ID != "4-0" || entries[1].ID != "5-0" || entries[1].Values["d"] != "more" {
		t.Errorf("entries %v", entries)
	}
	if epoch := a.Get(ctx, "p:sluice:gw:g").Val(); epoch != "1790000000001" {
		t.Errorf("lease %q", epoch)
	}
	for _, key := range []string{"task:task_1", "sluice:task:task_1", "sluice:log:turn_1", "sluice:gw:g"} {
		if ttl := a.PTTL(ctx, "p:"+key).Val(); ttl <= 0 || ttl > time.Hour {
			t.Errorf("%s is kept for %v", key, ttl)
		}
	}
}

// When the primary dies the sentinels make another one of its replica, and the store
// finds it. Nothing is repeated on the way.
func TestSentinelFailover(t *testing.T) {
	t.Parallel()
	one, two := redistest.Port(t), redistest.Port(t)
	primary := start(t, "--port", one, "--bind", "127.0.0.1")
	replica := start(t, "--port", two, "--bind", "127.0.0.1", "--replicaof", "127.0.0.1 "+one, "--repl-diskless-sync-delay", "0")
	tries(t, "the replica follows", func() error {
		if info := admin(t, replica).Info(t.Context(), "replication").Val(); !strings.Contains(info, "master_link_status:up") {
			return errors.New("not yet")
		}
		return nil
	})
	where := redistest.Sentinel(t, required(), one)
	s := openWith(t, where, store.CallsConfig{})
	tries(t, "the store is found", func() error { return s.AppendLog(t.Context(), "x", entry(1)) })
	tries(t, "the sentinel knows the replica, which has the entry", func() error {
		if n := admin(t, replica).XLen(t.Context(), "p:sluice:log:x").Val(); n != 1 {
			return errors.New("not yet")
		}
		return nil
	})
	sentinel := goredis.NewSentinelClient(&goredis.Options{Addr: where.Addrs[0]})
	defer sentinel.Close()
	tries(t, "the sentinel can promote it", func() error {
		replicas, err := sentinel.Replicas(t.Context(), "main").Result()
		if err == nil && (len(replicas) != 1 || replicas[0]["master-link-status"] != "ok") {
			err = errors.New("not yet")
		}
		return err
	})
	primary.Kill()
	tries(t, "the log goes on", func() error {
		err := s.AppendLog(t.Context(), "x", entry(2))
		if end, ok := errors.AsType[*store.EndError](err); ok && end.End == 2 {
			return nil
		}
		return err
	})
	log, err := s.ReadLog(t.Context(), "x", 0, 9)
	must(t, err)
	if len(log) != 2 {
		t.Errorf("%d entries, want 2", len(log))
	}
}
