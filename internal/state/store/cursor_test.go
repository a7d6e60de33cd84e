package store_test

import (
	"errors"
	"testing"
	"time"

	"sluice/internal/state/store"
)

// A cursor is refused, or it is the place behind one task, which it names when it is written again.
func FuzzCursor(f *testing.F) {
	for _, seed := range []string{"", "_", "1_a", "-1_a", "+1_a", "1764000000000_task_0123456789abcdefghijklmnop", "9223372036854775808_a", "9007199254740993_a", "1_", "1_\x00", "1.5_a"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, cursor string) {
		m, err := store.ReadCursor(cursor)
		if err != nil {
			if !errors.Is(err, store.ErrCursor) {
				t.Fatal(err)
			}
			return
		}
		if cursor == "" {
			return
		}
		again, err := store.ReadCursor(store.NewCursor(m.ID, time.UnixMilli(m.Score)))
		if err != nil || again != m || m.ID == "" {
			t.Fatalf("%q is %+v, and written again %+v (%v)", cursor, m, again, err)
		}
	})
}
