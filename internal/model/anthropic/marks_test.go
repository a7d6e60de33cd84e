package anthropic

import (
	"strings"
	"testing"

	"sluice/internal/model"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// In a conversation the last input before the newest and the end are marked, next to tools and
// system prompt; without one, the end alone where tools are on offer. long asks for an hour, then
// for less.
func TestMarks(t *testing.T) {
	t.Parallel()
	said := func(role chat.Role, text string) chat.Message {
		return chat.Message{Role: role, Parts: []chat.Part{{Text: text}}}
	}
	messages := []chat.Message{said(chat.RoleUser, "one"), said(chat.RoleModel, "1"), said(chat.RoleUser, "two"), said(chat.RoleModel, "2"), said(chat.RoleUser, "three")}
	set := &tool.Set{Specs: []tool.Spec{{Name: "find", InputSchema: []byte(`{"type":"object"}`)}}}
	const mark = `"cache_control":{"type":"ephemeral"`
	for name, tt := range map[string]struct {
		cache string
		req   chat.ModelRequest
		omit  model.Omit
		want  []string // texts that end with a mark, besides the prompt
		ttl   bool
	}{
		"a conversation":  {"", chat.ModelRequest{Of: &chat.Request{ConversationID: "c"}, Tools: set}, nil, []string{"two", "three"}, false},
		"no conversation": {"", chat.ModelRequest{Of: new(chat.Request), Tools: set}, nil, []string{"three"}, false},
		"nothing follows": {"", chat.ModelRequest{Of: new(chat.Request)}, nil, nil, false},
		"the last step":   {"", chat.ModelRequest{Of: new(chat.Request), Tools: set, NoTools: true}, nil, nil, false},
		"long":            {model.CacheLong, chat.ModelRequest{Of: &chat.Request{ConversationID: "c"}}, nil, []string{"two", "three"}, true},
		"an hour refused": {model.CacheLong, chat.ModelRequest{Of: &chat.Request{ConversationID: "c"}}, model.Omit{memberCacheControl}, []string{"two", "three"}, false},
	} {
		tt.req.System, tt.req.Messages = "Be kind.", messages
		body := string(newCodec(&model.Spec{Generation: model.Generation{Cache: tt.cache}}, nil).Render(nil, &tt.req, tt.omit))
		for _, text := range []string{"one", "two", "three", "Be kind."} {
			wanted := text == "Be kind."
			for _, w := range tt.want {
				wanted = wanted || w == text
			}
			if got := strings.Contains(body, `"text":"`+text+`",`+mark); got != wanted {
				t.Errorf("%s: %q is marked: %v\n%s", name, text, got, body)
			}
		}
		if strings.Contains(body, `"ttl":"1h"`) != tt.ttl || strings.Count(body, mark) > 4 {
			t.Errorf("%s: %s", name, body)
		}
	}
	// In a turn's first call the mark is on the input, and never behind the moment.
	first := chat.ModelRequest{Of: &chat.Request{ConversationID: "c"}, Tools: set, Messages: append(messages[:4:4], said(chat.RoleUser, "three"))}
	now := chat.Request{Additions: chat.Additions{Note: "a note"}}
	first.Messages = now.WithMoment(first.Messages, "", "")
	body := string(newCodec(new(model.Spec), nil).Render(nil, &first, nil))
	if !strings.Contains(body, `"text":"three",`+mark) || !strings.Contains(body, `"text":"two",`+mark) || !strings.HasSuffix(body, `a note"}]}]}`) {
		t.Errorf("a moment behind the input: %s", body)
	}
	// Results are no input: behind the calls of a turn the input before the newest is still "two".
	messages = append(messages, chat.Message{Role: chat.RoleModel, Parts: []chat.Part{{Call: &tool.Call{ID: "1", Name: "find"}}}},
		chat.Message{Role: chat.RoleUser, Parts: []chat.Part{{Result: &tool.Result{ID: "1", Name: "find", Text: "found"}}}})
	req := chat.ModelRequest{Of: &chat.Request{ConversationID: "c"}, Tools: set, Messages: messages}
	body = string(newCodec(new(model.Spec), nil).Render(nil, &req, nil))
	if !strings.Contains(body, `"text":"two",`+mark) || strings.Contains(body, `"text":"three",`+mark) || !strings.Contains(body, `"text":"found"}],`+mark) {
		t.Errorf("behind results: %s", body)
	}
	for cache, omit := range map[string]model.Omit{model.CacheOff: nil, model.CacheAuto: {memberCacheControl}, model.CacheLong: {memberCacheControl, memberCacheControl}} {
		req := chat.ModelRequest{Of: &chat.Request{ConversationID: "c"}, System: "Be kind.", Messages: messages}
		if body := string(newCodec(&model.Spec{Generation: model.Generation{Cache: cache}}, nil).Render(nil, &req, omit)); strings.Contains(body, mark) {
			t.Errorf("%s: %s", cache, body)
		}
	}
}
