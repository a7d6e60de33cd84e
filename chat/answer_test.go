package chat_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"sluice/chat"
)

// Whatever an answer is: it is read, with one action for all or a decision for each, or its
// faults have pointers.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"action":"approve"}`, `{"action":"modify","arguments":{"a":1}}`, `{"calls":[{"call_id":"a","action":"reject","message":"no"}]}`,
		`{"calls":[{}]}`, `{"calls":{}}`, `{"calls":[1,null,"x"]}`, `{"action":1}`, `[]`, `{`, ``, `null`, `{"action":"approve","action":"reject"}`,
		`{"calls":[{"call_id":"a","action":"modify"}],"message":"\ud800"}`, `{"user_id":"ann","approval_id":"appr_1","action":"reject"}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		a, err := chat.ReadAnswer([]byte(body))
		if err == nil {
			if !json.Valid([]byte(body)) || (a.Action == "") == (len(a.Calls) == 0) {
				t.Errorf("%q is read as %+v", body, a)
			}
			for _, c := range a.Calls {
				if c.CallID == "" || c.Action == "" || (c.Action == chat.Modify) != (c.Arguments != nil || c.Result != "") && c.Result == "" {
					t.Errorf("%q has the decision %+v", body, c)
				}
			}
			return
		}
		v, ok := errors.AsType[*chat.ValidationError](err)
		if !ok || len(v.Fields) == 0 || len(v.Fields) > 20 {
			t.Fatalf("%q: %v", body, err)
		}
		for _, field := range v.Fields {
			if field.Code == "" || field.Message == "" || field.Field != "" && !strings.HasPrefix(field.Field, "/") {
				t.Errorf("%q: %+v", body, field)
			}
		}
	})
}
