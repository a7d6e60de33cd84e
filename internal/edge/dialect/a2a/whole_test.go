package a2a

import "testing"

// Counts are read as whole numbers, and nothing else of a body changes.
func TestWholeNumbers(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"id": 1.0, "params":{"historyLength" : 2.0,"x":[{"pageSize":1e1}, 3.0]} }`: `{"id": 1.0, "params":{"historyLength" : 2,"x":[{"pageSize":10}, 3.0]} }`,
		`{"historyLength":1.5,"pageSize":"2.0"}`:                                     `{"historyLength":1.5,"pageSize":"2.0"}`,
		`{"params":{"text":"\"historyLength\" 2.0"}}`:                                `{"params":{"text":"\"historyLength\" 2.0"}}`,
		`{"historyLength":2.0`:                                                       `{"historyLength":2.0`,
		`{"history_length":-1.0}`:                                                    `{"history_length":-1}`,
		``:                                                                           ``,
	} {
		if got := string(wholeNumbers([]byte(body))); got != want {
			t.Errorf("%s became %s", body, got)
		}
	}
}
