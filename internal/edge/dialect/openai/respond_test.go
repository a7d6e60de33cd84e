package openai

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/stream"
)

// Turn and seed of a turn that is kept.
const (
	keptTurn = "turn_0123456789abcdefghijklmnop"
	keptSeed = "0123456789abcdefghijklmnop"
)

// part is a part of an item, as its readers know it.
type part struct{ Type, Text string }

// item is an item of a response.
type item struct {
	ID, Type, Status, Role, Name, Arguments string
	Call                                    string          `json:"call_id"`
	Label                                   string          `json:"server_label"`
	Content, Summary                        []part          `json:",omitempty"`
	Output, Error                           json.RawMessage `json:",omitempty"`
}

// said is an item in one line.
func (i item) said() string {
	words := i.Type + " " + i.Status
	for _, p := range append(i.Content, i.Summary...) {
		words += " " + strconv.Quote(p.Text)
	}
	for _, word := range []string{i.Call, i.Label, i.Name, i.Arguments, string(i.Output), string(i.Error)} {
		if word != "" {
			words += " " + word
		}
	}
	return words
}

// whole is a response.
type whole struct {
	ID, Object, Status string
	Error              *struct{ Code, Message string }
	Details            *struct{ Reason string } `json:"incomplete_details"`
	Output             []json.RawMessage
	Usage              json.RawMessage
	Store              bool
}

// listener follows the events of a response as the SDKs do, which give up a stream that breaks
// their rules.
type listener struct {
	next   int // number of the next event
	items  []*item
	done   []bool
	ids    map[string]bool
	ending string // type of the last event
	final  whole
	raw    string // the final response
	text   strings.Builder
}

// event is any event of a stream.
type event struct {
	Type     string
	Sequence *int `json:"sequence_number"`
	Response json.RawMessage
	Index    *int `json:"output_index"`
	Item     json.RawMessage
	ItemID   string `json:"item_id"`
	Content  *int   `json:"content_index"`
	Summary  *int   `json:"summary_index"`
	Part     *part
	Delta    *string
	Text     *string
	Argument *string `json:"arguments"`
	Logprobs []any
}

// read follows a stream and returns what its client gives up for.
func (l *listener) read(frames string) error {
	l.ids = map[string]bool{}
	for frame := range strings.SplitSeq(strings.TrimSuffix(frames, "\n\n"), "\n\n") {
		name, data, ok := strings.Cut(strings.TrimPrefix(frame, "event: "), "\ndata: ")
		if !ok || !strings.HasPrefix(frame, "event: ") || strings.ContainsAny(data, "\r\n\u0085\u2028\u2029") {
			return fmt.Errorf("a frame is %q", frame)
		}
		var ev event
		if err := json.Unmarshal([]byte(data), &ev); err != nil {
			return fmt.Errorf("%w in %s", err, data)
		}
		if ev.Type != name || ev.Sequence == nil || *ev.Sequence != l.next || (name == "response.created") != (l.next == 0) || l.raw != "" {
			return fmt.Errorf("event %d is %s", l.next, frame)
		}
		l.next++
		l.ending = ev.Type
		if err := l.follow(&ev); err != nil {
			return fmt.Errorf("%w: %s", err, frame)
		}
	}
	if l.raw == "" {
		return fmt.Errorf("no end")
	}
	return nil
}

func (l *listener) follow(ev *event) error {
	switch ev.Type {
	case "response.created", "response.in_progress":
		if !strings.Contains(string(ev.Response), `"status":"in_progress"`) || !strings.Contains(string(ev.Response), `"output":[],"usage":null`) {
			return fmt.Errorf("is not one that begins")
		}
		return nil
	case "response.output_item.added", "response.output_item.done":
		return l.item(ev)
	case "response.completed", "response.failed", "response.incomplete":
		return l.end(ev)
	}
	if ev.Index == nil || *ev.Index < 0 || *ev.Index >= len(l.items) || l.done[*ev.Index] || l.items[*ev.Index].ID != ev.ItemID {
		return fmt.Errorf("no such item is open")
	}
	return l.piece(ev, l.items[*ev.Index])
}

// item opens or closes an item.
func (l *listener) item(ev *event) error {
	var i item
	if err := json.Unmarshal(ev.Item, &i); err != nil || ev.Index == nil || i.ID == "" {
		return fmt.Errorf("no item: %w", err)
	}
	if ev.Type == "response.output_item.added" {
		if *ev.Index != len(l.items) || l.ids[i.ID] {
			return fmt.Errorf("a gap, or an id that is used")
		}
		l.ids[i.ID] = true
		l.items, l.done = append(l.items, &i), append(l.done, false)
		return nil
	}
	if *ev.Index >= len(l.items) || l.done[*ev.Index] || l.items[*ev.Index].ID != i.ID {
		return fmt.Errorf("is not open")
	}
	l.done[*ev.Index] = true
	own := *l.items[*ev.Index]
	own.Status, own.Output, own.Error = i.Status, i.Output, i.Error
	if diff := cmp.Diff(own, i); diff != "" {
		return fmt.Errorf("the events come to another item: %s", diff)
	}
	return nil
}

// piece adds what an event says of an open item.
func (l *listener) piece(ev *event, i *item) error {
	switch ev.Type {
	case "response.content_part.added":
		i.Content = append(i.Content, *ev.Part)
	case "response.reasoning_summary_part.added":
		i.Summary = append(i.Summary, *ev.Part)
	case "response.output_text.delta":
		if ev.Logprobs == nil || *ev.Content != 0 {
			return fmt.Errorf("no log probabilities")
		}
		i.Content[0].Text += *ev.Delta
		l.text.WriteString(*ev.Delta)
	case "response.reasoning_summary_text.delta":
		i.Summary[*ev.Summary].Text += *ev.Delta
	case "response.output_text.done", "response.content_part.done":
		if ev.Text != nil && *ev.Text != i.Content[0].Text || ev.Part != nil && *ev.Part != i.Content[0] {
			return fmt.Errorf("is not what came")
		}
	case "response.reasoning_summary_text.done", "response.reasoning_summary_part.done":
		if ev.Text != nil && *ev.Text != i.Summary[0].Text || ev.Part != nil && *ev.Part != i.Summary[0] {
			return fmt.Errorf("is not what came")
		}
	case "response.mcp_call_arguments.delta", "response.function_call_arguments.delta":
		i.Arguments += *ev.Delta
	case "response.mcp_call_arguments.done", "response.function_call_arguments.done":
		if *ev.Argument != i.Arguments {
			return fmt.Errorf("is not what came")
		}
	case "response.mcp_call.in_progress", "response.mcp_call.completed", "response.mcp_call.failed":
	default:
		return fmt.Errorf("is not known")
	}
	return nil
}

// end ends the response.
func (l *listener) end(ev *event) error {
	l.raw = string(ev.Response)
	if err := json.Unmarshal(ev.Response, &l.final); err != nil {
		return err
	}
	if slices.Contains(l.done, false) || len(l.final.Output) != len(l.items) {
		return fmt.Errorf("items are open, or missing: %v", l.done)
	}
	for n, raw := range l.final.Output {
		var i item
		if err := json.Unmarshal(raw, &i); err != nil || i.ID != l.items[n].ID || i.Status == "in_progress" {
			return fmt.Errorf("item %d is %s: %w", n, raw, err)
		}
	}
	return nil
}

// said returns the items of the final response, a line each, and how it ended.
func (l *listener) said() (lines []string) {
	for _, raw := range l.final.Output {
		var i item
		if err := json.Unmarshal(raw, &i); err != nil {
			return []string{err.Error()}
		}
		lines = append(lines, i.said())
	}
	end := strings.TrimPrefix(l.ending, "response.") + " " + l.final.Status
	if l.final.Error != nil {
		end += " " + l.final.Error.Code + " " + l.final.Error.Message
	}
	if l.final.Details != nil {
		end += " " + l.final.Details.Reason
	}
	return append(lines, end)
}

// smallFacts are those of a small request.
func smallFacts() responseFacts { return responseFacts{echo: []byte(`,"model":"sluice"`), store: true} }

func TestResponseOfATurn(t *testing.T) {
	t.Parallel()
	served := weather
	served.Server = "city"
	for name, tt := range map[string]struct {
		events []stream.Event
		want   []string
	}{
		"an answer with thoughts": {
			[]stream.Event{&stream.Thinking{Content: "Hm"}, &stream.Thinking{Content: "m."}, &stream.Delta{Text: "a\n\"b\""}, &stream.Delta{Text: "\u2028c"}, &stream.Done{Reason: stream.Stop}},
			[]string{`reasoning completed "Hmm."`, `message completed "a\n\"b\"\u2028c"`, "completed completed"},
		},
		"stretches of several speakers": {
			[]stream.Event{&stream.Delta{Text: "a", Attribution: stream.Attribution{AgentID: "x"}}, &stream.Delta{Text: "\n\n"}, &stream.Delta{Text: "b", Attribution: stream.Attribution{AgentID: "y"}}, &stream.Done{Reason: stream.MaxSteps}},
			[]string{`message completed "a\n\n"`, `message completed "b"`, "completed completed"},
		},
		"calls of the gateway's tools at once": {
			[]stream.Event{&stream.ToolStarted{Call: served}, &stream.ToolStarted{Call: alarm}, &stream.ToolProgress{Call: alarm}, &stream.ToolCompleted{Call: alarm, Result: "set"}, &stream.ToolFailed{Call: served, Message: "No."}, &stream.Done{Reason: stream.Stop}},
			[]string{
				`mcp_call failed city weather {"city": "Oslo"} null {"type":"mcp_tool_execution_error","content":[{"type":"text","text":"No."}]}`,
				`mcp_call completed sluice alarm {} "set" null`, "completed completed",
			},
		},
		"a call of unknown outcome": {
			[]stream.Event{&stream.ToolStarted{Call: alarm}, &stream.ToolUnknown{Call: alarm, Message: "Lost."}, &stream.Done{Reason: stream.Stop}},
			[]string{`mcp_call incomplete sluice alarm {} null {"type":"mcp_tool_execution_error","content":[{"type":"text","text":"Lost."}]}`, "completed completed"},
		},
		"a long result": {
			[]stream.Event{&stream.ToolStarted{Call: alarm}, &stream.ToolCompleted{Call: alarm, Result: strings.Repeat("x", maxResult+1)}, &stream.Done{Reason: stream.Stop}},
			[]string{`mcp_call completed sluice alarm {} "` + strings.Repeat("x", maxResult) + `" null`, "completed completed"},
		},
		"calls of the client's tools": {
			[]stream.Event{&stream.Delta{Text: "a"}, &stream.ToolRequired{Call: weather}, &stream.ToolRequired{Call: alarm}, &stream.Done{Reason: stream.ClientTools}},
			[]string{`message completed "a"`, `function_call completed c1 weather {"city": "Oslo"}`, `function_call completed c2 alarm {}`, "completed completed"},
		},
		"a question about calls": {
			[]stream.Event{
				&stream.Approval{ID: "ap1", Kind: "tool", Token: "tok", Calls: []stream.ApprovalCall{{CallID: "c1", Tool: "weather", Server: "city", Arguments: []byte(`{"a":1}`)}, {CallID: "c2", Tool: "alarm"}}},
				&stream.Approval{ID: "ap2", Kind: "tool", Token: "tok2", Calls: []stream.ApprovalCall{{CallID: "c3", Tool: "alarm"}}},
				&stream.Done{Reason: stream.ApprovalRequired},
			},
			[]string{`mcp_approval_request  city weather {"a":1}`, `mcp_approval_request  sluice alarm {}`, "completed completed"},
		},
		"a question for more than yes or no": {
			[]stream.Event{&stream.Delta{Text: "a"}, &stream.Approval{ID: "ap1", Kind: "human", Prompt: "How many?", Token: "tok"}, &stream.Done{Reason: stream.ApprovalRequired}},
			[]string{`message completed "a"`, `message completed "How many?"`, "completed completed"},
		},
		"a question without words": {
			[]stream.Event{&stream.Approval{ID: "ap1", Kind: "human", Token: "tok"}, &stream.Done{Reason: stream.ApprovalRequired}}, []string{"completed completed"},
		},
		"cut by a limit":   {[]stream.Event{&stream.Delta{Text: "a"}, &stream.Done{Reason: stream.MaxTokens}}, []string{`message incomplete "a"`, "incomplete incomplete max_output_tokens"}},
		"nothing":          {[]stream.Event{&stream.Done{Reason: stream.InputRequired}}, []string{"completed completed"}},
		"blocked":          {[]stream.Event{&stream.Delta{Text: "a"}, &stream.Error{Type: fault.ModelBlocked, Fatal: true}, &stream.Done{Reason: stream.Failed}}, []string{`message incomplete "a"`, "incomplete incomplete content_filter"}},
		"blocked, not all": {[]stream.Event{&stream.Error{Type: fault.ModelBlocked}, &stream.Done{Reason: stream.Stop}}, []string{"completed completed"}},
		"a limit of rates": {[]stream.Event{&stream.Error{Type: fault.ModelRateLimited, Message: "\"No\"", Fatal: true}, &stream.Done{Reason: stream.Failed}}, []string{`failed failed rate_limit_exceeded "No"`}},
		"an error":         {[]stream.Event{&stream.Thinking{Content: "a"}, &stream.Error{Type: fault.Timeout, Message: "Late", Fatal: true}, &stream.Done{Reason: stream.TimedOut}}, []string{`reasoning incomplete "a"`, "failed failed server_error Late"}},
		"cancelled":        {[]stream.Event{&stream.Error{Type: fault.Cancelled, Message: "Over", Fatal: true}, &stream.Done{Reason: stream.Cancelled}}, []string{"failed cancelled server_error Over"}},
		"no word of why":   {[]stream.Event{&stream.Done{Reason: stream.Shutdown}}, []string{"failed failed server_error The turn has ended without an answer"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events := append([]stream.Event{&stream.Start{TurnID: keptTurn}}, tt.events...)
			frames := encodeAll(newResponder("req_1", began, smallFacts(), asStream), events...)
			var l listener
			if err := l.read(frames); err != nil {
				t.Fatalf("%v\n%s", err, frames)
			}
			if diff := cmp.Diff(tt.want, l.said()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if document := encodeAll(newResponder("req_1", began, smallFacts(), asDocument), events...); document != l.raw {
				t.Errorf("the document is another one:\n%s\n%s", document, l.raw)
			}
		})
	}
}

// The frames of a short turn, byte for byte.
func TestFramesOfAResponse(t *testing.T) {
	t.Parallel()
	const before = `{"id":"resp_` + keptSeed + `","object":"response","created_at":1700000000,"status":"in_progress","error":null,"incomplete_details":null,"model":"sluice","store":true,"output":[],"usage":null}`
	const id = `"item_id":"msg_` + keptSeed + `_0","output_index":0,"content_index":0`
	const whole = `{"id":"msg_` + keptSeed + `_0","type":"message","role":"assistant","content":[{"type":"output_text","text":"Hi","annotations":[],"logprobs":[]}],"status":"completed"}`
	want := []string{
		`response.created","sequence_number":0,"response":` + before + `}`,
		`response.in_progress","sequence_number":1,"response":` + before + `}`,
		`response.output_item.added","sequence_number":2,"output_index":0,"item":{"id":"msg_` + keptSeed + `_0","type":"message","role":"assistant","content":[],"status":"in_progress"}}`,
		`response.content_part.added","sequence_number":3,` + id + `,"part":{"type":"output_text","text":"","annotations":[],"logprobs":[]}}`,
		`response.output_text.delta","sequence_number":4,` + id + `,"delta":"Hi","logprobs":[]}`,
		`response.output_text.done","sequence_number":5,` + id + `,"text":"Hi","logprobs":[]}`,
		`response.content_part.done","sequence_number":6,` + id + `,"part":{"type":"output_text","text":"Hi","annotations":[],"logprobs":[]}}`,
		`response.output_item.done","sequence_number":7,"output_index":0,"item":` + whole + `}`,
		`response.completed","sequence_number":8,"response":{"id":"resp_` + keptSeed + `","object":"response","created_at":1700000000,"status":"completed","error":null,"incomplete_details":null,"model":"sluice","store":true,"output":[` + whole +
			`],"usage":{"input_tokens":20,"input_tokens_details":{"cached_tokens":0,"cache_write_tokens":0},"output_tokens":8,"output_tokens_details":{"reasoning_tokens":3},"total_tokens":28}}}`,
	}
	e := newResponder("req_1", began, smallFacts(), asStream)
	frames := strings.Split(strings.TrimSuffix(encodeAll(e, &stream.Start{TurnID: keptTurn}, &stream.Delta{Text: "Hi"}, &stream.Done{Reason: stream.Stop, Usage: spent}), "\n\n"), "\n\n")
	for i, frame := range frames {
		name, data, _ := strings.Cut(frame, "\ndata: {\"type\":\"")
		if frames[i] = data; !strings.HasPrefix(data, strings.TrimPrefix(name, "event: ")+`"`) {
			t.Errorf("event %d: %s", i, frame)
		}
	}
	if diff := cmp.Diff(want, frames); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if string(e.Heartbeat()) != ": ping\n\n" {
		t.Errorf("the heartbeat is %q", e.Heartbeat())
	}
}

// Without a store the id is made of the request's, and nothing is stored; and neither is it if
// the request says so.
func TestResponseThatIsNotKept(t *testing.T) {
	t.Parallel()
	unkept := newResponder("req_1", began, smallFacts(), asDocument)
	first := encodeAll(unkept, &stream.Start{}, &stream.Done{Reason: stream.Stop})
	second := encodeAll(newResponder("req_2", began, smallFacts(), asDocument), &stream.Start{}, &stream.Done{Reason: stream.Stop})
	if unkept.Heartbeat() != nil {
		t.Error("a document has a heartbeat")
	}
	var a, b whole
	if json.Unmarshal([]byte(first), &a) != nil || json.Unmarshal([]byte(second), &b) != nil || a.ID == b.ID || !strings.HasPrefix(a.ID, "resp_") || a.Store || turnOf(a.ID) != "" {
		t.Errorf("%s\n%s", first, second)
	}
	f := smallFacts()
	f.store = false
	if got := encodeAll(newResponder("req_1", began, f, asDocument), &stream.Start{TurnID: keptTurn}, &stream.Done{Reason: stream.Stop}); !strings.Contains(got, `"store":false`) {
		t.Error(got)
	}
}

// In the background the response is there when the turn begins, and once.
func TestResponseThatBegins(t *testing.T) {
	t.Parallel()
	got := encodeAll(newResponder("req_1", began, smallFacts(), asBegun), &stream.Start{TurnID: keptTurn}, &stream.Delta{Text: "a"}, &stream.Done{Reason: stream.Stop})
	if !strings.Contains(got, `"status":"in_progress"`) || strings.Count(got, `"object":"response"`) != 1 {
		t.Error(got)
	}
}

// tape is a sink that encodes, and notes the answer.
type tape struct {
	enc, document stream.Encoder
	frames, whole []byte
	text          strings.Builder
}

func (s *tape) Emit(ev stream.Event) error {
	switch ev := ev.(type) {
	case *stream.Delta:
		s.text.WriteString(ev.Text)
	case *stream.Approval:
		if len(ev.Calls) == 0 {
			s.text.WriteString(ev.Prompt)
		}
	}
	s.frames = s.enc.Encode(s.frames, stream.Stamp{}, ev)
	s.whole = s.document.Encode(s.whole, stream.Stamp{}, ev)
	return nil
}

func (s *tape) Flush() error { return nil }

// anyEvent returns any event, with few ids, so that calls end.
func anyEvent(r *rand.Rand) stream.Event {
	by := []stream.Attribution{{}, {AgentID: "a"}, {AgentID: "b"}, {NodeID: "n"}, {AgentID: "a", SessionID: "s"}}[r.IntN(5)]
	call := stream.Call{Attribution: by, ID: strconv.Itoa(r.IntN(4)), Tool: "t", Server: "s", Arguments: []byte("{\"n\":\n1}")}
	text := []string{"a", "\n\ndata: [DONE]\n\n", "\u2028", "\u0085", "漢", "\"", "\\"}[r.IntN(7)]
	ask := &stream.Approval{ID: "ap", Kind: "human", Prompt: text, ExpiresAt: "2026-01-01T00:00:00.000Z", Token: "token"}
	askTools := *ask
	askTools.Kind, askTools.Calls = "tool", []stream.ApprovalCall{{CallID: "1", Tool: "t"}, {CallID: "2", Tool: "t"}}
	events := []stream.Event{
		&stream.Thinking{Attribution: by, Content: text}, &stream.Thinking{Content: text},
		&stream.Delta{Attribution: by, Text: text}, &stream.Delta{Text: text}, &stream.Delta{Text: text},
		&stream.ToolStarted{Call: call}, &stream.ToolStarted{Call: call}, &stream.ToolProgress{Call: call, Progress: 1, Message: text},
		&stream.ToolCompleted{Call: call, Result: text}, &stream.ToolCompleted{Call: call}, &stream.ToolFailed{Call: call, Message: text},
		&stream.ToolUnknown{Call: call, Message: text}, &stream.Error{Type: fault.ToolFailed, Message: text}, &stream.ToolRequired{Call: call},
		&stream.Error{Type: fault.Timeout, Message: text, Fatal: true}, &stream.Done{Reason: stream.Stop}, &stream.Done{Reason: stream.ClientTools},
		&stream.Done{Reason: stream.ApprovalRequired}, &stream.Done{Reason: stream.Failed}, ask, &askTools,
		&stream.Route{Decision: stream.Routed, AgentID: "a"}, &stream.InnerDelta{Attribution: by, Delta: text}, &stream.ModelChanged{},
	}
	return events[r.IntN(len(events))]
}

// In whatever events a turn is reported, the SDKs can follow it and read the same text, and the
// document is the response that the stream ends with.
func TestAnyTurnIsAResponse(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(11, 12))
	seen := map[string]int{}
	for range 1500 {
		out := &tape{enc: newResponder("req_1", began, smallFacts(), asStream), document: newResponder("req_1", began, smallFacts(), asDocument)}
		guard := stream.NewGuard(out)
		_ = guard.Emit(&stream.Start{Model: "m", TurnID: []string{"", keptTurn}[r.IntN(2)]})
		for range r.IntN(60) {
			_ = guard.Emit(anyEvent(r)) // the guard refuses what is out of place
		}
		if !guard.Ended() {
			_ = guard.Fail(&fault.Error{Type: fault.Timeout, Message: "too slow"})
		}
		var l listener
		if err := l.read(string(out.frames)); err != nil {
			t.Fatalf("%v\n%s", err, out.frames)
		}
		if l.text.String() != out.text.String() || l.raw != string(out.whole) {
			t.Fatalf("the client reads %q of %q, and\n%s\nof\n%s", l.text.String(), out.text.String(), l.raw, out.whole)
		}
		from := r.IntN(l.next)
		if rest, number := string(skipFrames(out.frames, from)), strconv.Itoa(from); !strings.HasPrefix(rest, "event: ") || !strings.Contains(rest[:strings.Index(rest, number)], `","sequence_number":`) {
			t.Fatalf("from %d on it is %s", from, rest)
		}
		seen[l.ending]++
	}
	if seen["response.completed"] < 100 || seen["response.failed"] < 100 {
		t.Errorf("the turns are too much alike: %v", seen)
	}
}

// The listener can say no.
func TestListener(t *testing.T) {
	t.Parallel()
	good := encodeAll(newResponder("req_1", began, smallFacts(), asStream), &stream.Start{TurnID: keptTurn}, &stream.Delta{Text: "Hi"}, &stream.ToolRequired{Call: weather}, &stream.Done{Reason: stream.ClientTools})
	if err := new(listener).read(good); err != nil {
		t.Fatal(err)
	}
	frames := strings.SplitAfter(strings.TrimSuffix(good, "\n\n"), "\n\n")
	for i := range frames {
		if new(listener).read(strings.Join(slices.Delete(slices.Clone(frames), i, i+1), "")) == nil {
			t.Errorf("no objection to a stream without event %d", i)
		}
	}
	for from, to := range map[string]string{`"delta":"Hi"`: `"delta":"Ho"`, `"output_index":1`: `"output_index":2`, `_1"`: `_0"`, "event: response.in_progress": "event: x", `"logprobs":[]}` + "\n": "}\n"} {
		if changed := strings.Replace(good, from, to, 1); changed == good || new(listener).read(changed) == nil {
			t.Errorf("no objection to %s for %s", to, from)
		}
	}
}
