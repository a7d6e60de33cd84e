package chat_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"sluice/internal/turn/chat"
)

func TestConversationID(t *testing.T) {
	t.Parallel()
	const uuid = "550e8400-e29b-41d4-a716-446655440000"
	for _, tt := range []struct {
		id   string
		want bool
	}{
		{uuid, true},
		{strings.ToUpper(uuid), true},
		{"00000000-0000-0000-0000-000000000000", true},
		{uuid[:35], false},
		{uuid + "0", false},
		{"{" + uuid + "}", false},
		{"urn:uuid:" + uuid, false},
		{strings.ReplaceAll(uuid, "-", ""), false},
		{"550e8400e-29b-41d4-a716-446655440000", false},
		{"g50e8400-e29b-41d4-a716-446655440000", false},
		{"550e8400-e29b-41d4-a716-44665544000é", false},
		{"conv_a", true},
		{"conv_" + strings.Repeat("a", 64), true},
		{"conv_" + strings.Repeat("a", 65), false},
		{"conv_", false},
		{"conv_AZaz09_-", true},
		{"conv_a b", false},
		{"conv_a/../b", false},
		{"conv_é", false},
		{"Conv_a", false},
		{" conv_a", false},
		{"conv_a\n", false},
		{"x", false},
	} {
		_, err := chat.QueryRequest("input=a&conversation_id=" + query(tt.id))
		if got := err == nil; got != tt.want {
			t.Errorf("%q accepted: %v, want %v", tt.id, got, tt.want)
		}
	}
}

func query(s string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteString("%" + string("0123456789abcdef"[s[i]>>4]) + string("0123456789abcdef"[s[i]&15]))
	}
	return b.String()
}

// The rule is check.Location's.
func TestCheckTimezone(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"UTC", "Europe/Berlin", "Etc/GMT+3"} {
		loc, err := chat.CheckTimezone(name)
		if err != nil || loc.String() != name {
			t.Errorf("%q: %v, %v", name, loc, err)
		}
	}
	for _, name := range []string{"", "Local", "localtime", "posixrules", "posix/UTC", "right/UTC", "./UTC", "Europe//Berlin", "Mars/Base", "../etc/passwd", "+02:00"} {
		if loc, err := chat.CheckTimezone(name); err == nil || err.Code != chat.CodeInvalidFormat {
			t.Errorf("%q: %v, %v", name, loc, err)
		}
	}
}

func TestTruncate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		s     string
		limit int
		head  string
		cut   bool
	}{
		{"", 0, "", false}, {"abc", 3, "abc", false}, {"abc", 4, "abc", false}, {"abc", 2, "ab", true}, {"abc", 0, "", true},
		{"aé", 3, "aé", false}, {"aé", 2, "a", true}, {"é", 1, "", true},
		{"a😀b", 5, "a😀", true}, {"a😀b", 4, "a", true}, {"a😀b", 3, "a", true}, {"a😀b", 2, "a", true}, {"a😀b", 1, "a", true},
		{"\x80\x80\x80", 2, "", true}, // no code point begins here
	} {
		head, cut := chat.Truncate(tt.s, tt.limit)
		if head != tt.head || cut != tt.cut {
			t.Errorf("Truncate(%q, %d) = %q, %v; want %q, %v", tt.s, tt.limit, head, cut, tt.head, tt.cut)
		}
	}
	const text = "aé\u2028漢😀\U0010FFFFz"
	for limit := range len(text) + 2 {
		head, cut := chat.Truncate(text, limit)
		if !strings.HasPrefix(text, head) || !utf8.ValidString(head) || len(head) > limit || len(head) < limit-3 && cut || cut != (head != text) {
			t.Errorf("Truncate(%q, %d) = %q, %v", text, limit, head, cut)
		}
	}
}

func TestUsageAdd(t *testing.T) {
	t.Parallel()
	u := chat.Usage{InputTokens: 1, OutputTokens: 2, ThinkingTokens: 3}
	u.Add(chat.Usage{InputTokens: 10, OutputTokens: 20, ThinkingTokens: 30})
	if want := (chat.Usage{InputTokens: 11, OutputTokens: 22, ThinkingTokens: 33}); u != want {
		t.Errorf("sum is %+v, want %+v", u, want)
	}
}

// Each control character is stripped by itself, and its neighbours are not.
func TestControlCharacters(t *testing.T) {
	t.Parallel()
	for r := range rune(0x180) {
		text := "a" + string(r) + "b"
		want := controls.ReplaceAllString(text, "")
		if got, wrong := chat.CheckInput(text); got != want || wrong != nil {
			t.Errorf("%U: %q, %v; want %q", r, got, wrong, want)
		}
	}
}
