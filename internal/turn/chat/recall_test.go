package chat

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/turn/tool"
)

// called is a message with a call, and the one with its result.
func called(origin, name string) []Message {
	return []Message{
		{Role: RoleModel, Origin: origin, Maker: "m", Parts: []Part{{Call: &tool.Call{ID: "1", Name: name, Arguments: []byte(`{"a":1}`)}, Signature: "s"}}},
		{Role: RoleUser, Parts: []Part{{Result: &tool.Result{ID: "1", Name: name, Text: "done\nso"}}}},
	}
}

func joined(lists ...[]Message) (all []Message) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// Calls of before stay with their results where they are valid; of others there is a line,
// and none loses its result.
func TestPortable(t *testing.T) {
	t.Parallel()
	u, a, b := []Message{said(RoleUser, "u")}, []Message{said(RoleModel, "a")}, []Message{said(RoleModel, "b")}
	line := `[Earlier call: x {"a":1}; result: done so]`
	ofThisTurn := called("", "gone")
	for name, tt := range map[string]struct{ given, want []Message }{
		"none":                 {joined(u, a, u), nil},
		"own":                  {joined(u, called("o", "x"), a, u), nil},
		"of this turn":         {joined(u, ofThisTurn), nil},
		"another origin":       {joined(u, called("p", "x"), a, u), joined(u, []Message{said(RoleModel, line+"\n\na")}, u)},
		"a tool that is gone":  {joined(u, called("o", "gone"), a, u), joined(u, []Message{said(RoleModel, `[Earlier call: gone {"a":1}; result: done so]`+"\n\na")}, u)},
		"both, several steps":  {joined(u, called("p", "x"), called("o", "x"), called("p", "x"), a, u, b), joined(u, called("o", "x"), []Message{said(RoleModel, line+"\n"+line+"\n\na")}, u, b)},
		"without an answer":    {joined(u, called("p", "x"), u), joined(u, []Message{said(RoleModel, line)}, u)},
		"a result that lacks":  {joined(u, called("p", "x")[:1], a), joined(u, []Message{said(RoleModel, `[Earlier call: x {"a":1}]`+"\n\na")})},
		"at the end, no words": {joined(u, called("p", "x")), joined(u, []Message{said(RoleModel, line)})},
	} {
		if tt.want == nil {
			tt.want = tt.given
		}
		before := joined(tt.given)
		got := Portable(tt.given, "o", func(name string) bool { return name == "x" })
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(before, tt.given); diff != "" {
			t.Errorf("%s was changed (-before +after):\n%s", name, diff)
		}
	}
}
