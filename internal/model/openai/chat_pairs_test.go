package openai

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"sluice/internal/model"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// wireMessage is a message of a request.
type wireMessage struct {
	Role       string
	Content    *string
	ToolCallID string `json:"tool_call_id"`
	ToolCalls  []struct {
		ID, Type string
		Function struct{ Name, Arguments string }
		Extra    json.RawMessage `json:"extra_content"`
	} `json:"tool_calls"`
	Details          []map[string]any `json:"reasoning_details"`
	ReasoningContent *string          `json:"reasoning_content"`
	Reasoning        *string
}

func (m *wireMessage) text() string {
	if m.Content == nil || strings.HasPrefix(*m.Content, "<think>") { // what its client made of the thoughts
		return ""
	}
	return *m.Content
}

type wireRequest struct {
	Messages []wireMessage
	Tools    []struct {
		Type     string
		Function struct {
			Name, Description string
			Parameters        json.RawMessage
			Strict            *bool
		}
	}
}

// secondRequests returns the later requests of recorded conversations, each with the
// answer before it.
func secondRequests(t *testing.T) (pairs [][2]recording) {
	t.Helper()
	for _, rec := range readRecordings(t, "chat-*-[23].sse") {
		n := len(rec.name) - 1
		before := rec.name[:n] + string(rec.name[n]-1)
		file := filepath.Join(recordings, before+".sse")
		if _, err := os.Stat(file); err == nil {
			pairs = append(pairs, [2]recording{readRecording(t, before, file), rec})
		}
	}
	return pairs
}

// What goes back with the next request is what the recorded client sent, built from the
// answer before it.
func TestChatSecondRequests(t *testing.T) {
	t.Parallel()
	pairs := secondRequests(t)
	if len(pairs) < 20 {
		t.Errorf("only %d pairs found", len(pairs))
	}
	for _, pair := range pairs {
		first, second := pair[0], pair[1]
		t.Run(second.name, func(t *testing.T) {
			t.Parallel()
			var want wireRequest
			if err := json.Unmarshal(second.Request, &want); err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(first.Expect.End, "error") {
				t.Skip("its client went on after an error")
			}
			codec := testChat(t, model.Spec{Key: "k", Model: "m", Endpoint: second.Endpoint})
			h := observe(codec.NewAnswer(), splitBytes(first.wire(t)))
			got := render(t, codec, continued(&want, h.parts, codec.Maker()))
			compareRequests(t, &want, got)
		})
	}
}

// continued builds our request for a recorded one, with the last message of the model's
// replaced by parts.
func continued(want *wireRequest, parts []chat.Part, maker string) *chat.ModelRequest {
	req := &chat.ModelRequest{Tools: &tool.Set{}}
	last := lastAssistant(want.Messages)
	for i, m := range want.Messages {
		switch m.Role {
		case "system":
			req.System = m.text()
		case "user":
			req.Messages = append(req.Messages, chat.Message{Role: chat.RoleUser, Parts: []chat.Part{{Text: m.text()}}})
		case "assistant":
			msg := chat.Message{Role: chat.RoleModel, Maker: maker, Parts: parts}
			if i != last {
				msg = chat.Message{Role: chat.RoleModel, Parts: callParts(&m)}
			}
			req.Messages = append(req.Messages, msg)
		case "tool":
			result := &tool.Result{ID: m.ToolCallID, Text: *m.Content}
			req.Messages = append(req.Messages, chat.Message{Role: chat.RoleUser, Parts: []chat.Part{{Result: result}}})
		}
	}
	for _, spec := range want.Tools {
		f := spec.Function
		req.Tools.Specs = append(req.Tools.Specs, tool.Spec{Name: f.Name, Description: f.Description, InputSchema: jsontext.Value(f.Parameters)})
	}
	return req
}

func lastAssistant(list []wireMessage) int {
	for i, m := range slices.Backward(list) {
		if m.Role == "assistant" {
			return i
		}
	}
	return -1
}

func callParts(m *wireMessage) (parts []chat.Part) {
	if text := m.text(); text != "" {
		parts = append(parts, chat.Part{Text: text})
	}
	for _, c := range m.ToolCalls {
		parts = append(parts, chat.Part{Call: &tool.Call{ID: c.ID, Name: c.Function.Name, Arguments: jsontext.Value(c.Function.Arguments)}})
	}
	return parts
}

func render(t testing.TB, codec *chatCodec, req *chat.ModelRequest, omit ...string) *wireRequest {
	t.Helper()
	var got wireRequest
	if err := json.Unmarshal(renderJSON(t, codec, req, omit...), &got); err != nil {
		t.Fatal(err)
	}
	return &got
}

func renderJSON(t testing.TB, codec *chatCodec, req *chat.ModelRequest, omit ...string) jsontext.Value {
	t.Helper()
	body := jsontext.Value(codec.Render(nil, req, omit))
	if extra := codec.spec.Extra; extra != nil { // as the frame does
		var err error
		if body, err = model.Merge(body, extra); err != nil {
			t.Fatal(err)
		}
	}
	if !body.IsValid() {
		t.Fatalf("the request is no JSON: %s", body)
	}
	return body
}

func compareRequests(t *testing.T, want, got *wireRequest) {
	t.Helper()
	if len(got.Messages) != len(want.Messages) {
		t.Fatalf("%d messages, want %d", len(got.Messages), len(want.Messages))
	}
	for i := range want.Messages {
		w, g := &want.Messages[i], &got.Messages[i]
		if w.Role != g.Role || w.ToolCallID != g.ToolCallID || strings.TrimSpace(w.text()) != strings.TrimSpace(g.text()) {
			t.Errorf("message %d is %s %q %q, want %s %q %q", i, g.Role, g.ToolCallID, g.text(), w.Role, w.ToolCallID, w.text())
		}
		if diff := cmp.Diff(w.ToolCalls, g.ToolCalls, sameArguments); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		if i == lastAssistant(want.Messages) {
			compareKept(t, w, g)
		}
	}
	for i := range want.Tools {
		w, g := want.Tools[i].Function, got.Tools[i].Function
		if w.Name != g.Name || w.Description != g.Description || !sameJSON(w.Parameters, g.Parameters) || g.Strict != nil {
			t.Errorf("tool %+v, want %+v", g, w)
		}
	}
}

// compareKept looks for all that the recorded client sent back.
func compareKept(t *testing.T, want, got *wireMessage) {
	t.Helper()
	for _, w := range want.Details {
		if !slices.ContainsFunc(got.Details, func(g map[string]any) bool { return cmp.Equal(w, g) }) {
			t.Errorf("reasoning_details are %v, want among them %v", got.Details, w)
		}
	}
	var texts []string
	for _, s := range []*string{got.ReasoningContent, got.Reasoning} {
		if s != nil && *s != "" {
			texts = append(texts, *s)
		}
	}
	for _, w := range []*string{want.ReasoningContent, want.Reasoning} {
		if w != nil && !slices.Contains(texts, *w) {
			t.Errorf("the thoughts that go back are %q, want %q", texts, *w)
		}
	}
}

// sameArguments compares arguments as JSON: some clients write them again.
var sameArguments = cmp.Comparer(func(a, b struct{ Name, Arguments string }) bool {
	return a.Name == b.Name && sameJSON(json.RawMessage(a.Arguments), json.RawMessage(b.Arguments))
})

func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && cmp.Equal(x, y)
}
