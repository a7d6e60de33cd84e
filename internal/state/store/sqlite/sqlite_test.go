package sqlite_test

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/telemetry/health"
	"sluice/internal/state/store"
	"sluice/internal/state/store/sqlite"
	"sluice/internal/state/store/storetest"
)

// patience bounds a command here.
const patience = 10 * time.Second

func open(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, Calls: store.NewCalls(store.CallsConfig{Timeout: patience})})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) store.Store { return open(t, filepath.Join(t.TempDir(), "a b", "state.db")) })
}

func TestStateOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "state.db")
	s := open(t, path)
	task := store.Task{Doc: []byte("{}"), Meta: store.Meta{Holder: store.Holder{Owner: "g", Epoch: 1}, User: "u", Created: time.UnixMilli(5)}}
	must(t, s.CreateTask(ctx, "a", task, time.Hour))
	must(t, s.AppendLog(ctx, "x", store.Append{Entry: store.Entry{N: 2, Data: []byte("e")}, TTL: time.Hour}))
	_, err := s.PutValue(ctx, "gone", store.Value{}, time.Millisecond)
	must(t, err)
	must(t, s.Close())

	s = open(t, path)
	defer s.Close()
	got, err := s.Task(ctx, "a")
	must(t, err)
	task.Version = 1
	if diff := cmp.Diff(task, got); diff != "" {
		t.Errorf("task (-want +got):\n%s", diff)
	}
	lost, err := s.Orphans(ctx, 9)
	must(t, err)
	if diff := cmp.Diff([]string{"a"}, lost); diff != "" {
		t.Errorf("orphans (-want +got):\n%s", diff)
	}
	must(t, s.AppendLog(ctx, "x", store.Append{Entry: store.Entry{N: 3}, At: 2, TTL: time.Hour}))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A second process must not run turns with the same file; what only reads may have it.
func TestOneOwner(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	owner := own(t, path)
	if _, err := sqlite.Open(t.Context(), sqlite.Config{Path: path}); !errors.Is(err, store.ErrOwned) {
		t.Errorf("a second owner: %v, want %v", err, store.ErrOwned)
	}
	reader, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, ReadOnly: true})
	must(t, err)
	if n, err := reader.Counter(t.Context(), "owned"); n != 1 || err != nil {
		t.Errorf("the reader sees %d, %v", n, err)
	}
	if _, err := reader.AddCounter(t.Context(), "owned", 1, 0); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a change by a reader: %v, want %v", err, store.ErrUnavailable)
	}
	must(t, reader.Close())

	must(t, owner.Process.Kill()) // and the kernel ends the lock
	_ = owner.Wait()
	s := open(t, path)
	defer s.Close()
	if n, err := s.Counter(t.Context(), "owned"); n != 1 || err != nil {
		t.Errorf("the next owner sees %d, %v", n, err)
	}
}

func TestOneOwnerInAProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	s := open(t, path)
	if _, err := sqlite.Open(t.Context(), sqlite.Config{Path: path}); !errors.Is(err, store.ErrOwned) {
		t.Errorf("a second owner: %v, want %v", err, store.ErrOwned)
	}
	must(t, s.Close())
	must(t, open(t, path).Close())
}

const owns = "SLUICE_TEST_OWNS"

// own starts another process that has the file, until it is killed.
func own(t *testing.T, path string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), owns+"="+path)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if lines.Text() == "owned" {
			return cmd
		}
	}
	t.Fatal("the other process does not own the file")
	return nil
}

// TestMain is also what the other process runs.
func TestMain(m *testing.M) {
	path := os.Getenv(owns)
	if path == "" {
		os.Exit(m.Run())
	}
	s, err := sqlite.Open(context.Background(), sqlite.Config{Path: path})
	if err == nil {
		_, err = s.AddCounter(context.Background(), "owned", 1, 0)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("owned")
	time.Sleep(time.Hour) // until it is killed
}

func TestFilesThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	none := filepath.Join(dir, "none.db")
	must(t, os.WriteFile(none, []byte(strings.Repeat("no database ", 500)), 0o600))
	newer := filepath.Join(dir, "newer.db")
	must(t, open(t, newer).Close())
	db, err := sql.Open("sqlite", newer)
	must(t, err)
	_, err = db.Exec("PRAGMA user_version = 99")
	must(t, err)
	must(t, db.Close())
	for _, tt := range []struct {
		cfg  sqlite.Config
		want error
	}{
		{sqlite.Config{Path: none}, store.ErrDamaged},
		{sqlite.Config{Path: none, ReadOnly: true}, store.ErrDamaged},
		{sqlite.Config{Path: newer}, store.ErrDamaged},
		{sqlite.Config{Path: newer, ReadOnly: true}, store.ErrDamaged},
		{sqlite.Config{Path: dir}, store.ErrUnavailable},
		{sqlite.Config{Path: filepath.Join(none, "x.db")}, store.ErrUnavailable},
		{sqlite.Config{Path: filepath.Join(dir, "missing.db"), ReadOnly: true}, store.ErrUnavailable},
	} {
		s, err := sqlite.Open(t.Context(), tt.cfg)
		if !errors.Is(err, tt.want) {
			t.Errorf("%+v: %v, want %v", tt.cfg, err, tt.want)
		}
		if err == nil {
			must(t, s.Close())
		}
	}
}

// A file that has no room left takes no change, and says so; what it has stays.
func TestFullFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	s := open(t, path)
	defer s.Close()
	must(t, s.AppendLog(t.Context(), "x", store.Append{Entry: store.Entry{N: 1, Data: []byte("one")}}))
	s.Limit(t)
	err := s.AppendLog(t.Context(), "x", store.Append{Entry: store.Entry{N: 2, Data: make([]byte, 1<<20)}, At: 1})
	if !errors.Is(err, store.ErrFull) {
		t.Errorf("an entry that does not fit: %v, want %v", err, store.ErrFull)
	}
	if _, err := s.Value(t.Context(), "none"); !errors.Is(err, store.ErrNotFound) || s.Check().(health.Store).State != health.Full {
		t.Errorf("%v: the store is %+v, want full", err, s.Check())
	}
	log, err := s.ReadLog(t.Context(), "x", 0, 9)
	if err != nil || len(log) != 1 {
		t.Errorf("log %v, %v, want one entry", log, err)
	}
	must(t, s.AppendLog(t.Context(), "x", store.Append{Entry: store.Entry{N: 2}, At: 1}))
}

func TestClosedStore(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "state.db"))
	must(t, s.Close())
	if _, err := s.Task(t.Context(), "a"); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("error %v, want %v", err, store.ErrUnavailable)
	}
}

func BenchmarkStore(b *testing.B) {
	s, err := sqlite.Open(b.Context(), sqlite.Config{Path: filepath.Join(b.TempDir(), "state.db")})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	storetest.Bench(b, s)
}

// What has expired is no version of a record, and no part of a list.
func TestPushAndPutAfterExpiry(t *testing.T) {
	t.Parallel()
	var ahead time.Duration
	s, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "s.db"), Now: func() time.Time { return time.Now().Add(ahead) }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, item := range []string{"before", "after"} {
		v, err := s.PushAndPut(t.Context(), []store.Pushed{{Key: "a", Item: []byte(item)}}, "r", store.Value{Data: []byte(item)}, time.Hour)
		if err != nil || v.Version != 1 {
			t.Fatal(v, err)
		}
		ahead = 2 * time.Hour
	}
	if got, err := s.List(t.Context(), "a", 0, 0); err != nil || len(got) != 1 || string(got[0]) != "after" {
		t.Errorf("%q, %v", got, err)
	}
}
