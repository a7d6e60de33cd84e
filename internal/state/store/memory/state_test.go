package memory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"sluice/internal/base/telemetry/health"
	"sluice/internal/state/store"
)

// A caller whose context has ended reads and changes nothing, and learns why it ended.
func TestEndedContextDoesNothing(t *testing.T) {
	t.Parallel()
	s, why := filled(t), errors.New("why")
	before := s.Size()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	second := func(_ any, err error) error { return err }
	held := store.Holder{Owner: "o", Epoch: 1}
	for name, err := range map[string]error{
		"CreateTask": s.CreateTask(ctx, "b", store.Task{}, 0), "Task": second(s.Task(ctx, "a")), "UpdateTask": s.UpdateTask(ctx, "a", store.Task{Meta: store.Meta{Version: 1}}, 0),
		"CancelTask": second(s.CancelTask(ctx, "a")), "DeleteTask": s.DeleteTask(ctx, "a"), "Tasks": second(s.Tasks(ctx, store.Query{Limit: 1})),
		"Orphans": second(s.Orphans(ctx, 1)), "CloseTask": s.CloseTask(ctx, "a", store.Closing{Task: store.Task{Meta: store.Meta{Version: 1}}}),
		"AppendLog": s.AppendLog(ctx, "y", entry(0, 1, 0)), "ReadLog": second(s.ReadLog(ctx, "x", 0, 1)), "DropLog": s.DropLog(ctx, "x"),
		"RenewLease": s.RenewLease(ctx, store.Holder{Owner: "p"}, 0), "ReleaseLease": s.ReleaseLease(ctx, held), "LeasesAlive": second(s.LeasesAlive(ctx, held)),
		"Value": second(s.Value(ctx, "v")), "PutValue": put(ctx, s, 1, 9), "KeepValue": s.KeepValue(ctx, "v", 1), "DeleteValue": s.DeleteValue(ctx, "v"),
		"PushList": s.PushList(ctx, "l", of(1), store.Bounds{}, 0), "KeepList": s.KeepList(ctx, "l", 1), "List": second(s.List(ctx, "l", 0, 0)),
		"CutList": s.CutList(ctx, "l", 0), "DeleteList": s.DeleteList(ctx, "l"),
		"PutIndex": s.PutIndex(ctx, "i", store.Member{ID: "n"}, 0), "RemoveIndex": s.RemoveIndex(ctx, "i", "m"), "Index": second(s.Index(ctx, "i", store.Range{Limit: 1})),
		"CountIndex": second(s.CountIndex(ctx, "i")), "AddCounter": second(s.AddCounter(ctx, "n", 1, 0)), "Counter": second(s.Counter(ctx, "n")),
	} {
		if !errors.Is(err, why) {
			t.Errorf("%s: %v, want %v", name, err, why)
		}
	}
	alive, err := s.LeasesAlive(t.Context(), held, store.Holder{Owner: "p"})
	if n, counted := s.Counter(t.Context(), "n"); s.Size() != before || err != nil || !slices.Equal(alive, []bool{true, false}) || n != 1 || counted != nil {
		t.Errorf("%d bytes are stored, want %d; leases %t, %v; counted %d, %v", s.Size(), before, alive, err, n, counted)
	}
}

// filled returns a store with one record of each kind.
func filled(t *testing.T) *Store {
	t.Helper()
	s, ctx := New(Config{}), t.Context()
	_, counted := s.AddCounter(ctx, "n", 1, 0)
	err := errors.Join(counted, put(ctx, s, 0, 1), s.CreateTask(ctx, "a", store.Task{Doc: of(1)}, 0), s.AppendLog(ctx, "x", entry(0, 1, 0)),
		s.PushList(ctx, "l", of(1), store.Bounds{}, 0), s.PutIndex(ctx, "i", store.Member{ID: "m"}, 0), s.RenewLease(ctx, store.Holder{Owner: "o", Epoch: 1}, 0))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Whatever is written, removed, refused and forgotten, in whichever order: the count is that of the
// records that are there, the bounds hold, and the lists by age have what can make room, and
// only that.
func TestBooksAreThoseOfTheRecords(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 7))
			s := New(Config{Tasks: 8, Bytes: 6000})
			refused := 0
			for i := range 600 {
				if err := change(t.Context(), s, random); errors.Is(err, store.ErrFull) {
					refused++
				}
				if diff := books(s); diff != "" {
					t.Fatalf("seed %d, after %d changes: %s", seed, i, diff)
				}
				time.Sleep(time.Duration(random.IntN(3)) * time.Second)
			}
			if refused == 0 || refused == 600 {
				t.Errorf("seed %d: %d writes were refused: this shows little", seed, refused)
			}
		})
	}
}

// change does one thing to a record, which may be there or not.
func change(ctx context.Context, s *Store, random *rand.Rand) error {
	name := func(kind string) string { return fmt.Sprint(kind, random.IntN(12)) }
	data, ttl := of(random.IntN(900)), time.Duration(random.IntN(4))*20*time.Second
	id := name("t")
	turn := "turn_" + id
	task := store.Task{Doc: data, Meta: store.Meta{Tenant: []string{"", "", "t"}[len(data)%3], User: []string{"u", "v"}[len(data)%2], State: []string{"", "input-required"}[len(data)%5/4], Conversation: []string{"", "c", "d"}[len(data)%3], Turn: turn, Holder: store.Holder{Owner: []string{"", "", "g"}[random.IntN(3)]}}}
	if before, err := s.Task(ctx, id); err == nil && random.IntN(8) > 0 {
		task.Version = before.Version
	}
	switch random.IntN(12) {
	case 0, 1:
		return s.CreateTask(ctx, id, task, ttl)
	case 2, 3:
		return s.UpdateTask(ctx, id, task, ttl)
	case 4:
		return s.DeleteTask(ctx, id)
	case 5:
		return s.CloseTask(ctx, id, store.Closing{Task: task, TTL: ttl, LogOf: turn, Log: entry(s.logs[turn].lastNumber(), len(data), ttl)})
	case 6, 7:
		return s.AppendLog(ctx, turn, entry(s.logs[turn].lastNumber(), len(data), ttl))
	case 8:
		key := name("v")
		before, _ := s.Value(ctx, key)
		_, err := s.PutValue(ctx, key, store.Value{Data: data, Version: before.Version}, ttl)
		return err
	case 9:
		return s.PushList(ctx, []string{name("l"), store.TraceKey(id), store.LongKey(id)}[random.IntN(3)], data, store.Bounds{Items: random.IntN(4), Bytes: random.IntN(3) * 500}, ttl)
	case 10:
		return s.PutIndex(ctx, name("i"), store.Member{ID: name("m")}, ttl)
	}
	return errors.Join(s.DropLog(ctx, turn), s.DeleteValue(ctx, name("v")), s.CutList(ctx, name("l"), random.IntN(2)), s.RemoveIndex(ctx, name("i"), name("m")))
}

// books compares what a store notes of its records with them; "" if it is right.
func books(s *Store) string {
	bytes, ended, said, shares := 0, map[string]bool{}, map[string]bool{}, map[*share]int{}
	for id, t := range s.tasks {
		bytes += len(t.Doc) + overhead
		shares[t.share] += len(t.Doc) + overhead
		if !t.Lives() {
			ended[id] = true
		}
		if t.Conversation != "" {
			said[id] = true
		}
	}
	for _, l := range s.logs {
		bytes += len(l.data) + overhead
		shares[l.share] += len(l.data) + overhead
	}
	for _, v := range s.values {
		bytes += len(v.Data) + overhead
	}
	for _, l := range s.lists {
		for _, item := range l.items {
			bytes += len(item) + overhead
			shares[l.share] += len(item) + overhead
		}
	}
	delete(shares, nil)
	listedEnded, giving := map[string]bool{}, 0
	for of, n := range shares {
		if of.bytes != n {
			return fmt.Sprintf("the share of %v has %d bytes, want %d", of.key, of.bytes, n)
		}
		if maps.Copy(listedEnded, keysOf(&of.ended)); of.ended.first != nil {
			giving++
		}
		if (of.ended.first != nil) != (of.place >= 0) || of.place >= 0 && s.ended[of.place] != of || of.place > 0 && s.ended[(of.place-1)/2].bytes < of.bytes {
			return fmt.Sprintf("the share of %v is at place %d", of.key, of.place)
		}
	}
	if giving != len(s.ended) {
		return fmt.Sprintf("%d shares can make room, want %d", len(s.ended), giving)
	}
	for _, x := range s.indexes {
		bytes += len(x.scores) * overhead
	}
	listed := map[string]bool{}
	for c, t := range s.newest {
		for ; t != nil; t = t.older {
			if listed[t.id] = true; conversationOf(t.Meta) != c || t.older != nil && t.older.newer != t {
				return fmt.Sprintf("task %s is in the wrong conversation, or a neighbour of the wrong one", t.id)
			}
		}
	}
	if s.bytes > s.cfg.Bytes || len(s.tasks) > s.cfg.Tasks {
		return fmt.Sprintf("%d bytes, %d tasks: beyond the bounds", s.bytes, len(s.tasks))
	}
	return gocmp.Diff([]any{bytes, ended, said}, []any{s.bytes, listedEnded, listed})
}

// keysOf returns the keys of ages. One that it meets twice is missing, so that a circle ends.
func keysOf(a *ages) map[string]bool {
	all := map[string]bool{}
	for at := a.first; at != nil; at = at.newer {
		if all[at.key] || at.newer == nil && a.last != at || at.newer != nil && at.newer.older != at {
			return nil
		}
		all[at.key] = true
	}
	return all
}

// What replaces a record needs room only for what it is longer by, also where the one that goes has
// expired: otherwise a store with room would refuse it, or remove tasks for nothing.
func TestReplacementNeedsOnlyWhatItGrowsBy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, ctx := New(Config{Bytes: 1000 + 2*overhead}), t.Context()
		if err := errors.Join(s.CreateTask(ctx, "a", store.Task{Doc: of(200)}, 0), put(ctx, s, 0, 700)); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(put(ctx, s, 1, 800), s.KeepValue(ctx, "v", time.Second)); err != nil {
			t.Errorf("a value that has room: %v", err)
		}
		time.Sleep(time.Second)
		if err := put(ctx, s, 0, 800); err != nil {
			t.Errorf("in place of one that has expired: %v", err)
		}
		if _, err := s.Task(ctx, "a"); err != nil {
			t.Errorf("a task was removed for it: %v", err)
		}
		if err := put(ctx, s, 1, 801); err != nil {
			t.Errorf("a value that a task makes room for: %v", err)
		}
		if _, err := s.Task(ctx, "a"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the task: %v, want %v", err, store.ErrNotFound)
		}
		if err := put(ctx, s, 2, 1000+overhead+1); !errors.Is(err, store.ErrFull) {
			t.Errorf("a value too large: %v, want %v", err, store.ErrFull)
		}
		full := New(Config{Bytes: overhead})
		one := store.Member{ID: "m", Score: 1}
		if err := full.PutIndex(ctx, "i", one, 0); err != nil {
			t.Fatal(err)
		}
		one.Score = 2
		if err := full.PutIndex(ctx, "i", one, 0); err != nil {
			t.Errorf("another score: %v", err)
		}
		for _, name := range []string{"i", "j"} {
			if err := full.PutIndex(ctx, name, store.Member{ID: "n"}, 0); !errors.Is(err, store.ErrFull) {
				t.Errorf("another member of %s: %v, want %v", name, err, store.ErrFull)
			}
		}
		if found, err := full.Index(ctx, "i", store.Range{Max: 9, Limit: 9}); err != nil || !slices.Equal(found, []store.Member{one}) || len(full.indexes) != 1 {
			t.Errorf("members %v, %v, of %d indexes", found, err, len(full.indexes))
		}
	})
}

// A log has no writer once its task is gone, has expired or is another's.
func TestWriterNeedsItsTask(t *testing.T) {
	t.Parallel()
	holder := store.Holder{Owner: "g", Epoch: 2}
	for name, tt := range map[string]struct {
		do   func(context.Context, *Store) error
		want error
	}{
		"still its own": {func(context.Context, *Store) error { return nil }, nil},
		"deleted":       {func(ctx context.Context, s *Store) error { return s.DeleteTask(ctx, "a") }, store.ErrConflict},
		"expired":       {func(context.Context, *Store) error { time.Sleep(time.Minute); return nil }, store.ErrConflict},
		"ended": {func(ctx context.Context, s *Store) error {
			return s.UpdateTask(ctx, "a", store.Task{Meta: store.Meta{Version: 1}}, 0)
		}, store.ErrConflict},
		"of another epoch": {func(ctx context.Context, s *Store) error {
			return s.UpdateTask(ctx, "a", store.Task{Meta: store.Meta{Version: 1, Holder: store.Holder{Owner: "g", Epoch: 3}}}, 0)
		}, store.ErrConflict},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, ctx := New(Config{}), t.Context()
			if err := errors.Join(s.CreateTask(ctx, "a", store.Task{Meta: store.Meta{Holder: holder}}, time.Minute), tt.do(ctx, s)); err != nil {
				t.Fatal(err)
			}
			a := entry(0, 5, 0)
			a.Task, a.Holder = "a", holder
			if err := s.AppendLog(ctx, "x", a); !errors.Is(err, tt.want) || (len(s.logs) == 1) != (tt.want == nil) {
				t.Errorf("%s: %v, want %v, with %d logs", name, err, tt.want, len(s.logs))
			}
		})
	}
}

// A closing is done with its entry of the log, or not at all: the task of one that is refused stays
// for the next who tries.
func TestRefusedClosingLeavesTheTask(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		version int64
		log     store.Append
		want    error
		entries int
	}{
		"done":               {1, entry(1, 5, 0), nil, 2},
		"of another version": {2, entry(1, 5, 0), store.ErrConflict, 1},
		"elsewhere":          {1, entry(0, 5, 0), store.ErrConflict, 1},
		"without room":       {1, entry(1, 9000, 0), store.ErrFull, 1},
		"too large":          {1, entry(1, store.MaxLog, 0), store.ErrTooLarge, 0},
	} {
		s, ctx := New(Config{Bytes: 5000}), t.Context()
		err := errors.Join(s.CreateTask(ctx, "a", store.Task{Meta: store.Meta{Turn: "x", Holder: store.Holder{Owner: "g"}}}, 0), s.AppendLog(ctx, "x", entry(0, 5, 0)))
		if err != nil {
			t.Fatal(err)
		}
		tt.log.Task = "none" // is not looked at
		err = s.CloseTask(ctx, "a", store.Closing{Task: store.Task{Doc: of(9), Meta: store.Meta{Version: tt.version, Turn: "x"}}, LogOf: "x", Log: tt.log})
		task, _ := s.Task(ctx, "a")
		if closed := task.Version == 2 && task.Owner == "" && len(task.Doc) == 9; !errors.Is(err, tt.want) || closed != (tt.want == nil) {
			t.Errorf("%s: %v, want %v, and the task is %+v", name, err, tt.want, task)
		}
		if read, _ := s.ReadLog(ctx, "x", 0, 9); len(read) != tt.entries {
			t.Errorf("%s: the log has %d entries, want %d", name, len(read), tt.entries)
		}
	}
}

// Who waits for a log or a cancel is woken by what changes it, also if that is its end.
func TestChangesSignal(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		topic string
		do    func(context.Context, *Store) error
		want  bool
	}{
		"an entry":              {store.LogTopic("x"), func(ctx context.Context, s *Store) error { return s.AppendLog(ctx, "x", entry(1, 1, 0)) }, true},
		"one that is refused":   {store.LogTopic("x"), func(ctx context.Context, s *Store) error { return s.AppendLog(ctx, "x", entry(5, 1, 0)) }, false},
		"one that is too large": {store.LogTopic("x"), func(ctx context.Context, s *Store) error { return s.AppendLog(ctx, "x", entry(1, store.MaxLog, 0)) }, true},
		"its end":               {store.LogTopic("x"), func(ctx context.Context, s *Store) error { return s.DropLog(ctx, "x") }, true},
		"another log":           {store.LogTopic("x"), func(ctx context.Context, s *Store) error { return s.AppendLog(ctx, "y", entry(0, 1, 0)) }, false},
		"a cancel":              {store.CancelTopic("g"), func(ctx context.Context, s *Store) error { _, err := s.CancelTask(ctx, "a"); return err }, true},
		"a cancel that is none": {store.CancelTopic("g"), func(ctx context.Context, s *Store) error { _, err := s.CancelTask(ctx, "b"); return err }, false},
		"a cancel of another's": {store.CancelTopic("h"), func(ctx context.Context, s *Store) error { _, err := s.CancelTask(ctx, "a"); return err }, false},
		"a closing with a entry": {store.LogTopic("x"), func(ctx context.Context, s *Store) error {
			return s.CloseTask(ctx, "a", store.Closing{Task: store.Task{Meta: store.Meta{Version: 1}}, LogOf: "x", Log: entry(1, 1, 0)})
		}, true},
	} {
		s, ctx := New(Config{}), t.Context()
		err := errors.Join(s.CreateTask(ctx, "a", store.Task{Meta: store.Meta{Holder: store.Holder{Owner: "g"}}}, 0), s.AppendLog(ctx, "x", entry(0, 1, 0)))
		if err != nil {
			t.Fatal(err)
		}
		w := s.Watch(tt.topic)
		<-w.C // the first needs no signal
		err = tt.do(ctx, s)
		woken := false
		select {
		case <-w.C:
			woken = true
		default:
		}
		if w.Stop(); woken != tt.want {
			t.Errorf("%s: woken %t, want %t (%v)", name, woken, tt.want, err)
		}
	}
}

// Each kind of write notes that it had no room, and one that succeeds, that there is some again.
func TestFullStoreIsSeen(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(context.Context, *Store, int) error{
		"task": func(ctx context.Context, s *Store, n int) error {
			return s.CreateTask(ctx, "a", store.Task{Doc: of(n)}, 0)
		},
		"log":   func(ctx context.Context, s *Store, n int) error { return s.AppendLog(ctx, "x", entry(0, n, 0)) },
		"value": func(ctx context.Context, s *Store, n int) error { return put(ctx, s, 0, n) },
		"list": func(ctx context.Context, s *Store, n int) error {
			return s.PushList(ctx, "l", of(n), store.Bounds{}, 0)
		},
		"index": func(ctx context.Context, s *Store, n int) error {
			return s.PutIndex(ctx, "i", store.Member{ID: string(of(n))}, 0)
		},
	} {
		s, ctx := New(Config{Bytes: 1000}), t.Context()
		state := func() health.StoreState { return s.Check().(health.Store).State }
		_, err := s.PutValue(ctx, "room", store.Value{Data: of(1000 - overhead)}, 0)
		if err != nil || state() != health.Available {
			t.Fatalf("%s: %v, and the store is %s", name, err, state())
		}
		if err := write(ctx, s, 20); !errors.Is(err, store.ErrFull) || state() != health.Full {
			t.Errorf("%s: %v, and the store is %s", name, err, state())
		}
		if err := errors.Join(s.DeleteValue(ctx, "room"), write(ctx, s, 20)); err != nil || state() != health.Available {
			t.Errorf("%s, with room: %v, and the store is %s", name, err, state())
		}
	}
}

// A counter whose time is over begins again, whether or not what has expired was looked for.
func TestCounterBeginsAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{})
		for i, want := range []int64{2, 4, 2} { // each renews the time
			if n, err := s.AddCounter(t.Context(), "n", 2, 5*time.Second); n != want || err != nil {
				t.Errorf("count %d is %d, %v, want %d", i, n, err, want)
			}
			time.Sleep([]time.Duration{5*time.Second - 1, 5 * time.Second, 0}[i])
		}
	})
}

// The list of a task that is being written stays also if its task has to go for it: what is added
// would otherwise be counted and belong to nothing.
func TestListThatIsWrittenOutlivesItsTask(t *testing.T) {
	t.Parallel()
	for _, key := range []string{store.TraceKey("a"), store.LongKey("a")} {
		s, ctx := New(Config{Bytes: 1000}), t.Context()
		err := errors.Join(s.CreateTask(ctx, "a", store.Task{Doc: of(200)}, 0), s.PushList(ctx, key, of(100), store.Bounds{}, 0), s.PushList(ctx, key, of(200), store.Bounds{}, 0))
		items, _ := s.List(ctx, key, 0, 0)
		if len(items) != 2 || err != nil || len(s.tasks) != 0 {
			t.Errorf("%s: %d items, %v, and %d tasks", key, len(items), err, len(s.tasks))
		}
		if diff := books(s); diff != "" {
			t.Errorf("%s: %s", key, diff)
		}
	}
}
