package wording

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/quality"
	"sluice/internal/quality/channel"
	"sluice/internal/quality/deliver"
	"sluice/internal/quality/style"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// Each channel but the web has its form, whose messages carry what the channel needs.
func TestFormatters(t *testing.T) {
	t.Parallel()
	specs := channel.ByName(nil)
	all := Formatters(specs)
	if len(all) != len(specs) || all["web"] != nil {
		t.Errorf("%d formatters for %d channels, that of the web is %v", len(all), len(specs), all["web"])
	}
	for name, f := range all {
		if f == nil {
			continue
		}
		out, err := f.Format(t.Context(), quality.Text{Markdown: "**One** two.", Subject: "Three"})
		if err != nil || f.Form() != string(specs[name].Form) {
			t.Errorf("%s: form %s, %v", name, f.Form(), err)
			continue
		}
		if len(out.Messages) != 1 || out.IsSplit || !strings.Contains(string(out.Response()), `"channel":"`+name+`"`) {
			t.Errorf("%s: %d messages, %s", name, len(out.Messages), out.Response())
		}
		m := out.Messages[0]
		if m.Channel != name || m.Sequence != 1 || m.Total != 1 || m.ContentType == "" {
			t.Errorf("%s: %+v", name, m)
		}
		switch name {
		case "sms":
			if m.Segments != 1 || out.Segments != 1 || m.Units == 0 || m.Encoding == "" || m.Content != "One two." {
				t.Errorf("sms: %+v", m)
			}
		case "teams":
			if len(m.Card) == 0 {
				t.Errorf("teams: %+v", m)
			}
		case "email":
			if m.Subject != "Three" || m.HTML == "" || m.Text == "" {
				t.Errorf("email: %+v", m)
			}
		}
	}
}

// A text that is too long for one message becomes several, in order.
func TestSplitText(t *testing.T) {
	t.Parallel()
	out, err := Formatters(channel.ByName(nil))["sms"].Format(t.Context(), quality.Text{Markdown: strings.Repeat("Some words for a short message. ", 60)})
	if err != nil || !out.IsSplit || len(out.Messages) < 2 {
		t.Fatalf("%d messages, split: %v, %v", len(out.Messages), out.IsSplit, err)
	}
	segments := 0
	for i, m := range out.Messages {
		if m.Sequence != i+1 || m.Total != len(out.Messages) || m.Content == "" {
			t.Errorf("message %d: %+v", i, m)
		}
		segments += m.Segments
	}
	if segments != out.Segments {
		t.Errorf("%d segments in all, %d in the messages", out.Segments, segments)
	}
}

// A greeting stands only where the channel allows one; the instruction and the text of a
// failure are the guide's.
func TestVoice(t *testing.T) {
	t.Parallel()
	guide := style.Guide{Version: "7", Greeting: true, SignOff: true, Texts: []style.Texts{{Lang: "en", Greeting: "Hello!", SignOff: "Bye!", Failure: "Sorry."}}}
	specs := channel.ByName(nil)
	v := NewVoice(&guide, specs)
	req := new(chat.Request)
	req.Locale, req.UserName = "en-GB", "Ann"
	for name, spec := range specs {
		before, after := v.Around(req, name)
		if greets := strings.Contains(before, "Hello!") && strings.Contains(after, "Bye!"); greets != spec.Greeting {
			t.Errorf("%s: %q, %q", name, before, after)
		}
	}
	got := []string{v.Version(), v.Failure(req), v.Language(req)}
	if diff := cmp.Diff([]string{"7", guide.FailureText(style.Reader{Locale: "en-GB"}), guide.Language(style.Reader{Locale: "en-GB"})}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	prompt := guide.Prompter()
	if want := prompt.Prompt(style.Reader{Locale: "en-GB", Name: "Ann", Frames: specs["email"].Greeting}); v.Instruction(req, "email") != want {
		t.Errorf("the instruction is %q, want %q", v.Instruction(req, "email"), want)
	}
}

// receiver notes what it is sent.
type receiver struct {
	status int
	ids    []string
	bodies []string
}

func (r *receiver) RoundTrip(req *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(req.Body)
	_ = req.Body.Close()
	r.ids, r.bodies = append(r.ids, req.Header.Get("webhook-id")), append(r.bodies, string(body))
	return &http.Response{StatusCode: r.status, Header: http.Header{}, Body: http.NoBody, Request: req}, nil
}

// A message says for whom it is and how the checks ended. Its id is that of its turn: who
// sends it again after a take-over sends it under the same one.
func TestWebhook(t *testing.T) {
	t.Parallel()
	r := &receiver{status: http.StatusOK}
	sender, err := deliver.New(deliver.Config{Channel: "sms", URL: "https://h/x", Secret: "0123456789abcdef0123456789abcdef", Transport: r})
	if err != nil {
		t.Fatal(err)
	}
	w := Webhook{sender}
	m := &quality.Message{Request: &chat.Request{UserID: "ann", ConversationID: "conv_1"}, Response: []byte(`{"content":"Hi"}`), Outcome: stream.Passed, Passed: true}
	for _, turn := range []string{"turn_1", "turn_1", "", ""} {
		m.Request.Turn = turn
		if d := w.Send(t.Context(), m); d.Status != deliver.Delivered || d.Attempts != 1 || d.ID == "" || d.ID != r.ids[len(r.ids)-1] {
			t.Errorf("%+v, sent under %q", d, r.ids)
		}
	}
	if r.ids[0] != r.ids[1] || r.ids[2] == r.ids[3] || r.ids[2] == r.ids[0] {
		t.Errorf("the ids are %q", r.ids)
	}
	for _, part := range []string{`"content":"Hi"`, `"ann"`, `"conv_1"`, `"passed":true`} {
		if !strings.Contains(r.bodies[0], part) {
			t.Errorf("%s is not in %s", part, r.bodies[0])
		}
	}
	r.status = http.StatusGone
	if d := w.Send(t.Context(), m); d.Status == deliver.Delivered {
		t.Errorf("refused: %+v", d)
	}
}
