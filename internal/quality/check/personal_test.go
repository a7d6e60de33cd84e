package check

import (
	"strings"
	"testing"
)

// Each kind of personal data is found, named by its mark, and never repeated.
func TestPersonalData(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ args, text, marks string }{
		{"", "Write to ann@example.com.", "email"},
		{"", "Call +1 415-555-2671.", "phone"},
		{"", "Card 4111 1111 1111 1111.", "card"},
		{"", "To DE89 3704 0044 0532 0130 00.", "iban"},
		{"", "From 203.0.113.7.", "ip"},
		{"", "Key sk-abcdefghijklmnopqrstuvwxyz0123456789ABCD.", "token"},
		{"", "ann@example.com, bob@example.com", "email"},
		{"", "ann@example.com, 203.0.113.7", "email ip"},
		{"", "203.0.113.7, ann@example.com", "ip email"},
		{"", "Nothing of anyone: order 12345, 24.11.2026, version 1.2.3.", ""},
		{"", "", ""},
		{`{"kinds":["email"]}`, "203.0.113.7", ""},
		{`{"kinds":["ip"]}`, "203.0.113.7, ann@example.com", "ip"},
		{`{"kinds":["ip","email"]}`, "203.0.113.7, ann@example.com", "ip email"},
		{`{"kinds":[]}`, "203.0.113.7", "ip"},
		{`{"allow":["ANN@example.com"]}`, "ann@EXAMPLE.com", ""},
		{`{"allow":["ann@example.com"]}`, "ann@example.com, bob@example.com", "email"},
		{`{"allow":["ann@example.com"]}`, "joann@example.com", "email"},
		{`{"allow":["+14155552671"]}`, "Call +1 (415) 555-2671.", ""},
		{`{"allow":["+1 (415) 555-2671"]}`, "Call +1\u00a0415\u00a0555\u00a02671.", ""},
		{`{"allow":["+1 415 555 2671"]}`, "Call +1 415-555-2672.", "phone"},
		{`{"allow":["4111-1111-1111-1111"]}`, "Card 4111 1111 1111 1111.", ""},
		{`{"allow":["203.0.113.7"]}`, "From 203.0.113.7 and 203.0.113.8.", "ip"},
	} {
		o := verdict(t, "no_pii", tt.args, Input{Text: tt.text})
		want := ""
		for i, mark := range strings.Fields(tt.marks) {
			want += strings.Repeat(", ", min(i, 1)) + "[" + mark + "]"
		}
		if want != "" {
			want = "The answer must not have personal data or keys, and has " + want + "."
		}
		if o.Feedback != want || o.Passed != (want == "") {
			t.Errorf("%s of %q: %q, want %q", tt.args, tt.text, o.Feedback, want)
		}
	}
}
