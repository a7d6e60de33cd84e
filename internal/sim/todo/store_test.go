package todo

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func titled(title string) fields { return fields{title: &title} }

// add creates n todos.
func add(t *testing.T, s *Store, n int) {
	t.Helper()
	for i := range n {
		if _, err := s.createTodo(t.Context(), "", titled(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
}

// count returns the number of todos, and of different ids.
func count(t *testing.T, s *Store) (todos, ids int) {
	t.Helper()
	found, err := s.listTodos(t.Context(), "", filter{limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, it := range found.Todos {
		seen[it.ID] = true
	}
	return found.Count, len(seen)
}

func TestReopenedFileKeepsTodos(t *testing.T) {
	t.Parallel()
	// Every character here means something in a URI or in SQL.
	path := filepath.Join(t.TempDir(), "new", "folder", "a b?c#d%20&'é.db")
	cfg := testConfig()
	cfg.Path = path
	first, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	d, err := parseDue("2026-11-26")
	if err != nil {
		t.Fatal(err)
	}
	f := titled("keep me")
	f.due, f.tags = &d, &[]string{"a", "b"}
	want, err := first.createTodo(t.Context(), "", f)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		again, err := Open(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		got, err := again.listTodos(t.Context(), "", filter{limit: 10})
		if diff := cmp.Diff(listing{Todos: []item{want}, Count: 1}, got); err != nil || diff != "" {
			t.Errorf("after reopening: %v (-want +got):\n%s", err, diff)
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 || entries[0].Name() != filepath.Base(path) {
		t.Errorf("the folder holds %v, %v, want the one file %q", entries, err, filepath.Base(path))
	}
}

func TestFilesArePrivate(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "folder")
	cfg := Config{Path: filepath.Join(folder, "todos.db")}
	add(t, open(t, cfg), 1)
	got := map[string]fs.FileMode{}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			got[entry.Name()] = info.Mode().Perm()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]fs.FileMode{"folder": 0o700, "todos.db": 0o600, "todos.db-wal": 0o600, "todos.db-shm": 0o600}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("modes (-want +got):\n%s", diff)
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	text := filepath.Join(folder, "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("not a database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	newer := filepath.Join(folder, "newer.db")
	execute(t, newer, "PRAGMA user_version = 99")
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, test := range []struct {
		name string
		ctx  context.Context
		path string
	}{
		{"a file that is not a database", t.Context(), text},
		{"a folder", t.Context(), folder},
		{"a folder that is a file", t.Context(), filepath.Join(text, "todos.db")},
		{"a newer schema", t.Context(), newer},
		{"a call that is over", canceled, filepath.Join(folder, "todos.db")},
	} {
		if s, err := Open(test.ctx, Config{Path: test.path}); err == nil {
			s.Close()
			t.Errorf("Open took %s", test.name)
		}
	}
}

// execute runs one statement on a file, past the Store.
func execute(t *testing.T, path, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

func TestDefaultID(t *testing.T) {
	t.Parallel()
	s := open(t, Config{})
	add(t, s, 20)
	found, err := s.listTodos(t.Context(), "", filter{limit: 20})
	if err != nil {
		t.Fatal(err)
	}
	form := regexp.MustCompile(`^todo_[0-9a-hjkmnp-tv-z]{8}$`)
	for _, it := range found.Todos {
		if !form.MatchString(it.ID) {
			t.Errorf("id %q is not of the form %s", it.ID, form)
		}
	}
}

func TestUsedIDsAreSkipped(t *testing.T) {
	t.Parallel()
	var calls int
	ids := []string{"a", "a", "a", "b"}
	s := open(t, Config{NewID: func() string { calls++; return ids[min(calls, len(ids))-1] }})
	add(t, s, 2)
	if todos, ids := count(t, s); todos != 2 || ids != 2 {
		t.Errorf("%d todos with %d ids, want 2 with 2", todos, ids)
	}
	if it, err := s.createTodo(t.Context(), "", titled("c")); err == nil {
		t.Errorf("created %+v although no id was left", it)
	}
}

// A todo that is completed twice keeps the time of the first.
func TestCompletedAtStays(t *testing.T) {
	t.Parallel()
	now := wednesday
	cfg := testConfig()
	cfg.Now = func() time.Time { return now }
	s := open(t, cfg)
	add(t, s, 1)
	for _, step := range []struct{ status, want string }{
		{statusCompleted, "2026-11-25T10:00:00Z"},
		{statusCompleted, "2026-11-25T10:00:00Z"},
		{statusPending, ""},
		{statusCompleted, "2026-11-25T13:00:00Z"},
	} {
		now = now.Add(time.Hour)
		it, err := s.updateTodo(t.Context(), "", "todo_1", fields{status: &step.status})
		if err != nil || it.CompletedAt != step.want || it.CreatedAt != "2026-11-25T09:00:00Z" {
			t.Errorf("%s at %v: %+v, %v, want completed_at %q", step.status, now, it, err, step.want)
		}
	}
}

func TestTwoStoresOnOneFile(t *testing.T) {
	t.Parallel()
	cfg := Config{Path: filepath.Join(t.TempDir(), "todos.db")}
	stores := []*Store{open(t, cfg), open(t, cfg)}
	var group sync.WaitGroup
	for i := range 40 {
		group.Go(func() {
			if _, err := stores[i%2].createTodo(t.Context(), "", titled("x")); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for _, s := range stores {
		if todos, ids := count(t, s); todos != 40 || ids != 40 {
			t.Errorf("%d todos with %d ids, want 40", todos, ids)
		}
	}
}

func TestTwoProcessesOnOneFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "todos.db")
	children := make([]*exec.Cmd, 2)
	for i := range children {
		children[i] = exec.CommandContext(t.Context(), os.Args[0], asChild, path)
		children[i].Stderr = t.Output()
		if err := children[i].Start(); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, Config{Path: path})
	add(t, s, 25)
	for _, child := range children {
		if err := child.Wait(); err != nil {
			t.Error(err)
		}
	}
	if todos, ids := count(t, s); todos != 75 || ids != 75 {
		t.Errorf("%d todos with %d ids, want 75", todos, ids)
	}
	var verdict string
	if err := s.db.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("integrity check: %q, %v", verdict, err)
	}
}

// A call that waits for another process's lock ends with its context, long before
// the busy timeout of five seconds.
func TestCancelWhileLocked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "todos.db")
	s := open(t, Config{Path: path})
	other := open(t, Config{Path: path})
	lock, err := other.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begun := time.Now()
	if _, err := s.createTodo(ctx, "", titled("x")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("create: %v, want the context's error", err)
	}
	if waited := time.Since(begun); waited > 3*time.Second {
		t.Errorf("create returned after %v", waited)
	}
	if err := lock.Rollback(); err != nil {
		t.Fatal(err)
	}
	add(t, s, 1)
	if todos, _ := count(t, s); todos != 1 {
		t.Errorf("%d todos, want the one that was not cancelled", todos)
	}
}

// In memory the connection is the database, so cancelling a call must not cost it.
func TestCancelledCallsLoseNothingInMemory(t *testing.T) {
	t.Parallel()
	s := open(t, Config{})
	add(t, s, 10)
	var group sync.WaitGroup
	for i := range 100 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*20*time.Microsecond)
		group.Go(func() {
			defer cancel()
			if _, err := s.listTodos(ctx, "", filter{limit: 10}); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if todos, _ := count(t, s); todos != 10 {
		t.Errorf("%d todos, want 10", todos)
	}
}
