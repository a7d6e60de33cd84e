package config

import (
	"strings"
	"testing"
)

// What may be repeated of an unknown flag: a name, and nothing that may be a value.
func TestIsFlagLike(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"a": true, "max-steps": true, "h2": true, "a-1-b": true, strings.Repeat("a", 40): true, strings.Repeat("a", 41): false,
		"": false, "A": false, "2h": false, "-a": false, "a_b": false, "a.b": false, "a b": false, "é": false,
	} {
		if got := isFlagLike(name); got != want {
			t.Errorf("%q is like a flag: %t", name, got)
		}
	}
	for arg, want := range map[string]string{"--a": "a", "-a": "a", "---a": "-a", "--": "", "--a=b": "a=b"} {
		if got, ok := cutDashes(arg); got != want || !ok {
			t.Errorf("%q is %q, %t", arg, got, ok)
		}
	}
	for _, arg := range []string{"", "-", "a", "a-b"} {
		if got, ok := cutDashes(arg); ok {
			t.Errorf("%q is the flag %q", arg, got)
		}
	}
}
