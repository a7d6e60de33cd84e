package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/telemetry/health"
	"sluice/internal/state/store"
	"sluice/internal/state/store/sqlite"
)

// changes are all methods that change something, each for a record that is there or can be made.
func changes(ctx context.Context, s *sqlite.Store) map[string]error {
	_, cancelled := s.CancelTask(ctx, "k")
	_, put := s.PutValue(ctx, "k", store.Value{Version: 1}, 0)
	_, together := s.PushAndPut(ctx, []store.Pushed{{Key: "k"}}, "other", store.Value{}, 0)
	_, counted := s.AddCounter(ctx, "k", 1, 0)
	return map[string]error{
		"CreateTask": s.CreateTask(ctx, "other", store.Task{}, 0), "UpdateTask": s.UpdateTask(ctx, "k", store.Task{Meta: store.Meta{Version: 1}}, 0),
		"CancelTask": cancelled, "CloseTask": s.CloseTask(ctx, "k", store.Closing{Task: store.Task{Meta: store.Meta{Version: 1}}}), "DeleteTask": s.DeleteTask(ctx, "k"),
		"AppendLog": s.AppendLog(ctx, "other", store.Append{Entry: store.Entry{N: 1}}), "DropLog": s.DropLog(ctx, "k"),
		"RenewLease": s.RenewLease(ctx, store.Holder{Owner: "g", Epoch: 9}, 0), "ReleaseLease": s.ReleaseLease(ctx, store.Holder{Owner: "g", Epoch: 3}),
		"PutValue": put, "KeepValue": s.KeepValue(ctx, "k", time.Hour), "DeleteValue": s.DeleteValue(ctx, "k"), "PushAndPut": together,
		"PushList": s.PushList(ctx, "k", nil, store.Bounds{}, 0), "KeepList": s.KeepList(ctx, "k", time.Hour), "CutList": s.CutList(ctx, "k", 0), "DeleteList": s.DeleteList(ctx, "k"),
		"PutIndex": s.PutIndex(ctx, "k", store.Member{ID: "other"}, 0), "RemoveIndex": s.RemoveIndex(ctx, "k", "m"), "AddCounter": counted,
	}
}

// filled opens a store with a record of each kind.
func filled(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	s := open(t, path)
	for name, k := range kinds() {
		if err := k.put(t.Context(), s, 0); err != nil && !errors.Is(err, store.ErrConflict) { // three kinds make the same task
			t.Fatal(name, err)
		}
	}
	return s
}

// lost returns the kinds of records that are not there. An orphan is none while another kind of
// task has its id.
func lost(t *testing.T, s *sqlite.Store) (names []string) {
	t.Helper()
	for name, k := range kinds() {
		there, err := k.there(t.Context(), s)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !there && name != "orphan" && name != "task in a list" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// What reads a file that another process owns changes nothing in it, whichever method is called,
// and sees what that process writes.
func TestReaderChangesNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	s := filled(t, path)
	defer s.Close()
	reader, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, ReadOnly: true})
	must(t, err)
	defer reader.Close()
	for name, err := range changes(t.Context(), reader) {
		if !errors.Is(err, store.ErrReadOnly) || !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: %v, want %v", name, err, store.ErrReadOnly)
		}
	}
	if got := lost(t, s); got != nil {
		t.Errorf("%q are lost", got)
	}
	must(t, s.PushList(t.Context(), "new", []byte("seen"), store.Bounds{}, 0))
	items, err := reader.List(t.Context(), "new", 0, 0)
	if diff := cmp.Diff([][]byte{[]byte("seen")}, items); diff != "" || err != nil {
		t.Errorf("what was written since, %v (-want +got):\n%s", err, diff)
	}
}

// A caller that has left changes nothing and learns why it left; the store is well all the same.
func TestEndedContextChangesNothing(t *testing.T) {
	t.Parallel()
	s, why := filled(t, filepath.Join(t.TempDir(), "state.db")), errors.New("why")
	defer s.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	for name, err := range changes(ctx, s) {
		if !errors.Is(err, why) || errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: %v, want %v", name, err, why)
		}
	}
	if got := lost(t, s); got != nil || s.Check().(health.Store).State != health.Available {
		t.Errorf("%q are lost, and the store is %+v", got, s.Check())
	}
}

// A change that fails in its middle leaves nothing of itself, also where it had removed something.
func TestFailureUndoesTheChange(t *testing.T) {
	t.Parallel()
	holder := store.Holder{Owner: "g", Epoch: 1}
	for table, do := range map[string]func(context.Context, *sqlite.Store) error{
		"items": func(ctx context.Context, s *sqlite.Store) error {
			_, err := s.PushAndPut(ctx, []store.Pushed{{Key: "l", Item: []byte("new")}}, "v", store.Value{Data: []byte("new"), Version: 1}, time.Hour)
			return err
		},
		"logs": func(ctx context.Context, s *sqlite.Store) error {
			return s.CloseTask(ctx, "a", store.Closing{Task: store.Task{Doc: []byte("new"), Meta: store.Meta{Version: 1}}, LogOf: "x", Log: store.Append{Entry: store.Entry{N: 2, Data: []byte("new")}, At: 1}})
		},
		"entries": func(ctx context.Context, s *sqlite.Store) error {
			return s.AppendLog(ctx, "x", store.Append{Entry: store.Entry{N: 2}, At: 1, Task: "a", Holder: holder})
		},
		"members": func(ctx context.Context, s *sqlite.Store) error {
			return s.PutIndex(ctx, "new", store.Member{ID: "m"}, 0)
		},
		"lists": func(ctx context.Context, s *sqlite.Store) error {
			return s.PushList(ctx, "l", []byte("new"), store.Bounds{Items: 1}, time.Hour)
		},
	} {
		path := filepath.Join(t.TempDir(), "state.db")
		s, ctx := open(t, path), t.Context()
		must(t, s.CreateTask(ctx, "a", store.Task{Doc: []byte("old"), Meta: store.Meta{Holder: holder, Turn: "x"}}, 0))
		must(t, s.AppendLog(ctx, "x", store.Append{Entry: store.Entry{N: 1, Data: []byte("old")}}))
		must(t, s.PushList(ctx, "l", []byte("old"), store.Bounds{}, 0))
		_, err := s.PutValue(ctx, "v", store.Value{Data: []byte("old")}, 0)
		must(t, err)
		before := rows(t, path)
		s.Break(t, table)
		if err := do(ctx, s); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: %v, want %v", table, err, store.ErrUnavailable)
		}
		task, _ := s.Task(ctx, "a")
		value, _ := s.Value(ctx, "v")
		log, _ := s.ReadLog(ctx, "x", 0, 9)
		items, _ := s.List(ctx, "l", 0, 0)
		got := []any{string(task.Doc), task.Version, string(value.Data), value.Version, log, items}
		want := []any{"old", int64(1), "old", int64(1), []store.Entry{{N: 1, Data: []byte("old")}}, [][]byte{[]byte("old")}}
		if diff := cmp.Diff(want, got); diff != "" || rows(t, path) != before {
			t.Errorf("%s: %d rows, want %d (-want +got):\n%s", table, rows(t, path), before, diff)
		}
		must(t, s.Close())
	}
}

// What has expired leaves the file while it is open, with the first change a minute after it was
// looked for last.
func TestExpiredRecordsLeaveTheOpenFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	var ahead time.Duration
	s := clocked(t, path, &ahead)
	defer s.Close()
	for name, k := range kinds() {
		if err := k.put(t.Context(), s, time.Hour); err != nil && !errors.Is(err, store.ErrConflict) {
			t.Fatal(name, err)
		}
	}
	must(t, s.PushList(t.Context(), "stays", nil, store.Bounds{}, 0))
	all := rows(t, path)
	ahead = time.Hour
	for _, tt := range []struct {
		age  time.Duration // of the last search
		want int
	}{{50 * time.Second, all}, {10 * time.Second, 2}} { // the list, and its item
		s.Age(tt.age)
		must(t, s.DeleteList(t.Context(), "none"))
		if got := rows(t, path); got != tt.want {
			t.Errorf("%v later: %d rows, want %d", tt.age, got, tt.want)
		}
	}
}

// Names and texts may be any bytes, and each is another record.
func TestNamesAreBytes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	s, ctx := open(t, path), t.Context()
	names := []string{"a", "A", "a\x00", "a\x00b", "\xff\xfe", "é", "e\u0301", "%", "_", "'; DROP TABLE tasks; --", " a", "1", "01"}
	for i, name := range names {
		n := int64(i)
		must(t, s.CreateTask(ctx, name, store.Task{Doc: []byte(name), Meta: store.Meta{Tenant: name, User: name, Conversation: name, Turn: name, State: name}}, 0))
		must(t, s.AppendLog(ctx, name, store.Append{Entry: store.Entry{N: i + 1, Data: []byte(name)}}))
		_, err := s.PutValue(ctx, name, store.Value{Data: []byte(name)}, 0)
		must(t, err)
		must(t, s.PushList(ctx, name, []byte(name), store.Bounds{}, 0))
		must(t, s.PutIndex(ctx, "i", store.Member{ID: name, Score: n}, 0))
		must(t, s.PutIndex(ctx, name, store.Member{ID: name, Score: n}, 0))
		if got, err := s.AddCounter(ctx, name, 1, 0); got != 1 || err != nil {
			t.Errorf("counter %q is %d, %v", name, got, err)
		}
	}
	must(t, s.Close())
	s = open(t, path)
	defer s.Close()
	for i, name := range names {
		page, err := s.Tasks(ctx, store.Query{Tenant: name, User: name, Conversation: name, State: name, Limit: 9})
		if err != nil || !slices.Equal(page.IDs, []string{name}) || page.Tasks[0].Turn != name || string(page.Tasks[0].Doc) != name {
			t.Errorf("tasks of %q: %+v, %v", name, page, err)
		}
		log, err := s.ReadLog(ctx, name, 0, 9)
		if diff := cmp.Diff([]store.Entry{{N: i + 1, Data: []byte(name)}}, log); diff != "" || err != nil {
			t.Errorf("log of %q, %v (-want +got):\n%s", name, err, diff)
		}
		value, err := s.Value(ctx, name)
		if items, _ := s.List(ctx, name, 0, 0); err != nil || string(value.Data) != name || len(items) != 1 || string(items[0]) != name {
			t.Errorf("%q has %q, %v, and %q", name, value.Data, err, items)
		}
		if members, err := s.Index(ctx, name, store.Range{Max: 99, Limit: 9}); err != nil || !slices.Equal(members, []store.Member{{ID: name, Score: int64(i)}}) {
			t.Errorf("members of %q: %+v, %v", name, members, err)
		}
	}
	if n, err := s.CountIndex(ctx, "i"); n != int64(len(names)) || err != nil {
		t.Errorf("the index has %d members, %v", n, err)
	}
}

// A reader does not bring a file up to date, and refuses one of another version.
func TestReaderOfAnOlderFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	must(t, open(t, path).Close())
	for version, want := range map[string]error{"0": store.ErrDamaged, "1": nil, "2": store.ErrDamaged} {
		db, err := sql.Open("sqlite", path)
		must(t, err)
		_, err = db.ExecContext(t.Context(), "PRAGMA user_version = "+version)
		must(t, errors.Join(err, db.Close()))
		s, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, ReadOnly: true})
		if !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Errorf("of version %s: %v, want %v", version, err, want)
		}
		if err == nil {
			must(t, s.Close())
		}
	}
}

// A file whose pages hold something else is damaged, for who reads them and who writes.
func TestDamagedPages(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	s := filled(t, path)
	must(t, s.Close())
	all, err := os.ReadFile(path)
	must(t, err)
	for i := 4096 * 2; i < len(all); i++ { // behind the schema
		all[i] = 0xA5
	}
	must(t, os.WriteFile(path, all, 0o600))
	reader, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, ReadOnly: true})
	if err == nil {
		_, err = reader.Value(t.Context(), "k")
		must(t, reader.Close())
	}
	if !errors.Is(err, store.ErrDamaged) {
		t.Errorf("for a reader: %v, want %v", err, store.ErrDamaged)
	}
	if _, err := sqlite.Open(t.Context(), sqlite.Config{Path: path}); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("for its owner: %v, want %v", err, store.ErrDamaged)
	}
}

// A closing is of the version that was read, whatever its entry says of a task, and who follows a
// log learns that it became too large.
func TestClosingOfAnOrphan(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		version int64
		size    int
		want    error
		entries int
	}{
		"done":               {1, 5, nil, 2},
		"of another version": {2, 5, store.ErrConflict, 1},
		"too large":          {1, store.MaxLog, store.ErrTooLarge, 0},
	} {
		s, ctx := open(t, filepath.Join(t.TempDir(), "state.db")), t.Context()
		must(t, s.CreateTask(ctx, "a", store.Task{Meta: store.Meta{Turn: "x", Holder: store.Holder{Owner: "g"}}}, 0))
		must(t, s.AppendLog(ctx, "x", store.Append{Entry: store.Entry{N: 1, Data: []byte("one")}}))
		w := s.Watch(store.LogTopic("x"))
		<-w.C // the first needs no signal
		log := store.Append{Entry: store.Entry{N: 2, Data: make([]byte, tt.size)}, At: 1, Task: "none"}
		err := s.CloseTask(ctx, "a", store.Closing{Task: store.Task{Meta: store.Meta{Version: tt.version}}, LogOf: "x", Log: log})
		task, _ := s.Task(ctx, "a")
		if read, _ := s.ReadLog(ctx, "x", 0, 9); !errors.Is(err, tt.want) || len(read) != tt.entries || (task.Owner == "") != (tt.want == nil) {
			t.Errorf("%s: %v, want %v, with %d entries and the task %+v", name, err, tt.want, len(read), task)
		}
		woken := false
		select {
		case <-w.C:
			woken = true
		default:
		}
		if w.Stop(); woken != (tt.entries != 1) {
			t.Errorf("%s: woken %t", name, woken)
		}
		must(t, s.Close())
	}
}

// An append that removes its log wakes who follows it, and one that is refused does not.
func TestAppendsSignal(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "state.db"))
	defer s.Close()
	must(t, s.AppendLog(t.Context(), "x", store.Append{Entry: store.Entry{N: 1}}))
	w := s.Watch(store.LogTopic("x"))
	defer w.Stop()
	<-w.C // the first needs no signal
	for _, tt := range []struct {
		at, size int
		want     error
		woken    bool
	}{{5, 1, store.ErrConflict, false}, {1, 1, nil, true}, {2, store.MaxLog, store.ErrTooLarge, true}, {2, 1, store.ErrNotFound, false}} {
		err := s.AppendLog(t.Context(), "x", store.Append{Entry: store.Entry{N: tt.at + 1, Data: make([]byte, tt.size)}, At: tt.at})
		woken := false
		select {
		case <-w.C:
			woken = true
		default:
		}
		if !errors.Is(err, tt.want) || woken != tt.woken {
			t.Errorf("%+v: %v, woken %t", tt, err, woken)
		}
	}
}

// Both bounds of a list hold at once, and the shortest time to live is not for good or over.
func TestSmallBounds(t *testing.T) {
	t.Parallel()
	var ahead time.Duration
	now := time.Now()
	s, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "s.db"), Now: func() time.Time { return now.Add(ahead) }})
	must(t, err)
	defer s.Close()
	for _, item := range []string{"aaaa", "b", "cccc", "d"} {
		must(t, s.PushList(t.Context(), "l", []byte(item), store.Bounds{Items: 3, Bytes: 5}, time.Nanosecond))
	}
	for at, want := range map[time.Duration][][]byte{0: {[]byte("cccc"), []byte("d")}, time.Millisecond: nil} {
		ahead = at
		items, err := s.List(t.Context(), "l", 0, 0)
		if diff := cmp.Diff(want, items); diff != "" || err != nil {
			t.Errorf("after %v, %v (-want +got):\n%s", at, err, diff)
		}
	}
}

// One search looks at 1,000 tasks, however many there are and whatever it finds: meanwhile the one
// connection serves nobody else.
func TestSearchForARareStateIsBounded(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := open(t, filepath.Join(t.TempDir(), "state.db"))
	defer s.Close()
	for i := range 1001 {
		state := "completed"
		if i == 0 {
			state = "failed"
		}
		task := store.Task{Doc: []byte("{}"), Meta: store.Meta{User: "u", State: state, Created: time.UnixMilli(int64(i))}}
		must(t, s.CreateTask(ctx, fmt.Sprintf("task_%04d", i), task, time.Hour))
	}
	q := store.Query{User: "u", State: "failed", Limit: 5}
	first, err := s.Tasks(ctx, q)
	must(t, err)
	q.Cursor = first.Next
	second, err := s.Tasks(ctx, q)
	must(t, err)
	if len(first.IDs) > 0 || first.Next == "" || !slices.Equal(second.IDs, []string{"task_0000"}) || second.Next != "" {
		t.Errorf("the first page has %v and leads to %q, the second one has %v and leads to %q", first.IDs, first.Next, second.IDs, second.Next)
	}
	q = store.Query{User: "u", State: "completed", Limit: 5}
	if full, err := s.Tasks(ctx, q); err != nil || len(full.IDs) != 5 || full.Next == "" {
		t.Errorf("a page of a common state has %v and leads to %q, %v", full.IDs, full.Next, err)
	}
}
