package chat_test

import (
	stdjson "encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"sluice/internal/turn/chat"
)

// The rules of section 3, written a second time and in another way.
var (
	controls       = regexp.MustCompile(`[\x00-\x08\x0B\x0C\x0E-\x1F\x7F-\x{9F}]`)
	conversationID = regexp.MustCompile(`^(conv_[A-Za-z0-9_-]{1,64}|[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})$`)
	zoneName       = regexp.MustCompile(`^[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*$`)
)

func checkRules(t *testing.T, r chat.Request) {
	t.Helper()
	if n := len([]rune(r.Input)); n < 1 || n > 5000 || strings.TrimSpace(r.Input) == "" || !utf8.ValidString(r.Input) || controls.MatchString(r.Input) {
		t.Errorf("accepted input %q", r.Input)
	}
	if r.ConversationID != "" && !conversationID.MatchString(r.ConversationID) {
		t.Errorf("accepted conversation_id %q", r.ConversationID)
	}
	if len([]rune(r.UserID)) > 256 || !utf8.ValidString(r.UserID) || controls.MatchString(r.UserID) {
		t.Errorf("accepted user_id %q", r.UserID)
	}
	if r.Location != nil && (!zoneName.MatchString(r.Location.String()) || r.Location.String() == "Local") {
		t.Errorf("accepted timezone %q", r.Location)
	}
}

func checkFaults(t *testing.T, err error) {
	t.Helper()
	v, ok := err.(*chat.ValidationError)
	if !ok || len(v.Fields) == 0 || len(v.Fields) > 32 {
		t.Fatalf("got %T with an unfit list: %v", err, err)
	}
	for _, f := range v.Fields {
		if f.Code == "" || f.Message == "" || f.Field != "" && f.Field[0] != '/' || !utf8.ValidString(f.Field) {
			t.Errorf("unfit fault %+v", f)
		}
	}
}

// optional returns the optional strings of r that are set, by field.
func optional(r chat.Request) map[string]string {
	m := map[string]string{}
	if r.ConversationID != "" {
		m["conversation_id"] = r.ConversationID
	}
	if r.UserID != "" {
		m["user_id"] = r.UserID
	}
	if r.Location != nil {
		m["timezone"] = r.Location.String()
	}
	return m
}

// Whatever comes: no panic; what is accepted obeys the rules, says the same to
// the standard library's parser, and is accepted again with the same result.
func FuzzDecodeRequest(f *testing.F) {
	for _, s := range []string{
		`{"input":"hi"}`, `{"input":"\ud83d\ude00\u0000","user_id":null,"accumulated":false}`,
		`{"input":"a","conversation_id":"conv_1","timezone":"Europe/Berlin","x":{"a":[1,{"b":2}]}}`,
		`{"input":"a","input":"b"}`, `{"input":"\ud83d"}`, "{\"input\":\"\xff\"}", `{"input":"a"}x`, `{"a":{"b":1,"b":1}}`,
		`[[[[`, `{"input`, "\ufeff{}", `{"input":"\u0085 "}`, `{"INPUT":"a","input":"b"}`, `{"timezone":"./UTC","input":"a"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := chat.DecodeRequest(body)
		if err != nil {
			checkFaults(t, err)
			return
		}
		checkRules(t, r.Request)
		var judge map[string]any
		if err := stdjson.Unmarshal(body, &judge); err != nil {
			t.Fatalf("accepted what encoding/json refuses: %v", err)
		}
		if s, _ := judge["input"].(string); controls.ReplaceAllString(s, "") != r.Input {
			t.Errorf("input is %q, encoding/json reads %q", r.Input, s)
		}
		again := map[string]any{"input": r.Input, "accumulated": r.Accumulated}
		for name, value := range optional(r.Request) {
			again[name] = value
		}
		body, err = json.Marshal(again)
		if err != nil {
			t.Fatal(err)
		}
		got, err := chat.DecodeRequest(body)
		if err != nil {
			t.Fatalf("what was accepted is not a second time: %v", err)
		}
		if diff := cmp.Diff(r, got, sameZone); diff != "" {
			t.Errorf("second decoding (-first +second):\n%s", diff)
		}
	})
}
