package chatkit_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect/chatkit"
	"sluice/stream"
)

func call(id string) stream.Call {
	return stream.Call{ID: id, Tool: "create_todo", Server: "todo", Arguments: jsontext.Value("{\n \"title\": \"eggs\" }")}
}

// The bytes of a whole turn.
func TestFramesOfATurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := open(t, chatkit.New(chatkit.Config{}), create("buy eggs"))
		var b []byte
		var at time.Duration
		for _, ev := range []stream.Event{
			&stream.Start{Model: "m"},
			&stream.Thinking{Content: "**Plan**\n\nlook\n\n\n"},
			&stream.ToolStarted{Call: call("a")},
			&stream.ToolProgress{Call: call("a"), Progress: 3, Total: 10, Message: "page\n3"},
			&stream.ToolCompleted{Call: call("a"), Result: `{"id":1}`},
			&stream.Delta{Text: "Sal\u2028"},
			&stream.Delta{Text: "ü \"d\"\n"},
			&stream.Done{Reason: stream.MaxTokens},
		} {
			b = x.Encoder.Encode(b, stream.Stamp{At: at}, ev)
			at += 700 * time.Millisecond
		}
		want := `{"type":"thread.created","thread":{"id":"conv_1","created_at":"2000-01-01T00:00:00.000Z","status":{"type":"active"},"metadata":{},"items":{"data":[],"has_more":false}}}
{"type":"thread.item.done","item":{"id":"msg_1","thread_id":"conv_1","created_at":"2000-01-01T00:00:00.000Z","type":"user_message","content":[{"type":"input_text","text":"buy eggs"}],"attachments":[],"inference_options":{}}}
{"type":"stream_options","stream_options":{"allow_cancel":true}}
{"type":"thread.item.added","item":{"id":"wf_1","thread_id":"conv_1","created_at":"2000-01-01T00:00:00.700Z","type":"workflow","workflow":{"type":"reasoning","tasks":[],"expanded":false}}}
UPDATE{"type":"workflow.task.added","task_index":0,"task":{"status_indicator":"loading","type":"thought","title":"Plan","content":"look"}}}
UPDATE{"type":"workflow.task.updated","task_index":0,"task":{"status_indicator":"complete","type":"thought","title":"Plan","content":"look"}}}
UPDATE{"type":"workflow.task.added","task_index":1,"task":{"status_indicator":"loading","type":"custom","title":"Calling create_todo on todo","icon":"bolt","content":"Arguments: {\"title\":\"eggs\"}"}}}
UPDATE{"type":"workflow.task.updated","task_index":1,"task":{"status_indicator":"loading","type":"custom","title":"Calling create_todo on todo","icon":"bolt","content":"Arguments: {\"title\":\"eggs\"}\n\nProgress: 3 of 10, page 3"}}}
UPDATE{"type":"workflow.task.updated","task_index":1,"task":{"status_indicator":"complete","type":"custom","title":"Called create_todo on todo","icon":"bolt","content":"Arguments: {\"title\":\"eggs\"}\n\nResult: {\"id\":1}"}}}
{"type":"thread.item.done","item":{"id":"wf_1","thread_id":"conv_1","created_at":"2000-01-01T00:00:00.700Z","type":"workflow","workflow":{"type":"reasoning","tasks":[{"status_indicator":"complete","type":"thought","title":"Plan","content":"look"},{"status_indicator":"complete","type":"custom","title":"Called create_todo on todo","icon":"bolt","content":"Arguments: {\"title\":\"eggs\"}\n\nResult: {\"id\":1}"}],"summary":{"duration":3},"expanded":false}}}
{"type":"thread.item.added","item":{"id":"msg_2","thread_id":"conv_1","created_at":"2000-01-01T00:00:03.500Z","type":"assistant_message","content":[]}}
SAID{"type":"assistant_message.content_part.added","content_index":0,"content":{"annotations":[],"text":"","type":"output_text"}}}
SAID{"type":"assistant_message.content_part.text_delta","content_index":0,"delta":"Sal\u2028"}}
SAID{"type":"assistant_message.content_part.text_delta","content_index":0,"delta":"ü \"d\"\n"}}
SAID{"type":"assistant_message.content_part.done","content_index":0,"content":{"annotations":[],"text":"Sal\u2028ü \"d\"\n","type":"output_text"}}}
{"type":"thread.item.done","item":{"id":"msg_2","thread_id":"conv_1","created_at":"2000-01-01T00:00:03.500Z","type":"assistant_message","content":[{"annotations":[],"text":"Sal\u2028ü \"d\"\n","type":"output_text"}]}}
{"type":"notice","level":"info","message":"The answer has reached its greatest length.","title":"Cut short"}
`
		want = strings.NewReplacer("UPDATE", `{"type":"thread.item.updated","item_id":"wf_1","update":`,
			"SAID", `{"type":"thread.item.updated","item_id":"msg_2","update":`).Replace(want)
		want = "data: " + strings.ReplaceAll(strings.TrimSuffix(want, "\n"), "\n", "\n\ndata: ") + "\n\n"
		if diff := cmp.Diff(want, named(string(b))); diff != "" {
			t.Errorf("frames (-want +got):\n%s", diff)
		}
		if _, err := follow(string(b), false); err != nil {
			t.Error(err)
		}
		if got := string(x.Encoder.Heartbeat()); got != "data: {\"type\":\"stream_options\",\"stream_options\":{\"allow_cancel\":true}}\n\n" {
			t.Errorf("heartbeat %q", got)
		}
	})
}

// clientView returns what a client sees of a turn, in short: the items with their tasks and
// texts, notices, the error.
func clientView(t *testing.T, events ...stream.Event) []string {
	t.Helper()
	frames, x := ask(t, chatkit.New(chatkit.Config{}), create("hi"), append([]stream.Event{&stream.Start{}}, events...)...)
	x.Close()
	c, err := follow(frames, false)
	if err != nil || len(c.open) > 0 {
		t.Fatalf("%v; %d items are open at the end", err, len(c.open))
	}
	var list []string
	for _, it := range c.items[1:] {
		if it.Type == "assistant_message" {
			list = append(list, "said "+it.Content[0].Text)
			continue
		}
		for _, task := range it.Workflow.Tasks {
			list = append(list, strings.Join([]string{task.Type, task.Status, task.Title, task.Content}, " | "))
		}
	}
	for _, n := range c.notices {
		list = append(list, "notice "+n)
	}
	if c.failure != nil {
		list = append(list, "error "+c.failure.Message, map[bool]string{true: "retry", false: "no retry"}[c.failure.AllowRetry])
	}
	return list
}

func TestWhatAUserSees(t *testing.T) {
	t.Parallel()
	done := &stream.Done{Reason: stream.Stop}
	failed := &stream.Done{Reason: stream.Failed}
	unavailable := &stream.Error{Type: fault.MCPUnavailable, Message: "MCP service temporarily unavailable", Recoverable: true, Service: "mcp:todo"}
	long := strings.Repeat("é", 2000)
	bare := stream.Call{ID: "b", Tool: "look"}
	for _, tt := range []struct {
		name   string
		events []stream.Event
		want   []string
	}{
		{"answer", []stream.Event{&stream.Delta{Text: "a"}, &stream.Delta{Text: "b"}, done}, []string{"said ab"}},
		{"nothing", []stream.Event{done}, []string{"notice info The model has said nothing."}},
		{"step limit", []stream.Event{&stream.Delta{Text: "a"}, &stream.Done{Reason: stream.MaxSteps}},
			[]string{"said a", "notice info The model was not done, but has reached the number of steps that a turn may have."}},
		{"a thought in pieces", []stream.Event{&stream.Thinking{Content: "**A**\nb"}, &stream.Thinking{Content: "c"}, &stream.Thinking{Content: " \n"},
			&stream.Thinking{Content: "**D**"}, &stream.Delta{Text: "x"}, done},
			[]string{"thought | complete | A | bc", "thought | complete | D | ", "said x"}},
		{"bold, but no title", []stream.Event{&stream.Thinking{Content: "**so** it is"}, &stream.Delta{Text: "x"}, done},
			[]string{"thought | complete |  | **so** it is", "said x"}},
		{"a long thought", []stream.Event{&stream.Thinking{Content: "**A**\n" + long}, &stream.Delta{Text: "x"}, done},
			[]string{"thought | complete | A | " + long[:2048], "thought | complete |  | " + long[2048:], "said x"}},
		{"failed call", []stream.Event{&stream.ToolStarted{Call: bare}, &stream.ToolFailed{Call: bare, Message: "no such tool"},
			&stream.Error{Type: fault.ToolFailed, Message: "no such tool"}, &stream.Delta{Text: "x"}, done},
			[]string{"custom | none | look has failed | no such tool", "said x"}},
		{"lost call", []stream.Event{&stream.ToolStarted{Call: bare}, &stream.ToolUnknown{Call: bare, Message: "It timed out"}, &stream.Delta{Text: "x"}, done},
			[]string{"custom | none | look: outcome not known | It timed out\n\nIt may have taken effect, and is not tried again.", "said x"}},
		{"long result", []stream.Event{&stream.ToolStarted{Call: bare}, &stream.ToolCompleted{Call: bare, Result: long}, &stream.Delta{Text: "x"}, done},
			[]string{"custom | complete | Called look | Result: " + long[:1024] + " …", "said x"}},
		{"tools away", []stream.Event{unavailable, unavailable, &stream.Delta{Text: "x"}, done},
			[]string{"said x", "notice warning MCP service temporarily unavailable (todo). The answer is written without them."}},
		{"two steps", []stream.Event{&stream.Delta{Text: "I look."}, &stream.ToolStarted{Call: bare}, &stream.ToolCompleted{Call: bare, Result: "r"},
			&stream.Delta{Text: "\n\n"}, &stream.Delta{Text: "Noon."}, done},
			[]string{"said I look.", "custom | complete | Called look | Result: r", "said \n\nNoon."}},
		{"speaks while a call is open", []stream.Event{&stream.ToolStarted{Call: bare}, &stream.Delta{Text: "a"}, &stream.ToolCompleted{Call: bare, Result: "r"}, &stream.Delta{Text: "b"}, done},
			[]string{"custom | complete | Called look | Result: r", "said ab"}},
		{"failure in the middle", []stream.Event{&stream.Delta{Text: "half"}, &stream.Error{Type: fault.ModelUnavailable, Message: "AI service temporarily unavailable",
			Recoverable: true, Fatal: true, RetryAfter: 1500 * time.Millisecond}, failed},
			[]string{"said half", "error AI service temporarily unavailable. Try again in 2 s.", "retry"}},
		{"failure in thought", []stream.Event{&stream.Thinking{Content: "hm"}, &stream.Error{Type: fault.ModelBlocked, Message: "Blocked", Fatal: true}, failed},
			[]string{"thought | complete |  | hm", "error Blocked", "no retry"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, clientView(t, tt.events...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
