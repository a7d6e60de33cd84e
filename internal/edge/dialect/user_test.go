package dialect_test

import (
	"testing"

	"sluice/internal/edge/dialect"
)

// A body names the user whom its protocol would read of it, and a body that cannot be read is at fault.
func TestNamedUser(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		``: "", `{}`: "", `{"user_id":null}`: "", `{"user_id":""}`: "", `{"user_id":"ann"}`: "ann",
		`{"other":[{"user_id":"bob"}],"user_id":"a\u0000nn"}`: "ann",
		`{"user_id":5}`: "fault", `{"user_id":"a","user_id":"b"}`: "fault", `[]`: "fault", `{"user_id"`: "fault",
	} {
		got, err := dialect.NamedUser([]byte(body))
		if err != nil {
			got = "fault"
		}
		if got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}
