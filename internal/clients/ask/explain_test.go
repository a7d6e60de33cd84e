package ask

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// An error says the next step: where the key comes from, and which names there are.
func TestErrorsSayTheNextStep(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status  int
		field   string
		outcome Outcome
		want    string
	}{
		"no key":             {401, "", failed, "Set SLUICE_KEY to a key of this gateway; `sluice keys add` makes one\n"},
		"no such channel":    {422, "/channel", Refused, "There are: sms, email\n"},
		"no such agent":      {422, "/agent", Refused, "There are: light, music\n"},
		"another field":      {422, "/timezone", Refused, "422 Unprocessable Entity: wrong\n"},
		"a list is not told": {422, "/workflow", Refused, "422 Unprocessable Entity: wrong\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				reply := `{"detail":"wrong","errors":[{"field":"` + tt.field + `","code":"unknown_value"}]}`
				switch r.URL.Path {
				case "/channels":
					reply = `{"channels":[{"name":"sms"},{"name":"email"}],"more":1}`
				case "/agents":
					reply = `{"router":true,"agents":[{"id":"light","name":"The light"},{"id":"music"}]}`
				default:
					w.WriteHeader(tt.status)
				}
				_, _ = w.Write([]byte(reply))
			}))
			t.Cleanup(srv.Close)
			d := deskAt(srv.URL, "")
			d.want(t, name, d.Turn(t.Context(), Message{Text: "hi"}), tt.outcome, "", tt.want)
		})
	}
}

// A question of a workflow is shown, and not taken for a tool call.
func TestQuestionOfAWorkflowIsShown(t *testing.T) {
	t.Parallel()
	d, _ := deciding()
	d.line = nil
	_, err := d.decide(&approvalData{Prompt: "Refund 42 EUR?"})
	want := "the workflow has a question for a person, and there is none to ask: Refund 42 EUR?\nRun it in a terminal, or with --approve or --reject"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %q", err, want)
	}
	if s := (&session{Client: deskAt("", "").Client}); s.reportOutcome(failed, err) != Unanswered {
		t.Error("a person is asked, and the outcome is another one")
	}
}
