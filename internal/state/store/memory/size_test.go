package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"sluice/internal/state/store"
)

// of returns n bytes.
func of(n int) []byte { return []byte(strings.Repeat("x", n)) }

// entry is an append of n bytes behind the event at.
func entry(at, n int, ttl time.Duration) store.Append {
	return store.Append{Entry: store.Entry{N: at + 1, Data: of(n)}, At: at, TTL: ttl}
}

// Every write counts what it adds and gives back what it replaces or removes; one that is refused
// counts nothing. A count that drifts would fill the store for good, or never.
func TestSizeOfEachWrite(t *testing.T) {
	t.Parallel()
	task := func(version int64, n int) store.Task {
		return store.Task{Doc: of(n), Meta: store.Meta{Version: version, User: "u", Conversation: "c"}}
	}
	type step struct {
		name string
		do   func(context.Context, *Store) error
		want int
		err  error
	}
	for kind, steps := range map[string][]step{
		"tasks": {
			{"create", func(ctx context.Context, s *Store) error { return s.CreateTask(ctx, "a", task(0, 100), 0) }, 100 + overhead, nil},
			{"again", func(ctx context.Context, s *Store) error { return s.CreateTask(ctx, "a", task(0, 900), 0) }, 100 + overhead, store.ErrConflict},
			{"grow", func(ctx context.Context, s *Store) error { return s.UpdateTask(ctx, "a", task(1, 150), 0) }, 150 + overhead, nil},
			{"of another version", func(ctx context.Context, s *Store) error { return s.UpdateTask(ctx, "a", task(1, 900), 0) }, 150 + overhead, store.ErrConflict},
			{"shrink", func(ctx context.Context, s *Store) error { return s.UpdateTask(ctx, "a", task(2, 10), 0) }, 10 + overhead, nil},
			{"of none", func(ctx context.Context, s *Store) error { return s.UpdateTask(ctx, "b", task(1, 10), 0) }, 10 + overhead, store.ErrNotFound},
			{"too large", func(ctx context.Context, s *Store) error { return s.UpdateTask(ctx, "a", task(3, 20_000), 0) }, 10 + overhead, store.ErrFull},
			{"delete", func(ctx context.Context, s *Store) error { return s.DeleteTask(ctx, "a") }, 0, nil},
			{"delete again", func(ctx context.Context, s *Store) error { return s.DeleteTask(ctx, "a") }, 0, nil},
		},
		"logs": {
			{"append", func(ctx context.Context, s *Store) error { return s.AppendLog(ctx, "x", entry(0, 100, 0)) }, 100 + overhead, nil},
			{"append more", func(ctx context.Context, s *Store) error { return s.AppendLog(ctx, "x", entry(1, 50, 0)) }, 150 + overhead, nil},
			{"elsewhere", func(ctx context.Context, s *Store) error { return s.AppendLog(ctx, "x", entry(1, 50, 0)) }, 150 + overhead, store.ErrConflict},
			{"without a beginning", func(ctx context.Context, s *Store) error { return s.AppendLog(ctx, "y", entry(1, 50, 0)) }, 150 + overhead, store.ErrNotFound},
			{"of no task", func(ctx context.Context, s *Store) error {
				a := entry(2, 50, 0)
				a.Task = "none"
				return s.AppendLog(ctx, "x", a)
			}, 150 + overhead, store.ErrConflict},
			{"above the bound of a log", func(ctx context.Context, s *Store) error { return s.AppendLog(ctx, "x", entry(2, store.MaxLog, 0)) }, 0, store.ErrTooLarge},
			{"again", func(ctx context.Context, s *Store) error { return s.AppendLog(ctx, "x", entry(0, 7, 0)) }, 7 + overhead, nil},
			{"drop", func(ctx context.Context, s *Store) error { return s.DropLog(ctx, "x") }, 0, nil},
			{"drop again", func(ctx context.Context, s *Store) error { return s.DropLog(ctx, "x") }, 0, nil},
		},
		"values": {
			{"put", func(ctx context.Context, s *Store) error { return put(ctx, s, 0, 100) }, 100 + overhead, nil},
			{"of another version", func(ctx context.Context, s *Store) error { return put(ctx, s, 0, 900) }, 100 + overhead, store.ErrConflict},
			{"replace", func(ctx context.Context, s *Store) error { return put(ctx, s, 1, 30) }, 30 + overhead, nil},
			{"too large", func(ctx context.Context, s *Store) error { return put(ctx, s, 2, 20_000) }, 30 + overhead, store.ErrFull},
			{"delete", func(ctx context.Context, s *Store) error { return s.DeleteValue(ctx, "v") }, 0, nil},
			{"delete again", func(ctx context.Context, s *Store) error { return s.DeleteValue(ctx, "v") }, 0, nil},
		},
		"lists": {
			{"push", func(ctx context.Context, s *Store) error { return s.PushList(ctx, "l", of(100), store.Bounds{}, 0) }, 100 + overhead, nil},
			{"push more", func(ctx context.Context, s *Store) error { return s.PushList(ctx, "l", of(10), store.Bounds{}, 0) }, 110 + 2*overhead, nil},
			{"push with a bound", func(ctx context.Context, s *Store) error {
				return s.PushList(ctx, "l", of(5), store.Bounds{Items: 2}, 0)
			}, 15 + 2*overhead, nil},
			{"of no task", func(ctx context.Context, s *Store) error {
				return s.PushList(ctx, "l", of(5), store.Bounds{Task: "none"}, 0)
			}, 15 + 2*overhead, store.ErrNotFound},
			{"cut", func(ctx context.Context, s *Store) error { return s.CutList(ctx, "l", 1) }, 10 + overhead, nil},
			{"delete", func(ctx context.Context, s *Store) error { return s.DeleteList(ctx, "l") }, 0, nil},
			{"delete again", func(ctx context.Context, s *Store) error { return s.DeleteList(ctx, "l") }, 0, nil},
		},
		"indexes": {
			{"put", func(ctx context.Context, s *Store) error {
				return s.PutIndex(ctx, "i", store.Member{ID: "a", Score: 1}, 0)
			}, overhead, nil},
			{"put again", func(ctx context.Context, s *Store) error {
				return s.PutIndex(ctx, "i", store.Member{ID: "a", Score: 2}, 0)
			}, overhead, nil},
			{"put another", func(ctx context.Context, s *Store) error { return s.PutIndex(ctx, "i", store.Member{ID: "b"}, 0) }, 2 * overhead, nil},
			{"remove", func(ctx context.Context, s *Store) error { return s.RemoveIndex(ctx, "i", "a") }, overhead, nil},
			{"remove again", func(ctx context.Context, s *Store) error { return s.RemoveIndex(ctx, "i", "a") }, overhead, nil},
			{"remove the last", func(ctx context.Context, s *Store) error { return s.RemoveIndex(ctx, "i", "b") }, 0, nil},
			{"of none", func(ctx context.Context, s *Store) error { return s.RemoveIndex(ctx, "j", "b") }, 0, nil},
		},
	} {
		s := New(Config{Bytes: 10_000})
		for _, step := range steps {
			if err := step.do(t.Context(), s); !errors.Is(err, step.err) || s.Size() != step.want {
				t.Errorf("%s, %s: %v, and %d bytes are stored, want %v and %d", kind, step.name, err, s.Size(), step.err, step.want)
			}
		}
	}
}

// put replaces the value v.
func put(ctx context.Context, s *Store, version int64, n int) error {
	_, err := s.PutValue(ctx, "v", store.Value{Version: version, Data: of(n)}, 0)
	return err
}

// What expires is gone at the moment that its time is over, not before; within a minute it gives
// its room back although nobody asks for it. What has no time to live stays.
func TestExpiredRecordsAreRemoved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, ctx := New(Config{}), t.Context()
		fill := func(suffix string, ttl time.Duration) error {
			_, err := s.PutValue(ctx, "v"+suffix, store.Value{Data: of(1)}, ttl)
			_, counted := s.AddCounter(ctx, "n"+suffix, 3, ttl)
			return errors.Join(err, counted,
				s.CreateTask(ctx, "t"+suffix, store.Task{Doc: of(1), Meta: store.Meta{User: "u", Conversation: "c"}}, ttl),
				s.AppendLog(ctx, "x"+suffix, entry(0, 1, ttl)), s.PushList(ctx, "l"+suffix, of(1), store.Bounds{}, ttl),
				s.PutIndex(ctx, "i"+suffix, store.Member{ID: "m"}, ttl), s.RenewLease(ctx, store.Holder{Owner: "o" + suffix, Epoch: 1}, ttl))
		}
		there := func(suffix string) string {
			_, task := s.Task(ctx, "t"+suffix)
			_, log := s.ReadLog(ctx, "x"+suffix, 0, 1)
			_, value := s.Value(ctx, "v"+suffix)
			list, _ := s.List(ctx, "l"+suffix, 0, 0)
			members, _ := s.CountIndex(ctx, "i"+suffix)
			counter, _ := s.Counter(ctx, "n"+suffix)
			alive, _ := s.LeasesAlive(ctx, store.Holder{Owner: "o" + suffix, Epoch: 1})
			return fmt.Sprintln(task == nil, log == nil, value == nil, len(list) == 1, members == 1, counter == 3, alive[0])
		}
		if err := errors.Join(fill("-1", time.Second), fill("-2", 0)); err != nil {
			t.Fatal(err)
		}
		const all, none = "true true true true true true true\n", "false false false false false false false\n"
		if time.Sleep(time.Second - 1); there("-1") != all {
			t.Errorf("before the end: %s", there("-1"))
		}
		if time.Sleep(time.Nanosecond); there("-1") != none {
			t.Errorf("at the end: %s", there("-1"))
		}
		if err := fill("-3", 5*time.Second); err != nil {
			t.Fatal(err)
		}
		time.Sleep(purgeEvery)
		if _, err := s.Counter(ctx, "none"); err != nil { // any call looks for what has expired
			t.Fatal(err)
		}
		s.mu.Lock()
		got := []int{len(s.tasks), len(s.logs), len(s.values), len(s.lists), len(s.indexes), len(s.leases), len(s.counters), len(s.newest), len(s.named), len(s.shares)}
		s.mu.Unlock()
		if diff := gocmp.Diff(slices.Repeat([]int{1}, 10), got); diff != "" || there("-2") != all {
			t.Errorf("records that are there (-want +got):\n%s%s", diff, there("-2"))
		}
		if want := 4*(1+overhead) + overhead; s.Size() != want {
			t.Errorf("%d bytes are stored, want %d", s.Size(), want)
		}
	})
}

// A task that makes room goes with all that it leaves behind; one whose log, trace or long texts
// are being written stays.
func TestTaskMakesRoomWithItsRecords(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(context.Context, *Store) error{
		"a value": func(ctx context.Context, s *Store) error {
			_, err := s.PutValue(ctx, "v", store.Value{Data: of(9000)}, 0)
			return err
		},
		"its log": func(ctx context.Context, s *Store) error { return s.AppendLog(ctx, "turn_a", entry(1, 9000, 0)) },
	} {
		s, ctx := New(Config{Bytes: 10_000}), t.Context()
		err := errors.Join(
			s.CreateTask(ctx, "a", store.Task{Doc: of(500), Meta: store.Meta{Turn: "turn_a"}}, 0), s.AppendLog(ctx, "turn_a", entry(0, 500, 0)),
			s.PushList(ctx, store.TraceKey("a"), of(100), store.Bounds{}, 0), s.PushList(ctx, store.LongKey("a"), of(100), store.Bounds{}, 0))
		if err != nil {
			t.Fatal(err)
		}
		err = write(ctx, s)
		s.mu.Lock()
		got := []int{len(s.tasks), len(s.logs), len(s.lists)}
		s.mu.Unlock()
		want, kind := []int{0, 0, 0}, error(nil)
		if name == "its log" {
			want, kind = []int{1, 1, 2}, store.ErrFull
		}
		if diff := gocmp.Diff(want, got); diff != "" || !errors.Is(err, kind) {
			t.Errorf("%s: %v, and tasks, logs and lists are (-want +got):\n%s", name, err, diff)
		}
	}
}

// A list makes no room by itself: a conversation's memory that is lost is missed in the next turn.
func TestListsMakeNoRoom(t *testing.T) {
	t.Parallel()
	s, ctx := New(Config{Bytes: 5 * (100 + overhead)}), t.Context()
	for _, key := range "abcde" {
		if err := s.PushList(ctx, string(key), of(100), store.Bounds{}, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.PushList(ctx, "f", of(100), store.Bounds{}, 0); !errors.Is(err, store.ErrFull) || len(s.lists) != 5 {
		t.Errorf("a list too many: %v, and there are %d", err, len(s.lists))
	}
	if err := errors.Join(s.DeleteList(ctx, "c"), s.PushList(ctx, "f", of(100), store.Bounds{}, 0)); err != nil {
		t.Error(err)
	}
}

// A time to live that is 0 is for good, also where a shorter one was; an index lives as long as
// its longest member.
func TestTimeToLiveOfAnIndex(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		ttls []time.Duration
		want time.Duration // 0: for good
	}{
		"one":              {[]time.Duration{5}, 5},
		"a longer one":     {[]time.Duration{5, 9}, 9},
		"a shorter one":    {[]time.Duration{9, 5}, 9},
		"for good":         {[]time.Duration{5, 0}, 0},
		"for good already": {[]time.Duration{0, 5}, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := New(Config{})
			for i, ttl := range tt.ttls {
				if err := s.PutIndex(t.Context(), "i", store.Member{ID: fmt.Sprint(i)}, ttl*time.Second); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(cmp.Or(tt.want, 50)*time.Second - 1)
			before, _ := s.CountIndex(t.Context(), "i")
			time.Sleep(time.Nanosecond)
			after, _ := s.CountIndex(t.Context(), "i")
			if before == 0 || (after == 0) != (tt.want > 0) {
				t.Errorf("%s: %d members, then %d", name, before, after)
			}
		})
	}
}

// KeepValue and KeepList change the time of what is there, and make nothing.
func TestKeepChangesTheTimeToLive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, ctx := New(Config{}), t.Context()
		if err := errors.Join(put(ctx, s, 0, 1), s.KeepValue(ctx, "v", 5*time.Second), s.PushList(ctx, "l", of(1), store.Bounds{}, 0), s.KeepList(ctx, "l", 5*time.Second)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5*time.Second - 1)
		if err := errors.Join(s.KeepValue(ctx, "v", 2), s.KeepList(ctx, "l", 2)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Nanosecond)
		value, err := s.Value(ctx, "v")
		if list, _ := s.List(ctx, "l", 0, 0); err != nil || value.Version != 1 || len(list) != 1 {
			t.Errorf("prolonged: %+v, %v, and %d items", value, err, len(list))
		}
		time.Sleep(time.Nanosecond)
		if err := s.KeepValue(ctx, "v", time.Hour); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("what has expired is back: %v", err)
		}
		if err := s.KeepList(ctx, "l", time.Hour); err != nil {
			t.Error(err)
		}
		if list, _ := s.List(ctx, "l", 0, 0); len(list) != 0 {
			t.Errorf("a list that has expired has %d items", len(list))
		}
	})
}

// A log gives back the room for more once nobody adds to it. What is read of it has no room behind
// it: an append would write into the next entry.
func TestLogIsTrimmed(t *testing.T) {
	t.Parallel()
	s, ctx := New(Config{}), t.Context()
	err := errors.Join(s.CreateTask(ctx, "a", store.Task{Meta: store.Meta{Turn: "x", Holder: store.Holder{Owner: "o"}}}, 0), s.AppendLog(ctx, "x", entry(0, 10, 0)))
	if err != nil {
		t.Fatal(err)
	}
	l := s.logs["x"]
	if cap(l.data) != firstData || cap(l.ends) != firstEnds {
		t.Errorf("room for %d bytes and %d entries", cap(l.data), cap(l.ends))
	}
	if err := s.UpdateTask(ctx, "a", store.Task{Meta: store.Meta{Version: 1, Turn: "x"}}, 0); err != nil {
		t.Fatal(err)
	}
	if cap(l.data) >= 2*len(l.data) || cap(l.ends) >= 2*len(l.ends)+1 {
		t.Errorf("after its end: room for %d bytes and %d entries", cap(l.data), cap(l.ends))
	}
	read, err := s.ReadLog(ctx, "x", 0, 9)
	if err != nil || len(read) != 1 || string(read[0].Data) != string(of(10)) || cap(read[0].Data) != 10 {
		t.Errorf("read %+v, %v", read, err)
	}
	if err := s.AppendLog(ctx, "x", entry(1, 5, 0)); err != nil {
		t.Fatal(err)
	}
	if read, err = s.ReadLog(ctx, "x", 0, 9); err != nil || len(read) != 2 || cap(read[0].Data) != 10 {
		t.Errorf("read %+v, %v", read, err)
	}
	for n, want := range map[int]bool{8: false, 9: true, 16: true} { // an eighth is hardly any
		s := withoutSpare(append(make([]byte, 0, 64+n), of(64)...))
		if (cap(s) < 64+n) != want || len(s) != 64 {
			t.Errorf("room for %d more: %d are left", n, cap(s)-len(s))
		}
	}
}

// A page of tasks ends with the task that reaches its bytes, and the next begins behind it.
func TestPagesOfLargeTasks(t *testing.T) {
	t.Parallel()
	s, ctx := New(Config{}), t.Context()
	for i := range 3 {
		meta := store.Meta{User: "u", Created: time.UnixMilli(int64(i))}
		if err := s.CreateTask(ctx, fmt.Sprint(i), store.Task{Doc: of(store.MaxPageBytes), Meta: meta}, 0); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	q := store.Query{User: "u", Limit: 10}
	for range 5 {
		page, err := s.Tasks(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.Join(page.IDs, " "))
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	if diff := gocmp.Diff([]string{"2", "1", "0"}, got); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
}
