package redact_test

import (
	"strings"
	"testing"

	"sluice/internal/base/redact"
)

// What may be a key in the text of an upstream, by the word before it, its form or its
// length; harmless words of such a length stay.
func TestKeyLike(t *testing.T) {
	t.Parallel()
	digits := strings.Repeat("0123456789", 4)
	for _, tt := range []row{
		{"", ""},
		{"no key here", "no key here"},
		{"key=abcd", "key=[redacted]"},
		{"key=abc", "key=abc"},
		{"API_KEY : abcd", "API_KEY : [redacted]"},
		{`"secret":"abcd"`, `"secret":"[redacted]"`},
		{"password='abcd' x", "password='[redacted]' x"},
		{"token abcd", "token abcd"},
		{"BEARER abcd,efgh", "BEARER [redacted],efgh"},
		{"bearer abc", "bearer abc"},
		{digits[:31], digits[:31]},
		{digits[:32], "[redacted]"},
		{"a " + digits[:32] + "-_ b", "a [redacted] b"},
		{strings.Repeat("a-", 20), strings.Repeat("a-", 20)},
		{strings.Repeat("a-", 20) + "1", "[redacted]"},
		{"AIza1", "[redacted]"},
		{"AIzaNoDigit", "AIzaNoDigit"},
	} {
		if got := redact.KeyLike(tt.in); got != tt.want {
			t.Errorf("%q became %q, want %q", tt.in, got, tt.want)
		}
	}
}

// What is certainly a key, in a text of which the words must stay.
func TestCertainKeys(t *testing.T) {
	t.Parallel()
	twenty := strings.Repeat("aB3_-", 4)
	for _, tt := range []row{
		{"AIza" + twenty, "[redacted]"},
		{"AIza" + twenty[1:], "AIza" + twenty[1:]},
		{"xAIza" + twenty + ".", "x[redacted]."},
		{"/a?key=b", "/a?key=[redacted]"},
		{"/a?b=1&key=c&d=2", "/a?b=1&key=[redacted]&d=2"},
		{"/a?key=b c", "/a?key=[redacted] c"},
		{`"/a?key=b"`, `"/a?key=[redacted]"`},
		{"key=b", "key=b"},
		{"/a?key=", "/a?key="},
		{"/a?monkey=b", "/a?monkey=b"},
	} {
		if got := redact.Keys(tt.in); got != tt.want {
			t.Errorf("%q became %q, want %q", tt.in, got, tt.want)
		}
	}
}
