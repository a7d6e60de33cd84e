package record

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// A part is written as package json writes it, whatever it has and lacks.
func TestPartIsPlainJSON(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 5))
	text := func() string {
		return []string{"", "a", "\"\\\n\x00\x7f", "\u2028<&>", "ä€😀", "cut\xff", "two words"}[random.IntN(7)]
	}
	number := func() *int64 {
		n := []int64{-1, 0, 1 << 40}[random.IntN(3)]
		return []*int64{nil, &n}[random.IntN(2)]
	}
	for range 2000 {
		p := &Part{Turn: text(), Updated: text()}
		if random.IntN(4) == 0 {
			p.Sessions = map[string]Session{"b": {SessionID: text(), MessageCount: 2}, "a": {Status: text()}}
		}
		for range random.IntN(3) {
			s := Step{
				ID: text(), ParentID: text(), Name: text(), Message: text(), Status: Status(text()), Timestamp: text(), Started: random.Int64(), Millis: number(),
				Agent: text(), NodeID: text(), SessionID: text(), Attempt: random.IntN(2), Model: text(), FirstToken: number(), Finish: text(),
			}
			for range random.IntN(3) {
				c := Call{
					CallID: text(), Server: text(), Tool: text(), Error: text(), Started: random.Int64(), Millis: number(), Outcome: Outcome(text()),
					Arguments: []jsontext.Value{nil, jsontext.Value(`{"a": "<b>",  "c":[1]}`)}[random.IntN(2)],
				}
				c.Result = []*Result{nil, {Text: text(), Truncated: random.IntN(2) == 0}}[random.IntN(2)]
				s.Calls = append(s.Calls, c)
			}
			s.Usage = []*Usage{nil, {Input: 1, Output: 2, Thinking: 3, Cached: random.IntN(2)}}[random.IntN(2)]
			p.Steps = append(p.Steps, s)
		}
		want, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(p.Encode())); diff != "" {
			t.Fatalf("(-json +written):\n%s", diff)
		}
	}
}
