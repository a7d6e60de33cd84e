package file_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/config"
	"sluice/internal/base/config/file"
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

// A word of another program names the key that it stands for, where that key may be.
func TestWordsOfOthers(t *testing.T) {
	t.Parallel()
	table := file.Table{
		{Name: "router", Schema: `{"type":"object","additionalProperties":false,"properties":{"model":{"type":"string"}}}`},
		{Name: "agents", Schema: `{"type":"object","additionalProperties":{"type":"object","additionalProperties":false,"properties":{"prompt":{},"max_steps":{},"role":{}}}}`},
		{Name: "retention", Schema: `{"type":"object"}`},
	}
	r := table.Read("f", []byte(`RouterExecutor: {}
retention_policy: {}
ConnectionStrings: {}
router: {ChatClientKey: x}
agents: {a: {system_prompt: x, max_iterations: 3, llm_config: x}}
`), config.Sources{Lookup: func(string) (string, bool) { return "", false }})
	var got []string
	for _, f := range r.Faults {
		_, hint, _ := strings.Cut(f.Message, "; ")
		got = append(got, hint)
	}
	want := []string{
		"did you mean router?", "did you mean retention?", "there are agents, retention, router", "did you mean model?", "did you mean prompt?", "did you mean max_steps?",
		"there are max_steps, prompt, role",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
