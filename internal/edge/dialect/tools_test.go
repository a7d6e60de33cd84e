package dialect_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
)

// add adds tools at /tools/<i> and returns the faults.
func add(all *dialect.Tools, tools ...[3]string) (faults []string) {
	e := new(chat.ValidationError)
	for i, tool := range tools {
		at := "/tools/" + strconv.Itoa(i)
		var schema jsontext.Value
		if tool[2] != "" {
			schema = jsontext.Value(tool[2])
		}
		all.Add(tool[0], tool[1], schema, at, at+"/name", at+"/schema", e)
	}
	for _, f := range e.Fields {
		faults = append(faults, f.Field+" "+f.Code)
	}
	return faults
}

// object is a schema of n bytes.
func object(n int) string {
	const frame = `{"description":""}`
	return frame[:len(frame)-2] + strings.Repeat("x", n-len(frame)) + `"}`
}

func TestTools(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tools []([3]string)
		want  []string
	}{
		"names":                  {[][3]string{{"a", "", ""}, {"_A9.:-", "", ""}, {"x" + strings.Repeat("y", 63), "", ""}}, nil},
		"no name":                {[][3]string{{"", "", ""}}, []string{"/tools/0/name invalid_format"}},
		"a long name":            {[][3]string{{strings.Repeat("y", 65), "", ""}}, []string{"/tools/0/name invalid_format"}},
		"a digit first":          {[][3]string{{"1a", "", ""}, {"7", "", ""}}, nil},
		"a dash first":           {[][3]string{{"-a", "", ""}}, nil},
		"a dot first":            {[][3]string{{".a", "", ""}, {":a", "", ""}}, []string{"/tools/0/name invalid_format", "/tools/1/name invalid_format"}},
		"a space":                {[][3]string{{"a b", "", ""}}, []string{"/tools/0/name invalid_format"}},
		"no ASCII":               {[][3]string{{"aé", "", ""}}, []string{"/tools/0/name invalid_format"}},
		"twice":                  {[][3]string{{"a", "", ""}, {"a", "", ""}}, []string{"/tools/1/name name_taken"}},
		"a description":          {[][3]string{{"a", strings.Repeat("é", 16_000), ""}}, nil},
		"a long one":             {[][3]string{{"a", strings.Repeat("é", 16_001), ""}}, []string{"/tools/0 too_long"}},
		"null":                   {[][3]string{{"a", "", "null"}}, nil},
		"no object":              {[][3]string{{"a", "", "[]"}}, []string{"/tools/0/schema wrong_type"}},
		"a schema":               {[][3]string{{"a", "", object(16 << 10)}}, nil},
		"a long schema":          {[][3]string{{"a", "", object(16<<10 + 1)}}, []string{"/tools/0/schema too_long"}},
		"a reference inside":     {[][3]string{{"a", "", `{"type":"object","properties":{"x":{"$ref":"#/$defs/y"}},"$defs":{"y":{"type":"string"}}}`}}, nil},
		"a reference out of it":  {[][3]string{{"a", "", `{"type":"object","properties":{"x":{"$ref":"http://x.test/y"}}}`}}, []string{"/tools/0/schema invalid_format"}},
		"a schema that is wrong": {[][3]string{{"a", "", `{"type":5}`}}, []string{"/tools/0/schema invalid_format"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var all dialect.Tools
			faults := add(&all, tt.tools...)
			if diff := cmp.Diff(tt.want, faults); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if want := len(tt.tools) - len(tt.want); len(all.All()) != want {
				t.Errorf("%d tools, want %d", len(all.All()), want)
			}
		})
	}
}

// There may be 128 tools, with 128 KiB of schemas.
func TestManyTools(t *testing.T) {
	t.Parallel()
	var many [][3]string
	for i := range 130 {
		many = append(many, [3]string{"t" + strconv.Itoa(i), "", ""})
	}
	var all dialect.Tools
	if diff := cmp.Diff([]string{"/tools too_long"}, add(&all, many...)); diff != "" || len(all.All()) != 128 {
		t.Errorf("130 tools: %d (-want +got):\n%s", len(all.All()), diff)
	}
	var large [][3]string
	for i := range 9 {
		large = append(large, [3]string{"t" + strconv.Itoa(i), "", object(16 << 10)})
	}
	if diff := cmp.Diff([]string{"/tools/8/schema too_long"}, add(new(dialect.Tools), large...)); diff != "" {
		t.Errorf("nine schemas (-want +got):\n%s", diff)
	}
}

// A tool is handed on as it came, without what could break a prompt.
func TestToolAsItCame(t *testing.T) {
	t.Parallel()
	var all dialect.Tools
	add(&all, [3]string{"a", "b\x00c", ""}, [3]string{"d", "", `{"type":"object"}`})
	first, second := all.All()[0], all.All()[1]
	if first.Name != "a" || strings.Contains(first.Description, "\x00") || string(first.InputSchema) != `{"type":"object","properties":{}}` || first.At != "/tools/0/name" {
		t.Errorf("the first is %+v", first)
	}
	if string(second.InputSchema) != `{"type":"object"}` || second.At != "/tools/1/name" {
		t.Errorf("the second is %+v", second)
	}
}
