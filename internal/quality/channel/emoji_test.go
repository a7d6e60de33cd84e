package channel_test

import (
	"testing"

	"sluice/internal/quality/channel"
)

// A sign that is put over the character before it makes an emoji of a digit, and of
// nothing else: a letter, or the space behind an emoji, stays.
func TestKeycapsAreOfDigits(t *testing.T) {
	t.Parallel()
	strip := builtin(channel.SMS)
	strip.Emojis = channel.EmojisStrip
	for _, tt := range []struct{ in, want string }{
		{"a 1\ufe0f\u20e3 b", "a b"},
		{"a\u20e3 b", "a\u20e3 b"},
		{"👍 \u20e3", " \u20e3"},
		{"a 👍 \u20e3 b", "a  \u20e3 b"},
		{"a 👍 👍 b", "a b"},
		{"a 👍 \u0301b", "a  \u0301b"},
		{"a ✅\ufe0e b", "a ✅\ufe0e b"}, // as a character
		{"a ☝ b ☝\U0001F3FB c ☝\U0001F3FF d", "a ☝ b c d"},
		{"a ❤ b ❤\ufe0f c", "a ❤ b c"},
	} {
		if got := format(strip, tt.in).Content; got != tt.want {
			t.Errorf("%q is %q, want %q", tt.in, got, tt.want)
		}
	}
}
