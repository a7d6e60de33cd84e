package redis_test

import (
	"errors"
	"testing"
	"time"

	"sluice/internal/state/store"
	"sluice/internal/state/store/redis/redistest"
)

// The clock of the server is moved, as when a virtual machine is taken up again. Ahead: what
// was to be kept for a shorter time is gone, all of it, and nothing is begun in its middle;
// the rest continues. Back: nothing is lost, and what is written is kept for as long as asked.
func TestClockThatMoves(t *testing.T) {
	t.Parallel()
	server, move := redistest.StartWithClock(t, "redis-server", required())
	s, ctx := open(t, server), t.Context()
	me := store.Holder{Owner: "g", Epoch: 1}
	must(t, s.RenewLease(ctx, me, 15*time.Second))
	must(t, s.CreateTask(ctx, "a", store.Task{Doc: []byte("{}"), Meta: store.Meta{Holder: me}}, 24*time.Hour))
	held := func(n int) store.Append {
		e := entry(n)
		e.Task, e.Holder = "a", me
		return e
	}
	must(t, s.AppendLog(ctx, "x", held(1)))

	move(-24 * time.Hour)
	must(t, s.AppendLog(ctx, "x", held(2)))
	must(t, s.RenewLease(ctx, me, 15*time.Second))
	if alive, err := s.LeasesAlive(ctx, me); err != nil || !alive[0] {
		t.Errorf("back: the lease lives: %v, %v", alive, err)
	}
	if ttl := admin(t, server).PTTL(ctx, "p:sluice:log:x").Val(); ttl <= 59*time.Minute || ttl > time.Hour {
		t.Errorf("back: the log is kept for %v", ttl)
	}

	move(2 * time.Hour)
	if alive, err := s.LeasesAlive(ctx, me); err != nil || alive[0] {
		t.Errorf("ahead: the lease lives: %v, %v", alive, err)
	}
	want(t, store.ErrNotFound, s.AppendLog(ctx, "x", held(3)))
	_, err := s.ReadLog(ctx, "x", 0, 9)
	want(t, store.ErrNotFound, err)
	if orphans, err := s.Orphans(ctx, 9); err != nil || len(orphans) != 1 {
		t.Errorf("ahead: without a lease: %v, %v", orphans, err)
	}
	must(t, s.RenewLease(ctx, me, 15*time.Second))
	if orphans, err := s.Orphans(ctx, 9); err != nil || len(orphans) != 0 {
		t.Errorf("ahead: with the lease again: %v, %v", orphans, err)
	}
	must(t, s.UpdateTask(ctx, "a", store.Task{Doc: []byte(`{"later":1}`), Meta: store.Meta{Holder: me, Version: 1}}, time.Hour))

	move(0)
	got, err := s.Task(ctx, "a")
	if err != nil || got.Version != 2 {
		t.Errorf("right again: %+v, %v", got, err)
	}
	if err := s.CreateTask(ctx, "a", store.Task{}, time.Hour); !errors.Is(err, store.ErrConflict) {
		t.Errorf("right again: it can be made twice: %v", err)
	}
}
