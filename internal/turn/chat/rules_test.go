package chat_test

import (
	"bytes"
	stdjson "encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// calling is a message of the model with a call and its result.
func calling(text string, calls ...chat.HistoryCall) chat.HistoryMessage {
	return chat.HistoryMessage{Role: chat.RoleModel, Text: text, Calls: calls}
}

// called is a call of a tool "t" with an id, and its result.
func called(id, arguments, result string) chat.HistoryCall {
	return chat.HistoryCall{
		Call:   tool.Call{ID: id, Name: "t", Arguments: []byte(arguments)},
		Result: tool.Result{ID: id, Name: "t", Text: result},
	}
}

// Calls stay with their results, as the rules have it, and end the message that they stand in.
func TestPruneCalls(t *testing.T) {
	t.Parallel()
	args := func(n int) string { return `{"a":"` + strings.Repeat("x", n-len(`{"a":""}`)) + `"}` }
	var many []chat.HistoryCall
	for _, id := range strings.Split("1 2 3 4 5 6 7 8 9", " ") {
		many = append(many, called(id, `{}`, "r"+id))
	}
	for _, tt := range []struct {
		name  string
		rules chat.HistoryRules
		said  []chat.HistoryMessage
		want  []string
	}{
		{"a call ends a message", chat.HistoryRules{}, []chat.HistoryMessage{user("a"), calling("b", called("1", `{}`, "r")), assistant("c"), assistant("d")},
			[]string{"user a", "model b", "model calls 1 t {}", "user result 1 t r", "model c\n\nd"}},
		{"words in front of it are joined", chat.HistoryRules{}, []chat.HistoryMessage{user("a"), assistant("b"), calling("c", called("1", `{}`, "r")), user("d")},
			[]string{"user a", "model b\n\nc", "model calls 1 t {}", "user result 1 t r", "user d"}},
		{"none are wanted", chat.HistoryRules{NoCalls: true}, []chat.HistoryMessage{user("a"), calling("b", called("1", `{}`, "r")), assistant("c")}, []string{"user a", "model b\n\nc"}},
		{"none are wanted, and nothing is said", chat.HistoryRules{NoCalls: true}, []chat.HistoryMessage{user("a"), calling("", called("1", `{}`, "r")), user("b")}, []string{"user a\n\nb"}},
		{"a user has no calls", chat.HistoryRules{}, []chat.HistoryMessage{{Role: chat.RoleUser, Text: "a", Calls: many[:1]}}, []string{"user a"}},
		{"calls before the user's first", chat.HistoryRules{}, []chat.HistoryMessage{calling("x", many[0]), user("a")}, []string{"user a"}},
		{"arguments of 4 KiB", chat.HistoryRules{}, []chat.HistoryMessage{user("a"), calling("", called("1", args(4096), "r"))}, []string{"user a", "model calls 1 t " + args(4096), "user result 1 t r"}},
		{"one byte more", chat.HistoryRules{}, []chat.HistoryMessage{user("a"), calling("b", called("1", args(4097), "r"), many[1])}, []string{"user a", "model b", "model calls 2 t {}", "user result 2 t r2"}},
		{"a result of 2 KiB", chat.HistoryRules{}, []chat.HistoryMessage{user("a"), calling("", called("1", `{}`, strings.Repeat("é", 1024)))},
			[]string{"user a", "model calls 1 t {}", "user result 1 t " + strings.Repeat("é", 1024)}},
		{"a longer one is cut at a code point", chat.HistoryRules{}, []chat.HistoryMessage{user("a"), calling("", called("1", `{}`, "x"+strings.Repeat("é", 1024)))},
			[]string{"user a", "model calls 1 t {}", "user result 1 t x" + strings.Repeat("é", 1023) + mark}},
		{"the last eight, of one message", chat.HistoryRules{}, []chat.HistoryMessage{user("a"), calling("b", many...)}, append(append([]string{"user a", "model b"}, eight("model calls %s t {}")...), eight("user result %s t r%s")...)},
		{"and of several", chat.HistoryRules{}, []chat.HistoryMessage{user("a"), calling("", many[0]), user("b"), calling("", many[1:]...)},
			append(append([]string{"user a\n\nb"}, eight("model calls %s t {}")...), eight("user result %s t r%s")...)},
		{"a call counts with its exchange", chat.HistoryRules{Messages: 2}, []chat.HistoryMessage{user("a"), calling("", many[0]), assistant("b"), user("c"), assistant("d")}, []string{"user c", "model d"}},
		{"and with its length", chat.HistoryRules{Chars: 1000}, []chat.HistoryMessage{user("a"), calling("", called("1", args(500), strings.Repeat("x", 497))), user("c"), assistant("d")}, []string{"user c", "model d"}},
		{"just within it", chat.HistoryRules{Chars: 1000}, []chat.HistoryMessage{user("a"), calling("", called("1", args(500), strings.Repeat("x", 496))), user("c"), assistant("d")},
			[]string{"user a", "model calls 1 t " + args(500), "user result 1 t " + strings.Repeat("x", 496), "user c", "model d"}},
		{"calls that fill the newest exchange go", chat.HistoryRules{Chars: 1000}, []chat.HistoryMessage{user("a"), calling("b", called("1", args(900), strings.Repeat("x", 496))), assistant("c")}, []string{"user a", "model b\n\nc"}},
		{"and leave no empty message", chat.HistoryRules{Chars: 1000}, []chat.HistoryMessage{user("a"), calling("", called("1", args(900), strings.Repeat("x", 496))), assistant("c")}, []string{"user a", "model c"}},
		{"they go before a question is cut short", chat.HistoryRules{Chars: 1000}, []chat.HistoryMessage{user(strings.Repeat("ж", 300)), calling("b", called("1", args(900), "r"))}, []string{"user " + strings.Repeat("ж", 300), "model b"}},
		{"those that take more than half of a share", chat.HistoryRules{Chars: 1000}, []chat.HistoryMessage{user("a"), calling(strings.Repeat("ж", 700), called("1", args(300), "r"))},
			[]string{"user a", "model " + strings.Repeat("ж", 700)}},
		{"short ones stay beside a text that is cut", chat.HistoryRules{Chars: 1000}, []chat.HistoryMessage{user("a"), calling(strings.Repeat("ж", 1200), called("1", `{}`, "r"))},
			[]string{"user a", "model " + strings.Repeat("ж", 991) + mark, "model calls 1 t {}", "user result 1 t r"}},
		{"a message of another bound", chat.HistoryRules{Message: 5000}, []chat.HistoryMessage{user(strings.Repeat("ж", 5001)), assistant(strings.Repeat("x", 5000))},
			[]string{"user " + strings.Repeat("ж", 4996) + mark, "model " + strings.Repeat("x", 5000)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			messages, p := tt.rules.Prune(tt.said)
			if diff := cmp.Diff(tt.want, shown(messages)); diff != "" {
				t.Errorf("Prune (-want +got):\n%.2000s", diff)
			}
			if diff := cmp.Diff(sizeOf(messages), p.Chars); diff != "" {
				t.Errorf("Pruning.Chars (-counted +got):\n%s", diff)
			}
			for _, m := range messages {
				if called := m.Parts[len(m.Parts)-1]; (called.Call != nil || called.Result != nil) != (m.Origin == chat.ClientOrigin) {
					t.Errorf("the origin of %v is %q", shown([]chat.Message{m}), m.Origin)
				}
			}
		})
	}
}

// eight repeats a line for the calls 2 to 9.
func eight(line string) (lines []string) {
	for _, id := range strings.Split("2 3 4 5 6 7 8 9", " ") {
		lines = append(lines, strings.ReplaceAll(line, "%s", id))
	}
	return lines
}

// sizeOf is what messages count for.
func sizeOf(messages []chat.Message) (n int) {
	for _, m := range messages {
		for _, p := range m.Parts {
			n += len([]rune(p.Text))
			if p.Call != nil {
				n += len([]rune(p.Call.Name)) + len([]rune(string(p.Call.Arguments)))
			}
			if p.Result != nil {
				n += len([]rune(p.Result.Text))
			}
		}
	}
	return n
}

// What a request brings counts as the operator has it; null brings none.
func TestBring(t *testing.T) {
	t.Parallel()
	said := []chat.HistoryMessage{user("a"), assistant("b"), user("c"), assistant("d")}
	for _, tt := range []struct {
		name    string
		rules   chat.HistoryRules
		brings  bool
		has     bool
		want    []string
		pruning chat.Pruning
	}{
		{"as the request says", chat.HistoryRules{}, true, true, []string{"user a", "model b", "user c", "model d"}, chat.Pruning{Kept: 4, Chars: 4}},
		{"the request brings none", chat.HistoryRules{}, false, false, nil, chat.Pruning{}},
		{"only the store's counts", chat.HistoryRules{Source: chat.HistoryOfStore}, true, false, nil, chat.Pruning{}},
		{"each turn by itself", chat.HistoryRules{Source: chat.HistoryOfNone}, true, true, nil, chat.Pruning{}},
		{"each turn by itself, without any", chat.HistoryRules{Source: chat.HistoryOfNone}, false, true, nil, chat.Pruning{}},
		{"no messages at all", chat.HistoryRules{Messages: -1}, true, true, nil, chat.Pruning{Dropped: 4}},
		{"fewer messages", chat.HistoryRules{Messages: 3}, true, true, []string{"user c", "model d"}, chat.Pruning{Kept: 2, Dropped: 2, Chars: 2}},
		{"one, and the newest exchange stays", chat.HistoryRules{Messages: 1}, true, true, []string{"user c", "model d"}, chat.Pruning{Kept: 2, Dropped: 2, Chars: 2}},
	} {
		var req chat.Request
		tt.rules.Bring(&req, said, tt.brings)
		if diff := cmp.Diff(tt.want, shown(req.History)); diff != "" || req.HasHistory != tt.has || req.Pruning != tt.pruning {
			t.Errorf("%s: has %v, %+v (-want +got):\n%s", tt.name, req.HasHistory, req.Pruning, diff)
		}
	}
}

// The rules of the operator hold for our own protocol's history too.
func TestDecodeRequestByRules(t *testing.T) {
	t.Parallel()
	body := []byte(`{"input":"now","history":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}`)
	for _, tt := range []struct {
		rules chat.HistoryRules
		want  []string
	}{
		{chat.HistoryRules{Messages: 2}, []string{"user c"}},
		{chat.HistoryRules{Source: chat.HistoryOfStore}, nil},
		{chat.HistoryRules{}, []string{"user a", "model b", "user c"}},
	} {
		got, err := tt.rules.DecodeRequest(body)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, shown(got.History)); diff != "" || !got.NamesHistory {
			t.Errorf("%+v (-want +got):\n%s", tt.rules, diff)
		}
	}
}

// skipping is what the standard library takes to read a body into nothing.
func skipping(b *testing.B, body []byte) time.Duration {
	b.Helper()
	const rounds = 50
	began := time.Now()
	for range rounds {
		var nothing struct{}
		if err := stdjson.Unmarshal(body, &nothing); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(began) / rounds
}

// BenchmarkHistory decodes, cleans and prunes 50 messages of 64,000 code points in all. The measure
// is x-json, the standard library reading the same body into nothing: three times that is too
// slow. Skip is the decoder that this one is built on, reading its tokens.
func BenchmarkHistory(b *testing.B) {
	for name, said := range map[string][]chat.HistoryMessage{"ascii": asciiExchanges(25, 1_280), "wide": exchangeStarts(25, 1_280)} {
		body := bodyWith(b, said)
		b.Run(name+"/prune", func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				got, err := chat.DecodeRequest(body)
				if err != nil || got.Pruning != (chat.Pruning{Kept: 50, Chars: 64_000}) {
					b.Fatal(err, got.Pruning)
				}
			}
			b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(skipping(b, body)), "x-json")
		})
		b.Run(name+"/skip", func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				dec := jsontext.NewDecoder(bytes.NewReader(body))
				for {
					if _, err := dec.ReadToken(); err == io.EOF {
						break
					} else if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// asciiExchanges is exchanges, in ASCII.
func asciiExchanges(n, size int) []chat.HistoryMessage {
	list := exchangeStarts(n, size)
	for i := range list {
		list[i].Text = strings.ReplaceAll(list[i].Text, "ж", "x")
	}
	return list
}
