package openai

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"sluice/internal/model"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// A version is compared as numbers.
func TestModelsWithExactMarks(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"gpt-5.6": true, "gpt-5.6-mini": true, "gpt-5.10": true, "gpt-6": true, "gpt-10-nano": true, "ft:gpt-5.6:org": true,
		"gpt-5.5": false, "gpt-5": false, "gpt-5-mini": false, "gpt-4o": false, "gpt-4.10": false, "o4-mini": false, "my-gpt-6": false, "": false,
	} {
		for endpoint, own := range map[string]bool{"https://api.openai.com/v1/responses": true, "https://api.example.com/v1": false} {
			if got := hasExactMarks(&model.Spec{Endpoint: endpoint, Model: name}); got != (want && own) {
				t.Errorf("%q at %s: %v", name, endpoint, got)
			}
		}
		if !hasExactMarks(&model.Spec{Model: name, Generation: model.Generation{Cache: model.CacheMarks}}) {
			t.Errorf("%q with cache: marks has none", name)
		}
	}
}

// pastTurns is a conversation of turns with a call and its results each, and an input with a part
// of the moment at its end.
func pastTurns(turns int) []chat.Message {
	var all []chat.Message
	for i := range turns {
		n := fmt.Sprint(i)
		call := func(id string) chat.Part { return chat.Part{Call: &tool.Call{ID: id + n, Name: "find"}} }
		result := func(id string) chat.Part {
			return chat.Part{Result: &tool.Result{ID: id + n, Name: "find", Text: "found " + id + n}}
		}
		all = append(all, chat.Message{Role: chat.RoleUser, Parts: []chat.Part{{Text: "input " + n}}},
			chat.Message{Role: chat.RoleModel, Parts: []chat.Part{call("a"), call("b")}},
			chat.Message{Role: chat.RoleUser, Parts: []chat.Part{result("a"), result("b")}},
			chat.Message{Role: chat.RoleModel, Parts: []chat.Part{{Text: "answer " + n}}})
	}
	req := chat.Request{Input: "now", Additions: chat.Additions{Note: "a note"}}
	return append(all, req.WithMoment(req.Messages(), "", "")...)
}

// exactCodec returns a codec for OpenAI's own host with a model that has exact marks.
func exactCodec(t *testing.T, api, cache string) model.Codec {
	t.Helper()
	c, err := newCodec(model.Spec{Endpoint: "https://api.openai.com/v1/x", API: api, Model: "gpt-5.6", Generation: model.Generation{Cache: cache}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// requestOf returns a request with tools on offer.
func requestOf(messages []chat.Message, conversation string, tools bool) *chat.ModelRequest {
	req := &chat.ModelRequest{System: "Be kind.", Messages: messages, Of: &chat.Request{ConversationID: conversation}, Agent: "a"}
	if tools {
		req.Tools = &tool.Set{Specs: []tool.Spec{{Name: "find", InputSchema: []byte(`{"type":"object"}`)}}}
	}
	return req
}

// System prompt, inputs and the last results of steps are lists in each call. They have marks where
// another call may follow; the moment and the other results have none.
func TestExactMarks(t *testing.T) {
	t.Parallel()
	for _, api := range []string{"chat", "responses"} {
		for name, tt := range map[string]struct {
			cache         string
			req           *chat.ModelRequest
			omit          model.Omit
			lists, marked []string
			options       bool
		}{
			"a conversation":       {"", requestOf(pastTurns(1), "conv_1", false), nil, []string{"Be kind.", "input 0", "found b0", "now"}, []string{"Be kind.", "input 0", "found b0", "now"}, true},
			"tools on offer":       {"", requestOf(pastTurns(1), "", true), nil, []string{"Be kind.", "input 0", "found b0", "now"}, []string{"Be kind.", "input 0", "found b0", "now"}, true},
			"long is auto":         {model.CacheLong, requestOf(pastTurns(1), "conv_1", false), nil, []string{"Be kind.", "input 0", "found b0", "now"}, []string{"Be kind.", "input 0", "found b0", "now"}, true},
			"nothing follows":      {"", requestOf(pastTurns(1), "", false), nil, []string{"Be kind.", "input 0", "found b0", "now"}, nil, true},
			"off":                  {model.CacheOff, requestOf(pastTurns(1), "conv_1", true), nil, nil, nil, true},
			"results refused":      {"", requestOf(pastTurns(1), "conv_1", true), model.Omit{cacheMark}, []string{"Be kind.", "input 0", "now"}, []string{"Be kind.", "input 0", "now"}, true},
			"marks refused":        {"", requestOf(pastTurns(1), "conv_1", true), model.Omit{cacheMark, cacheMark}, nil, nil, false},
			"options refused":      {"", requestOf(pastTurns(1), "conv_1", true), model.Omit{cacheOptions}, nil, nil, false},
			"options refused, off": {model.CacheOff, requestOf(pastTurns(1), "conv_1", true), model.Omit{cacheOptions}, nil, nil, false},
		} {
			body := string(exactCodec(t, api, tt.cache).Render(nil, tt.req, tt.omit))
			texts := []string{"Be kind.", "input 0", "found a0", "found b0", "now", "Added by the gateway, not by the user:\\na note"}
			for _, text := range texts {
				isList := api == "responses" && !strings.HasPrefix(text, "found") && text != "Be kind." // as ever
				for _, want := range tt.lists {
					isList = isList || want == text
				}
				marked := false
				for _, want := range tt.marked {
					marked = marked || want == text
				}
				if got := strings.Contains(body, `_text","text":"`+text+`"`) || strings.Contains(body, `"text","text":"`+text+`"`); got != isList {
					t.Errorf("%s, %s: %q is in a list: %v\n%s", api, name, text, got, body)
				}
				if got := strings.Contains(body, `"text":"`+text+`"`+explicitMark); got != marked {
					t.Errorf("%s, %s: %q is marked: %v\n%s", api, name, text, got, body)
				}
			}
			if got := strings.Contains(body, explicitOptions); got != tt.options || got && strings.Contains(body, cacheRetention) {
				t.Errorf("%s, %s: options %v: %s", api, name, got, body)
			}
			if !model.Members([]byte(body)).Has("model") || strings.Contains(body, cacheKey) != (tt.cache != model.CacheOff) {
				t.Errorf("%s, %s: %s", api, name, body)
			}
			if got := strings.Contains(body, `"instructions"`); api == "responses" && got == (len(tt.lists) > 0) {
				t.Errorf("%s, %s: instructions %v: %s", api, name, got, body)
			}
		}
	}
}

// Of a long conversation the newest 39 inputs and results are marked, and the system prompt. Where
// roles must alternate, an input stands with its moment, so there are no marks.
func TestExactMarksAreBounded(t *testing.T) {
	t.Parallel()
	for _, api := range []string{"chat", "responses"} {
		c := exactCodec(t, api, "")
		body := string(c.Render(nil, requestOf(pastTurns(30), "conv_1", true), nil))
		if n := strings.Count(body, explicitMark); n != 40 {
			t.Errorf("%s: %d marks", api, n)
		}
		if old, recent := strings.Contains(body, `"input 10"`+explicitMark), strings.Contains(body, `"found b11"`+explicitMark); old || !recent || !strings.Contains(body, `"text":"input 10"`) {
			t.Errorf("%s: an old input %v, a new result %v", api, old, recent)
		}
	}
	if body := string(exactCodec(t, "chat", "").Render(nil, requestOf(pastTurns(1), "conv_1", true), model.Omit{memberRoles})); strings.Contains(body, "breakpoint") || strings.Contains(body, cacheOptions) {
		t.Errorf("roles alternate: %s", body)
	}
}

// The place of a mark in an error is read, whatever stands in front of it.
func TestRefusedMarks(t *testing.T) {
	t.Parallel()
	for _, api := range []string{"chat", "responses"} {
		c := exactCodec(t, api, "")
		for body, want := range map[string]string{
			`{"error":{"param":"messages[3].content[0].prompt_cache_breakpoint","code":"unknown_parameter","message":"Unknown parameter."}}`:  cacheMark,
			`{"error":{"param":"input[0].content[0].prompt_cache_breakpoint.mode","message":"Invalid."}}`:                                     cacheMark,
			`{"detail":[{"type":"extra_forbidden","loc":["body","messages",2,"content",0,"prompt_cache_breakpoint"],"msg":"Extra inputs."}]}`: cacheMark,
			`{"error":{"message":"Unknown parameter: 'prompt_cache_breakpoint'."}}`:                                                           cacheMark,
			`{"error":{"param":"prompt_cache_options","message":"Unknown parameter: 'prompt_cache_options'."}}`:                               cacheOptions,
			`{"error":{"param":"prompt_cache_breakpoints","message":"Unknown."}}`:                                                             "",
		} {
			if got := c.Refuse(400, nil, []byte(body)).Member; got != want {
				t.Errorf("%s, %s: learned %q", api, body, got)
			}
		}
	}
}

// strictServer is a server that refuses bodies with any of some texts, each with an error of its
// own.
type strictServer struct {
	refuses map[string]string
	bodies  []string
}

func (s *strictServer) RoundTrip(r *http.Request) (*http.Response, error) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	s.bodies = append(s.bodies, string(data))
	reply := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Request: r}
	text := sse(says(`"content":"hello"`)) + sse(stop) + sse(done)
	for refused, param := range s.refuses {
		if strings.Contains(string(data), refused) {
			reply.StatusCode, text = http.StatusBadRequest, fmt.Sprintf(`{"error":{"param":%q,"code":"unknown_parameter","message":"Unknown parameter."}}`, param)
		}
	}
	reply.Body = io.NopCloser(strings.NewReader(text))
	return reply, nil
}

// A server that refuses marks on results loses these alone. A server without marks loses all of
// them with the first refusal, if the request had no results.
func TestRefusedMarksAreLearned(t *testing.T) {
	t.Parallel()
	const onResult = `found b0"` + explicitMark
	for name, tt := range map[string]struct {
		refuses      map[string]string
		turns, calls int
		marks        int // of the last request
		options      bool
	}{
		"on results":                {map[string]string{onResult: "messages[4].content[0].prompt_cache_breakpoint"}, 1, 2, 3, true},
		"all, behind results":       {map[string]string{explicitMark: "messages[0].content[0].prompt_cache_breakpoint"}, 1, 3, 0, false},
		"all, in a first call":      {map[string]string{explicitMark: "messages[0].content[0].prompt_cache_breakpoint"}, 0, 2, 0, false},
		"options":                   {map[string]string{explicitOptions: cacheOptions}, 1, 2, 0, false},
		"nothing":                   {nil, 1, 1, 4, true},
		"options, in a first call":  {map[string]string{explicitOptions: cacheOptions}, 0, 2, 0, false},
		"a member of another name":  {map[string]string{`"stream_options"`: "stream_options"}, 1, 2, 4, true},
		"marks and another of ours": {map[string]string{`"stream_options"`: "stream_options", onResult: cacheMark}, 1, 3, 3, true},
	} {
		server := &strictServer{refuses: tt.refuses}
		m, err := New(model.Spec{Key: "fast", API: "chat", Endpoint: "https://models.example.com/v1/chat/completions", Model: "m", First: time.Minute, Idle: time.Minute, Generation: model.Generation{Cache: model.CacheMarks}}, model.Options{Transport: server})
		if err != nil {
			t.Fatal(err)
		}
		req := requestOf(pastTurns(tt.turns), "conv_1", true)
		for range 2 { // what was learned stays
			if err := m.Stream(t.Context(), req, func(*chat.Chunk) error { return nil }); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		last := server.bodies[len(server.bodies)-1]
		if n := strings.Count(last, explicitMark); len(server.bodies) != tt.calls+1 || n != tt.marks || strings.Contains(last, explicitOptions) != tt.options {
			t.Errorf("%s: %d requests, %d marks in the last: %s", name, len(server.bodies), n, last)
		}
	}
}
