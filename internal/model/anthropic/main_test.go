package anthropic

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/model"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// testSpec is a model as the recordings' is.
func testSpec() *model.Spec {
	return &model.Spec{Key: "claude", Provider: "anthropic", Model: "claude-sonnet-4-20250514", Generation: model.Generation{Thinking: model.Thinking{Word: "off"}}}
}

func testCodec(change func(*model.Spec)) *codec {
	spec := testSpec()
	if change != nil {
		change(spec)
	}
	return newCodec(spec, nil)
}

// sseEvent is an event of a stream.
type sseEvent struct{ name, data string }

// split reads the events of a stream whose lines end in LF.
func split(t testing.TB, r io.Reader) (list []sseEvent) {
	t.Helper()
	var e sseEvent
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		line = strings.TrimRight(line, "\r\n")
		if v, ok := strings.CutPrefix(line, "event: "); ok {
			e.name = v
		}
		if v, ok := strings.CutPrefix(line, "data: "); ok {
			e.data += v
		}
		if (line == "" || err != nil) && e.data != "" {
			list = append(list, e)
			e = sseEvent{}
		}
		if err == io.EOF {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// decoded is what an answer reported.
type decoded struct {
	parts    []chat.Part // texts and thoughts joined
	usage    *chat.Usage
	finish   chat.Finish
	err      error
	note     model.Stats
	text     string
	thoughts string
	calls    []tool.Call
}

// add adds a chunk.
func (a *decoded) add(c *chat.Chunk) {
	for _, p := range c.Parts {
		n := len(a.parts) - 1
		switch {
		case p.Call != nil:
			a.calls = append(a.calls, *p.Call)
		case p.Thought:
			a.thoughts += p.Text
		default:
			a.text += p.Text
		}
		if n >= 0 && p.Call == nil && p.Kept == "" && a.parts[n].Call == nil && a.parts[n].Kept == "" && a.parts[n].Thought == p.Thought {
			a.parts[n].Text += p.Text
			continue
		}
		a.parts = append(a.parts, p)
	}
	if c.Usage != nil {
		u := *c.Usage
		a.usage = &u
	}
	a.finish = c.Finish
}

// read gives an answer the events, as the frame does.
func read(a model.Answer, events []sseEvent) (got decoded) {
	defer func() { got.note = a.Stats() }()
	for _, e := range events {
		var c chat.Chunk
		data := []byte(e.data)
		err := a.Decode(e.name, data, &c)
		clear(data) // it is valid until Take returns
		got.add(&c)
		if got.err = err; err != nil {
			return got
		}
		if a.HasEnded() {
			break
		}
	}
	var c chat.Chunk
	got.err = a.End(&c)
	if got.err == nil {
		got.add(&c)
	}
	return got
}

// events makes events out of their data, without names.
func events(data ...string) (list []sseEvent) {
	for _, d := range data {
		list = append(list, sseEvent{data: d})
	}
	return list
}

// answerTo reads an answer that is made of these events.
func answerTo(data ...string) decoded { return read(testCodec(nil).NewAnswer(), events(data...)) }

// faultOf names an answer's error as the contract does.
func faultOf(err error) string {
	var refusal *model.Refusal
	var blocked *model.Blocked
	switch {
	case err == nil:
		return ""
	case errors.As(err, &blocked):
		return "model_blocked"
	case errors.Is(err, model.ErrMalformedCall):
		return "model_error"
	case !errors.As(err, &refusal):
		return "model_unavailable"
	}
	switch k := refusal.Kind; {
	case k == model.KindServer, k == model.KindStatus && refusal.Status >= 500:
		return "model_unavailable"
	case k == model.KindRateLimited:
		return "model_rate_limited"
	}
	return "model_error"
}

func parse(t testing.TB, s string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		t.Fatalf("%v in %s", err, s)
	}
	return v
}

func callOf(id, name, arguments string) *tool.Call {
	return &tool.Call{ID: id, Name: name, Arguments: jsontext.Value(arguments)}
}

func user(parts ...chat.Part) chat.Message { return chat.Message{Role: chat.RoleUser, Parts: parts} }

// said is a message that a model made.
func said(maker string, parts ...chat.Part) chat.Message {
	return chat.Message{Role: chat.RoleModel, Parts: parts, Maker: maker}
}

func text(s string) chat.Part { return chat.Part{Text: s} }

func result(id, name, text string) chat.Part {
	return chat.Part{Result: &tool.Result{ID: id, Name: name, Text: text}}
}
