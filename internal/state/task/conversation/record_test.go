package conversation

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Turns are read as encoding/json, which writes them, reads them: also what is odd about them.
func TestRecordsAreReadAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	written := record{Version: 1, At: "a line", ShownTurns: 3, Input: "<é & \u2028 \U0001f600>", Answer: "b", Steps: []step{
		{Origin: "o", Maker: "m", Calls: []call{{ID: "i", Name: "n", Arguments: `{"a":1}`, Signature: "s", Extra: "k", Result: "\x00", Failed: true}}},
	}}
	for text, good := range map[string]bool{
		string(written.encode()):                                                              true,
		`{"v":1,"input":"a","answer":"b"}`:                                                    true,
		`{"V":1,"Input":"a","ANSWER":"b","new":{"x":[1]}}`:                                    true,
		`{"v":1,"input":"x","input":"a","answer":"b","at":null}`:                              true,
		"{\"v\":1,\"input\":\"a\xff\",\"answer\":\"\\ud800b\",\"steps\":null}":                true,
		`{"v":1,"input":"a","answer":"b"} `:                                                   true,
		`{"v":2,"input":"a","answer":"b"}`:                                                    false,
		`{"v":1,"input":"a","answer":"b"}x`:                                                   false,
		`{"v":"1","input":"a","answer":"b"}`:                                                  false,
		`{"v":1,"input":1,"answer":"b"}`:                                                      false,
		`{"v":1,"input":"a","answer":"b"`:                                                     false,
		`{"v":1,"input":"a","answer":""}`:                                                     false,
		`{"v":1,"input":"a","answer":"b","steps":[{"calls":[]}]}`:                             false,
		`{"v":1,"input":"a","answer":"b","steps":[{"calls":[{"name":"n","arguments":"{"}]}]}`: false,
		`{"v":1,"input":"a","answer":"b","steps":[{"calls":[{"arguments":"{}"}]}]}`:           false,
		``: false, `null`: false, `[]`: false,
	} {
		got, ok := readRecord([]byte(text))
		if ok != good {
			t.Errorf("%q is read: %t", text, ok)
		}
		var want record
		if good && json.Unmarshal([]byte(text), &want) != nil {
			t.Fatalf("%q cannot be read at all", text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}
