package chat_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/turn/chat"
)

func TestAgentAndContext(t *testing.T) {
	t.Parallel()
	got, err := chat.DecodeRequest([]byte(`{"input":"hi","agent":"light-agent","context":{"room":"kit\u0007chen","device":"wall panel"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got.Agent != "light-agent" {
		t.Errorf("agent %q", got.Agent)
	}
	want := []chat.ContextEntry{{Name: "room", Value: "kitchen"}, {Name: "device", Value: "wall panel"}}
	if diff := cmp.Diff(want, got.Context); diff != "" {
		t.Errorf("context (-want +got)\n%s", diff)
	}
	if got, err = chat.DecodeRequest([]byte(`{"input":"hi","agent":null,"context":null}`)); err != nil || got.Agent != "" || got.Context != nil {
		t.Errorf("null is not absence: %+v, %v", got, err)
	}
}

func TestBadAgentsAndContexts(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range 17 {
		many = append(many, fmt.Sprintf(`"n%d":"x"`, i))
	}
	for name, tt := range map[string]struct{ body, field, code string }{
		"agent of capitals":      {`{"input":"x","agent":"Light"}`, "/agent", chat.CodeUnknownValue},
		"agent that is too long": {`{"input":"x","agent":"` + strings.Repeat("a", 65) + `"}`, "/agent", chat.CodeUnknownValue},
		"agent of a wrong type":  {`{"input":"x","agent":5}`, "/agent", chat.CodeWrongType},
		"context as a list":      {`{"input":"x","context":[]}`, "/context", chat.CodeWrongType},
		"too many":               {`{"input":"x","context":{` + strings.Join(many, ",") + `}}`, "/context", chat.CodeTooLong},
		"too long":               {`{"input":"x","context":{"a":"` + strings.Repeat("é", 257) + `"}}`, "/context/a", chat.CodeTooLong},
		"a number":               {`{"input":"x","context":{"a":1}}`, "/context/a", chat.CodeWrongType},
		"bad name":               {`{"input":"x","context":{"A/b":"x"}}`, "/context/A~1b", chat.CodeInvalidFormat},
		"reserved":               {`{"input":"x","context":{"routing":"x"}}`, "/context/routing", chat.CodeNameTaken},
		"twice":                  {`{"input":"x","context":{"a":"x","a":"y"}}`, "/context", chat.CodeDuplicateKey},
	} {
		_, err := chat.DecodeRequest([]byte(tt.body))
		e, ok := errors.AsType[*chat.ValidationError](err)
		if !ok || len(e.Fields) != 1 || e.Fields[0].Field != tt.field || e.Fields[0].Code != tt.code {
			t.Errorf("%s: %v", name, err)
		}
	}
}
