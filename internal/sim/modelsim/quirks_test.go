package modelsim

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Each quirk of Chat Completions shows in the stream as endpoints show it.
func TestChatQuirks(t *testing.T) {
	t.Parallel()
	_, url := serve(t, Config{})
	const twoCalls = `call f {"a":12345678}; call g`
	tests := []struct {
		directives string
		want       []string // are in the stream
		not        []string // are not
	}{
		{"", []string{`"choices":[],"created"`, `"prompt_tokens"`, "data: [DONE]", `"finish_reason":"stop"`}, nil},
		{"usage none", nil, []string{`prompt_tokens`, `"choices":[]`}},
		{"usage last", []string{`"finish_reason":"stop"`, `prompt_tokens`}, []string{`"choices":[]`}},
		{"usage own", []string{`"choices":[]`}, nil},
		{"usage every; text a b", []string{`"delta":{"content":"a "},"finish_reason":null,"index":0,"logprobs":null}],"created"`, `"prompt_tokens"`}, nil},
		{"usage groq", []string{`"x_groq":{"id":"req_modelsim","usage":{`}, nil},
		{"tokens 12 34 5 6", []string{`"prompt_tokens":12`, `"completion_tokens":39`, `"reasoning_tokens":5`, `"cached_tokens":6`, `"total_tokens":51`}, nil},
		{"no-done", nil, []string{"[DONE]"}},
		{"finish none", nil, []string{`"finish_reason":"`}},
		{"finish length", []string{`"finish_reason":"length"`}, nil},
		{"finish content_filter", []string{`"finish_reason":"content_filter"`}, nil},
		{"refusal I will not.", []string{`"refusal":"will "`}, nil},
		{twoCalls, []string{`"index":1`, `"name":"g"`, `"arguments":""`, `"finish_reason":"tool_calls"`, `"arguments":"{\"a\":1"`}, nil},
		{twoCalls + "; index zero", []string{`"name":"g"`}, []string{`"index":1`}},
		{twoCalls + "; index none", []string{`"tool_calls":[{"function":{"arguments":"","name":"f"},"id"`}, []string{`"index":1`}},
		{twoCalls + "; ids none", []string{`"name":"g"`}, []string{`"id":"call_`}},
		{twoCalls + "; ids late", []string{`{"function":{"arguments":"{\"a\":1"},"id":"call_`}, nil},
		{twoCalls + "; ids odd", []string{`"id":"functions.call:1"`}, nil},
		{twoCalls + "; calls whole", []string{`"arguments":"{\"a\":12345678}"`}, nil},
		{twoCalls + "; signed", []string{`"extra_content":{"google":{"thought_signature":"`}, nil},
		{"thought Hm", nil, []string{"Hm"}},
		{"thought Hm; reasoning content", []string{`"delta":{"reasoning_content":"Hm"}`}, nil},
		{"thought Hm; reasoning plain", []string{`"delta":{"reasoning":"Hm"}`}, nil},
		{"thought Hm; reasoning details", []string{`"reasoning":"Hm","reasoning_details":[{"format":"modelsim-v1","index":0,"text":"Hm","type":"reasoning.text"}]`, `"signature":"`}, nil},
		{"thought Hm; reasoning both", []string{`"reasoning_content":"Hm","reasoning_details"`}, nil},
		{"thought Hm; reasoning parts", []string{`"content":[{"thinking":[{"text":"Hm","type":"text"}],"type":"thinking"}]`}, nil},
		{"thought Hm; reasoning tags; text a", []string{`"content":"<think>\n"`, `"content":"Hm"`, `"content":"\n</think>\n\n"`, `"content":"a"`}, nil},
		{"thought Hm; reasoning open", []string{`"content":"\n</think>\n\n"`}, []string{`"<think>`}},
		{"crlf", []string{"data: {", "}\r\n\r\n"}, []string{"}\n\n"}},
		{"comments", []string{": MODELSIM PROCESSING\n\n"}, nil},
		{"split 3", []string{"data: [DONE]"}, nil},
		{`raw "data: {}\n\n"; raw "x"`, []string{"data: {}\n\nx"}, []string{"[DONE]"}},
		{"inband object", []string{`data: {"error":{"message"`, `"finish_reason":"stop"`}, nil},
		{"inband string 2", []string{`data: {"error":"The`}, []string{`"finish_reason":"stop"`}},
		{"inband array 2", []string{`data: [{"error"`}, nil},
		{"inband event 2", []string{"event: error\ndata: "}, nil},
		{"inband field 2; no-done", []string{"\nerror: {"}, []string{"[DONE]"}},
		{"inband bare 1", []string{`{"error":`}, []string{`data: {`}},
		{"inband finish 2", []string{`"finish_reason":"error"`}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.directives, func(t *testing.T) {
			t.Parallel()
			c := newClient(chatPath, "s", "hi", todoTools(t))
			resp, body := post(t, url+chatPath, tt.directives, c.body)
			if resp.StatusCode != http.StatusOK {
				t.Fatalf("status %d: %s", resp.StatusCode, body)
			}
			for _, want := range tt.want {
				if !strings.Contains(body, want) {
					t.Errorf("no %s in\n%s", want, body)
				}
			}
			for _, not := range tt.not {
				if strings.Contains(body, not) {
					t.Errorf("%s in\n%s", not, body)
				}
			}
			if !strings.Contains(tt.directives, "inband") && !strings.Contains(tt.directives, "raw") {
				events(t, body)
			}
		})
	}
}

// The quirks that Responses and Messages have too.
func TestOtherQuirks(t *testing.T) {
	t.Parallel()
	_, url := serve(t, Config{})
	tests := []struct {
		path, directives string
		want             string
		not              string
	}{
		{responsesPath, "finish length", `"incomplete_details":{"reason":"max_output_tokens"}`, "response.completed"},
		{responsesPath, "finish content_filter", `"incomplete_details":{"reason":"content_filter"}`, "response.completed"},
		{responsesPath, "finish none", "response.output_text.done", "response.completed"},
		{responsesPath, "refusal No.", "response.refusal.delta", "output_text"},
		{responsesPath, "usage none", "response.completed", "input_tokens"},
		{responsesPath, "tokens 12 34 5 6", `"input_tokens":12,"input_tokens_details":{"cached_tokens":6},"output_tokens":39,"output_tokens_details":{"reasoning_tokens":5}`, "-"},
		{responsesPath, "inband error 3", "event: error", "completed"},
		{responsesPath, "inband failed 3", "event: response.failed", "completed"},
		{responsesPath, "inband incomplete 3", "event: response.incomplete", "completed"},
		{messagesPath, "finish length", `"stop_reason":"max_tokens"`, "-"},
		{messagesPath, "finish pause_turn", `"stop_reason":"pause_turn"`, "-"},
		{messagesPath, "finish none", "message_stop", "end_turn"},
		{messagesPath, "refusal No.", `"stop_reason":"refusal"`, "-"},
		{messagesPath, "no-done", "message_delta", "message_stop"},
		{messagesPath, "redacted", `"type":"redacted_thinking"`, "-"},
		{messagesPath, "usage none", "message_delta", `"usage":{"cache_creation_input_tokens`},
		{messagesPath, "usage none; whole", `"usage":`, "input_tokens"},
		{messagesPath, "tokens 12 34 5 6", `"cache_read_input_tokens":6,"input_tokens":6,"output_tokens":39`, "-"},
		{messagesPath, "inband event 3", "overloaded_error", "message_stop"},
	}
	for _, tt := range tests {
		t.Run(tt.path+tt.directives, func(t *testing.T) {
			t.Parallel()
			_, body := post(t, url+tt.path, tt.directives, newClient(tt.path, "s", "hi", todoTools(t)).body)
			if !strings.Contains(body, tt.want) || strings.Contains(body, tt.not+`"`) {
				t.Errorf("want %s and no %s in\n%s", tt.want, tt.not, body)
			}
		})
	}
}

// Errors have the shape and the headers of the protocol.
func TestErrors(t *testing.T) {
	t.Parallel()
	_, url := serve(t, Config{})
	for path, want := range map[string]string{
		chatPath:     `{"error":{"code":"rate_limit_exceeded","message":"Please try again in 644ms.","param":null,"type":"tokens"}}`,
		messagesPath: `{"error":{"message":"Please try again in 644ms.","type":"tokens"},"request_id":"req_modelsim","type":"error"}`,
	} {
		resp, body := post(t, url+path, "error 429 retry-after=3 retry-after-ms=2500 x-should-retry=false type=tokens code=rate_limit_exceeded Please try again in 644ms.", m{})
		if resp.StatusCode != 429 || body != want || resp.Header.Get("Retry-After") != "3" || resp.Header.Get("Retry-After-Ms") != "2500" || resp.Header.Get("X-Should-Retry") != "false" {
			t.Errorf("%s: %d %v %s", path, resp.StatusCode, resp.Header, body)
		}
	}
	for status, kind := range map[int]string{401: "authentication_error", 404: "not_found_error", 500: "api_error", 529: "overloaded_error"} {
		if _, body := post(t, url+messagesPath, fmt.Sprint("error ", status), m{}); !strings.Contains(body, `"type":"`+kind+`"`) {
			t.Errorf("%d: %s", status, body)
		}
	}
}

// A connection that ends in the middle, one way or the other.
func TestCut(t *testing.T) {
	t.Parallel()
	_, url := serve(t, Config{})
	for _, directives := range []string{"cut 2", "reset 2"} {
		_, body := post(t, url+chatPath, directives, newClient(chatPath, "s", "hi", todoTools(t)).body)
		if !strings.Contains(body, "unexpected EOF") && !strings.Contains(body, "reset by peer") || strings.Count(body, "data:") > 1 {
			t.Errorf("%s: %s", directives, body)
		}
	}
}

// short is a client that leaves after so many writes.
type short struct {
	*httptest.ResponseRecorder
	writes int
}

func (s *short) Write(b []byte) (int, error) {
	if s.writes--; s.writes < 0 {
		return 0, io.ErrClosedPipe
	}
	return s.ResponseRecorder.Write(b)
}

// A client may leave after any event: nothing more is written then.
func TestClientThatLeaves(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, Config{})
	for _, directives := range []string{"text a b c", `raw "x"; raw "y"; raw "z"`, "inband object 3; text a b c", "split 9; text a"} {
		for writes := range 3 {
			body := string(encodeJSON(newClient(chatPath, "s", "hi", todoTools(t)).body))
			req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, chatPath, strings.NewReader(body))
			req.Header.Set(directivesHeader, directives)
			w := &short{httptest.NewRecorder(), writes}
			if server.ServeHTTP(w, req); w.writes != -1 || w.Code != http.StatusOK {
				t.Errorf("%s: %d writes after the client had left behind %d, %d: %s", directives, -w.writes, writes, w.Code, w.Body)
			}
		}
	}
}

// A stream that falls silent, and a connection without headers, last until the client
// leaves; so does neither outlive it.
func TestSilence(t *testing.T) {
	t.Parallel()
	_, url := serve(t, Config{}) // whose end waits for the handlers
	body := string(encodeJSON(newClient(chatPath, "s", "hi", todoTools(t)).body))
	for directives, headers := range map[string]bool{"stall 2": true, "hang": false} {
		ctx, leave := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer leave()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+chatPath, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(directivesHeader, directives)
		resp, err := http.DefaultClient.Do(req)
		if (err == nil) != headers {
			t.Errorf("%s: %v", directives, err)
		}
		if err == nil {
			got, readErr := io.ReadAll(resp.Body)
			resp.Body.Close()
			if strings.Count(string(got), "data:") != 1 || readErr == nil {
				t.Errorf("%s: %v in %s", directives, readErr, got)
			}
		}
	}
}

// The members of a list are refused one after the other, until none is left.
func TestRefusedOneAfterTheOther(t *testing.T) {
	t.Parallel()
	s, url := serve(t, Config{Script: script(t, "refuse stream_options temperature max_completion_tokens\nloop")})
	body := newClient(chatPath, "s", "hi", todoTools(t)).body
	body["temperature"], body["max_completion_tokens"] = 0.7, 100
	for _, member := range []string{"stream_options", "temperature", "max_completion_tokens"} {
		resp, text := post(t, url+chatPath, "", body)
		if resp.StatusCode != 400 || !strings.Contains(text, `"param":"`+member+`"`) {
			t.Fatalf("%s: %d %s", member, resp.StatusCode, text)
		}
		delete(body, member)
	}
	if resp, text := post(t, url+chatPath, "", body); resp.StatusCode != 200 {
		t.Error(text)
	}
	if f := s.Failures(); f != nil || s.Calls() != 4 || len(s.Requests()) != 4 {
		t.Errorf("failures %v, %d calls", f, s.Calls())
	}
}

// A script's blocks answer in order; behind the last one it says so.
func TestScript(t *testing.T) {
	t.Parallel()
	_, url := serve(t, Config{Script: script(t, "# two\ntext one\n---\ntext \"two \\n\"\n")})
	body := newClient(messagesPath, "s", "hi", todoTools(t)).body
	var got []string
	for range 3 {
		_, text := post(t, url+messagesPath, "", body)
		if strings.Contains(text, "used up") {
			got = append(got, "used up")
			continue
		}
		got = append(got, observeMessages(t, text).text)
	}
	if diff := cmp.Diff([]string{"one", "two \n", "used up"}, got); diff != "" {
		t.Error(diff)
	}
	for _, wrong := range []string{"speak x", "usage maybe", "cut 0", "cut x", "error 200", "tokens 1", "call", "no-done now", `text "a`, "pace soon", "inband object 0"} {
		if _, err := ParseScript(wrong); err == nil || !strings.HasPrefix(err.Error(), "script line 1: ") {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

// recordings are streams of the real endpoints, next to the repository.
const recordings = "../../../../shared/testdata/"

// What the real endpoints' events always hold, ours hold too, and no more than is in
// any of theirs.
func TestShapesOfRecordings(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(recordings); err != nil {
		t.Skipf("no recordings: %v", err)
	}
	tests := []struct {
		path  string
		files []string
	}{
		{chatPath, []string{"openai/chat-openai-parallel-gpt4omini-1", "openai/chat-openai-parallel-gpt4omini-2", "openai/chat-openai-text-o4mini"}},
		{responsesPath, []string{"openai/responses-openai-reasoning-o4mini-1", "openai/responses-openai-reasoning-o4mini-2", "openai/responses-openai-reasoning-gpt5-1", "openai/responses-openai-text-gpt5"}},
		{messagesPath, []string{"anthropic/messages-claude-thinking-tool-1", "anthropic/messages-claude-thinking-tool-2", "anthropic/messages-claude-redacted"}},
	}
	for _, tt := range tests {
		t.Run(tt.path, func(t *testing.T) {
			t.Parallel()
			recorded := shapes{}
			for _, name := range tt.files {
				data, err := os.ReadFile(recordings + name + ".sse")
				if err != nil {
					t.Fatal(err)
				}
				recorded.add(events(t, string(data)))
			}
			_, url := serve(t, Config{})
			ours := shapes{}
			for _, directives := range []string{"redacted; thought Hm; text two words", "thought Hm; call create_todo {\"title\":\"milk\"}"} {
				_, body := post(t, url+tt.path, directives, newClient(tt.path, "s", "hi", todoTools(t)).body)
				ours.add(events(t, body))
			}
			for kind, shape := range ours {
				theirs, known := recorded[kind]
				if !known {
					t.Errorf("%s: the recordings have no such event", kind)
					continue
				}
				for member, n := range theirs.members {
					if shape.members[member] == 0 && n == theirs.events {
						t.Errorf("%s: %s is missing", kind, member)
					}
				}
				for member := range shape.members {
					if theirs.members[member] == 0 {
						t.Errorf("%s: the recordings have no %s", kind, member)
					}
				}
			}
		})
	}
}

// shape counts the events of a kind, and those with a member.
type shape struct {
	events  int
	members map[string]int
}

type shapes map[string]*shape

func (s shapes) add(all []event) {
	for _, e := range all {
		kind := strings.Join([]string{str(e.data["type"]), str(dig(e.data, "item", "type")), str(dig(e.data, "content_block", "type")), str(dig(e.data, "delta", "type"))}, " ")
		if s[kind] == nil {
			s[kind] = &shape{members: map[string]int{}}
		}
		s[kind].events++
		seen := map[string]bool{}
		if e.data != nil {
			membersOf("", e.data, seen)
		}
		for member := range seen {
			s[kind].members[member]++
		}
	}
}

func membersOf(path string, v any, seen map[string]bool) {
	switch v := v.(type) {
	case m:
		for name, value := range v {
			here := path + "." + name
			if strings.HasPrefix(here, ".response.tools") || strings.HasPrefix(here, ".response.output[]") || strings.HasPrefix(here, ".content_block.input.") {
				continue // the caller's tools; what the items' own events showed
			}
			seen[here] = true
			membersOf(here, value, seen)
		}
	case []any:
		for _, e := range v {
			membersOf(path+"[]", e, seen)
		}
	}
}
