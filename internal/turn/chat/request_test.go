package chat_test

import (
	"math"
	"strings"
	"testing"

	"sluice/internal/turn/chat"
)

// A reply is read with what it is about: by an agent with the question, by a check of the
// user's own words without it.
func TestWholeAndWords(t *testing.T) {
	t.Parallel()
	q := &chat.Clarification{Said: []chat.HistoryMessage{user("turn it on"), assistant("which?"), user("the big one"), assistant("which room?")}}
	for _, tt := range []struct {
		req          chat.Request
		whole, words string
	}{
		{chat.Request{Input: "hi"}, "hi", "hi"},
		{chat.Request{Input: "kitchen", Past: chat.Past{Question: q}},
			"turn it on\n\nThe assistant asked: which?\n\nThe user answered: the big one\n\nThe assistant asked: which room?\n\nThe user answered: kitchen",
			"turn it on\n\nthe big one\n\nkitchen"},
		{chat.Request{Input: "yes", Past: chat.Past{Question: new(chat.Clarification)}}, "The user answered: yes", "yes"},
	} {
		if got := tt.req.FullInput(); got != tt.whole {
			t.Errorf("Whole is %q, want %q", got, tt.whole)
		}
		if got := tt.req.Words(); got != tt.words {
			t.Errorf("Words are %q, want %q", got, tt.words)
		}
	}
}

func TestIDsOfTasksAndTurns(t *testing.T) {
	t.Parallel()
	const rest = "0123456789abcdefghijklmnop"
	for _, tt := range []struct {
		id         string
		task, turn bool
	}{
		{"task_" + rest, true, false},
		{"turn_" + rest, false, true},
		{"task_" + rest[1:], false, false},
		{"task_" + rest + "q", false, false},
		{"task_" + strings.ToUpper(rest), false, false},
		{"task_" + rest[:25] + "-", false, false},
		{rest, false, false},
		{"", false, false},
	} {
		if task, turn := chat.IsTaskID(tt.id), chat.IsTurnID(tt.id); task != tt.task || turn != tt.turn {
			t.Errorf("%q: a task's %v, a turn's %v", tt.id, task, turn)
		}
	}
	if a, b := chat.NewRequestID(), chat.NewRequestID(); a == b || !strings.HasPrefix(a, "req_") || len(a) != 16 {
		t.Errorf("ids of requests are %q and %q", a, b)
	}
}

// What a request says of a run, at the bounds.
func TestFieldsOfARun(t *testing.T) {
	t.Parallel()
	const id = "task_0123456789abcdefghijklmnop"
	for _, tt := range []struct{ member, want string }{
		{`"workflow":"a1_"`, ""}, {`"workflow":"` + strings.Repeat("a", 64) + `"`, ""},
		{`"workflow":""`, "/workflow unknown_value"}, {`"workflow":"1a"`, "/workflow unknown_value"}, {`"workflow":"a-b"`, "/workflow unknown_value"},
		{`"workflow":"` + strings.Repeat("a", 65) + `"`, "/workflow unknown_value"},
		{`"kind":"a_-9"`, ""}, {`"kind":"` + strings.Repeat("k", 32) + `"`, ""}, {`"kind":""`, "/kind invalid_format"}, {`"kind":"` + strings.Repeat("k", 33) + `"`, "/kind invalid_format"},
		{`"retention_days":0`, ""}, {`"retention_days":3650`, ""}, {`"retention_days":1e1`, ""},
		{`"retention_days":3651`, "/retention_days invalid_format"}, {`"retention_days":-1`, "/retention_days invalid_format"},
		{`"retention_days":0.5`, "/retention_days invalid_format"}, {`"retention_days":1e999`, "/retention_days invalid_format"}, {`"retention_days":"1"`, "/retention_days wrong_type"},
		{`"task_id":"` + id + `"`, ""}, {`"task_id":"` + id + `0"`, "/task_id unknown_value"},
		{`"on_disconnect":"continue"`, ""}, {`"on_disconnect":"cancel"`, ""}, {`"on_disconnect":"Cancel"`, "/on_disconnect unknown_value"},
		{`"channel":"a-b_1"`, ""}, {`"channel":"1a"`, "/channel unknown_value"},
		{`"locale":"zh-Hant-TW"`, ""}, {`"locale":"de-1996"`, ""}, {`"locale":"1a"`, "/locale invalid_format"}, {`"locale":"en-"`, "/locale invalid_format"},
		{`"locale":"abcdefghi"`, "/locale invalid_format"}, {`"locale":"` + strings.Repeat("abcdefgh-", 3) + `abcdefgh"`, ""}, {`"locale":"` + strings.Repeat("abcdefgh-", 4) + `a"`, "/locale invalid_format"},
	} {
		_, err := chat.DecodeRequest([]byte(`{"input":"a",` + tt.member + `}`))
		got := ""
		if err != nil {
			got = faults(t, err)
		}
		if got != tt.want {
			t.Errorf("%.60s: %q, want %q", tt.member, got, tt.want)
		}
	}
}

func TestParseHops(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]int{"": 0, "0": 0, "1": 1, "3": 3, "4": 4, "5": 4, "999999999999999999999": 4, "-1": 4, "x": 4, "1 ": 4} {
		if got := chat.ParseHops(value); got != want {
			t.Errorf("%q is %d, want %d", value, got, want)
		}
	}
}

func TestTextsForALog(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		s     string
		limit int
		clip  string
		line  string
	}{
		{"", 3, "", ""}, {"abc", 3, "abc", "abc"}, {"abcd", 3, "abc…", "abc"}, {"aéb", 2, "a…", "a"},
		{" a\tb\r\n", 9, " a\tb\r\n", "a b"}, {"a\x00\u0085b", 9, "a\x00\u0085b", "ab"}, {"\n\n\n\n\n\n\n\n\n\n\n\n\nx", 3, "\n\n\n…", ""},
	} {
		if got := chat.Clip(tt.s, tt.limit); got != tt.clip {
			t.Errorf("Clip(%q, %d) = %q, want %q", tt.s, tt.limit, got, tt.clip)
		}
		if got := chat.Line(tt.s, tt.limit); got != tt.line {
			t.Errorf("Line(%q, %d) = %q, want %q", tt.s, tt.limit, got, tt.line)
		}
	}
	for s, want := range map[string]bool{"a.b-C_9": true, "": false, "a b": false, "é": false, "12345": true, "123456789": false} {
		if got := chat.Token(s, 1, 8); got != want {
			t.Errorf("Token(%q) = %v", s, got)
		}
	}
}

func TestUsageSince(t *testing.T) {
	t.Parallel()
	before := chat.Usage{InputTokens: 1, OutputTokens: 2, ThinkingTokens: 3, CachedTokens: 4}
	after := before
	after.Add(chat.Usage{InputTokens: 10, OutputTokens: 20, ThinkingTokens: 30, CachedTokens: 40, Estimated: true})
	want := chat.Usage{InputTokens: 10, OutputTokens: 20, ThinkingTokens: 30, CachedTokens: 40, Estimated: true}
	if got := after.Since(before); got != want {
		t.Errorf("Since is %+v, want %+v", got, want)
	}
}

// A body of the query has what a body has, but for objects, lists and what runs are about.
func TestFieldNames(t *testing.T) {
	t.Parallel()
	all, query := chat.FieldNames(false), " "+strings.Join(chat.FieldNames(true), " ")+" "
	for _, name := range []string{"context", "approval", "history", "workflow", "kind", "retention_days"} {
		if strings.Contains(query, " "+name+" ") || !strings.Contains(" "+strings.Join(all, " ")+" ", " "+name+" ") {
			t.Errorf("%s stands in a query, or not in a body", name)
		}
	}
	if !strings.HasPrefix(query, " input conversation_id user_id ") {
		t.Errorf("a query has%s", query)
	}
}

// Verdicts are found by their key, travel as state, and a missing list knows nothing.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	var none *chat.Verdicts
	none.Record("a", chat.CallLost)
	never := func() string { t.Error("a key was asked for without need"); return "" }
	if none.Of(never) != 0 || none.State() != nil {
		t.Error("no list has verdicts")
	}
	v := new(chat.Verdicts)
	v.Record("", chat.CallLost)
	if v.Of(never) != 0 || v.State() != nil {
		t.Error("an empty list has verdicts")
	}
	v.Record("a", chat.CallLost)
	v.Record("b", chat.CallRejected)
	again, err := chat.ReadVerdicts(v.State())
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]chat.Verdict{"a": chat.CallLost, "b": chat.CallRejected, "c": 0} {
		if got := again.Of(func() string { return key }); got != want {
			t.Errorf("%s: %v, want %v", key, got, want)
		}
	}
	if empty, err := chat.ReadVerdicts(nil); err != nil || empty.Of(never) != 0 {
		t.Errorf("no state: %v", err)
	}
	if _, err := chat.ReadVerdicts([]byte(`{"a":`)); err == nil {
		t.Error("a broken state is read")
	}
}

// Where nobody can be asked the calls are refused, and the reason comes from who asks.
func TestPause(t *testing.T) {
	t.Parallel()
	var facts chat.Facts
	if got := facts.Pause(&chat.Paused{}); got != chat.NobodyToAsk {
		t.Errorf("without anybody: %q", got)
	}
	p := &chat.Paused{By: chat.PausedAgent}
	facts.Ask = func(got *chat.Paused) string {
		got.By += "+"
		return "not now"
	}
	if got := facts.Pause(p); got != "not now" || p.By != "agent+" {
		t.Errorf("%q, by %q", got, p.By)
	}
}

// A budget that the figures of int64 would overflow is still one.
func TestTokenBudgetOfAnySize(t *testing.T) {
	t.Parallel()
	if chat.NewTokenBudget(math.MaxInt32).Reached(chat.Usage{InputTokens: 1 << 20, CachedTokens: math.MaxInt32}) {
		t.Error("cached tokens, which are part of the input, count twice")
	}
}
