package model_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"sluice/internal/model"
	"sluice/internal/model/modeltest"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// fake is the smallest protocol that has all that the frame asks about.
type fake struct{}

// fakeEvent is an event of it, and its error body.
type fakeEvent struct {
	Text    string      `json:"text"`
	Thought string      `json:"thought"`
	Piece   string      `json:"piece"` // of a call
	Finish  string      `json:"finish"`
	Tokens  int         `json:"tokens"`
	Model   string      `json:"model"`
	Kind    *model.Kind `json:"kind"` // of an error
	Member  string      `json:"member"`
	Message string      `json:"message"`
}

func (fake) Render(b []byte, req *chat.ModelRequest, omit model.Omit) []byte {
	b = append(b, `{"text":"`...)
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			b = append(b, p.Text...)
		}
	}
	b = append(b, '"')
	for _, member := range []string{"a", "b", "c", "d"} {
		if !omit.Has(member) {
			b = fmt.Appendf(b, `,%q:{"x":1}`, member)
		}
	}
	return append(b, '}')
}

func (fake) NewAnswer() model.Answer { return new(fakeAnswer) }

func (fake) Refuse(status int, _ http.Header, body []byte) *model.Refusal {
	var e fakeEvent
	if json.Unmarshal(body, &e) != nil || e.Kind == nil {
		return &model.Refusal{Status: status}
	}
	return e.refusal(status)
}

func (e *fakeEvent) refusal(status int) *model.Refusal {
	return &model.Refusal{Status: status, Kind: *e.Kind, Type: "fake", Member: e.Member, Message: e.Message}
}

type fakeAnswer struct {
	model.Budget
	note    model.Stats
	usage   chat.Usage
	pending string
}

func (a *fakeAnswer) Decode(_ string, data []byte, c *chat.Chunk) error {
	var e fakeEvent
	if err := json.Unmarshal(data, &e); err != nil {
		return model.ErrUnreadable
	}
	if e.Kind != nil {
		return e.refusal(0)
	}
	if e.Tokens > 0 {
		a.usage = chat.Usage{InputTokens: e.Tokens}
		c.Usage = &a.usage
	}
	if e.Text != "" {
		c.Parts = append(c.Parts, chat.Part{Text: e.Text})
	}
	if e.Thought != "" {
		c.Parts = append(c.Parts, chat.Part{Text: e.Thought, Thought: true})
	}
	a.pending += e.Piece
	a.note.TextLength += len(e.Text)
	if e.Finish != "" {
		a.note.Finish = e.Finish
	}
	if e.Model != "" {
		a.note.Model = e.Model
	}
	return a.Grow(len(e.Text) + len(e.Thought) + len(e.Piece))
}

func (a *fakeAnswer) HasEnded() bool { return a.note.Finish == "over" }

func (a *fakeAnswer) Finished() bool { return a.note.Finish != "" }

func (a *fakeAnswer) End(c *chat.Chunk) error {
	switch {
	case a.note.Finish == "":
		return model.ErrCut
	case a.note.TextLength == 0 && a.pending == "":
		return model.ErrNoText
	}
	if a.pending != "" {
		c.Parts = append(c.Parts, chat.Part{Call: &tool.Call{Name: a.pending}})
	}
	c.Finish = chat.FinishStop
	return nil
}

func (a *fakeAnswer) DecodeDocument(body []byte, c *chat.Chunk) error {
	var e fakeEvent
	if json.Unmarshal(body, &e) != nil || e.Text == "" {
		return model.ErrUnreadable
	}
	return a.Decode("", body, c)
}

func (a *fakeAnswer) Stats() model.Stats {
	n := a.note
	n.Size = a.Size
	return n
}

func (a *fakeAnswer) Reset() { *a = fakeAnswer{} }

func newFake(spec model.Spec, opts model.Options) (*model.Model, error) {
	if spec.Endpoint == "" {
		spec.Endpoint = "https://fake.test/v1"
	}
	if spec.Model == "" {
		spec.Model = "fake-1"
	}
	spec.Provider = "fake"
	return model.New(spec, model.Bearer(), fake{}, opts)
}

func event(e string) string { return "data: " + e + "\n\n" }

func text(s string) string { return event(`{"text":"` + s + `"}`) }

const end = "data: {\"finish\":\"stop\",\"tokens\":7}\n\n"

func fakeError(kind model.Kind, message string) string {
	return fmt.Sprintf(`{"kind":%d,"message":%q}`, kind, message)
}

// TestConformance runs the suite over the smallest protocol.
func TestConformance(t *testing.T) {
	t.Parallel()
	modeltest.Run(t, modeltest.Protocol{
		New: newFake, Text: text, Finish: end, Unreadable: event("{"),
		Idle: []string{event("{}"), "event: ping\ndata: {}\n\n", event(`{"tokens":5}`)}, FinishEvents: event(`{"finish":"stop"}`),
		Error:      fakeError,
		ErrorEvent: func(kind model.Kind, message string) string { return event(fakeError(kind, message)) },
		Member:     "b", Unknown: strings.Replace(fakeError(model.KindRejected, "unknown member"), "{", `{"member":"b",`, 1),
	})
}
