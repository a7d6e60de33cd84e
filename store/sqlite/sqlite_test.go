package sqlite_test

import (
	"path/filepath"
	"testing"
	"time"

	"sluice/store"
	"sluice/store/sqlite"
	"sluice/store/storetest"
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
