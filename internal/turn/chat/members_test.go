package chat

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// FuzzMembers: what is read at once is what is read member by member, and so is what is wrong
// with it.
func FuzzMembers(f *testing.F) {
	for _, s := range []string{
		`{}`, ` {"a":1,"b":[{"c":"x\n"}],"é":null} `, `{"a":1}x`, `{"a":1}{`, `{"a":1,"a":2}`, `{"b":{"c":1,"c":1}}`, `{"a":"\ud83d"}`, "{\"a\":\"\xff\"}", "{\"\xff\":1}",
		`{"a":"\x"}`, `{"a":"\ud83d\u0041","b":}`, `{"a":1,"b":"\ud83d`, `{"a":"`, `{"a"`, `{`, ``, `[]`, `"a"`, `{"a":01}`, `{"a":nul}`, "{\"a\":\"\n\"}", "{\"a\":\"\xe2\x82", "{\"a\":0\xff", `{"a":"\u00`,
		`{"a":1,"a":}`, `{"a" 1}`, `{"a":1 "b":2}`, "\ufeff{}", `{"a":tru` + "\xff}", `{` + strings.Repeat(`"b":[`, 50),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		fields := []string{"a", "b"}
		var want, got ValidationError
		wantValues, wantOK := anyMembers(ReplaceLoneSurrogates(body), fields, flaw{}, &want)
		values, ok := Members(body, fields, &got)
		if ok != wantOK {
			t.Fatalf("ok is %v, want %v", ok, wantOK)
		}
		// Of a body that is broken in two ways, as {{ is, either may be reported.
		if diff := cmp.Diff(want.Fields, got.Fields, cmpopts.IgnoreFields(FieldError{}, "Message")); diff != "" {
			t.Errorf("faults (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(wantValues, values); ok && diff != "" {
			t.Errorf("values (-want +got):\n%s", diff)
		}
	})
}
