package task_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
)

// crammed is a store that has no room from some append on.
type crammed struct {
	store.Store
	left atomic.Int64
}

func (c *crammed) AppendLog(ctx context.Context, turn string, a store.Append) error {
	if c.left.Add(-1) < 0 {
		return store.ErrFull
	}
	return c.Store.AppendLog(ctx, turn, a)
}

// The client of a turn for which the store has no room is warned once, and gets its whole
// answer: whether there was none from the beginning, or in the middle.
func TestFullStoreIsReportedInTheStream(t *testing.T) {
	const full = `"error_type":"store_unavailable"`
	for name, tt := range map[string]struct {
		store store.Store
		task  bool
	}{
		"from the beginning": {memory.New(memory.Config{Bytes: 300}), false},
		"in the middle":      {&crammed{Store: memory.New(memory.Config{})}, true},
	} {
		wholetest.InFleetNamed(t, name, func(t *testing.T, f *wholetest.Fleet) {
			if c, ok := tt.store.(*crammed); ok {
				c.left.Store(2)
			}
			f.Store = tt.store
			status, got := f.Gateway(nil).Ask(t, http.MethodPost, "/chat/stream", wholetest.Created)
			if status != http.StatusOK || strings.Count(got, full) != 1 || !strings.Contains(got, `"fatal":false`) || !strings.Contains(got, `"success":true`) ||
				strings.Count(got, `"delta":"word "`) != 5 || strings.Contains(got, `"task_id"`) != tt.task {
				t.Errorf("%d:\n%s", status, got)
			}
			if at := strings.Index(got, full); at < strings.Index(got, "event: start") || at > strings.Index(got, "event: done") {
				t.Errorf("the client is told out of its turn:\n%s", got)
			}
		})
	}
}
