package quality

import (
	"testing"

	"sluice/internal/quality/style"
)

// Without a style the text of a failure is the same as with one that says nothing of it.
func TestFailureTextIsTheStylesOwn(t *testing.T) {
	t.Parallel()
	if builtinFailure != style.Failure {
		t.Errorf("got %q, want %q", builtinFailure, style.Failure)
	}
}
