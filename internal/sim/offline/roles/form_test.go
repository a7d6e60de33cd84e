package roles

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/sim/geminisim"
)

// The answer of a turn is what an object of texts says; of any other the smallest is given.
func TestWritten(t *testing.T) {
	t.Parallel()
	talk := []geminisim.Message{user("Hi"), model("Hello"), user(shown("Result of the tool add", "1") + "\n" + shown(writtenHeading, "It is\n1.") + "\nAdd")}
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"sum":{"type":"string","description":"D"}},"required":["sum"]}`:                           `{"sum":"It is 1."}`,
		`{"type":"object","properties":{"b":{"type":"STRING"},"a":{"type":"string"},"c":{"type":"number"}},"required":["b","a"]}`: `{"a":"It is 1.","b":"It is 1."}`,
		`{"type":"object"}`: `{"answer":"It is 1."}`,
		`{"type":"object","properties":{"sum":{"type":"number"}},"required":["sum"]}`:              "",
		`{"type":"object","properties":{"sum":{"type":"string","enum":["a"]}},"required":["sum"]}`: "",
		`{"type":"object","properties":{"sum":{"type":"string"}}}`:                                 "",
		`{"type":"object","additionalProperties":false}`:                                           "",
		`{"type":"object","properties":{"sum":{"type":"string"}},"required":["other"]}`:            "",
	} {
		got, ok := fillForm(jsontext.Value(schema), geminisim.Question{Messages: talk})
		if ok != (want != "") || ok && string(got) != want {
			t.Errorf("%s: %s, %t, want %s", schema, got, ok, want)
		}
	}
	if got, ok := fillForm(jsontext.Value(`{"type":"object"}`), geminisim.Question{Messages: []geminisim.Message{user("Hi")}}); ok {
		t.Errorf("without an answer: %s", got)
	}
}

// What fills a member is a text of any kind, and of no fixed set.
func TestPlainText(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]bool{
		`{"type":"string"}`: true, `{"type":"STRING","description":"d"}`: true, `{"type":"string","enum":["a"]}`: false,
		`{"type":"number"}`: false, `{}`: false, `{"type":"string","pattern":"^a$"}`: false,
	} {
		var members map[string]jsontext.Value
		if err := json.Unmarshal([]byte(schema), &members); err != nil {
			t.Fatal(err)
		}
		if got := plainText(members); got != want {
			t.Errorf("%s: %t, want %t", schema, got, want)
		}
	}
}
