package engines

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"sluice/internal/base/telemetry/health"
	"sluice/internal/state/store"
)

// Each location opens the engine that it names, which says so of itself.
func TestOpen(t *testing.T) {
	t.Parallel()
	file := "sqlite:" + filepath.Join(t.TempDir(), "s.db")
	for location, want := range map[string]store.Kind{"memory": store.Memory, file: store.SQLite, "redis://127.0.0.1:1/0": store.Redis} {
		at, err := store.ParseLocation(location)
		if err != nil {
			t.Fatal(err)
		}
		engine, err := Open(t.Context(), Config{Location: at})
		if err != nil {
			t.Fatal(err)
		}
		if s, ok := engine.Check().(health.Store); !ok || s.Kind != string(want) {
			t.Errorf("%s: %+v", location, engine.Check())
		}
		if want == store.SQLite {
			ownedOnce(t, at)
		}
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := Open(t.Context(), Config{Location: store.Location{Kind: store.None}}); err == nil || !strings.Contains(err.Error(), `"none"`) {
		t.Errorf("no engine: %v", err)
	}
}

// A file has one owner, and any number of readers.
func ownedOnce(t *testing.T, at store.Location) {
	t.Helper()
	if second, err := Open(t.Context(), Config{Location: at}); !errors.Is(err, store.ErrOwned) || second != nil {
		t.Errorf("a second owner: %v, %v", second, err)
	}
	reader, err := Open(t.Context(), Config{Location: at, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reader.Value(t.Context(), "x"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a reader: %v", err)
	}
	if err := reader.Close(); err != nil {
		t.Error(err)
	}
}
