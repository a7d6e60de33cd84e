package dialect_test

import (
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
)

// A key that is no key is one more fault of a request, and hides no other one.
func TestHeaderKey(t *testing.T) {
	t.Parallel()
	field := &chat.ValidationError{Fields: []chat.FieldError{{Field: "/input", Code: chat.CodeBlank}}}
	gone := &fault.Error{Type: fault.NotFound}
	for name, tt := range map[string]struct {
		given []string
		err   error
		want  string
		fault string
	}{
		"none":                {want: ""},
		"one":                 {given: []string{"abc-1234"}, want: "abc-1234"},
		"the longest":         {given: []string{strings.Repeat("k", 128)}, want: strings.Repeat("k", 128)},
		"too short":           {given: []string{"abc-123"}, fault: "invalid request; /idempotency_key: must be one value of 8 to 128 of A-Z a-z 0-9 . _ -"},
		"too long":            {given: []string{strings.Repeat("k", 129)}, fault: "invalid request; /idempotency_key: must be one value of 8 to 128 of A-Z a-z 0-9 . _ -"},
		"two":                 {given: []string{"abc-1234", "abc-1234"}, fault: "invalid request; /idempotency_key: must be one value of 8 to 128 of A-Z a-z 0-9 . _ -"},
		"with a fault":        {given: []string{"abc-1234"}, err: field, want: "abc-1234", fault: field.Error()},
		"beside a fault":      {given: []string{"?"}, err: &chat.ValidationError{Fields: field.Fields[:1:1]}, fault: "invalid request; /input: ; /idempotency_key: must be one value of 8 to 128 of A-Z a-z 0-9 . _ -"},
		"beside another kind": {given: []string{"?"}, err: gone, fault: gone.Error()},
	} {
		r := &http.Request{Header: http.Header{}}
		for _, v := range tt.given {
			r.Header.Add("Idempotency-Key", v)
		}
		got, err := dialect.HeaderKey(r, tt.err)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if got != tt.want || text != tt.fault {
			t.Errorf("%s: %q, %q; want %q, %q", name, got, text, tt.want, tt.fault)
		}
	}
}

func TestProblem(t *testing.T) {
	t.Parallel()
	r := dialect.Refusal{Fault: &fault.Error{Type: fault.Validation, Message: "The request has a fault", Err: errors.New("for the log alone")},
		Fields: []chat.FieldError{{Field: "/input", Code: chat.CodeBlank, Message: "must hold more than white space"}}, Status: 422, RequestID: "req_1"}
	got := dialect.Problem(r)
	want := `{"type":"about:blank","title":"Unprocessable Entity","status":422,"error_type":"validation_error","detail":"The request has a fault",` +
		`"errors":[{"field":"/input","code":"blank","message":"must hold more than white space"}],"request_id":"req_1"}`
	if diff := cmp.Diff(want, string(got.Body)); diff != "" || got.Status != 422 || got.ContentType != "application/problem+json" {
		t.Errorf("%d %s (-want +got):\n%s", got.Status, got.ContentType, diff)
	}
}

func TestNameOfARoute(t *testing.T) {
	t.Parallel()
	if own, other := (&dialect.Route{}).Name(), (&dialect.Route{Dialect: "ag_ui"}).Name(); own != "native" || other != "ag_ui" {
		t.Errorf("%q and %q", own, other)
	}
}

// A key is one value of our form, or refused with one fault that does not repeat it.
func FuzzKey(f *testing.F) {
	for _, seed := range []string{"", "01234567", "0123456", "a.b_c-d0", "a b c d e", "01234567\n", "é1234567", "task_0123456789abcdefghijklmnop"} {
		f.Add(seed)
	}
	form := regexp.MustCompile(`\A[A-Za-z0-9._-]{8,128}\z`)
	f.Fuzz(func(t *testing.T, given string) {
		key, err := dialect.Key([]string{given}, nil)
		if (err == nil) != form.MatchString(given) || err == nil && key != given || err != nil && key != "" {
			t.Fatalf("%q is the key %q (%v)", given, key, err)
		}
		if v, ok := errors.AsType[*chat.ValidationError](err); err != nil && (!ok || len(v.Fields) != 1) {
			t.Fatal(err)
		}
	})
}
