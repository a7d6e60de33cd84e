package jsonline_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"sluice/internal/edge/dialect/jsonline"
)

func TestOneLine(t *testing.T) {
	t.Parallel()
	const odd = "a\u0085b\u2028c\u2029d\n\"€\xff"
	const want = `"a\u0085b\u2028c\u2029d\n\"€` + "\ufffd\""
	value, err := jsonline.Value([]byte("x"), map[string]string{"k": odd})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, want, got string }{
		{"string", "x" + want, string(jsonline.String([]byte("x"), odd))},
		{"object", `x{"a":` + want + `}`, string(jsonline.Object([]byte("x"), jsontext.Value("{\n\"a\": \"a\u0085b\u2028c\u2029d\\n\\\"€\xff\"}")))},
		{"object with names that come twice", `x{"a":[{"b":1.0,"c":9007199254740993}],"d":2}`, string(jsonline.Object([]byte("x"), jsontext.Value(`{"a":[{"b":1.0,"b":[1],"c":9007199254740993}],"a":{"x":{}},"d":2,"\u0064":3}`)))},
		{"object twice", `{}`, string(jsonline.Object(nil, jsontext.Value(`{"a":1}{"a":1}`)))},
		{"no object", `{}`, string(jsonline.Object(nil, jsontext.Value(`[]`)))},
		{"broken object", `{}`, string(jsonline.Object(nil, jsontext.Value(`{"a":`)))},
		{"value", `x{"k":` + want + `}`, string(value)},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if strings.ContainsAny(tt.got, "\n\r\u0085\u2028\u2029") {
			t.Errorf("%s is not on one line", tt.name)
		}
	}
}

func TestValueThatIsNoJSON(t *testing.T) {
	t.Parallel()
	if got, err := jsonline.Value([]byte("x"), jsontext.Value("{")); err == nil || string(got) != "x" {
		t.Errorf("Value = %q, %v", got, err)
	}
}
