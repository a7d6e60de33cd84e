package openai

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

var began = time.Unix(1_700_000_000, 999)

const (
	chunkHead    = `{"id":"chatcmpl-req_1","object":"chat.completion.chunk","created":1700000000,"model":"sluice","choices":[`
	documentHead = `{"id":"chatcmpl-req_1","object":"chat.completion","created":1700000000,"model":"sluice","choices":[`
	figuresOf    = `"usage":{"prompt_tokens":20,"completion_tokens":8,"total_tokens":28,"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":3}}`
)

var (
	spent   = chat.Usage{InputTokens: 20, OutputTokens: 5, ThinkingTokens: 3}
	weather = stream.Call{ID: "c1", Tool: "weather", Arguments: []byte(`{"city": "Oslo"}`)}
	alarm   = stream.Call{ID: "c2", Tool: "alarm", Arguments: []byte(`{}`)}
)

// delta is a chunk's JSON.
func delta(members, reason string) string {
	return chunkHead + `{"index":0,"delta":{` + members + `},"finish_reason":` + reason + `}]}`
}

// encodeAll returns what an encoder makes of events.
func encodeAll(enc stream.Encoder, events ...stream.Event) string {
	var out []byte
	for i, ev := range events {
		out = enc.Encode(out, stream.Stamp{N: i + 1}, ev)
	}
	return string(out)
}

// dataOf takes frames apart. Each must be one data line and an empty one.
func dataOf(t *testing.T, frames string) (all []string) {
	t.Helper()
	for frame := range strings.SplitSeq(strings.TrimSuffix(frames, "\n\n"), "\n\n") {
		data, ok := strings.CutPrefix(frame, "data: ")
		if frames != "" && (!ok || data == "" || strings.Contains(data, "\n")) {
			t.Fatalf("a frame is %q", frame)
		}
		all = append(all, data)
	}
	if frames == "" {
		return nil
	}
	return all
}

func TestChunks(t *testing.T) {
	t.Parallel()
	first := delta(`"role":"assistant","content":""`, "null")
	for name, tt := range map[string]struct {
		events []stream.Event
		want   []string
	}{
		"an answer": {
			[]stream.Event{&stream.Start{Model: "m"}, &stream.Thinking{Content: "**Hm**"}, &stream.Delta{Text: "a\n\"b\""}, &stream.Done{Reason: stream.Stop}},
			[]string{first, delta(`"reasoning_content":"**Hm**"`, "null"), delta(`"content":"a\n\"b\""`, "null"), delta("", `"stop"`), "[DONE]"},
		},
		"tools of servers are in no chunk": {
			[]stream.Event{&stream.ToolStarted{Call: weather}, &stream.ToolProgress{Call: weather}, &stream.ToolCompleted{Call: weather, Result: "x"},
				&stream.ToolFailed{Call: alarm, Message: "x"}, &stream.Error{Type: fault.ToolFailed, Message: "x"}, &stream.Done{Reason: stream.MaxSteps}},
			[]string{delta("", `"stop"`), "[DONE]"},
		},
		"calls of the client's tools": {
			[]stream.Event{&stream.ToolRequired{Call: weather}, &stream.ToolRequired{Call: alarm}, &stream.Done{Reason: stream.ClientTools}},
			[]string{
				delta(`"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"weather","arguments":"{\"city\": \"Oslo\"}"}}]`, "null"),
				delta(`"tool_calls":[{"index":1,"id":"c2","type":"function","function":{"name":"alarm","arguments":"{}"}}]`, "null"),
				delta("", `"tool_calls"`), "[DONE]",
			},
		},
		"questions to a person": {
			[]stream.Event{&stream.Approval{Prompt: "Refund 42 EUR?"}, &stream.Approval{}, &stream.Approval{Prompt: "Now?"}, &stream.Done{Reason: stream.ApprovalRequired}},
			[]string{delta(`"content":"Refund 42 EUR?"`, "null"), delta(`"content":"\n\nNow?"`, "null"), delta("", `"stop"`), "[DONE]"},
		},
		"a question behind text": {
			[]stream.Event{&stream.Delta{Text: "Well"}, &stream.Delta{Text: "."}, &stream.Approval{Prompt: "Now?"}, &stream.Done{Reason: stream.ApprovalRequired}},
			[]string{delta(`"content":"Well"`, "null"), delta(`"content":"."`, "null"), delta(`"content":"\n\nNow?"`, "null"), delta("", `"stop"`), "[DONE]"},
		},
		"cut by a limit":   {[]stream.Event{&stream.Done{Reason: stream.MaxTokens}}, []string{delta("", `"length"`), "[DONE]"}},
		"a question":       {[]stream.Event{&stream.Done{Reason: stream.InputRequired}}, []string{delta("", `"stop"`), "[DONE]"}},
		"blocked":          {[]stream.Event{&stream.Error{Type: fault.ModelBlocked, Fatal: true}, &stream.Done{Reason: stream.Failed}}, []string{delta("", `"content_filter"`), "[DONE]"}},
		"blocked, not all": {[]stream.Event{&stream.Error{Type: fault.ModelBlocked}, &stream.Done{Reason: stream.Stop}}, []string{delta("", `"stop"`), "[DONE]"}},
		"an error": {
			[]stream.Event{&stream.Delta{Text: "a"}, &stream.Error{Type: fault.ModelRateLimited, Message: "\"No\"", Fatal: true}, &stream.Done{Reason: stream.Failed}},
			[]string{delta(`"content":"a"`, "null"), `{"error":{"message":"\"No\"","type":"rate_limit_error","code":"model_rate_limited","param":null}}`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := dataOf(t, encodeAll(newEncoder("req_1", began, "sluice", false), tt.events...))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// With include_usage each chunk has a member usage, and the last one the figures and no choice.
func TestUsageComesLast(t *testing.T) {
	t.Parallel()
	got := dataOf(t, encodeAll(newEncoder("req_1", began, "sluice", true), &stream.Delta{Text: "a"}, &stream.Done{Reason: stream.Stop, Usage: spent}))
	want := []string{
		chunkHead + `{"index":0,"delta":{"content":"a"},"finish_reason":null}],"usage":null}`,
		chunkHead + `{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}`,
		chunkHead + `],` + figuresOf + `}`, "[DONE]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDocument(t *testing.T) {
	t.Parallel()
	message := func(members, reason string) string {
		return documentHead + `{"index":0,"message":{"role":"assistant",` + members + `},"finish_reason":"` + reason + `","logprobs":null}],` + figuresOf + `}`
	}
	for name, tt := range map[string]struct {
		events []stream.Event
		reason stream.FinishReason
		want   string
	}{
		"an answer":           {[]stream.Event{&stream.Start{}, &stream.Delta{Text: "a"}, &stream.Delta{Text: "b\n"}}, stream.Stop, message(`"content":"ab\n","refusal":null`, "stop")},
		"thoughts":            {[]stream.Event{&stream.Thinking{Content: "x"}, &stream.Thinking{Content: "y"}, &stream.Delta{Text: "a"}}, stream.Stop, message(`"content":"a","refusal":null,"reasoning_content":"xy"`, "stop")},
		"a person's question": {[]stream.Event{&stream.Approval{Prompt: "Refund 42 EUR?"}}, stream.ApprovalRequired, message(`"content":"Refund 42 EUR?","refusal":null`, "stop")},
		"two behind text":     {[]stream.Event{&stream.Delta{Text: "Well."}, &stream.Approval{Prompt: "Now?"}, &stream.Approval{}, &stream.Approval{Prompt: "Sure?"}}, stream.ApprovalRequired, message(`"content":"Well.\n\nNow?\n\nSure?","refusal":null`, "stop")},
		"nothing":             {nil, stream.MaxTokens, message(`"content":"","refusal":null`, "length")},
		"a server's tool":     {[]stream.Event{&stream.ToolStarted{Call: weather}, &stream.ToolCompleted{Call: weather}}, stream.Stop, message(`"content":"","refusal":null`, "stop")},
		"a client's tool":     {[]stream.Event{&stream.ToolRequired{Call: weather}}, stream.ClientTools, message(`"content":null,"refusal":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"weather","arguments":"{\"city\": \"Oslo\"}"}}]`, "tool_calls")},
		"text and two":        {[]stream.Event{&stream.Delta{Text: "a"}, &stream.ToolRequired{Call: alarm}, &stream.ToolRequired{Call: alarm}}, stream.ClientTools, message(`"content":"a","refusal":null,"tool_calls":[{"id":"c2","type":"function","function":{"name":"alarm","arguments":"{}"}},{"id":"c2","type":"function","function":{"name":"alarm","arguments":"{}"}}]`, "tool_calls")},
		"blocked":             {[]stream.Event{&stream.Error{Type: fault.ModelBlocked, Fatal: true}}, stream.Failed, message(`"content":"","refusal":null`, "content_filter")},
		"an error has none":   {[]stream.Event{&stream.Delta{Text: "a"}, &stream.Error{Type: fault.Timeout, Fatal: true}}, stream.TimedOut, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCollector("req_1", began, "sluice")
			got := encodeAll(c, append(tt.events, &stream.Done{Reason: tt.reason, Usage: spent})...)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if c.Heartbeat() != nil {
				t.Error("a document has a heartbeat")
			}
		})
	}
}

// A reader that skips what it has gets the rest byte for byte.
func TestSkip(t *testing.T) {
	t.Parallel()
	for _, events := range [][]stream.Event{
		{&stream.Start{}, &stream.ToolRequired{Call: weather}, &stream.ToolRequired{Call: alarm}, &stream.Done{Reason: stream.ClientTools}},
		{&stream.Delta{Text: "a"}, &stream.Error{Type: fault.ModelBlocked, Fatal: true}, &stream.Done{Reason: stream.Failed}},
		{&stream.Delta{Text: "a"}, &stream.Approval{}, &stream.Approval{Prompt: "b"}, &stream.Approval{Prompt: "c"}, &stream.Done{Reason: stream.ApprovalRequired}},
	} {
		for n := range events {
			whole := newEncoder("req_1", began, "sluice", false)
			_ = encodeAll(whole, events[:n]...)
			skipped := newEncoder("req_1", began, "sluice", false)
			for _, ev := range events[:n] {
				skipped.Skip(ev)
			}
			if diff := cmp.Diff(encodeAll(whole, events[n:]...), encodeAll(skipped, events[n:]...)); diff != "" {
				t.Errorf("after %d events (-want +got):\n%s", n, diff)
			}
		}
	}
}

// both is a sink behind which a stream and a document are made.
type both struct {
	chunks    *encoder
	collector *collector
	frames    []byte
	text      []byte
}

func (b *both) Emit(ev stream.Event) error {
	b.frames = b.chunks.Encode(b.frames, stream.Stamp{}, ev)
	b.text = b.collector.Encode(b.text, stream.Stamp{}, ev)
	return nil
}

func (b *both) Flush() error { return nil }

// anything returns any event.
func anything(r *rand.Rand) stream.Event {
	call := stream.Call{ID: "c" + strconv.Itoa(r.IntN(9)), Tool: "t", Server: "s", Arguments: []byte(`{"n":1}`)}
	texts := []string{"a", "\n\n", "\u2028", "\"\\", "\xff", "漢", "</script>"}
	text := texts[r.IntN(len(texts))]
	events := []stream.Event{
		&stream.Thinking{Content: text}, &stream.Delta{Text: text}, &stream.Delta{Text: text}, &stream.ToolStarted{Call: call}, &stream.ToolRequired{Call: call},
		&stream.ToolProgress{Call: call, Message: text}, &stream.ToolCompleted{Call: call, Result: text}, &stream.ToolFailed{Call: call, Message: text},
		&stream.Error{Type: fault.ToolFailed, Message: text}, &stream.Error{Type: fault.ModelBlocked, Message: text, Fatal: r.IntN(2) == 0},
		&stream.Error{Type: fault.Timeout, Message: text, Fatal: r.IntN(4) == 0}, &stream.AgentRun{AgentID: "x"}, &stream.Route{},
		&stream.Done{Reason: stream.Stop}, &stream.Done{Reason: stream.ClientTools}, &stream.Done{Reason: stream.MaxTokens},
	}
	return events[r.IntN(len(events))]
}

// accumulated is what an SDK makes of the chunks.
type accumulated struct {
	Content, Reasoning, Reason string
	Calls                      []toolCall
}

type toolCall struct {
	Index    int    `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type answerPart struct {
	Content   string     `json:"content"`
	Reasoning string     `json:"reasoning_content"`
	Calls     []toolCall `json:"tool_calls"`
}

type answer struct {
	Error   any `json:"error"`
	Choices []struct {
		Delta   answerPart `json:"delta"`
		Message answerPart `json:"message"`
		Reason  *string    `json:"finish_reason"`
	} `json:"choices"`
}

// accumulate reads a stream as an SDK does. failed says that it throws.
func accumulate(t *testing.T, frames string) (all accumulated, failed bool) {
	t.Helper()
	list := dataOf(t, frames)
	for i, data := range list {
		if data == "[DONE]" {
			if i != len(list)-1 {
				t.Errorf("%d frames come after [DONE]", len(list)-1-i)
			}
			break
		}
		var c answer
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if c.Error != nil {
			if i != len(list)-1 {
				t.Error("a frame comes after an error")
			}
			return all, true
		}
		if len(c.Choices) == 0 {
			continue
		}
		d := c.Choices[0]
		all.Content, all.Reasoning = all.Content+d.Delta.Content, all.Reasoning+d.Delta.Reasoning
		for _, call := range d.Delta.Calls {
			if call.Index != len(all.Calls) {
				t.Errorf("call %d has index %d", len(all.Calls), call.Index)
			}
			call.Index = 0
			all.Calls = append(all.Calls, call)
		}
		if d.Reason != nil {
			all.Reason += *d.Reason
		}
	}
	return all, false
}

// Whatever a turn reports, its stream comes to its document, or both to an error.
func TestStreamAndDocumentAgree(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	answers, errs := 0, 0
	for range 2000 {
		b := &both{chunks: newEncoder("req_1", began, "m\"", r.IntN(2) == 0), collector: newCollector("req_1", began, "m\"")}
		guard := stream.NewGuard(b)
		_ = guard.Emit(&stream.Start{})
		ended := false
		for !ended {
			ev := anything(r)
			if _, done := ev.(*stream.Done); guard.Emit(ev) == nil && done {
				ended = true
			} else if e, ok := ev.(*stream.Error); ok && e.Fatal {
				ended = guard.Emit(&stream.Done{Reason: stream.Failed}) == nil
			}
		}
		got, failed := accumulate(t, string(b.frames))
		if failed != (len(b.text) == 0) {
			t.Fatalf("the stream fails: %v; the document is %q", failed, b.text)
		}
		if failed {
			errs++
			continue
		}
		answers++
		var doc answer
		if err := json.Unmarshal(b.text, &doc); err != nil {
			t.Fatalf("%s: %v", b.text, err)
		}
		m := doc.Choices[0]
		want := accumulated{m.Message.Content, m.Message.Reasoning, *m.Reason, m.Message.Calls}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("the stream is not the document (-document +stream):\n%s", diff)
		}
	}
	if answers < 100 || errs < 100 {
		t.Errorf("%d answers and %d errors are too few", answers, errs)
	}
}

// What is of no chunk is of no document either.
func TestEventsWithoutWords(t *testing.T) {
	t.Parallel()
	for _, ev := range []stream.Event{
		&stream.ToolStarted{Call: weather}, &stream.ToolProgress{Call: weather}, &stream.ToolCompleted{Call: weather}, &stream.ToolFailed{Call: weather},
		&stream.ToolUnknown{Call: weather}, &stream.Error{Type: fault.MCPUnavailable}, &stream.ModelChanged{}, &stream.InnerDelta{Delta: "x"}, &stream.Quality{},
		&stream.ChannelMessage{Content: "x"}, &stream.Approval{}, &stream.Route{}, &stream.AgentRun{}, &stream.NodeRun{},
	} {
		enc, c := newEncoder("r", began, "m", true), newCollector("r", began, "m")
		if frames := encodeAll(enc, ev); frames != "" {
			t.Errorf("%T is %s", ev, frames)
		}
		bare := newCollector("r", began, "m")
		if diff := cmp.Diff(encodeAll(bare, &stream.Done{Reason: stream.Stop}), encodeAll(c, ev, &stream.Done{Reason: stream.Stop})); diff != "" {
			t.Errorf("%T changes the document: %s", ev, diff)
		}
	}
}
