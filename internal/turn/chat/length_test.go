package chat

import (
	"strings"
	"testing"
)

// The length of a text is counted in code points, however many bytes each has.
func TestLonger(t *testing.T) {
	t.Parallel()
	for _, letter := range []string{"x", "ж", "€", "😀"} {
		for n, want := range map[int]bool{0: false, 9: false, 10: false, 11: true, 1000: true} {
			if got := isLonger(strings.Repeat(letter, n), 10); got != want {
				t.Errorf("%d of %s: %v", n, letter, got)
			}
		}
	}
}
