package chat

import (
	"encoding/json"
	"testing"
)

func TestEscapeHidden(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`"plain"`:                   `"plain"`,
		"{\n\t\"a\": \"ä 語 😀\"}":    "{\n\t\"a\": \"ä 語 😀\"}",
		"\"a\u202eb\"":              `"a\u202eb"`,
		"\"\u2066x\u2069\"":         `"\u2066x\u2069"`,
		"\"\u2028\u2029\"":          `"\u2028\u2029"`,
		"\"\u200b\u200d\ufeff\"":    `"\u200b\u200d\ufeff"`,
		"\"\x7f\u0085\u009b\"":      `"\u007f\u0085\u009b"`,
		"\"é\U000E0041\U000E007F\"": `"é\udb40\udc41\udb40\udc7f"`,
		"\"\U000E0100\"":            `"\udb40\udd00"`,
	} {
		got := string(EscapeHidden([]byte(in)))
		if got != want {
			t.Errorf("EscapeHidden(%q) = %q, want %q", in, got, want)
		}
		var before, after any
		if json.Unmarshal([]byte(in), &before) != nil || json.Unmarshal([]byte(got), &after) != nil {
			t.Errorf("%q or %q is no JSON", in, got)
		}
	}
	if got := string(EscapeHidden([]byte("\"a\xff\u202e\""))); got != "\"a\xff\\u202e\"" {
		t.Errorf("bytes that are no UTF-8 became %q", got)
	}
}

func TestEscapeHiddenCostsNothingWithoutThem(t *testing.T) { // not parallel: it counts allocations
	plain := []byte(`{"event":"request_received","details":{"path":"/chat/stream"}}`)
	if n := testing.AllocsPerRun(10, func() { EscapeHidden(plain) }); n != 0 {
		t.Errorf("%v allocations for a text without such characters", n)
	}
}
