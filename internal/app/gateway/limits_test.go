package gateway_test

import (
	"testing"

	"sluice/internal/app/gateway"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
)

// Limits hold for all processes that can open a store, over a restart of the one that owns a file,
// and for a process by itself where nothing outlives it.
func TestSharingOfLimits(t *testing.T) {
	t.Parallel()
	for location, want := range map[string]struct{ counts, alone bool }{
		"memory": {false, false}, "sqlite:state.db": {true, true}, "redis://host": {true, false}, "unix:///run/r.sock": {true, false},
	} {
		at, err := store.ParseLocation(location)
		if err != nil {
			t.Fatal(err)
		}
		in := memory.New(memory.Config{})
		if got := gateway.SharingOf(at, in, true); (got.Store != nil) != want.counts || got.Alone != want.alone {
			t.Errorf("%s: %+v", location, got)
		}
		if got := gateway.SharingOf(at, in, false); got.Store == nil || got.Alone {
			t.Errorf("a store that was given, in place of %s: %+v", location, got)
		}
	}
}
