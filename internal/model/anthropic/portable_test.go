package anthropic

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sluice/internal/model"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// refuse says why the API would answer 400 to a body, or nothing. It knows the API's
// rules and none of our types.
func refuse(body []byte) string {
	var r struct {
		Model     string `json:"model"`
		Stream    bool   `json:"stream"`
		MaxTokens int    `json:"max_tokens"`
		System    []struct {
			Type         string          `json:"type"`
			Text         string          `json:"text"`
			CacheControl json.RawMessage `json:"cache_control"`
		} `json:"system"`
		Tools []struct {
			Name         string          `json:"name"`
			Description  string          `json:"description"`
			InputSchema  map[string]any  `json:"input_schema"`
			CacheControl json.RawMessage `json:"cache_control"`
		} `json:"tools"`
		ToolChoice *struct {
			Type string `json:"type"`
			Name string `json:"name"`
		} `json:"tool_choice"`
		Thinking *struct {
			Type    string `json:"type"`
			Display string `json:"display"`
			Budget  int    `json:"budget_tokens"`
		} `json:"thinking"`
		OutputConfig json.RawMessage `json:"output_config"`
		Temperature  *float64        `json:"temperature"`
		Messages     []judgedMessage `json:"messages"`
	}
	d := json.NewDecoder(strings.NewReader(string(body)))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return err.Error()
	}
	names := map[string]bool{}
	for _, tool := range r.Tools {
		if !wireName.MatchString(tool.Name) || names[tool.Name] || tool.InputSchema["type"] != "object" || tool.InputSchema["anyOf"] != nil || tool.InputSchema["$ref"] != nil {
			return "tool " + tool.Name
		}
		names[tool.Name] = true
	}
	switch {
	case r.Model == "" || r.MaxTokens < 1 || !r.Stream:
		return "model, max_tokens, stream"
	case len(r.System) > 0 && strings.TrimSpace(r.System[0].Text) == "":
		return "system: text content blocks must be non-empty"
	case r.Thinking != nil && r.Temperature != nil:
		return "temperature may only be set to 1 when thinking is enabled"
	case r.Thinking != nil && r.ToolChoice != nil && r.ToolChoice.Type == "tool":
		return "thinking may not be enabled when tool_choice forces tool use"
	case r.Thinking != nil && r.Thinking.Type == "enabled" && (r.Thinking.Budget < 1024 || r.MaxTokens <= r.Thinking.Budget):
		return "max_tokens must be greater than thinking.budget_tokens"
	case r.ToolChoice != nil && len(r.Tools) == 0:
		return "tool_choice without tools"
	}
	return judgeMessages(r.Messages, len(r.Tools) > 0, r.Thinking != nil)
}

var wireName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

type judgedMessage struct {
	Role    string `json:"role"`
	Content []struct {
		Type      string          `json:"type"`
		Text      string          `json:"text"`
		ID        string          `json:"id"`
		Name      string          `json:"name"`
		Input     map[string]any  `json:"input"`
		ToolUseID string          `json:"tool_use_id"`
		Content   json.RawMessage `json:"content"`
		IsError   bool            `json:"is_error"`
		Thinking  string          `json:"thinking"`
		Signature string          `json:"signature"`
		Data      string          `json:"data"`
	} `json:"content"`
}

func judgeMessages(messages []judgedMessage, tools, thinking bool) string {
	ids := map[string]bool{}
	var open []string // calls of the message before
	withCalls := 0
	for i, m := range messages {
		at := "messages." + strconv.Itoa(i) + ": "
		if want := []string{"user", "assistant"}[i%2]; m.Role != want || len(m.Content) == 0 {
			return at + "roles must alternate, and content must not be empty"
		}
		var calls, results []string
		textSeen := false
		for j, b := range m.Content {
			switch b.Type {
			case "text":
				if strings.TrimSpace(b.Text) == "" {
					return at + "text content blocks must contain non-whitespace text"
				}
				textSeen = true
			case "tool_use":
				if !wireName.MatchString(b.ID) || ids[b.ID] || !wireName.MatchString(b.Name) || b.Input == nil || m.Role != "assistant" || !tools {
					return at + "tool_use " + b.ID
				}
				ids[b.ID] = true
				calls = append(calls, b.ID)
			case "tool_result":
				if textSeen || m.Role != "user" || (b.IsError && len(b.Content) == 0) {
					return at + "tool_result " + b.ToolUseID
				}
				results = append(results, b.ToolUseID)
			case "thinking", "redacted_thinking":
				if (b.Type == "thinking" && b.Signature != "genuine") || m.Role != "assistant" {
					return at + "invalid signature in thinking block"
				}
				if j > 0 && !strings.Contains(m.Content[j-1].Type, "thinking") {
					return at + "thinking must come first"
				}
			default:
				return at + "type " + b.Type
			}
		}
		if !slices.Equal(open, results) {
			return fmt.Sprintf("%stool_use ids %v were found without tool_result blocks immediately after: %v", at, open, results)
		}
		if open = calls; len(calls) > 0 {
			withCalls = i
		}
	}
	if len(open) > 0 {
		return "tool_use at the end"
	}
	if thinking && withCalls > 0 && !strings.Contains(messages[withCalls].Content[0].Type, "thinking") {
		return "expected thinking, but found " + messages[withCalls].Content[0].Type
	}
	return ""
}

// makers are what models of each protocol leave in a conversation: the parts of two
// calls and of what follows, and their ids.
func makers() map[string]struct{ before, first, second chat.Part } {
	call := func(id string) *tool.Call { return callOf(id, "todo.list", `{"a":1}`) }
	return map[string]struct{ before, first, second chat.Part }{
		"gemini pro":      {chat.Part{Text: "", Signature: "c2ln"}, chat.Part{Call: call(""), Signature: "c2ln"}, chat.Part{Call: call("")}},
		"chat deepseek":   {chat.Part{Kept: `{"reasoning_content":"hm"}`}, chat.Part{Call: call("call_00_x|1")}, chat.Part{Call: call("call_00_x|1"), Kept: `{"extra_content":{}}`}},
		"chat mistral":    {text("Well."), chat.Part{Call: call("D681PevKs")}, chat.Part{Call: call("D681PevKt")}},
		"responses gpt-5": {chat.Part{Kept: `{"type":"reasoning","encrypted_content":"x"}`}, chat.Part{Call: call("call_abc")}, chat.Part{Call: call(strings.Repeat("fc_", 40))}},
		ours:              {chat.Part{Kept: `{"type":"thinking","thinking":"hm","signature":"genuine"}`}, chat.Part{Call: call("toolu_01")}, chat.Part{Call: call("toolu_02")}},
		"claude/opus":     {chat.Part{Kept: `{"type":"thinking","thinking":"hm","signature":"another's"}`}, chat.Part{Call: call("toolu_01")}, chat.Part{Call: call("toolu_02")}},
		"":                {text("Well."), chat.Part{Call: call("1")}, chat.Part{Call: call("2")}},
	}
}

// conversation is one turn with two calls that maker made, and the next question.
func conversation(maker string) []chat.Message {
	m := makers()[maker]
	answers := []chat.Part{}
	for _, p := range []chat.Part{m.second, m.first} { // as they ended
		answers = append(answers, result(p.Call.ID, p.Call.Name, "done"))
	}
	return []chat.Message{
		user(text("What is there to do?")), said(maker, chat.Part{Text: "Hm.", Thought: true}, m.before, m.first, m.second), user(answers...),
	}
}

// A conversation continues here, whichever model began it: with what the API takes.
func TestConversationsOfOthers(t *testing.T) {
	t.Parallel()
	for first := range makers() {
		for second := range makers() {
			both := append(append(conversation(first), said(first, text("A lot."))), conversation(second)...)
			for _, thinking := range []model.Thinking{{Word: "off"}, {Word: "summary"}, {Tokens: 2048}} {
				c := testCodec(func(s *model.Spec) { s.Thinking = thinking })
				for _, messages := range [][]chat.Message{conversation(first), both, append(both[:len(both):len(both)], said(second, text("Done.")), user(text("Thanks.")))} {
					for _, req := range []*chat.ModelRequest{
						{Messages: messages, Tools: setOf("todo.list")}, {Messages: messages, Tools: setOf("todo.list"), NoTools: true}, {Messages: messages}, {Messages: messages, Tools: setOf("other"), ForceTool: true},
					} {
						half := 0.5
						req.Temperature = &half
						body := c.Render(nil, req, model.Omit{memberCacheControl})
						if why := refuse(body); why != "" {
							t.Errorf("%q, then %q, thinking %+v: %s\n%s", first, second, thinking, why, body)
						}
						if n := strings.Count(string(body), "genuine"); (first == ours || second == ours) && n == 0 && len(messages) > 3 {
							t.Errorf("%q, then %q: our own thoughts are gone", first, second)
						}
					}
				}
			}
		}
	}
}

// Whatever the messages are, after a first one of the user's, the API takes them.
func TestAnyConversation(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	pick := func(list ...string) string { return list[rng.IntN(len(list))] }
	for range 5000 {
		messages := []chat.Message{user(text("hi"))}
		for range rng.IntN(8) {
			m := chat.Message{Role: chat.RoleModel, Maker: pick("", ours, "other/m")}
			if rng.IntN(2) == 0 {
				m.Role = chat.RoleUser
			}
			for range rng.IntN(4) {
				id, name := pick("", "a", "b", "x.y"), pick("f", "g.h")
				switch rng.IntN(5) {
				case 0:
					m.Parts = append(m.Parts, text(pick("a", "", " ", "b\n")))
				case 1:
					m.Parts = append(m.Parts, chat.Part{Call: callOf(id, name, pick(`{}`, `[]`, ``))})
				case 2:
					m.Parts = append(m.Parts, chat.Part{Result: &tool.Result{ID: id, Name: name, Text: pick("r", ""), IsError: rng.IntN(2) == 0}})
				case 3:
					m.Parts = append(m.Parts, chat.Part{Text: "hm", Thought: true})
				case 4:
					m.Parts = append(m.Parts, chat.Part{Kept: `{"type":"thinking","thinking":"","signature":"genuine"}`})
				}
			}
			messages = append(messages, m)
		}
		for _, thinking := range []model.Thinking{{Word: "summary"}, {Tokens: 2048}} {
			c := testCodec(func(s *model.Spec) { s.Thinking = thinking })
			body := c.Render(nil, &chat.ModelRequest{Messages: messages, Tools: setOf("f", "g.h")}, model.Omit{memberCacheControl})
			if why := refuse(body); why != "" {
				t.Fatalf("%s\n%s\n%+v", why, body, messages)
			}
		}
	}
}
