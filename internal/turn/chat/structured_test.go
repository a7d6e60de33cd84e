package chat

import (
	"encoding/json"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// A form is stored with what waits for a person or continues later; of a request without one
// nothing is stored that was not before.
func TestStoredAnswerForm(t *testing.T) {
	t.Parallel()
	for form, want := range map[ReplyForm]string{
		{}: `{"Channel":"","Drafts":0,"UserName":"","Locale":"","Subject":"","Deliver":false}`,
		{Answer: &AnswerForm{Name: "n", Schema: jsontext.Value(AnyObject), At: "/a", SchemaAt: "/b"}}: `{"Channel":"","Drafts":0,"UserName":"","Locale":"","Subject":"","Deliver":false,"Answer":{"Name":"n","Schema":{"type":"object"}}}`,
	} {
		text, err := json.Marshal(form)
		if err != nil || string(text) != want {
			t.Errorf("%s, %v, want %s", text, err, want)
		}
		var got ReplyForm
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		if form.Answer != nil {
			form.Answer.At, form.Answer.SchemaAt = "", ""
		}
		if diff := cmp.Diff(form, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}
