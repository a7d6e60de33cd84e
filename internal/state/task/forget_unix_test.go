//go:build unix

package task

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/internal/state/store/redis"
	"sluice/internal/state/store/redis/redistest"
	"sluice/internal/state/store/sqlite"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// canary is in all that a user and a model say here.
const canary = "CANARY-of-a-request"

// orphanedRequest leaves a turn of a dead process: its request, a state, a log and a key.
func orphanedRequest(t *testing.T, in Store) (turn string) {
	t.Helper()
	_, turn = left(t, in, Request{Retracts: true, Key: "a-key-of-a-client", Body: new([32]byte),
		Chat: &chat.Request{Input: strings.Repeat(canary+" ", 5000), ConversationID: "conv_1", UserID: "ann"}}, func(of *Turn) {
		of.Saving().Save("", []byte(`{"said":"`+canary+`"}`))
		_ = of.Write(stream.Stamp{N: 4}, &stream.Delta{Text: canary})
	})
	return turn
}

// forgets removes the conversation at a process that cannot continue the turn.
func forgets(t *testing.T, in Store) {
	t.Helper()
	s := New(Config{Store: in, Turns: &rests{err: ErrNotHere}})
	defer s.Close()
	if err := s.Forget(t.Context(), Caller{UserID: "ann"}, "conv_1"); err != nil {
		t.Fatal(err)
	}
	if err := s.Erase(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A deletion removes every byte of a turn whose process is dead, in a store in memory.
func TestForgottenTurnOfADeadProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := memory.New(memory.Config{})
		before := in.Size()
		turn := orphanedRequest(t, in)
		forgets(t, in)
		if items, err := in.List(t.Context(), store.TurnKey(turn), 0, 0); err != nil || len(items) > 0 {
			t.Errorf("%v, %d items are left", err, len(items))
		}
		if n := in.Size() - before; n > 1<<10 { // the hash of the key
			t.Errorf("%d bytes are left", n)
		}
	})
}

// The same in all files of SQLite.
func TestForgottenTurnOfADeadProcessInSQLite(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	synctest.Test(t, func(t *testing.T) {
		in, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, Calls: store.NewCalls(store.CallsConfig{Timeout: time.Minute})})
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		count := func() (n int) {
			names, _ := filepath.Glob(path + "*")
			for _, name := range names {
				all, _ := os.ReadFile(name)
				n += bytes.Count(all, []byte(canary))
			}
			return n
		}
		orphanedRequest(t, in)
		if count() == 0 {
			t.Fatal("it was never there: this test shows nothing")
		}
		forgets(t, in)
		if n := count(); n > 0 {
			t.Errorf("the files have it %d times", n)
		}
	})
}

// The same in all keys of Redis.
func TestForgottenTurnOfADeadProcessInRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "redis-server", os.Getenv("SLUICE_REQUIRE_PEERS") != "")
	in := redis.New(redis.Config{Location: server.Location(), Calls: store.NewCalls(store.CallsConfig{Timeout: slowMachine})})
	defer in.Close()
	client := goredis.NewClient(&goredis.Options{Network: "unix", Addr: server.Socket})
	defer client.Close()
	found := func() (keys []string) {
		for _, key := range client.Keys(t.Context(), "*").Val() {
			if dump, _ := rawValue(t.Context(), client, key); strings.Contains(dump, canary) {
				keys = append(keys, key)
			}
		}
		return keys
	}
	orphanedRequest(t, in)
	if len(found()) < 3 {
		t.Fatalf("it is in %q alone: this test shows nothing", found())
	}
	forgets(t, in)
	if keys := found(); len(keys) > 0 {
		t.Errorf("it is in %q", keys)
	}
}

// rawValue returns all that a key holds.
func rawValue(ctx context.Context, client *goredis.Client, key string) (string, error) {
	switch client.Type(ctx, key).Val() {
	case "string":
		return client.Get(ctx, key).Result()
	case "list":
		all, err := client.LRange(ctx, key, 0, -1).Result()
		return strings.Join(all, "\n"), err
	case "hash":
		all, err := client.HGetAll(ctx, key).Result()
		var text strings.Builder
		for field, value := range all {
			text.WriteString(field + value)
		}
		return text.String(), err
	case "stream":
		entries, err := client.XRange(ctx, key, "-", "+").Result()
		var text strings.Builder
		for _, e := range entries {
			for _, value := range e.Values {
				text.WriteString(value.(string))
			}
		}
		return text.String(), err
	}
	return "", nil
}

// A process has read the turn of a dead one and is about to claim it: a deletion in that moment, or
// right after the claim, leaves nothing, and the turn does not run.
func TestForgottenTurnIsNotTakenOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := memory.New(memory.Config{})
		all := new(rests)
		all.before = func() { forgets(t, in) }
		all.runs = func(context.Context, stream.Sink) (stream.Result, error) {
			t.Error("it runs")
			return stream.Result{}, nil
		}
		turn := orphanedRequest(t, in)
		s := New(Config{Store: in, Turns: all, Lease: 3 * time.Second})
		defer s.Close()
		time.Sleep(time.Minute)
		if all.count() == 0 {
			t.Fatal("it was never read: this test shows nothing")
		}
		if items, err := in.List(t.Context(), store.TurnKey(turn), 0, 0); err != nil || len(items) > 0 {
			t.Errorf("%v, %d items are left", err, len(items))
		}
		if ids, err := in.Orphans(t.Context(), 10); err != nil || len(ids) > 0 {
			t.Errorf("%v, %q are left", err, ids)
		}
	})
}

// A deletion during which the store loses one answer after the other removes all in the end: its
// second try finds what the first one left.
func TestForgottenInSeveralTries(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"DropLog", "DeleteList", "DeleteTask", "PutIndex", "RemoveIndex", "Tasks", "CancelTask"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				in := memory.New(memory.Config{})
				before := in.Size()
				orphanedRequest(t, in)
				lossy := &forgetful{in: in, calls: map[string]int{}, method: method, nth: 1, stall: lostStall}
				s := New(Config{Store: lossy, Turns: &rests{err: ErrNotHere}})
				defer s.Close()
				lossy.arm(true)
				for range 10 {
					if s.Forget(t.Context(), Caller{UserID: "ann"}, "conv_1") == nil {
						break
					}
					time.Sleep(2 * time.Second)
				}
				time.Sleep(time.Minute)
				if n := in.Size() - before; n > 1<<10 {
					t.Errorf("%d bytes are left", n)
				}
			})
		})
	}
}
