// Package breakertest finds the verdict that a guarded call gave its breaker, for tables of the
// outcomes of calls:
//
//	if got := breakertest.Verdict(t, m.Breaker(), call); got != row.want { … }
package breakertest

import (
	"context"
	"testing"

	"sluice/breaker"
)

// Verdict makes a call and returns its verdict: Success if the call ended the row of failures,
// Failure if it added one, Neutral if it changed nothing. More than one failure is an error of t,
// because a call counts once. b must be closed, and no other call may use it meanwhile.
func Verdict(t *testing.T, b *breaker.Breaker, call func()) breaker.Verdict {
	t.Helper()
	Fail(t, b) // so that a success differs from a neutral call
	before := b.Snapshot().FailureCount
	call()
	switch after := b.Snapshot().FailureCount; {
	case after < before:
		return breaker.Success
	case after == before:
		return breaker.Neutral
	case after > before+1:
		t.Errorf("one call counts as %d failures", after-before)
	}
	return breaker.Failure
}

// Fail adds a failure of no turn to b.
func Fail(t *testing.T, b *breaker.Breaker) {
	t.Helper()
	done, err := b.Allow(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	done(breaker.Failure, nil)
}
