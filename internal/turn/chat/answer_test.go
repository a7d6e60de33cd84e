package chat_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"sluice/internal/turn/chat"
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

// Each member of an answer, and of a call in it, is read or has its fault. A member that is null is
// none, and one that is not known is left alone.
func TestAnswers(t *testing.T) {
	t.Parallel()
	const call = `{"call_id":"a","action":"approve"}`
	for body, want := range map[string]string{
		`{"token":"t","user_id":"ann","approval_id":"p","action":"modify","arguments":{"a":1},"message":"m\u0007","input":[1],"state_updates":{},"result":"r","other":1}`: "",
		`{"calls":[{"call_id":"a","tool_name":"t","action":"modify","arguments":{},"message":"m","result":"r","user_id":1}]}`:                                             "",
		`{"action":"approve","calls":null,"arguments":null,"token":null}`:                                                                                                 "",
		`{"token":1,"user_id":"","approval_id":"","action":"no","arguments":[],"message":1,"state_updates":1,"result":1}`:                                                 "/token wrong_type, /user_id blank, /approval_id blank, /action unknown_value, /arguments wrong_type, /message wrong_type, /state_updates wrong_type, /result wrong_type",
		`{"action":"approve","calls":[` + call + `]}`:                                                                                                                     "/calls not_allowed",
		`{}`:                                  "/action required",
		`{"action":"approve","arguments":{}}`: "/arguments not_allowed",
		`{"calls":{}}`:                        "/calls wrong_type",
		`{"calls":[]}`:                        "/calls required",
		`{"calls":[` + strings.TrimSuffix(strings.Repeat(call+",", 1025), ",") + `]}`:                                                                                                         "/calls too_long",
		`{"calls":[1,{},{"call_id":"` + strings.Repeat("x", 300) + `","action":"approve"},{"call_id":"b","action":"modify"},{"call_id":"c","action":"reject","arguments":{},"tool_name":1}]}`: "/calls/0 wrong_type, /calls/1/call_id required, /calls/1/action required, /calls/2/call_id too_long, /calls/3/arguments required, /calls/4/tool_name wrong_type, /calls/4/arguments not_allowed",
	} {
		a, err := chat.ReadAnswer([]byte(body))
		var got []string
		if v, ok := errors.AsType[*chat.ValidationError](err); ok {
			for _, f := range v.Fields {
				got = append(got, f.Field+" "+string(f.Code))
			}
		}
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("%.120s: %s, want %s", body, s, want)
		}
		switch {
		case err != nil:
		case a.Action == chat.Modify:
			if got := fmt.Sprintf("%s %s %s %s %q %s %s %s", a.Token, a.UserID, a.ApprovalID, a.Arguments, a.Message, a.Input, a.StateUpdates, a.Result); got != `t ann p {"a":1} "m" [1] {} r` {
				t.Error(got)
			}
		case a.Action == "":
			if got, want := fmt.Sprintf("%+v", a.Calls), "[{CallID:a Tool:t Action:modify Arguments:{} Message:m Result:r}]"; got != want {
				t.Errorf("%.200s, want %s", got, want)
			}
		}
	}
}
