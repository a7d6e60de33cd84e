package breaker_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"sluice/breaker"
	"sluice/chat"
)

// turnContext returns the context of a turn that began so many seconds after the first one.
func turnContext(id string, second int) context.Context {
	return chat.WithTurn(context.Background(), chat.Turn{RequestID: id, Began: time.Unix(int64(second)+1, 0)})
}

// end makes a call of a turn, which must be let through.
func end(t *testing.T, b *breaker.Breaker, ctx context.Context, v breaker.Verdict) {
	t.Helper()
	done, err := b.Allow(ctx)
	if err != nil {
		t.Fatalf("Allow: %v, want it let through", err)
	}
	done(v, errDown)
}

// One turn never closes a service for the others: its calls, in whatever order with those of
// others, add one failure to a row.
func TestATurnAddsOneFailureToARow(t *testing.T) {
	t.Parallel()
	ann, ben, eve := turnContext("req_1", 1), turnContext("req_2", 2), turnContext("req_1", 3)
	b := breaker.New(config())
	for _, ctx := range []context.Context{ann, ann, ben, ann, context.WithoutCancel(ann), ben, ann} {
		end(t, b, ctx, breaker.Failure)
	}
	state(t, b, breaker.Closed)
	if n := b.Snapshot().FailureCount; n != 2 {
		t.Errorf("two turns count as %d failures", n)
	}
	end(t, b, eve, breaker.Failure) // with the request's id of another turn
	state(t, b, breaker.Open)
}

// A success ends the row, and the turns in it are forgotten.
func TestASuccessForgetsTheTurnsOfARow(t *testing.T) {
	t.Parallel()
	ann := turnContext("req_1", 1)
	b := breaker.New(config())
	end(t, b, ann, breaker.Failure)
	end(t, b, ann, breaker.Success)
	end(t, b, ann, breaker.Failure)
	if n := b.Snapshot().FailureCount; n != 1 {
		t.Errorf("%d failures behind a success, want 1", n)
	}
}

// A probe that fails opens a half-open breaker again, also if its turn is one of those that
// opened it.
func TestAProbeOfTheSameTurnFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ann := turnContext("req_1", 1)
		b := breaker.New(config())
		end(t, b, ann, breaker.Failure)
		calls(t, b, "ff")
		state(t, b, breaker.Open)
		time.Sleep(31 * time.Second)
		end(t, b, ann, breaker.Failure)
		state(t, b, breaker.Open)
	})
}

// Calls of no turn, as of a connection that is opened in the background, count each; so does
// every command of the store.
func TestCallsOutsideOfTurnsCountEach(t *testing.T) {
	t.Parallel()
	b := breaker.New(config())
	calls(t, b, "fff")
	state(t, b, breaker.Open)
	each := config()
	each.EachCall = true
	b = breaker.New(each)
	for range 3 {
		end(t, b, turnContext("req_1", 1), breaker.Failure)
	}
	state(t, b, breaker.Open)
}
