package dialect_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"sluice/internal/edge/dialect"
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

func TestWholeNumber(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"0": 0, "-0": 0, "7": 7, "100.0": 100, "1e2": 100, "1.5E1": 15, "-3.0": -3, "12e-1": -1 << 60, "1.5": -1 << 60, `"1"`: -1 << 60, "null": -1 << 60, "true": -1 << 60,
		"9007199254740992": 1 << 53, "99999999999999999999": 1 << 53, "1e400": 1 << 53, "-1e400": -1 << 53,
	} {
		n, ok := dialect.WholeNumber(jsontext.Value(text))
		if fault := want == -1<<60; ok == fault || ok && n != want {
			t.Errorf("%s is %d, %v", text, n, ok)
		}
	}
	if _, ok := dialect.WholeNumber(nil); ok {
		t.Error("nothing is a number")
	}
}
