package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/telemetry/health"
	"sluice/internal/state/store"
	"sluice/internal/state/store/sqlite"
)

// clocked opens a store whose clock is ahead of that of this machine.
func clocked(t *testing.T, path string, ahead *time.Duration) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Config{
		Path: path, Calls: store.NewCalls(store.CallsConfig{Timeout: patience}), Now: func() time.Time { return time.Now().Add(*ahead) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// kinds are the kinds of records: how each is made, to be kept for ttl, and whether it is there.
func kinds() map[string]struct {
	put   func(ctx context.Context, s *sqlite.Store, ttl time.Duration) error
	there func(ctx context.Context, s *sqlite.Store) (bool, error)
} {
	type kind = struct {
		put   func(ctx context.Context, s *sqlite.Store, ttl time.Duration) error
		there func(ctx context.Context, s *sqlite.Store) (bool, error)
	}
	found := func(err error) (bool, error) {
		if errors.Is(err, store.ErrNotFound) {
			return false, nil
		}
		return err == nil, err
	}
	return map[string]kind{
		"task": {
			func(ctx context.Context, s *sqlite.Store, ttl time.Duration) error {
				return s.CreateTask(ctx, "k", store.Task{Doc: []byte("{}")}, ttl)
			},
			func(ctx context.Context, s *sqlite.Store) (bool, error) {
				_, err := s.Task(ctx, "k")
				return found(err)
			},
		},
		"task in a list": {
			func(ctx context.Context, s *sqlite.Store, ttl time.Duration) error {
				return s.CreateTask(ctx, "k", store.Task{Doc: []byte("{}"), Meta: store.Meta{User: "u"}}, ttl)
			},
			func(ctx context.Context, s *sqlite.Store) (bool, error) {
				page, err := s.Tasks(ctx, store.Query{User: "u", Limit: 5})
				return len(page.IDs) > 0, err
			},
		},
		"orphan": {
			func(ctx context.Context, s *sqlite.Store, ttl time.Duration) error {
				return s.CreateTask(ctx, "k", store.Task{Meta: store.Meta{Holder: store.Holder{Owner: "gone", Epoch: 1}}}, ttl)
			},
			func(ctx context.Context, s *sqlite.Store) (bool, error) {
				ids, err := s.Orphans(ctx, 5)
				return len(ids) > 0, err
			},
		},
		"log": {
			func(ctx context.Context, s *sqlite.Store, ttl time.Duration) error {
				return s.AppendLog(ctx, "k", store.Append{Entry: store.Entry{N: 1, Data: []byte("e")}, TTL: ttl})
			},
			func(ctx context.Context, s *sqlite.Store) (bool, error) {
				_, err := s.ReadLog(ctx, "k", 0, 5)
				return found(err)
			},
		},
		"lease": {
			func(ctx context.Context, s *sqlite.Store, ttl time.Duration) error {
				return s.RenewLease(ctx, store.Holder{Owner: "g", Epoch: 3}, ttl)
			},
			func(ctx context.Context, s *sqlite.Store) (bool, error) {
				alive, err := s.LeasesAlive(ctx, store.Holder{Owner: "g", Epoch: 3})
				return alive[0], err
			},
		},
		"value": {
			func(ctx context.Context, s *sqlite.Store, ttl time.Duration) error {
				_, err := s.PutValue(ctx, "k", store.Value{Data: []byte("v")}, ttl)
				return err
			},
			func(ctx context.Context, s *sqlite.Store) (bool, error) {
				_, err := s.Value(ctx, "k")
				return found(err)
			},
		},
		"list": {
			func(ctx context.Context, s *sqlite.Store, ttl time.Duration) error {
				return s.PushList(ctx, "k", []byte("i"), store.Bounds{}, ttl)
			},
			func(ctx context.Context, s *sqlite.Store) (bool, error) {
				items, err := s.List(ctx, "k", 0, 0)
				return len(items) > 0, err
			},
		},
		"index": {
			func(ctx context.Context, s *sqlite.Store, ttl time.Duration) error {
				return s.PutIndex(ctx, "k", store.Member{ID: "m", Score: 1}, ttl)
			},
			func(ctx context.Context, s *sqlite.Store) (bool, error) {
				members, err := s.Index(ctx, "k", store.Range{Max: 9, Limit: 5})
				n, errCount := s.CountIndex(ctx, "k")
				if int(n) != len(members) {
					return false, fmt.Errorf("%d members are counted, %d are there", n, len(members))
				}
				return n > 0, errors.Join(err, errCount)
			},
		},
		"counter": {
			func(ctx context.Context, s *sqlite.Store, ttl time.Duration) error {
				_, err := s.AddCounter(ctx, "k", 5, ttl)
				return err
			},
			func(ctx context.Context, s *sqlite.Store) (bool, error) {
				n, err := s.Counter(ctx, "k")
				return n > 0, err
			},
		},
	}
}

// A record is there until its time is over, and not from then on; one without a time stays. What
// is over leaves no row behind when the file is opened again, and what is not is still there.
func TestRecordsExpireByTheClock(t *testing.T) {
	t.Parallel()
	for name, k := range kinds() {
		for _, ttl := range []time.Duration{0, time.Hour} {
			t.Run(fmt.Sprint(name, " for ", ttl), func(t *testing.T) {
				t.Parallel()
				path := filepath.Join(t.TempDir(), "state.db")
				var ahead time.Duration
				s := clocked(t, path, &ahead)
				must(t, k.put(t.Context(), s, ttl))
				for _, at := range []time.Duration{0, 59 * time.Minute, 61 * time.Minute, 1000 * time.Hour} {
					ahead = at
					there, err := k.there(t.Context(), s)
					if want := ttl == 0 || at < ttl; there != want || err != nil {
						t.Errorf("after %v: there %t, %v, want %t", at, there, err, want)
					}
				}
				must(t, s.Close())
				s = clocked(t, path, &ahead)
				there, err := k.there(t.Context(), s)
				must(t, s.Close())
				if want := ttl == 0 && name != "lease"; there != want || err != nil { // a lease is that of a process that is gone
					t.Errorf("opened again: there %t, %v, want %t", there, err, want)
				}
				if n := rows(t, path); (n > 0) != there {
					t.Errorf("%d rows are left", n)
				}
			})
		}
	}
}

// rows counts those of all tables.
func rows(t *testing.T, path string) (all int) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	must(t, err)
	defer db.Close()
	for _, table := range []string{"tasks", "logs", "entries", "leases", "vals", "lists", "items", "indexes", "members", "counters"} {
		n := 0
		must(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM "+table).Scan(&n))
		all += n
	}
	return all
}

// What begins again under a name whose record is over has nothing of it.
func TestExpiredRecordsBeginAgain(t *testing.T) {
	t.Parallel()
	var ahead time.Duration
	s := clocked(t, filepath.Join(t.TempDir(), "state.db"), &ahead)
	defer s.Close()
	ctx := t.Context()
	for _, k := range kinds() {
		err := k.put(ctx, s, time.Hour)
		if err != nil && !errors.Is(err, store.ErrConflict) { // three kinds make the same task
			t.Fatal(err)
		}
	}
	if err := s.RenewLease(ctx, store.Holder{Owner: "g", Epoch: 2}, time.Hour); !errors.Is(err, store.ErrConflict) {
		t.Errorf("the lease of an earlier life: %v, want %v", err, store.ErrConflict)
	}
	ahead = 2 * time.Hour
	must(t, s.RenewLease(ctx, store.Holder{Owner: "g", Epoch: 2}, time.Hour))
	must(t, s.CreateTask(ctx, "k", store.Task{Doc: []byte("[]")}, time.Hour))
	task, err := s.Task(ctx, "k")
	must(t, err)
	if task.Version != 1 || string(task.Doc) != "[]" || task.Cancel {
		t.Errorf("the task is %+v", task)
	}
	if err := s.AppendLog(ctx, "k", store.Append{Entry: store.Entry{N: 2}, At: 1}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a second entry of a log that is over: %v, want %v", err, store.ErrNotFound)
	}
	must(t, s.AppendLog(ctx, "k", store.Append{Entry: store.Entry{N: 7, Data: []byte("new")}, TTL: time.Hour}))
	log, err := s.ReadLog(ctx, "k", 0, 9)
	if diff := cmp.Diff([]store.Entry{{N: 7, Data: []byte("new")}}, log); diff != "" || err != nil {
		t.Errorf("log, %v (-want +got):\n%s", err, diff)
	}
	must(t, s.PutIndex(ctx, "k", store.Member{ID: "other", Score: 2}, time.Hour))
	members, err := s.Index(ctx, "k", store.Range{Max: 9, Limit: 9})
	if diff := cmp.Diff([]store.Member{{ID: "other", Score: 2}}, members); diff != "" || err != nil {
		t.Errorf("index, %v (-want +got):\n%s", err, diff)
	}
	must(t, s.PushList(ctx, "k", []byte("new"), store.Bounds{}, time.Hour))
	items, err := s.List(ctx, "k", 0, 0)
	if diff := cmp.Diff([][]byte{[]byte("new")}, items); diff != "" || err != nil {
		t.Errorf("list, %v (-want +got):\n%s", err, diff)
	}
	if n, err := s.AddCounter(ctx, "k", 2, time.Hour); n != 2 || err != nil {
		t.Errorf("the counter is %d, %v", n, err)
	}
	if err := s.KeepValue(ctx, "k", time.Hour); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a value that is over is kept on: %v, want %v", err, store.ErrNotFound)
	}
	if v, err := s.PutValue(ctx, "k", store.Value{Version: 1}, 0); !errors.Is(err, store.ErrConflict) || v.Version != 0 {
		t.Errorf("a change of a value that is over: %+v, %v", v, err)
	}
}

// An index is kept for the longest time that one of its members asks for.
func TestIndexIsKeptForItsLongest(t *testing.T) {
	t.Parallel()
	var ahead time.Duration
	s := clocked(t, filepath.Join(t.TempDir(), "state.db"), &ahead)
	defer s.Close()
	must(t, s.PutIndex(t.Context(), "i", store.Member{ID: "a"}, 3*time.Hour))
	must(t, s.PutIndex(t.Context(), "i", store.Member{ID: "b"}, time.Hour))
	for at, want := range map[time.Duration]int64{2 * time.Hour: 2, 4 * time.Hour: 0} {
		ahead = at
		if n, err := s.CountIndex(t.Context(), "i"); n != want || err != nil {
			t.Errorf("after %v: %d members, %v, want %d", at, n, err, want)
		}
	}
}

// The files and their folder are their owner's alone, and what only reads neither makes nor
// changes one.
func TestFilesArePrivate(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	path := filepath.Join(dir, "100% #1?.db")
	s := open(t, path)
	defer s.Close()
	for name, want := range map[string]os.FileMode{dir: 0o700, path: 0o600, path + ".owner": 0o600} {
		info, err := os.Stat(name)
		must(t, err)
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", name, got, want)
		}
	}
	missing := filepath.Join(dir, "missing.db")
	if _, err := sqlite.Open(t.Context(), sqlite.Config{Path: missing, ReadOnly: true}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("reading what is not there: %v, want %v", err, os.ErrNotExist)
	}
	if _, err := os.Stat(missing); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a reader has made the file: %v", err)
	}
	reader, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, ReadOnly: true})
	must(t, err)
	defer reader.Close()
	if err := reader.DeleteTask(t.Context(), "k"); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("a change by a reader: %v, want %v", err, store.ErrReadOnly)
	}
	if got := s.Check().(health.Store); got.Kind != "sqlite" || got.State != health.Available {
		t.Errorf("the store is %+v", got)
	}
}
