package file_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/config"
	"sluice/config/file"
)

// A key that is not accepted is reported at its place, however many values stand around it.
func TestNestedKeysThatAreNotAccepted(t *testing.T) {
	t.Parallel()
	table := file.Table{
		{Name: "first", Schema: `{"type":"object"}`},
		{Name: "outer", Schema: `{"type":"object","additionalProperties":{"type":"object","properties":{"inner":{"type":"object","propertyNames":{"pattern":"^[a-z]+$","patternErrorMessage":"must be small"},"additionalProperties":{"type":"object"}}}}}`},
		{Name: "last", Schema: `{"type":"object"}`},
	}
	r := table.Read("f", []byte(`first: {a: {}, b: {}}
outer:
  one: {inner: {x: {}, y: {}, z: {}}}
  two:
    inner: {x: {}, BAD: {}, z: {}}
  three: {inner: {x: {}, y: {}, z: {}}}
last: {a: {}, b: {}}
`), config.Sources{Lookup: func(string) (string, bool) { return "", false }})
	var got []string
	for _, f := range r.Faults {
		got = append(got, f.Name+" "+f.Message)
	}
	if diff := cmp.Diff([]string{"f:5:20 /outer/two/inner/BAD: must be small"}, got); diff != "" {
		t.Error(diff)
	}
}
