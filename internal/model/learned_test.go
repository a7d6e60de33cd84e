package model

import (
	"slices"
	"testing"
)

// A member that gives way in steps counts once among those that may be learned.
func TestLearnedInSteps(t *testing.T) {
	t.Parallel()
	var l Learned
	for i, step := range []struct {
		member      string
		sent        Omit
		again, news bool
	}{
		{"", nil, false, false},
		{"a", nil, true, true},
		{"a", nil, true, false}, // another call was faster
		{"a", Omit{"a"}, true, false},
		{"b", Omit{"a", "a"}, true, true},
		{"c", Omit{"a", "a", "b"}, true, true},
		{"d", l.Omit(), false, false},
		{"a", Omit{"a", "a", "b", "c"}, true, false},
	} {
		if again, news := l.Refused(step.member, step.sent); again != step.again || news != step.news {
			t.Errorf("%d: %v, %v, want %v, %v", i, again, news, step.again, step.news)
		}
	}
	if want := (Omit{"a", "a", "b", "c", "a"}); !slices.Equal(l.Omit(), want) {
		t.Errorf("omits %v, want %v", l.Omit(), want)
	}
}
