package dialect_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"sluice/dialect"
)

func TestObjectAndList(t *testing.T) {
	t.Parallel()
	object := dialect.Object(jsontext.Value(` {"a":1 , "é\n":[{"b":2}],"c":null}`))
	if diff := cmp.Diff(map[string]jsontext.Value{"a": jsontext.Value("1"), "é\n": jsontext.Value(`[{"b":2}]`), "c": jsontext.Value("null")}, object); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	list := dialect.List(jsontext.Value(`[1, "a", {"b":[2]}]`))
	if diff := cmp.Diff([]jsontext.Value{jsontext.Value("1"), jsontext.Value(`"a"`), jsontext.Value(`{"b":[2]}`)}, list); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(dialect.Object(jsontext.Value(`{}`))) != 0 || len(dialect.List(jsontext.Value(`[]`))) != 0 {
		t.Error("what is empty has members")
	}
}
