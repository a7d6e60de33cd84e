package chatkit_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/chat"
	"sluice/dialect/chatkit"
)

// owners notes whose threads were asked for.
type owners struct {
	chatkit.Memory
	owners []string
}

func (w *owners) Threads(ctx context.Context, owner string, q chatkit.Query) ([]chatkit.Thread, bool, error) {
	w.owners = append(w.owners, owner)
	return w.Memory.Threads(ctx, owner, q)
}

// Threads belong to a user of a tenant, as far as somebody has authenticated them; the same
// user_id elsewhere is somebody else.
func TestThreadsHaveOwners(t *testing.T) {
	t.Parallel()
	w := new(owners)
	s := chatkit.New(chatkit.Config{Store: w})
	const body = `{"type":"threads.list","params":{},"metadata":{"user_id":"ann"}}`
	for _, who := range []chat.Principal{{}, {ID: "key-1"}, {Tenant: "acme", ID: "key-1"}, {Tenant: "other", ID: "key-1"}, {Tenant: "acme"}} {
		if _, err := s.Open(chat.WithTurn(t.Context(), chat.Turn{Principal: who}), []byte(body)); err != nil {
			t.Error(err)
		}
	}
	want := []string{"ann", "key-1\x00ann", "acme\x00\x00key-1\x00ann", "other\x00\x00key-1\x00ann", "acme\x00\x00ann"}
	if diff := cmp.Diff(want, w.owners); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
