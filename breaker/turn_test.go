package breaker_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"sluice/breaker"
)

// turnKey is the key of a turn's name in a context.
type turnKey struct{}

func turnContext(turn string) context.Context {
	return context.WithValue(context.Background(), turnKey{}, turn)
}

// configWithTurns is config with the turns of turnContext.
func configWithTurns() breaker.Config {
	cfg := config()
	cfg.TurnOf = func(ctx context.Context) any { return ctx.Value(turnKey{}) }
	return cfg
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
	ann, ben, eve := turnContext("ann"), turnContext("ben"), turnContext("eve")
	b := breaker.New(configWithTurns())
	for _, ctx := range []context.Context{ann, ann, ben, ann, context.WithoutCancel(ann), ben, ann} {
		end(t, b, ctx, breaker.Failure)
	}
	state(t, b, breaker.Closed)
	if n := b.Snapshot().FailureCount; n != 2 {
		t.Errorf("two turns count as %d failures", n)
	}
	end(t, b, eve, breaker.Failure)
	state(t, b, breaker.Open)
}

// A success ends the row, and the turns in it are forgotten.
func TestASuccessForgetsTheTurnsOfARow(t *testing.T) {
	t.Parallel()
	ann := turnContext("ann")
	b := breaker.New(configWithTurns())
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
		ann := turnContext("ann")
		b := breaker.New(configWithTurns())
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
	b := breaker.New(configWithTurns())
	calls(t, b, "fff")
	state(t, b, breaker.Open)
	b = breaker.New(config())
	for range 3 {
		end(t, b, turnContext("ann"), breaker.Failure)
	}
	state(t, b, breaker.Open)
}
