package graph

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// slowly is a View in which it takes time to look at a variable.
type slowly struct{ each time.Duration }

func (s slowly) ResolveName(string) (any, bool) { time.Sleep(s.each); return "text", true }

// An evaluation ends after its time, long before its cost is spent; one that is in time
// has its value.
func TestExpressionEndsInTime(t *testing.T) {
	t.Parallel()
	e, err := newExpression(`["a","b","c","d","e","f","g","h","i","j"].all(a, ["a","b","c","d","e","f","g","h","i","j"].all(b, ["a","b","c","d","e","f","g","h","i","j"].all(c, input != a)))`, true)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, err := e.testCondition(t.Context(), slowly{time.Millisecond})
		elapsed := time.Since(began)
		if _, ours := errors.AsType[*expressionError](err); !ours || elapsed < maxEvaluation || elapsed > 4*maxEvaluation {
			t.Errorf("after %v: %v, want an end soon after %v", elapsed, err, maxEvaluation)
		}
		if ok, err := e.testCondition(t.Context(), slowly{10 * time.Microsecond}); !ok || err != nil {
			t.Errorf("in time: %v, %v", ok, err)
		}
	})
}
