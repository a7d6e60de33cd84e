package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"sluice/store"
)

// A cursor leads to the task that it was made of, whatever its id and whenever that is; what
// nobody made is refused.
func TestCursorsLeadToTheirTask(t *testing.T) {
	t.Parallel()
	for _, want := range []store.Member{{ID: "a"}, {ID: "a_b", Score: 5}, {ID: "_", Score: -5}, {ID: "é\n", Score: 1 << 53}, {ID: "x", Score: -1 << 53}} {
		got, err := store.ReadCursor(store.NewCursor(want.ID, time.UnixMilli(want.Score)))
		if err != nil || got != want {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	}
	if got, err := store.ReadCursor(""); err != nil || got.Score < time.Now().AddDate(1000, 0, 0).UnixMilli() {
		t.Errorf("the first page begins behind %+v, %v", got, err)
	}
	for _, cursor := range []string{
		"_", "5", "5_", "_a", "x_a", "1.5_a", " 5_a", "0x5_a", fmt.Sprint(1<<53+1, "_a"), fmt.Sprint(-1<<53-1, "_a"), "99999999999999999999_a", "a_5",
	} {
		if got, err := store.ReadCursor(cursor); !errors.Is(err, store.ErrCursor) || got != (store.Member{}) {
			t.Errorf("%q: %+v, %v, want %v", cursor, got, err, store.ErrCursor)
		}
	}
}

// A writer that is behind learns where the log ends, and that this is a conflict.
func TestEndOfALog(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("append: %w", &store.EndError{End: 7})
	end, ok := errors.AsType[*store.EndError](err)
	if !ok || end.End != 7 || !errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound) {
		t.Errorf("%v: %v", err, end)
	}
}

// Other processes can open a store that lies in a file or in a server.
func TestSharedLocations(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"": false, "none": false, "memory": false, "sqlite:/x.db": true, "redis://h": true} {
		l, err := store.ParseLocation(text)
		if err != nil || l.Shared() != want {
			t.Errorf("%q: shared %t, %v, want %t", text, l.Shared(), err, want)
		}
	}
}
