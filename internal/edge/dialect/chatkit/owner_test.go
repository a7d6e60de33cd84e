package chatkit_test

import (
	"context"
	"errors"
	"sluice/internal/base/fault"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/edge/dialect/chatkit"
	"sluice/internal/turn/chat"
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
	for _, who := range []chat.Principal{{}, {ID: "ann"}, {Tenant: "acme", ID: "app", Scopes: chat.ScopeActAs}, {Tenant: "other", ID: "ann"}, {Tenant: "acme"}} {
		if _, err := s.Open(chat.WithTurn(t.Context(), chat.Turn{Principal: who}), []byte(body)); err != nil {
			t.Error(err)
		}
	}
	want := []string{"ann", "\x00ann", "acme\x00\x00\x00ann", "other\x00\x00\x00ann", "acme\x00\x00ann"}
	if diff := cmp.Diff(want, w.owners); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, err := s.Open(chat.WithTurn(t.Context(), chat.Turn{Principal: chat.Principal{ID: "bob"}}), []byte(body))
	if f, ok := errors.AsType[*fault.Error](err); !ok || f.Type != fault.Forbidden {
		t.Errorf("bob lists ann's threads: %v", err)
	}
	x, err := s.Open(chat.WithTurn(t.Context(), chat.Turn{Principal: chat.Principal{ID: chat.AnonymousID}}), []byte(`{"type":"threads.list","params":{}}`))
	if err != nil || !strings.Contains(string(x.Reply.Body), `"data":[]`) || len(w.owners) != len(want) {
		t.Errorf("the anonymous are shown %v %v, of %q", x, err, w.owners)
	}
}
