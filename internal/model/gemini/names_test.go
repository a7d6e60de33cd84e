package gemini

import (
	"strings"
	"testing"

	"sluice/internal/model"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

func TestFitName(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 64)
	for _, own := range []string{"ok", "_", "a.b:c-d_e9", long} {
		if got := fitName(own); got != own {
			t.Errorf("%q becomes %q, but it fits", own, got)
		}
	}
	seen := map[string]string{}
	for _, own := range []string{"", "9lives", "-dash", "spa ce", "spa/ce", "ü", "bad\xff", long + "a", long + "b"} {
		got := fitName(own)
		if !fitsName(got) || seen[got] != "" {
			t.Errorf("%q becomes %q, like %q", own, got, seen[got])
		}
		seen[got] = own
	}
}

// A tool whose name the API refuses has a name of its own on the wire, in its
// declaration as in calls and results, and its own everywhere else.
func TestToolIsCalledByItsOwnName(t *testing.T) {
	t.Parallel()
	const own = "2nd agent"
	c := newCodec(generation{})
	req := &chat.ModelRequest{
		Tools: &tool.Set{Specs: []tool.Spec{{Name: own}, {Name: "plain"}}},
		Messages: []chat.Message{
			{Role: chat.RoleModel, Parts: []chat.Part{{Call: &tool.Call{Name: own}}}},
			{Role: chat.RoleUser, Parts: []chat.Part{{Result: &tool.Result{Name: own}}}},
			{Role: chat.RoleModel, Parts: []chat.Part{{Call: &tool.Call{Name: "made up"}}}},
		},
	}
	body := string(c.Render(nil, req, model.Omit(nil)))
	fitted := fitName(own)
	if strings.Contains(body, own) || strings.Count(body, `"name":"`+fitted+`"`) != 3 {
		t.Errorf("the request is %s", body)
	}
	if !strings.Contains(body, `"name":"made up"`) || req.Messages[0].Parts[0].Call.Name != own {
		t.Errorf("the model's own word, or the message, was changed: %s", body)
	}
	for wire, want := range map[string]string{fitted: own, "plain": "plain", "unknown": "unknown"} {
		var chunk chat.Chunk
		event := `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"` + wire + `"}}]}}]}`
		if err := c.NewAnswer().Decode("", []byte(event), &chunk); err != nil {
			t.Fatal(err)
		}
		if got := chunk.Parts[0].Call.Name; got != want {
			t.Errorf("a call of %s is one of %q, want %q", wire, got, want)
		}
	}
}
