package operate

import (
	"strings"
	"testing"

	"sluice/internal/quality/style"
)

// Flags are checked like the fields of a request, and the fault names the flag.
func TestCheckFormat(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 10_000)
	for _, tt := range []struct {
		locale, name, subject string
		want                  string // begin of the error; empty: there is none
	}{
		{"", "", "", ""},
		{"de-AT", "Ann", "Your order", ""},
		{"not a tag", "", "", "--locale "},
		{"", long, "", "--user-name "},
		{"", "", long, "--subject "},
		{"not a tag", long, long, "--subject "},
	} {
		reader, subject := style.Reader{Locale: tt.locale, Name: tt.name}, tt.subject
		err := CheckFormat(&reader, &subject)
		if (err == nil) != (tt.want == "") || err != nil && !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%+v: %v", tt, err)
		}
		if err == nil && (reader.Locale != tt.locale || reader.Name != tt.name || subject != tt.subject) {
			t.Errorf("%+v became %+v, %q", tt, reader, subject)
		}
	}
	subject := "One\ntwo"
	if err := CheckFormat(new(style.Reader), &subject); err != nil || subject != "One two" {
		t.Errorf("a subject of two lines became %q, %v", subject, err)
	}
}
