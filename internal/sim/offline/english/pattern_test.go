package english

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

type captured = map[string]string

// Each pattern with a text that it fits as a whole (and what it captures), or does not (nil).
func TestMatch(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pattern, text string
		want          captured
	}{
		{"buy milk", "Buy MILK", captured{}},
		{"buy milk", "buy milk now", nil},
		{"buy milk", "please buy milk", nil},
		{"buy milk", "buy", nil},
		{"buy milk", "", nil},
		{"buy milk", "Buy, milk!", captured{}},
		{"buy milk", "“buy milk”", captured{}},
		{"delete|get_rid_of it", "get rid of it", captured{}},
		{"delete|get_rid_of it", "delete it", captured{}},
		{"delete|get_rid_of it", "get rid it", nil},
		{"go [right|straight_on] now", "go now", captured{}},
		{"go [right|straight_on] now", "go straight on now", captured{}},
		{"go [right|straight_on] now", "go left now", nil},
		{"[the] [the] end", "the the end", captured{}},
		{"done <todo>", "done the tax return", captured{"todo": "the tax return"}},
		{"done <todo>", "done", nil},
		{"done <todo?>", "done", captured{"todo": ""}},
		{"done <todo?> today", "done today", captured{"todo": ""}},
		{"move <todo> to <day>", "move A to B to C", captured{"todo": "A", "day": "B to C"}},
		{"move <todo> to <day>", "move to B", nil},
		{"turn <how=on|off> <what>", "turn OFF the Light", captured{"how": "OFF", "what": "the Light"}},
		{"turn <how=on|off> <what>", "turn up it", nil},
		{"<how=very_high|high> first", "Very high first", captured{"how": "Very high"}},
		{"^ go $", "go", captured{}},
		{"say ^ go", "say go", nil},
		{"go ^ go", "go", nil},
		{"<all>", "anything, at all.", captured{"all": "anything, at all."}},
	} {
		got, ok := Read(tt.text).Match(tt.pattern)
		if ok != (tt.want != nil) {
			t.Errorf("%q fits %q: %t", tt.pattern, tt.text, ok)
			continue
		}
		delete(got.Texts, "") // of places without a name
		if diff := cmp.Diff(tt.want, captured(got.Texts)); ok && diff != "" {
			t.Errorf("%q in %q (-want +got)\n%s", tt.pattern, tt.text, diff)
		}
	}
}

// Find fits a pattern anywhere, and Cut removes what it fits to.
func TestCut(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pattern, text string
		rest          string
		fits          bool
	}{
		{"with <p=high|low> priority", "buy milk with high priority today", "buy milk today", true},
		{"with <p=high|low> priority", "buy milk with some priority", "buy milk with some priority", false},
		{"a b", "a a b b", "a b", true},
		{"^ please", "please go please", "go please", true},
		{"^ go", "please go", "please go", false},
		{"please $", "please go please!", "please go", true},
		{"please $", "please go", "please go", false},
		{"[so] please", "so please go", "go", true},
		{"x <y> z", "1 x 2 3 z 4 z", "1 4 z", true},
		{"a", "", "", false},
	} {
		s := Read(tt.text)
		rest, f, ok := s.Cut(tt.pattern)
		if ok != tt.fits || rest.Text() != tt.rest {
			t.Errorf("%q out of %q: %q, %t", tt.pattern, tt.text, rest.Text(), ok)
		}
		if ok && len(rest.Words) != len(s.Words)-(f.To-f.From) {
			t.Errorf("%q out of %q: words [%d,%d) were cut", tt.pattern, tt.text, f.From, f.To)
		}
	}
}
