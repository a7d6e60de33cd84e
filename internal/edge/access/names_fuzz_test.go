package access_test

import (
	"regexp"
	"testing"
	"unicode"
	"unicode/utf8"

	"sluice/internal/edge/access"
)

// A name has the form that the contract gives it, and is never another one than it looks.
func FuzzNames(f *testing.F) {
	for _, seed := range []string{"", "ann", "a:b", "../", "a\x00", "\xff", "é", "e\u0301", "_a", "a_", "-", "acme-1", "A", "\u0085", "a\n", string(make([]byte, 65))} {
		f.Add(seed)
	}
	id := regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := access.IsID(s), id.MatchString(s); got != want {
			t.Errorf("%q is an id: %v", s, got)
		}
		n, ok := 0, utf8.ValidString(s)
		for _, r := range s {
			ok = ok && !unicode.IsControl(r)
			n++
		}
		if got, want := access.IsUser(s), ok && n >= 1 && n <= 256; got != want {
			t.Errorf("%q is a user: %v", s, got)
		}
	})
}
