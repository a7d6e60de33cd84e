package access

import (
	"strings"
	"testing"

	"sluice/internal/turn/chat"
)

func TestIsUser(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]bool{
		"ann": true, "a:b": true, "../": true, " ": true, "ä": true, strings.Repeat("😀", 256): true,
		"": false, strings.Repeat("😀", 257): false, strings.Repeat("a", 257): false, strings.Repeat("a", 5000): false,
		"a\x00": false, "a\tb": false, "a\n": false, "a\x7f": false, "a\u0085": false, "\xff": false, chat.AnonymousID: false,
	} {
		if got := IsUser(s); got != want {
			t.Errorf("%.20q: %v", s, got)
		}
	}
}

func TestIsID(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]bool{
		"a": true, "0": true, "a-b_c": true, strings.Repeat("a", 64): true,
		"": false, "-a": false, "_a": false, "A": false, "a b": false, "ä": false, strings.Repeat("a", 65): false,
	} {
		if got := IsID(s); got != want {
			t.Errorf("%.20q: %v", s, got)
		}
	}
}
