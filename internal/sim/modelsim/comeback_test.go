package modelsim

import (
	"maps"
	"net/http"
	"strings"
	"testing"
)

// What Chat Completions sent with text and calls is accepted back as it was sent, only by the
// server that sent it.
func TestWhatMayComeBackInChat(t *testing.T) {
	t.Parallel()
	const plan = "thought Hm; call create_todo {\"title\":\"a\"}; "
	tests := []struct {
		name, directives string // of both requests
		message          func(answer any) (extra m)
		change           string // what is replaced in it
		want             string // "": taken
	}{
		{"reasoning_content", "reasoning content; need-reasoning", pick("reasoning_content"), "", ""},
		{"reasoning_content empty", "need-reasoning", func(any) m { return m{"reasoning_content": ""} }, "", ""},
		{"reasoning_content changed", "reasoning content", pick("reasoning_content"), "Hm", "not what this model sent"},
		{"reasoning", "reasoning plain", pick("reasoning"), "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, url := serve(t, Config{})
			c := newClient(chatPath, "s", "hi", todoTools(t))
			_, body := post(t, url+chatPath, plan+tt.directives+"; whole", c.body)
			answer := dig(parse(t, body), "choices", 0, "message")
			h := observed{calls: []observedCall{{str(dig(answer, "tool_calls", 0, "id")), "create_todo", `{"title":"a"}`}}}
			c.reply(h, "done")
			messages, _ := c.body["messages"].([]any)
			for k, v := range tt.message(answer) {
				if tt.change != "" {
					v = strings.ReplaceAll(str(v), tt.change, "other")
				}
				messages[2].(m)[k] = v
			}
			resp, text := post(t, url+chatPath, tt.directives, c.body)
			if (resp.StatusCode == 200) != (tt.want == "") || !strings.Contains(text, tt.want) {
				t.Errorf("status %d: %s", resp.StatusCode, text)
			}
		})
	}
}

func pick(name string) func(any) m {
	return func(answer any) m { return m{name: dig(answer, name)} }
}

// The signature of a first call, and of reasoning_details, come back or are missed.
func TestChatSignaturesComeBack(t *testing.T) {
	t.Parallel()
	_, url := serve(t, Config{})
	c := newClient(chatPath, "s", "hi", todoTools(t))
	_, body := post(t, url+chatPath, "thought Hm; reasoning details; signed; calls whole; call create_todo {}", c.body)
	var detail, call m
	for _, e := range events(t, body) {
		delta := dig(e.data, "choices", 0, "delta")
		if d, ok := dig(delta, "reasoning_details", 0).(m); ok {
			if detail == nil {
				detail = m{}
			}
			for k, v := range d {
				detail[k] = v
			}
		}
		if k, ok := dig(delta, "tool_calls", 0).(m); ok {
			call = k
		}
	}
	c.add(m{"role": "assistant", "tool_calls": []any{call}, "reasoning_details": []any{detail}}, m{"role": "tool", "tool_call_id": call["id"], "content": "x"})
	if resp, text := post(t, url+chatPath, "signed", c.body); resp.StatusCode != 200 {
		t.Errorf("as it came: %s", text)
	}
	detail["text"] = "Ha"
	if _, text := post(t, url+chatPath, "signed", c.body); !strings.Contains(text, "Invalid `signature`") {
		t.Errorf("another text: %s", text)
	}
	detail["text"] = "Hm"
	call["function"].(m)["arguments"] = `{"title":"b"}`
	if _, text := post(t, url+chatPath, "signed", c.body); !strings.Contains(text, "Corrupted thought signature") {
		t.Errorf("other arguments: %s", text)
	}
	delete(call, "extra_content")
	if _, text := post(t, url+chatPath, "signed", c.body); !strings.Contains(text, "missing a thought_signature") {
		t.Errorf("without: %s", text)
	}
}

// Thoughts that the client has not asked to see are in no event, and must come back all the same.
func TestThoughtsThatAreNotShown(t *testing.T) {
	t.Parallel()
	_, url := serve(t, Config{})
	for path, hide := range map[string]m{responsesPath: {"reasoning": m{"effort": "low"}}, messagesPath: {"thinking": m{"type": "adaptive", "display": "omitted"}}} {
		c := newClient(path, "s", "hi", todoTools(t))
		maps.Copy(c.body, hide)
		_, body := post(t, url+path, `thought Hidden; call create_todo {"title":"a"}`, c.body)
		h := c.observe(t, body)
		if strings.Contains(body, "Hidden") || strings.Contains(body, "reasoning_summary") || len(h.kept) != 1 {
			t.Fatalf("%s: kept %v of %s", path, h.kept, body)
		}
		without := newClient(path, "s", "hi", todoTools(t))
		maps.Copy(without.body, hide)
		without.reply(observed{calls: h.calls}, "done")
		if resp, text := post(t, url+path, "", without.body); resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: without the thoughts: %d %s", path, resp.StatusCode, text)
		}
		c.reply(h, "done")
		if got := c.next(t, url, "text fine"); got.text != "fine" {
			t.Errorf("%s: said %+v", path, got)
		}
	}
}

// A reasoning item stands before what it led to, and may be left out once the turn is over.
func TestReasoningItemsAndTheirTurn(t *testing.T) {
	t.Parallel()
	_, url := serve(t, Config{})
	for _, said := range []string{"text Hello", "call create_todo {}"} {
		c := newClient(responsesPath, "s", "hi", todoTools(t))
		h := c.next(t, url, "thought Hm; "+said)
		if len(h.calls) > 0 {
			c.reply(observed{calls: h.calls}, "done") // the item is left out
		} else {
			c.add(h.kept[0], m{"role": "assistant", "content": h.text})
		}
		c.add(m{"role": "user", "content": "and now?"})
		c.next(t, url, "")
		if len(h.calls) == 0 {
			c.body["input"] = []any{m{"role": "user", "content": "hi"}, h.kept[0], m{"role": "user", "content": "and now?"}}
			if _, text := post(t, url+responsesPath, "", c.body); !strings.Contains(text, "without its required following item") {
				t.Error(text)
			}
		}
	}
}
