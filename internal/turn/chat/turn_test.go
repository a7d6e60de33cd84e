package chat_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/turn/chat"
)

func TestRequestID(t *testing.T) {
	t.Parallel()
	if got := chat.RequestID(context.Background()); got != "" {
		t.Errorf("RequestID of an empty context is %q", got)
	}
	ctx := chat.WithRequestID(context.Background(), "req_1")
	if got := chat.RequestID(context.WithoutCancel(ctx)); got != "req_1" {
		t.Errorf("RequestID = %q, want req_1", got)
	}
}

// What changes for a turn within another one does not change the outer one, and removes
// nothing.
func TestTurnWithinATurn(t *testing.T) {
	t.Parallel()
	outer := chat.WithRequestID(t.Context(), "req_1")
	turn := chat.TurnOf(outer)
	turn.Caller = chat.Caller{User: "ann"}
	inner := chat.WithTurn(outer, turn)
	if diff := cmp.Diff(chat.Turn{RequestID: "req_1", Caller: chat.Caller{User: "ann"}}, chat.TurnOf(inner)); diff != "" {
		t.Errorf("within (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(chat.Turn{RequestID: "req_1"}, chat.TurnOf(outer)); diff != "" {
		t.Errorf("outside (-want +got):\n%s", diff)
	}
	if got := chat.TurnOf(chat.WithRequestID(inner, "req_2")); got.Caller.User != "ann" || got.RequestID != "req_2" {
		t.Errorf("with another id: %+v", got)
	}
}

// A turn keeps its key in each context that is made of its own, and shares it with no other turn: a
// client may send one id with each request.
func TestTurnKeys(t *testing.T) {
	t.Parallel()
	turn := func(id string, second int64) context.Context {
		return chat.WithTurn(context.Background(), chat.Turn{RequestID: id, Began: time.Unix(second, 0)})
	}
	ann := turn("req_1", 1)
	within := chat.TurnOf(ann)
	within.Budget = chat.NewTokenBudget(1)
	if chat.TurnKeyOf(ann) != chat.TurnKeyOf(chat.WithTurn(context.WithoutCancel(ann), within)) {
		t.Error("a turn has two keys")
	}
	for name, other := range map[string]context.Context{"the id of another turn": turn("req_1", 2), "the time of another turn": turn("req_2", 1)} {
		if chat.TurnKeyOf(ann) == chat.TurnKeyOf(other) {
			t.Errorf("%s: the keys are equal", name)
		}
	}
	for name, ctx := range map[string]context.Context{"no turn": context.Background(), "a turn that has not begun": chat.WithRequestID(context.Background(), "req_1")} {
		if key := chat.TurnKeyOf(ctx); key != nil {
			t.Errorf("%s has the key %v", name, key)
		}
	}
}

// A turn's own figures count where they are larger, and without a budget nothing does.
func TestTokenBudget(t *testing.T) {
	t.Parallel()
	none := chat.NewTokenBudget(0)
	if none.Spend(chat.Usage{InputTokens: 9}); none != nil || none.Reached(chat.Usage{InputTokens: 9}) {
		t.Error("no budget is reached")
	}
	b := chat.NewTokenBudget(5)
	if b.Reached(chat.Usage{InputTokens: 4}) || !b.Reached(chat.Usage{OutputTokens: 5}) {
		t.Error("a turn's own figures count where they are larger")
	}
	if b.Spend(chat.Usage{InputTokens: 3, ThinkingTokens: 2}); !b.Reached(chat.Usage{}) {
		t.Error("what was spent does not count")
	}
}
