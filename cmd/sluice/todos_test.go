package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"sluice/internal/app/gateway/gatewaytest"
)

// A home that cannot be written, as in many a container, is no reason not to start.
// A place that somebody chose is: then the todos are wanted there.
func TestTodosWithoutAWritableHome(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the data folder is another one")
	}
	file := filepath.Join(t.TempDir(), "file") // no folder can be made in it, not even by root
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	home := map[string]string{"HOME": file, "SLUICE_TODO_DB": ""}

	r := start(t, home)
	gatewaytest.WantSuccess(t, r.Ask("Remind me to water the ficus tomorrow at 9am"), "stop")
	r.Stop()
	warned := r.Log.All("todo_db_in_memory")
	if len(warned) != 1 || warned[0].Fields["level"] != "WARNING" || warned[0].Detail("reason") == "" {
		t.Errorf("the warnings are %v", warned)
	}
	if !strings.Contains(r.Stderr.String(), "kept in memory until the end: no data folder can be written") {
		t.Errorf("the banner is\n%s", r.Stderr)
	}

	chosen := filepath.Join(file, "todo.db")
	if code, _, stderr := runCommand(t, gatewaytest.With(home, "SLUICE_TODO_DB", chosen)); code != exitFailed || !strings.Contains(stderr, "SLUICE_TODO_DB") {
		t.Errorf("a chosen place: exit code %d, %s", code, stderr)
	}
}

// A file that is there but is no database is not passed over in silence.
func TestTodosInADamagedFile(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	path := filepath.Join(data, "sluice", "todo.db")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Repeat("no database", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"XDG_DATA_HOME": data, "LOCALAPPDATA": data, "HOME": data, "SLUICE_TODO_DB": ""}
	if runtime.GOOS == "darwin" {
		t.Skip("the data folder is another one")
	}
	if code, _, stderr := runCommand(t, env); code != exitFailed || !strings.Contains(stderr, "todo") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}
