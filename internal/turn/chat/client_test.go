package chat_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

func fromUser(text string) chat.ClientMessage {
	return chat.ClientMessage{Text: text, At: "/messages/u"}
}

func fromAssistant(text string, calls ...string) chat.ClientMessage {
	m := chat.ClientMessage{Speaker: chat.SpeakerAssistant, Text: text, At: "/messages/a"}
	for _, id := range calls {
		m.Calls = append(m.Calls, tool.Call{ID: id, Name: strings.TrimRight(id, "0123456789"), Arguments: []byte(`{"of":"` + id + `"}`)})
	}
	return m
}

// fromTool is a result that the client brings, unless the gateway has run the call: the ids of the
// client's calls begin with mine.
func fromTool(id, text string) chat.ClientMessage {
	return chat.ClientMessage{Speaker: chat.SpeakerTool, Result: tool.Result{ID: id, Text: text}, Served: !strings.HasPrefix(id, "mine"), At: "/messages/t"}
}

func fromApplication(text string) chat.ClientMessage {
	return chat.ClientMessage{Speaker: chat.SpeakerApplication, Text: text, At: "/messages/s"}
}

func gatherer() chat.Gatherer { return chat.Gatherer{Root: "/messages"} }

// shown renders messages, a line for each part.
func shown(messages []chat.Message) (lines []string) {
	for _, m := range messages {
		for _, p := range m.Parts {
			switch {
			case p.Call != nil:
				lines = append(lines, fmt.Sprintf("%s calls %s %s %s", m.Role, p.Call.ID, p.Call.Name, p.Call.Arguments))
			case p.Result != nil:
				lines = append(lines, fmt.Sprintf("%s result %s %s %s", m.Role, p.Result.ID, p.Result.Name, p.Result.Text))
			default:
				lines = append(lines, fmt.Sprintf("%s %s", m.Role, p.Text))
			}
		}
	}
	return lines
}

func TestGather(t *testing.T) {
	t.Parallel()
	made := chat.CallID(chat.CallSeed("", "req_1", time.Unix(1, 0)), 1)
	long := strings.Repeat("é", chat.DefaultLine)
	for _, tt := range []struct {
		name                string
		messages            []chat.ClientMessage
		earlier             []string // what a model is shown of it
		input, instructions string
		continues           []string
		faults              []string
	}{
		{name: "an input alone", messages: []chat.ClientMessage{fromUser("hi")}, input: "hi"},
		{name: "control characters go", messages: []chat.ClientMessage{fromUser("h\x00i")}, input: "hi"},
		{name: "earlier texts", messages: []chat.ClientMessage{fromUser("a"), fromAssistant("b"), fromUser("c")}, earlier: []string{"user a", "model b"}, input: "c"},
		{name: "a question without an answer", messages: []chat.ClientMessage{fromUser("a"), fromUser("b")}, earlier: []string{"user a"}, input: "b"},
		{name: "instructions, wherever they stand", messages: []chat.ClientMessage{fromApplication("x"), fromUser("a"), fromApplication(" "), fromApplication("y")}, input: "a", instructions: "x\n\ny"},
		{name: "a call and its result", messages: []chat.ClientMessage{fromUser("a"), fromAssistant("b", "get1"), fromTool("get1", "r"), fromAssistant("c"), fromUser("d")},
			earlier: []string{"user a", "model b", `model calls get1 get {"of":"get1"}`, "user result get1 get r", "model c"}, input: "d"},
		{name: "an id of ours does not go back", messages: []chat.ClientMessage{fromUser("a"),
			{Speaker: chat.SpeakerAssistant, Calls: []tool.Call{{ID: made, Name: "get"}}}, fromTool(made, "r"), fromUser("d")},
			earlier: []string{"user a", `model calls  get {}`, "user result  get r"}, input: "d"},
		{name: "alone they are left out", messages: []chat.ClientMessage{fromUser("a"), fromAssistant("", "get1"), fromTool("other", "r"), fromAssistant("c"), fromUser("d")},
			earlier: []string{"user a", "model c"}, input: "d"},
		{name: "the first of two results", messages: []chat.ClientMessage{fromUser("a"), fromAssistant("", "get1"), fromTool("get1", "r"), fromTool("get1", "s"), fromUser("d")},
			earlier: []string{"user a", `model calls get1 get {"of":"get1"}`, "user result get1 get r"}, input: "d"},
		{name: "an id that is used again in a later step", messages: []chat.ClientMessage{fromUser("a"), fromAssistant("", "get1"), fromTool("get1", "r"), fromAssistant("", "get1"), fromTool("get1", "s"), fromUser("d")},
			earlier: []string{"user a", `model calls get1 get {"of":"get1"}`, "user result get1 get r", `model calls get1 get {"of":"get1"}`, "user result get1 get s"}, input: "d"},
		{name: "a result in front of its call is none", messages: []chat.ClientMessage{fromUser("a"), fromTool("get1", "r"), fromAssistant("b", "get1"), fromUser("d")},
			earlier: []string{"user a", "model b"}, input: "d"},
		{name: "an id that only the later of two calls has a result for", messages: []chat.ClientMessage{fromUser("a"), fromAssistant("b", "get1"), fromUser("c"), fromAssistant("", "get1"), fromTool("get1", "r"), fromUser("d")},
			earlier: []string{"user a", "model b", "user c", `model calls get1 get {"of":"get1"}`, "user result get1 get r"}, input: "d"},
		{name: "two calls of one answer with one id", messages: []chat.ClientMessage{fromUser("a"), fromAssistant("", "get1", "get1"), fromTool("get1", "r"), fromTool("get1", "s"), fromUser("d")},
			earlier: []string{"user a", `model calls get1 get {"of":"get1"}`, `model calls get1 get {"of":"get1"}`, "user result get1 get r", "user result get1 get s"}, input: "d"},
		{name: "results in another order than the calls", messages: []chat.ClientMessage{fromUser("a"), fromAssistant("", "get1", "get2"), fromTool("get2", "s"), fromTool("get1", "r"), fromUser("d")},
			earlier: []string{"user a", `model calls get1 get {"of":"get1"}`, `model calls get2 get {"of":"get2"}`, "user result get1 get r", "user result get2 get s"}, input: "d"},
		{name: "control characters of a result go", messages: []chat.ClientMessage{fromUser("a"), fromAssistant("", "get1"), fromTool("get1", "r\x00\x1b"), fromUser("d")},
			earlier: []string{"user a", `model calls get1 get {"of":"get1"}`, "user result get1 get r"}, input: "d"},
		{name: "arguments that are no object", messages: []chat.ClientMessage{fromUser("a"), {Speaker: chat.SpeakerAssistant, Calls: []tool.Call{{ID: "x", Name: "get", Arguments: []byte(`[1]`)}, {ID: "y", Name: "get", Arguments: []byte(`{"a":`)}}},
			fromTool("x", "r"), fromTool("y", "s"), fromUser("d")},
			earlier: []string{"user a", `model calls x get {}`, `model calls y get {}`, "user result x get r", "user result y get s"}, input: "d"},
		{name: "an empty answer behind the input is none", messages: []chat.ClientMessage{fromUser("a"), fromAssistant(" \x00")}, input: "a"},
		{name: "an empty answer behind the results is none", messages: []chat.ClientMessage{fromUser("a"), fromAssistant("", "mine1"), fromTool("mine1", "r"), fromAssistant("")},
			input: "a", continues: []string{`model calls mine1 mine {"of":"mine1"}`, "user result mine1 mine r"}},
		{name: "the client's calls with an id twice", messages: []chat.ClientMessage{fromUser("a"), fromAssistant("", "mine1"), fromTool("mine1", "r"), fromAssistant("", "mine1"), fromTool("mine1", "s")},
			input: "a", continues: []string{`model calls mine1 mine {"of":"mine1"}`, "user result mine1 mine r", `model calls mine1 mine {"of":"mine1"}`, "user result mine1 mine s"}},
		{name: "words and calls that are reported apart are one message", messages: []chat.ClientMessage{fromUser("a"), fromAssistant("b"), fromAssistant("c"), fromAssistant("", "mine1"), fromTool("mine1", "r")},
			input: "a", continues: []string{"model b\n\nc", `model calls mine1 mine {"of":"mine1"}`, "user result mine1 mine r"}},
		{name: "1 MiB of results", messages: []chat.ClientMessage{fromUser("a"), fromAssistant("", "mine1", "mine2"), fromTool("mine1", strings.Repeat("x", 1<<19)), fromTool("mine2", strings.Repeat("y", 1<<19))},
			input: "a", continues: []string{`model calls mine1 mine {"of":"mine1"}`, `model calls mine2 mine {"of":"mine2"}`,
				"user result mine1 mine " + strings.Repeat("x", 1<<19), "user result mine2 mine " + strings.Repeat("y", 1<<19)}},
		{name: "a result of a call before the input", messages: []chat.ClientMessage{fromUser("a"), fromAssistant("", "mine1"), fromUser("b"), fromTool("mine1", "r")},
			earlier: []string{"user a"}, input: "b", faults: []string{"/messages/t unknown_value", "/messages required"}},
		{name: "results without an id", messages: []chat.ClientMessage{fromUser("a"), fromAssistant("", ""), fromTool("", "r"), fromAssistant("", "mine1"), fromTool("mine1", "s")},
			input: "a", continues: []string{`model calls mine1 mine {"of":"mine1"}`, "user result mine1 mine s"}, faults: []string{"/messages/t unknown_value", "/messages/a required"}},
		{name: "1,000 messages", messages: slices.Repeat([]chat.ClientMessage{fromUser("a")}, 1000), earlier: []string{"user a" + strings.Repeat("\n\na", 998)}, input: "a"},
		{name: "as many instructions as may be", messages: []chat.ClientMessage{fromApplication(strings.Repeat("é", 63_997)), fromApplication("y"), fromUser("a")},
			input: "a", instructions: strings.Repeat("é", 63_997) + "\n\ny"},
		{name: "the client's calls are answered", messages: []chat.ClientMessage{fromUser("a"), fromAssistant("b", "mine1", "get1"), fromTool("get1", "s"), fromTool("mine1", "r")},
			input: "a", continues: []string{"model b", `model calls mine1 mine {"of":"mine1"}`, `model calls get1 get {"of":"get1"}`, "user result mine1 mine r", "user result get1 get s"}},
		{name: "the gateway ran a call of the last step but one", messages: []chat.ClientMessage{fromUser("a"), fromAssistant("", "get1"), fromTool("get1", "s"), fromAssistant("", "mine1"), fromTool("mine1", "r")},
			input: "a", continues: []string{`model calls get1 get {"of":"get1"}`, "user result get1 get s", `model calls mine1 mine {"of":"mine1"}`, "user result mine1 mine r"}},
		{name: "in two steps", messages: []chat.ClientMessage{fromUser("a"), fromAssistant("", "mine1"), fromTool("mine1", "r"), fromAssistant("", "mine2"), fromTool("mine2", "s")},
			input: "a", continues: []string{`model calls mine1 mine {"of":"mine1"}`, "user result mine1 mine r", `model calls mine2 mine {"of":"mine2"}`, "user result mine2 mine s"}},

		{name: "nothing", faults: []string{"/messages required"}},
		{name: "instructions alone", messages: []chat.ClientMessage{fromApplication("x")}, instructions: "x", faults: []string{"/messages required"}},
		{name: "the assistant's is last", messages: []chat.ClientMessage{fromUser("a"), fromAssistant("b")}, input: "a", faults: []string{"/messages required"}},
		{name: "calls of servers are last", messages: []chat.ClientMessage{fromUser("a"), fromAssistant("b", "get1"), fromTool("get1", "r")}, input: "a", faults: []string{"/messages required"}},
		{name: "a call without a result", messages: []chat.ClientMessage{fromUser("a"), fromAssistant("", "mine1", "mine2"), fromTool("mine1", "r")}, input: "a",
			faults: []string{"/messages/a required"}, continues: []string{`model calls mine1 mine {"of":"mine1"}`, "user result mine1 mine r"}},
		{name: "a result of no call", messages: []chat.ClientMessage{fromUser("a"), fromAssistant("", "mine1"), fromTool("mine1", "r"), fromTool("mine9", "s")}, input: "a",
			faults: []string{"/messages/t unknown_value"}, continues: []string{`model calls mine1 mine {"of":"mine1"}`, "user result mine1 mine r"}},
		{name: "a result twice", messages: []chat.ClientMessage{fromUser("a"), fromAssistant("", "mine1"), fromTool("mine1", "r"), fromTool("mine1", "s")}, input: "a",
			faults: []string{"/messages/t unknown_value"}, continues: []string{`model calls mine1 mine {"of":"mine1"}`, "user result mine1 mine r"}},
		{name: "too much of results", messages: []chat.ClientMessage{fromUser("a"), fromAssistant("", "mine1"), fromTool("mine1", strings.Repeat("x", 1<<20+1))}, input: "a",
			faults: []string{"/messages too_long"}, continues: []string{`model calls mine1 mine {"of":"mine1"}`, "user result mine1 mine " + strings.Repeat("x", 1<<20+1)}},
		{name: "a blank input", messages: []chat.ClientMessage{fromUser(" \n")}, input: " \n", faults: []string{"/messages/u blank"}},
		{name: "an input of the greatest length", messages: []chat.ClientMessage{fromUser(long)}, input: long},
		{name: "one more", messages: []chat.ClientMessage{fromUser(long + "e")}, input: long + "e", faults: []string{"/messages/u too_long"}},
		{name: "too many instructions", messages: []chat.ClientMessage{fromApplication(long + long + "e"), fromUser("a")}, input: "a", instructions: long + long + "e", faults: []string{"/messages too_long"}},
		{name: "1,001 messages", messages: make([]chat.ClientMessage, 1001), faults: []string{"/messages too_long"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			before, _ := json.Marshal(tt.messages)
			var e chat.ValidationError
			c := gatherer().Gather(tt.messages, &e)
			earlier, _ := chat.HistoryRules{}.Prune(c.Earlier)
			if diff := cmp.Diff(tt.earlier, shown(earlier)); diff != "" {
				t.Errorf("earlier (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.continues, shown(c.Continues)); diff != "" {
				t.Errorf("continues (-want +got):\n%.1000s", diff)
			}
			if c.Input != tt.input || c.Instructions != tt.instructions {
				t.Errorf("input %.50q, instructions %.50q", c.Input, c.Instructions)
			}
			var faults []string
			for _, f := range e.Fields {
				faults = append(faults, f.Field+" "+f.Code)
			}
			if diff := cmp.Diff(tt.faults, faults); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
			if after, _ := json.Marshal(tt.messages); string(after) != string(before) {
				t.Error("the messages were changed")
			}
		})
	}
}

// The bound of an input is the operator's, where there is one.
func TestGatherBoundsTheInput(t *testing.T) {
	t.Parallel()
	g := gatherer()
	g.MaxInput = 5000
	for size, want := range map[int]string{5000: "", 5001: "/messages/u too_long"} {
		var e chat.ValidationError
		g.Gather([]chat.ClientMessage{fromUser(strings.Repeat("é", size) + "\x00")}, &e)
		if got := listed(&e); got != want {
			t.Errorf("%d code points: %q, want %q", size, got, want)
		}
	}
	if len(gatherer().Gather([]chat.ClientMessage{fromUser("a"), fromAssistant("", "get1"), fromTool("get1", "r")}, new(chat.ValidationError)).Continues) > 0 {
		t.Error("a turn continues with calls of servers alone")
	}
}

// Whatever a client's messages are: the bounds hold, the roles take turns, each call has its
// result right behind it and each result its call, and nothing of the input changes.
func TestHistoryOfAnyMessages(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		messages := anyMessages(rng)
		rules := chat.HistoryRules{Messages: 1 + rng.IntN(12), Chars: 1000 + rng.IntN(3000), Message: 5000, NoCalls: rng.IntN(8) == 0}
		before, _ := json.Marshal(messages)
		var e chat.ValidationError
		c := gatherer().Gather(messages, &e)
		history, pruned := rules.Prune(c.Earlier)
		if fault := newest(history, c.Earlier); fault != "" {
			t.Fatalf("seed %d: %s\n%s", seed, fault, strings.Join(shown(history), "\n"))
		}
		if fault := unfit(history, rules); fault != "" {
			t.Fatalf("seed %d: %s\n%s\nof %s", seed, fault, strings.Join(shown(history), "\n"), before)
		}
		offered := func(name string) bool { return name != "gone" }
		if diff := cmp.Diff(shown(history), shown(chat.Portable(history, "o", offered))); diff != "" {
			t.Fatalf("seed %d: calls of tools that are not on offer are not data (-want +got):\n%s", seed, diff)
		}
		if pruned.Kept > rules.Messages && pruned.Dropped > 0 && users(history) > 1 {
			t.Fatalf("seed %d: %d messages are kept of at most %d", seed, pruned.Kept, rules.Messages)
		}
		again, _ := rules.Prune(c.Earlier)
		if !reflect.DeepEqual(history, again) {
			t.Fatalf("seed %d: two runs differ", seed)
		}
		if after, _ := json.Marshal(messages); string(after) != string(before) {
			t.Fatalf("seed %d: the messages were changed", seed)
		}
	}
}

// newest returns what is wrong with the newest exchange of a history: of what the user has said
// last, and of the answer to it, something is shown, whatever the bounds are.
func newest(history []chat.Message, earlier []chat.HistoryMessage) string {
	last := -1
	for i, s := range earlier {
		if s.Role == chat.RoleUser && strings.TrimSpace(s.Text) != "" {
			last = i
		}
	}
	if last < 0 {
		if len(history) > 0 {
			return "there is a history without anything of the user"
		}
		return ""
	}
	at := len(history) - 1
	for at >= 0 && !history[at].Spoken() {
		at--
	}
	if at < 0 {
		return "nothing of the user is left"
	}
	asked := false
	for i := last; i >= 0 && (earlier[i].Role == chat.RoleUser || strings.TrimSpace(earlier[i].Text) == ""); i-- {
		asked = asked || strings.HasPrefix(earlier[i].Text, string([]rune(history[at].Text())[:1]))
	}
	if !asked {
		return "what the user has said last is not that"
	}
	answered := slices.ContainsFunc(earlier[last:], func(s chat.HistoryMessage) bool { return s.Role == chat.RoleModel && strings.TrimSpace(s.Text) != "" })
	shown := slices.ContainsFunc(history[at:], func(m chat.Message) bool { return m.Role == chat.RoleModel && m.Text() != "" })
	if answered != shown {
		return fmt.Sprintf("the newest exchange has an answer: %v; shown: %v", answered, shown)
	}
	return ""
}

// FuzzGather reads three bytes for each message: who speaks, how much, and of which call. Of
// whatever comes a history is made that the APIs of models accept, within the bounds, and with
// the newest exchange; calls that a turn continues with have their results.
func FuzzGather(f *testing.F) {
	f.Add([]byte{9, 9, 0, 1, 0, 1, 3, 1, 0, 1, 0, 0})
	f.Add([]byte{1, 0, 0, 9, 0, 0, 2, 3, 1, 3, 200, 1, 1, 250, 2, 3, 0, 2, 0, 0, 9})
	f.Add([]byte{0, 0, 0, 255, 0, 255, 1, 255, 0, 1, 255, 1, 2, 0, 1, 3, 255, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 2 || len(data) > 600 {
			t.Skip()
		}
		rules := chat.HistoryRules{Messages: 1 + int(data[0]), Chars: 1000 + 20*int(data[1]), Message: 5000}
		messages := messagesOf(data[2:])
		var e chat.ValidationError
		c := gatherer().Gather(messages, &e)
		history, p := rules.Prune(c.Earlier)
		for _, fault := range []string{unfit(history, rules), newest(history, c.Earlier)} {
			if fault != "" {
				t.Fatalf("%s\n%s", fault, strings.Join(shown(history), "\n"))
			}
		}
		if p.Dropped < 0 || p.Kept > len(messages) || (len(history) == 0) != (p.Kept == 0) {
			t.Errorf("%d messages, %+v", len(history), p)
		}
		if len(e.Fields) > 0 {
			checkFaults(t, &e)
			return
		}
		if fault := unfit(append([]chat.Message{{Role: chat.RoleUser, Parts: []chat.Part{{Text: c.Input}}}}, c.Continues...), chat.HistoryRules{Chars: 1 << 30}); fault != "" {
			t.Errorf("what the turn continues with: %s\n%s", fault, strings.Join(shown(c.Continues), "\n"))
		}
	})
}

// messagesOf makes messages of bytes, each of words of its own.
func messagesOf(data []byte) (messages []chat.ClientMessage) {
	ids := []string{"get1", "get2", "gone3", "mine4", ""}
	for i := 0; i+2 < len(data); i += 3 {
		text := strings.Repeat(string(rune(0x4E00+i)), 25*int(data[i+1]))
		id := ids[int(data[i+2])%len(ids)]
		switch data[i] % 5 {
		case 0:
			messages = append(messages, fromUser(text))
		case 1:
			messages = append(messages, fromAssistant(text))
		case 2:
			messages = append(messages, fromAssistant(text, id, ids[int(data[i+1])%len(ids)]))
		case 3:
			messages = append(messages, fromTool(id, text))
		default:
			messages = append(messages, fromApplication(text))
		}
	}
	return messages
}

// anyMessages makes up messages of a client.
func anyMessages(rng *rand.Rand) (messages []chat.ClientMessage) {
	ids := []string{"get1", "get2", "gone3", "mine4", "get5", ""}
	for range rng.IntN(30) {
		text := strings.Repeat("é", []int{0, 1, 50, 900, 6000}[rng.IntN(5)])
		switch rng.IntN(7) {
		case 0, 1, 2:
			messages = append(messages, fromUser(text))
		case 3:
			messages = append(messages, fromAssistant(text))
		case 4:
			var calls []string
			for range rng.IntN(4) {
				calls = append(calls, ids[rng.IntN(len(ids))])
			}
			messages = append(messages, fromAssistant(text, calls...))
		case 5:
			messages = append(messages, fromTool(ids[rng.IntN(len(ids))], text))
		default:
			messages = append(messages, fromApplication(text))
		}
	}
	return messages
}

// users counts what users say.
func users(messages []chat.Message) (n int) {
	for i := range messages {
		if messages[i].Spoken() && messages[i].Role == chat.RoleUser {
			n++
		}
	}
	return n
}

// unfit returns what is wrong with a history as the APIs of models want it.
func unfit(messages []chat.Message, rules chat.HistoryRules) string {
	chars := 0
	for i, m := range messages {
		calls, results := 0, 0
		for _, p := range m.Parts {
			switch {
			case p.Call != nil:
				calls++
				chars += utf8.RuneCountInString(p.Call.Name) + utf8.RuneCount(p.Call.Arguments)
			case p.Result != nil:
				results++
				chars += utf8.RuneCountInString(p.Result.Text)
			case p.Text == "":
				return fmt.Sprintf("message %d has an empty text", i)
			default:
				chars += utf8.RuneCountInString(p.Text)
			}
		}
		switch {
		case len(m.Parts) == 0:
			return fmt.Sprintf("message %d is empty", i)
		case i == 0 && (m.Role != chat.RoleUser || results > 0):
			return "the user does not begin"
		case i > 0 && m.Role == messages[i-1].Role && (m.Role == chat.RoleModel || results > 0 || messages[i-1].Parts[0].Result == nil):
			// what the user says may follow results: in each API these are of another kind
			return fmt.Sprintf("message %d is of the same role as the one before", i)
		case calls > 0 && (i+1 == len(messages) || len(messages[i+1].Parts) != calls || messages[i+1].Parts[0].Result == nil):
			return fmt.Sprintf("message %d has %d calls, and not as many results behind it", i, calls)
		case results > 0 && (i == 0 || messages[i-1].Parts[len(messages[i-1].Parts)-1].Call == nil):
			return fmt.Sprintf("message %d has results without calls", i)
		}
	}
	if chars > rules.Chars {
		return fmt.Sprintf("%d code points of at most %d", chars, rules.Chars)
	}
	return ""
}

func TestCallIDs(t *testing.T) {
	t.Parallel()
	began := time.Unix(1, 2)
	seed := chat.CallSeed("", "req_1", began)
	id := chat.CallID(seed, 12)
	if !chat.MadeCallID(id) || len(id) > 64 {
		t.Errorf("%q is not one of ours", id)
	}
	for _, other := range []string{chat.CallSeed("", "req_2", began), chat.CallSeed("", "req_1", began.Add(1)), chat.CallSeed("turn_1", "req_1", began)} {
		if other == seed {
			t.Errorf("two turns have the seed %q", seed)
		}
	}
	if chat.CallSeed("turn_1", "a", began) != chat.CallSeed("turn_1", "b", began.Add(1)) {
		t.Error("a turn that is kept has two seeds")
	}
	if got := chat.CallID("", 3); got != "call_3" {
		t.Errorf("the third call of a turn without a seed is %q", got)
	}
	if a, b := chat.CallID(seed, 1), chat.CallID(seed, 11); a == b || !strings.HasPrefix(a, "call_"+seed) {
		t.Errorf("two calls of one turn are %q and %q", a, b)
	}
	for _, foreign := range []string{"", "call_1", seed + "_1", "call_" + seed + "-1", "call_" + seed + "_", "call_" + seed + "_-1", "call_" + seed + "a_1", "call_" + seed[1:] + "_1", "call_abc", "call_" + seed, id + "x", "call_" + strings.ToUpper(seed) + "_1", "toolu_1"} {
		if chat.MadeCallID(foreign) {
			t.Errorf("%q is one of ours", foreign)
		}
	}
}

func TestConversationIDOf(t *testing.T) {
	t.Parallel()
	for own, want := range map[string]string{
		"": "", "conv_1": "conv_1", "6f1c8a52-0000-4000-8000-000000000000": "6f1c8a52-0000-4000-8000-000000000000",
		"Ab-9_": "conv_Ab-9_", "a b": "conv_c8687a08aa5d6ed2044328fa6a697ab8", strings.Repeat("x", 513): "",
		strings.Repeat("x", 64): "conv_" + strings.Repeat("x", 64), strings.Repeat("x", 65): "conv_" + hashOf(strings.Repeat("x", 65)),
		strings.Repeat("x", 512): "conv_" + hashOf(strings.Repeat("x", 512)), "conv_": "conv_conv_", "conv_é": "conv_" + hashOf("conv_é"),
	} {
		got, wrong := chat.ConversationIDOf(own)
		if got != want || (wrong != nil) != (len(own) > 512) {
			t.Errorf("%.20q: %q, %v; want %q", own, got, wrong, want)
		}
	}
}

// hashOf is the first half of the SHA-256 of an id, in hexadecimal.
func hashOf(id string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(id)))[:32] }

// What a model has signed takes the place of what its client says of the same calls, and of those
// alone.
func TestRestore(t *testing.T) {
	t.Parallel()
	made := chat.CallID(chat.CallSeed("", "r", time.Time{}), 1)
	call := func(id, name, arguments, signature string) chat.Part {
		return chat.Part{Call: &tool.Call{ID: id, Name: name, Arguments: []byte(arguments)}, Signature: signature}
	}
	signed := chat.Message{Role: chat.RoleModel, Maker: "m", Parts: []chat.Part{{Text: "Hm.", Thought: true, Signature: "s0"}, call("a", "alarm", `{"n": 1}`, "s1"), call(made, "alarm", "{}", "")}}
	for name, tt := range map[string]struct {
		said []chat.Part
		want bool
	}{
		"the same":          {[]chat.Part{call("a", "alarm", `{"n":1}`, ""), call("", "alarm", "{}", "")}, true},
		"one of them":       {[]chat.Part{call("a", "alarm", "{}", "")}, false},
		"another id":        {[]chat.Part{call("b", "alarm", "{}", ""), call("", "alarm", "{}", "")}, false},
		"another name":      {[]chat.Part{call("a", "alert", "{}", ""), call("", "alarm", "{}", "")}, false},
		"no call at all":    {[]chat.Part{{Text: "Hm."}}, false},
		"in another order":  {[]chat.Part{call("", "alarm", "{}", ""), call("a", "alarm", "{}", "")}, false},
		"with another text": {[]chat.Part{{Text: "x"}, call("a", "alarm", "{}", ""), call("", "alarm", "{}", "")}, true},
	} {
		app := chat.Application{Continues: []chat.Message{{Role: chat.RoleModel, Maker: chat.ClientOrigin, Origin: chat.ClientOrigin, Parts: tt.said}, {Role: chat.RoleUser, Origin: chat.ClientOrigin}}}
		app.Restore(signed)
		m := app.Continues[0]
		restored := m.Maker == "m" && len(m.Parts) == 3 && m.Parts[0].Signature == "s0" && m.Parts[1].Signature == "s1" && m.Parts[1].Call.ID == "a" && m.Parts[2].Call.ID == ""
		if restored != tt.want || m.Origin != chat.ClientOrigin || !tt.want && m.Maker != chat.ClientOrigin || signed.Parts[2].Call.ID != made {
			t.Errorf("%s: %+v", name, m)
		}
	}
}
