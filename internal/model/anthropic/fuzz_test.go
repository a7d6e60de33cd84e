package anthropic

import (
	"encoding/json"
	"strings"
	"testing"

	"sluice/internal/turn/chat"
)

// FuzzAnswer reads events, a line each, and compares the text with a slow reading of
// the same lines. Whatever comes, calls have ids of their own and objects as arguments,
// and what is kept is JSON.
func FuzzAnswer(f *testing.F) {
	f.Add(strings.Join(all(started, hello, toolAt("1", "i", "f", `{"a":`, `1}`), ended("tool_use"), stopped), "\n"))
	f.Add(strings.Join(all(started, blockAt("0", `{"type":"thinking","thinking":"","signature":""}`), deltaAt("0", `{"type":"signature_delta","signature":"c2ln"}`), stopAt("0"), hello, started, hello, stopped), "\n"))
	f.Add(strings.Join(all(blockAt("0", `{"type":"redacted_thinking","data":"x"}`), blockAt("0", `{"type":"tool_use","input":{"a":1},"name":"f"}`), blockAt("1", `{"type":"new"}`), deltaAt("1", `{"type":"text_delta","text":"x"}`), ended("max_tokens")), "\n"))
	f.Fuzz(func(t *testing.T, in string) {
		lines := strings.Split(in, "\n")
		got := read(testCodec(nil).NewAnswer(), events(lines...))
		if got.err == nil {
			if want, ok := slowText(lines); ok && got.text != want {
				t.Errorf("text %q, want %q", got.text, want)
			}
		}
		ids := map[string]bool{}
		for _, c := range got.calls {
			if c.Arguments.Kind() != '{' || !c.Arguments.IsValid() || c.ID == "" || ids[c.ID] || c.Name == "" {
				t.Errorf("call %+v", c)
			}
			ids[c.ID] = true
		}
		for _, p := range got.parts {
			if p.Kept != "" && !json.Valid([]byte(p.Kept)) {
				t.Errorf("kept %s", p.Kept)
			}
		}
		testCodec(nil).NewAnswer().DecodeDocument([]byte(in), new(chat.Chunk))
	})
}

// slowText returns the text of events that are all good, unless one is a start and a
// piece of a block at once, which has no meaning, or too many blocks are open.
func slowText(lines []string) (string, bool) {
	var text strings.Builder
	open := []slowBlock{}
	at := func(index any, begun bool) int {
		n, ok := index.(json.Number)
		for i := len(open) - 1; i >= 0; i-- {
			if (!ok && !begun) || (ok && open[i].index == string(n)) {
				return i
			}
		}
		return -1
	}
	for _, line := range lines {
		e := slowEvent(line)
		piece, _ := e["delta"].(map[string]any)
		block, _ := e["content_block"].(map[string]any)
		if (e["delta"] != nil && e["content_block"] != nil) || len(open) == maxOpen {
			return "", false
		}
		switch e["type"] {
		case "message_start":
			open = nil
		case "message_stop":
			return text.String(), true
		case "content_block_start":
			if i := at(e["index"], true); i >= 0 {
				open = append(open[:i], open[i+1:]...)
			}
			n, _ := e["index"].(json.Number)
			typ, _ := block["type"].(string)
			open = append(open, slowBlock{string(n), typ})
			text.WriteString(textIn(block, typ))
		case "content_block_delta":
			typ := "text"
			if i := at(e["index"], false); i >= 0 {
				typ = open[i].typ
			}
			switch piece["type"] {
			case nil, "text_delta", "thinking_delta", "input_json_delta", "signature_delta":
				text.WriteString(textIn(piece, typ))
			}
		case "content_block_stop":
			if i := at(e["index"], false); i >= 0 {
				open = append(open[:i], open[i+1:]...)
			}
		}
	}
	return text.String(), true
}

type slowBlock struct{ index, typ string }

// textIn returns the text in a piece of a block of that type.
func textIn(piece map[string]any, typ string) string {
	s, _ := piece["text"].(string)
	switch typ {
	case "text", "thinking", "tool_use":
		return s
	}
	return ""
}

// slowEvent reads an event; indexes that are none are left out.
func slowEvent(line string) (e map[string]any) {
	d := json.NewDecoder(strings.NewReader(line))
	d.UseNumber()
	_ = d.Decode(&e)
	if n, ok := e["index"].(json.Number); ok {
		if strings.Trim(string(n), "0123456789") != "" || len(n) > 9 {
			delete(e, "index")
		}
	}
	return e
}
