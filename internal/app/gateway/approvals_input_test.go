package gateway

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// What a person fills in must fit the schema of the question.
func TestInputOfAPersonFitsItsSchema(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","required":["sum"],"properties":{"sum":{"type":"number","maximum":100}}}`
	for value, wrong := range map[string]int{`{"sum":20}`: 0, `{"sum":200}`: 1, `{}`: 1, `{"sum":"x"}`: 1, `7`: 1} {
		if got := problemsOf(jsontext.Value(schema), jsontext.Value(value)); len(got) != wrong {
			t.Errorf("%s: %+v", value, got)
		}
	}
	if got := problemsOf(jsontext.Value(`{"type":7}`), jsontext.Value(`{}`)); len(got) != 1 {
		t.Errorf("a schema that is none: %+v", got)
	}
}
