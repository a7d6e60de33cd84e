package conversation_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/config"
	"sluice/internal/base/config/file"
	"sluice/internal/base/fault"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/internal/state/task/conversation"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

// speaker answers with a text, calls, or an error, and notes what it was shown.
type speaker struct {
	answer string
	calls  int    // steps of one call each
	args   string // of each call; empty: {}
	result string
	err    error
	shown  []chat.Message
	line   string // of the time, that it is to show
	began  string // what it says it has shown; empty: nothing
	record bool
}

func (s *speaker) Run(_ context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
	s.shown, s.record, s.line = req.History, req.Record, req.Line
	if s.calls > 0 {
		_ = sink.Emit(&stream.ToolStarted{Call: stream.Call{ID: "1", Tool: "add"}})
	}
	if s.answer != "" {
		if err := sink.Emit(&stream.Delta{Text: s.answer}); err != nil {
			return stream.Result{}, err
		}
	}
	if s.err != nil {
		return stream.Result{}, s.err
	}
	m := chat.TurnMessages{Line: s.began}
	for n := range s.calls {
		id := fmt.Sprint("c", n)
		args := s.args
		if args == "" {
			args = "{}"
		}
		m.Messages = append(m.Messages,
			chat.Message{Role: chat.RoleModel, Maker: "k/m", Origin: "a k/m", Parts: []chat.Part{
				{Text: "hm", Thought: true}, {Kept: "thought"}, {Text: "I add."},
				{Call: &tool.Call{ID: id, Name: "add", Arguments: []byte(args)}, Signature: "sig", Kept: "extra"},
			}},
			chat.Message{Role: chat.RoleUser, Parts: []chat.Part{{Result: &tool.Result{ID: id, Name: "add", Text: s.result}}}})
	}
	return stream.Result{Reason: stream.Stop, TurnMessages: []chat.TurnMessages{m}}, nil
}

// observed notes the errors that are reported.
type observed struct {
	errors []string
	fails  error
}

func (h *observed) Emit(ev stream.Event) error {
	if e, ok := ev.(*stream.Error); ok {
		h.errors = append(h.errors, fmt.Sprintf("%s fatal=%v", e.Type, e.Fatal))
	}
	return h.fails
}

func (h *observed) Flush() error { return h.fails }

// say runs a turn of conversation conv_1.
func say(t *testing.T, m *conversation.Memory, s *speaker, input string) {
	t.Helper()
	result, err := m.Around(s).Run(t.Context(), &chat.Request{Input: input, ConversationID: "conv_1", UserID: "ann"}, new(observed))
	if !errors.Is(err, s.err) || result.TurnMessages != nil {
		t.Fatalf("%v, %+v", err, result)
	}
}

// lines returns messages as text.
func lines(messages []chat.Message) (all []string) {
	for _, m := range messages {
		line := string(m.Role) + ":"
		for _, p := range m.Parts {
			switch {
			case p.Call != nil:
				line += fmt.Sprintf(" call %s %s by %s/%s signed %s%s", p.Call.ID, p.Call.Arguments, m.Origin, m.Maker, p.Signature, p.Kept)
			case p.Result != nil:
				line += fmt.Sprintf(" result %s %s", p.Result.ID, p.Result.Text)
			default:
				line += " " + p.Text
			}
		}
		all = append(all, line)
	}
	return all
}

func open(spec conversation.Spec) (*conversation.Memory, *memory.Store) {
	s := memory.New(memory.Config{})
	return conversation.New(conversation.Config{Store: s, Spec: spec}), s
}

func want(t *testing.T, s *speaker, expected ...string) {
	t.Helper()
	if diff := cmp.Diff(expected, lines(s.shown)); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}
}

// Calls are shown with their results, cut to 2 KiB, and their signatures; thoughts, and
// what the model said next to a call, are not.
func TestCallsAreRemembered(t *testing.T) {
	t.Parallel()
	m, _ := open(conversation.Spec{})
	s := &speaker{answer: "Done. ", calls: 2, result: strings.Repeat("ä", 2000)}
	say(t, m, s, "add")
	say(t, m, s, "again")
	cut := strings.Repeat("ä", (2048-len(" […]"))/2) + " […]"
	want(t, s, "user: add", "model: call c0 {} by a k/m/k/m signed sigextra", "user: result c0 "+cut,
		"model: call c1 {} by a k/m/k/m signed sigextra", "user: result c1 "+cut, "model: Done.")
	if !s.record {
		t.Error("the agent was not asked what it did")
	}
	m, _ = open(conversation.Spec{OmitCalls: true})
	s.record = false
	say(t, m, s, "add")
	if say(t, m, s, "again"); s.record {
		t.Error("the agent was asked what it did")
	}
	m, _ = open(conversation.Spec{})
	s = &speaker{answer: "Done.", calls: 1, args: `{"x":"` + strings.Repeat("y", 3000) + `"}`, result: "ok"}
	say(t, m, s, "add")
	say(t, m, s, "again")
	if got := lines(s.shown); len(got) != 2 || !strings.HasPrefix(got[1], `model: [Earlier call: add {"x":"yyy`) || !strings.HasSuffix(got[1], "; result: ok]\n\nDone.") {
		t.Errorf("arguments that are too long: %q", got)
	}
}

// What the user says is shown again with the line of its time. That of a turn that waited is the
// one it began with.
func TestLinesOfTheTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kept := memory.New(memory.Config{})
		defer kept.Close()
		m := conversation.New(conversation.Config{Store: kept, Location: time.FixedZone("Asia/Kolkata", 5*3600+1800)})
		line := func(at string) string {
			return "Now it is Saturday, 2000-01-01, " + at + " in the time zone Asia/Kolkata (UTC+05:30)."
		}
		s := &speaker{answer: "Yes."}
		say(t, m, s, "one")
		if s.line != line("05:30") {
			t.Errorf("the first turn shows %q", s.line)
		}
		time.Sleep(time.Minute)
		s.began = line("04:00")
		say(t, m, s, "two")
		if _, err := m.Around(s).Run(t.Context(), &chat.Request{Input: "three", ConversationID: "conv_1", UserID: "ann", Resumed: new(chat.Resumed)}, new(observed)); err != nil {
			t.Fatal(err)
		}
		say(t, m, s, "four")
		var got []string
		for _, m := range s.shown {
			if m.Role == chat.RoleUser {
				got = append(got, m.Text()+" "+m.At)
			}
		}
		if diff := cmp.Diff([]string{"one " + line("05:30"), "two " + line("05:31"), "three " + line("04:00")}, got); diff != "" {
			t.Errorf("shown (-want +got):\n%s", diff)
		}
	})
}

// Whole turns leave first. Of the last one calls leave with their results, then its texts
// are cut.
func TestBounds(t *testing.T) {
	t.Parallel()
	t.Run("messages", func(t *testing.T) {
		t.Parallel()
		m, kept := open(conversation.Spec{MaxMessages: 5})
		s := &speaker{answer: "yes"}
		for _, input := range []string{"1", "2", "3", "4"} {
			say(t, m, s, input)
		}
		want(t, s, "user: 3", "model: yes")
		s.calls, s.result = 1, "ok"
		say(t, m, s, "5")
		say(t, m, s, "6")
		want(t, s, "user: 5", "model: call c0 {} by a k/m/k/m signed sigextra", "user: result c0 ok", "model: yes")
		s.calls = 2
		say(t, m, s, "7")
		say(t, m, s, "8")
		want(t, s, "user: 7", "model: call c1 {} by a k/m/k/m signed sigextra", "user: result c1 ok", "model: yes")
		items, err := kept.List(t.Context(), store.MemoryKey("", "ann", "conv_1"), 0, 0)
		if err != nil || len(items) != 3 {
			t.Errorf("%v: %d turns are stored", err, len(items))
		}
	})
	t.Run("tokens", func(t *testing.T) {
		t.Parallel()
		m, _ := open(conversation.Spec{MaxTokens: 256}) // 1024 bytes
		s := &speaker{answer: strings.Repeat("a", 400)}
		say(t, m, s, "1")
		say(t, m, s, "2")
		say(t, m, s, "3")
		want(t, s, "user: 1", "model: "+s.answer, "user: 2", "model: "+s.answer)
		s.answer = strings.Repeat("b", 2000)
		say(t, m, s, strings.Repeat("i", 600))
		say(t, m, s, strings.Repeat("j", 300))
		want(t, s, "user: "+strings.Repeat("i", 506)+" […]", "model: "+strings.Repeat("b", 506)+" […]")
		say(t, m, s, "5")
		want(t, s, "user: "+strings.Repeat("j", 300), "model: "+strings.Repeat("b", 718)+" […]")
	})
}

// Turns leave in blocks, also those without calls, of which the store keeps hardly more than are
// shown: until half a bound holds, then none for as long as it does.
func TestTurnsLeaveInBlocks(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		spec conversation.Spec
		want []int // turns that are shown to each
	}{
		"messages": {conversation.Spec{MaxMessages: 10}, []int{0, 1, 2, 3, 4, 5, 2, 3, 4, 5, 2, 3, 4, 5, 2, 3}},
		"few":      {conversation.Spec{MaxMessages: 2}, []int{0, 1, 1, 1}},
		"odd":      {conversation.Spec{MaxMessages: 7}, []int{0, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1}},
		"tokens":   {conversation.Spec{MaxMessages: 200, MaxTokens: 256}, []int{0, 1, 2, 3, 4, 5, 2, 3, 4, 5, 2, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, _ := open(tt.spec)
			s := &speaker{answer: strings.Repeat("a", 200)}
			var got []int
			for i := range tt.want {
				say(t, m, s, fmt.Sprint(i))
				got = append(got, len(s.shown)/2)
				if n := len(s.shown); n > 0 && (s.shown[n-2].Text() != fmt.Sprint(i-1) || s.shown[0].Text() != fmt.Sprint(i-n/2)) {
					t.Errorf("turn %d is shown %q", i, lines(s.shown))
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("turns shown (-want +got):\n%s", diff)
			}
		})
	}
}

// What was not answered is a line, which names the tools that were called.
func TestMarkers(t *testing.T) {
	t.Parallel()
	for err, marker := range map[error]string{
		errors.New("a bug"): "[No complete answer: the turn failed.]",
		&fault.Error{Type: fault.Timeout, Message: "Too long"}: "[No complete answer: the turn took too long.]",
		&fault.Error{Type: fault.Cancelled, Message: "Cancel"}: "[No complete answer: the turn was cancelled.]",
		fault.ErrClientGone: "[No complete answer: the user left.]",
	} {
		m, _ := open(conversation.Spec{})
		s := &speaker{answer: "half an ans", err: err}
		say(t, m, s, "1")
		s.calls = 1
		say(t, m, s, "2")
		want(t, s, "user: 1", "model: "+marker)
		say(t, m, s, "3")
		if got := lines(s.shown)[3]; got != "model: "+strings.TrimSuffix(marker, "]")+" Tools that were called: add.]" {
			t.Error(got)
		}
	}
}

// A record that cannot be read is passed over; a list that cannot be is reported.
func TestDamagedMemory(t *testing.T) {
	t.Parallel()
	m, kept := open(conversation.Spec{})
	key := store.MemoryKey("", "ann", "conv_1")
	s := &speaker{answer: "yes"}
	say(t, m, s, "1")
	for _, broken := range []string{``, `{`, `[]`, `{"v":2,"input":"x","answer":"y"}`, `{"v":1,"input":"","answer":"y"}`, `{"v":1,"input":"x","answer":"y","steps":[{}]}`,
		`{"v":1,"input":"x","answer":"y","steps":[{"origin":"o","calls":[{"name":"add","arguments":"{"}]}]}`} {
		if err := kept.PushList(t.Context(), key, []byte(broken), store.Bounds{}, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	say(t, m, s, "2")
	want(t, s, "user: 1", "model: yes")
}

func TestSection(t *testing.T) {
	t.Parallel()
	read := func(content string, kept bool) (s conversation.Spec, faults []string) {
		r := file.Table{conversation.Section(&s, func() bool { return kept })}.Read("f", []byte(content), config.Sources{})
		for _, f := range r.Faults {
			faults = append(faults, f.Name+" "+f.Message)
		}
		return s, faults
	}
	got, faults := read("memory: {enabled: true, ttl: 30d, tool_calls: omit, max_messages: 2, max_tokens: 256}", true)
	if diff := cmp.Diff(conversation.Spec{Enabled: true, TTL: 720 * time.Hour, OmitCalls: true, MaxMessages: 2, MaxTokens: 256}, got); diff != "" || faults != nil {
		t.Errorf("%q (-want +got):\n%s", faults, diff)
	}
	for content, want := range map[string]string{
		"enabled: true":     "f:1:19 /memory/enabled: memory needs a store: SLUICE_STORE",
		"ttl: 59s":          "f:1:15 /memory/ttl: must be a duration from 1m to 30d",
		"tool_calls: some":  "f:1:22 /memory/tool_calls: must be one of keep, omit",
		"max_messages: 1":   "f:1:24 /memory/max_messages: must be from 2 to 200",
		"max_tokens: 1e6":   "f:1:22 /memory/max_tokens: must be from 256 to 100000",
		"max_token: 10_000": "f:1:10 /memory/max_token: there is no such key",
	} {
		if _, faults := read("memory: {"+content+"}", false); len(faults) != 1 || !strings.HasPrefix(faults[0], want) {
			t.Errorf("%s: %q", content, faults)
		}
	}
	if s, faults := read("memory: {enabled: false}", false); faults != nil || s.Enabled {
		t.Error(faults)
	}
}
