package approval

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/turn/chat"
	"sluice/stream"
)

// A list shows of arguments what fits, as one object of valid JSON, and says what is missing.
func TestArgumentsAreCutForAList(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ü", 5000)
	for name, tt := range map[string]struct {
		args, want string
		room       int
		cut        bool
	}{
		"short":       {`{"a":1}`, `{"a":1}`, 9000, false},
		"a text":      {`{"a":"` + long + `","b":2}`, `{"a":"` + long[:maxBriefText] + `","b":2}`, 9000, true},
		"no object":   {`[` + strings.Repeat("1,", 2000) + `1]`, `{}`, 9000, true},
		"not JSON":    {strings.Repeat("x", 3000), `{}`, 9000, true},
		"no room":     {`{"a":1,"b":"` + long + `"}`, `{"a":1}`, 100, true},
		"none at all": {`{"a":1}`, `{}`, 0, true},
	} {
		got, cut := cutArguments(tt.args, tt.room)
		if got != tt.want || cut != tt.cut {
			t.Errorf("%s: %.80s, cut: %v, want %.80s, %v", name, got, cut, tt.want, tt.cut)
		}
	}
	nested := `{"a":{"b":"` + long + `"},"c":[` + strings.Repeat(`"\u00fc\"",`, 3000) + `1]}`
	got, cut := cutArguments(nested, 9000)
	if v := jsontext.Value(got); !v.IsValid() || v.Kind() != '{' || !cut || !utf8.ValidString(got) || len(got) > 9000 {
		t.Errorf("nested: %.200s", got)
	}
}

// A brief is bounded whatever a question asks, and is read without the rest of its record.
func TestBriefIsBounded(t *testing.T) {
	t.Parallel()
	r := &record{ID: "appr_x", Kind: chat.AskTools, Prompt: strings.Repeat("p", 9000), Fill: json.RawMessage(`{"x":"` + strings.Repeat("f", 9000) + `"}`)}
	for i := range 200 {
		r.Calls = append(r.Calls, recordedCall{ID: fmt.Sprint(i), Tool: "t", Arguments: `{"a":"` + strings.Repeat("a", 100_000) + `"}`})
	}
	data, err := json.Marshal(stored{Brief: r.briefRecord(), Record: json.RawMessage(`"never read`)[:0]})
	if err != nil {
		t.Fatal(err)
	}
	data = append(data[:len(data)-1], `,"record":[[[`...) // a list does not look at it
	b := readBrief(data)
	if b == nil || len(data) > 24<<10 || !b.Truncated || len(b.Prompt) > maxBriefText || len(b.Calls) != maxBriefCount || !b.Calls[0].Truncated {
		t.Fatalf("%d bytes: %+v", len(data), b)
	}
	l := Listing{Approvals: []*stream.Approval{}}
	for !l.IsFull(1) {
		l.addQuestion(b)
	}
	if text, err := json.Marshal(l.Approvals); err != nil || len(text) > 1<<20 || len(l.Approvals) > 100 {
		t.Errorf("%d questions with %d bytes, %v", len(l.Approvals), len(text), err)
	}
	for _, old := range []string{`{"record":{}}`, `{"used":true}`, `{}`, `[]`, ``, `{"brief":7}`} {
		if readBrief([]byte(old)) != nil {
			t.Errorf("%s has a brief", old)
		}
	}
}
