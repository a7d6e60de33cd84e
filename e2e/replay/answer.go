package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"sluice/internal/base/fault"
	"sluice/internal/model"
	"sluice/internal/model/anthropic"
	"sluice/internal/model/openai"
	"sluice/internal/turn/chat"
)

// Answer is an answer as a reader understood it.
type Answer struct {
	Text     string `json:"text"`
	Thoughts string `json:"thoughts"`
	Calls    []Call `json:"calls"`
	Error    string `json:"error"` // empty: it ended well
	Finish   string `json:"finish"`
	Input    int    `json:"input"`
	Output   int    `json:"output"` // thinking included
}

// Call is a tool call. Arguments are decoded.
type Call struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments any    `json:"arguments"`
}

// Spec returns that of a model at an endpoint.
func Spec(api, endpoint string) model.Spec {
	spec := model.Spec{Key: "judged", Provider: "openai", API: "chat", Endpoint: endpoint, Model: "judged", First: 20 * time.Second, Idle: 20 * time.Second}
	switch api {
	case Responses:
		spec.API = "responses"
	case Messages:
		spec.Provider, spec.API = "anthropic", ""
	}
	return spec
}

// Open returns the model that spec describes.
func Open(spec model.Spec, opts model.Options) (*model.Model, error) {
	if spec.Provider == "anthropic" {
		return anthropic.New(spec, opts)
	}
	return openai.New(spec, opts)
}

// Hello returns a request that any model takes.
func Hello() *chat.ModelRequest {
	return &chat.ModelRequest{Step: 1, Messages: []chat.Message{{Role: chat.RoleUser, Parts: []chat.Part{{Text: "hello"}}}}}
}

// Model streams the answers to requests.
type Model interface {
	Stream(ctx context.Context, req *chat.ModelRequest, yield func(*chat.Chunk) error) error
}

// Ask makes one call of m. It returns the answer, and the message that goes back in the next
// request.
func Ask(ctx context.Context, m Model, req *chat.ModelRequest) (Answer, chat.Message) {
	var a Answer
	said := chat.Message{Role: chat.RoleModel}
	err := m.Stream(ctx, req, func(c *chat.Chunk) error {
		said.Maker = c.Maker
		said.Parts = append(said.Parts, c.Parts...)
		for _, p := range c.Parts {
			a.addPart(p)
		}
		if c.Usage != nil {
			a.Input, a.Output = c.Usage.InputTokens, c.Usage.OutputTokens+c.Usage.ThinkingTokens
		}
		if c.Finish != chat.FinishNone {
			a.Finish = string(c.Finish)
		}
		return nil
	})
	if err != nil {
		a.Error = err.Error()
		if f, ok := errors.AsType[*fault.Error](err); ok {
			a.Error = string(f.Type)
		}
	}
	return a, said
}

// addPart joins neighbouring texts, because providers cut them anywhere.
func (a *Answer) addPart(p chat.Part) {
	switch {
	case p.Call != nil:
		call := Call{ID: p.Call.ID, Name: p.Call.Name}
		if err := json.Unmarshal(p.Call.Arguments, &call.Arguments); err != nil {
			call.Arguments = err.Error()
		}
		a.Calls = append(a.Calls, call)
	case p.Thought:
		a.Thoughts += p.Text
	default:
		a.Text += p.Text
	}
}

// Differences says where another reader's answer is not a. Two that failed agree, whatever they
// had read by then. Ids count where the other has one for each call, and thoughts where it has
// any.
func (a *Answer) Differences(other *Answer) (list []string) {
	report := func(what string, ours, theirs any) {
		list = append(list, fmt.Sprintf("%s: ours %.300q, theirs %.300q", what, fmt.Sprint(ours), fmt.Sprint(theirs)))
	}
	if (a.Error == "") != (other.Error == "") {
		report("error", a.Error, other.Error)
	}
	if len(list) > 0 || a.Error != "" {
		return list
	}
	if a.Text != other.Text {
		report("text", a.Text, other.Text)
	}
	if other.Thoughts != "" && a.Thoughts != other.Thoughts {
		report("thoughts", a.Thoughts, other.Thoughts)
	}
	if !slices.EqualFunc(a.Calls, other.Calls, func(x, y Call) bool { return x.Name == y.Name && reflect.DeepEqual(x.Arguments, y.Arguments) }) {
		report("calls", a.Calls, other.Calls)
	} else if other.hasDistinctIDs() && !slices.EqualFunc(a.Calls, other.Calls, func(x, y Call) bool { return x.ID == y.ID }) {
		report("ids", a.Calls, other.Calls)
	}
	return list
}

// hasDistinctIDs reports whether each call has an id of its own.
func (a *Answer) hasDistinctIDs() bool {
	seen := map[string]bool{"": true}
	for _, c := range a.Calls {
		if seen[c.ID] {
			return false
		}
		seen[c.ID] = true
	}
	return true
}
