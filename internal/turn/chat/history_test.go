package chat_test

import (
	stdjson "encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/turn/chat"
)

const mark = " […]"

func user(text string) chat.HistoryMessage {
	return chat.HistoryMessage{Role: chat.RoleUser, Text: text}
}
func assistant(text string) chat.HistoryMessage {
	return chat.HistoryMessage{Role: chat.RoleModel, Text: text}
}

// exchangeStarts returns n exchanges whose messages have size code points each.
func exchangeStarts(n, size int) (list []chat.HistoryMessage) {
	for i := range n {
		list = append(list, user(sized("q", i, size)), assistant(sized("a", i, size)))
	}
	return list
}

func sized(name string, i, size int) string {
	text := fmt.Sprintf("%s%d", name, i)
	return text + strings.Repeat("ж", max(size-len(text), 0))
}

// texts is a conversation as it was reported; it panics at what is not text.
func texts(messages []chat.Message) (list []chat.HistoryMessage) {
	for _, m := range messages {
		if len(m.Parts) != 1 || m.Parts[0].Call != nil || m.Parts[0].Result != nil || m.Parts[0].Thought {
			panic(fmt.Sprintf("unfit message %+v", m))
		}
		list = append(list, chat.HistoryMessage{Role: m.Role, Text: m.Parts[0].Text})
	}
	return list
}

func TestPruneHistory(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ж", 32_000)
	many := exchangeStarts(30, 10)
	for _, tt := range []struct {
		name    string
		said    []chat.HistoryMessage
		want    []chat.HistoryMessage
		dropped int
	}{
		{"nothing", nil, nil, 0},
		{"one exchange", []chat.HistoryMessage{user("a"), assistant("b")}, []chat.HistoryMessage{user("a"), assistant("b")}, 0},
		{"a question alone", []chat.HistoryMessage{user("a")}, []chat.HistoryMessage{user("a")}, 0},

		{"control characters are stripped", []chat.HistoryMessage{user("a\x00\u0085b\tc\r\n"), assistant("\x7fd ")}, []chat.HistoryMessage{user("ab\tc\r\n"), assistant("d ")}, 0},
		{"what is empty after stripping is left out", []chat.HistoryMessage{user("a"), assistant("\x00"), user(" \n"), assistant("b")}, []chat.HistoryMessage{user("a"), assistant("b")}, 0},
		{"the assistant's before the user's first are left out", []chat.HistoryMessage{assistant("x"), user(" "), assistant("y"), user("a")}, []chat.HistoryMessage{user("a")}, 0},
		{"the assistant alone", []chat.HistoryMessage{assistant("x")}, nil, 0},

		{"32,000 code points stay", []chat.HistoryMessage{user(long)}, []chat.HistoryMessage{user(long)}, 0},
		{"32,001 are cut, the mark included", []chat.HistoryMessage{user(long + "ж")}, []chat.HistoryMessage{user(long[:2*31_996] + mark)}, 0},
		{"stripped before they are counted", []chat.HistoryMessage{user(long + "\x00")}, []chat.HistoryMessage{user(long)}, 0},
		{"emoji are not split", []chat.HistoryMessage{user(strings.Repeat("😀", 32_001))}, []chat.HistoryMessage{user(strings.Repeat("😀", 31_996) + mark)}, 0},

		{"one role in a row is joined", []chat.HistoryMessage{user("a"), user("b"), assistant("c"), assistant("d"), assistant("e")},
			[]chat.HistoryMessage{user("a\n\nb"), assistant("c\n\nd\n\ne")}, 0},
		{"joined over what is empty", []chat.HistoryMessage{user("a"), assistant(""), user("b")}, []chat.HistoryMessage{user("a\n\nb")}, 0},
		{"cut before they are joined", []chat.HistoryMessage{user(long + "ж"), user("b")}, []chat.HistoryMessage{user(long[:2*31_996] + mark + "\n\nb")}, 0},

		{"50 messages stay", exchangeStarts(25, 10), exchangeStarts(25, 10), 0},
		{"the oldest exchanges go, until half is left", many[:52], many[28:52], 28},
		{"then none goes until the bound", many, many[28:], 28},
		{"51: whole exchanges go, not half of one", append(exchangeStarts(25, 10), user("z")), append(exchangeStarts(25, 10)[26:], user("z")), 26},
		{"64,000 code points stay", exchangeStarts(2, 16_000), exchangeStarts(2, 16_000), 0},
		{"one more, and half of them stay at most", append(exchangeStarts(2, 16_000), user("z")), []chat.HistoryMessage{user("z")}, 4},
		{"only as many as must", exchangeStarts(9, 4_000), exchangeStarts(9, 4_000)[10:], 10},

		{"the newest is cut, not dropped", []chat.HistoryMessage{user("old"), assistant("old"), user(long), user(long), assistant(long)},
			[]chat.HistoryMessage{user(long[:2*31_996] + mark), assistant(long)}, 2},
		{"its longer message", []chat.HistoryMessage{user("a"), assistant(long), assistant(long)}, []chat.HistoryMessage{user("a"), assistant(long + "\n\n" + long[:2*31_993] + mark)}, 0},
		{"both, if one is not enough", []chat.HistoryMessage{user(long), user(long), user(long), assistant(long), assistant(long)},
			[]chat.HistoryMessage{user(long[:2*31_996] + mark), assistant(long[:2*31_996] + mark)}, 0},
		{"a question alone that is too long", []chat.HistoryMessage{user("old"), assistant("old"), user(long), user(long)},
			[]chat.HistoryMessage{user(long + "\n\n" + long[:2*31_994] + mark)}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			messages, p := chat.PruneHistory(tt.said)
			if diff := cmp.Diff(tt.want, texts(messages)); diff != "" {
				t.Errorf("PruneHistory (-want +got):\n%.2000s", diff)
			}
			want := chat.Pruning{Kept: len(tt.want), Dropped: tt.dropped, Chars: lengthOf(tt.want)}
			if p != want {
				t.Errorf("Pruning is %+v, want %+v", p, want)
			}
		})
	}
}

func lengthOf(said []chat.HistoryMessage) (n int) {
	for _, s := range said {
		n += utf8.RuneCountInString(s.Text)
	}
	return n
}

// pruneSlowly follows the rules in their own order, one pass for each, on code points.
func pruneSlowly(said []chat.HistoryMessage) (list []chat.HistoryMessage, dropped int) {
	for _, s := range said { // clean, cut
		text := []rune(controls.ReplaceAllString(s.Text, ""))
		if strings.TrimSpace(string(text)) == "" || len(list) == 0 && s.Role == chat.RoleModel {
			continue
		}
		if len(text) > 32_000 {
			text = append(text[:32_000-4:32_000-4], []rune(mark)...)
		}
		list = append(list, chat.HistoryMessage{Role: s.Role, Text: string(text)})
	}
	for i := 1; i < len(list); i++ { // join
		if list[i].Role == list[i-1].Role {
			list[i-1].Text += "\n\n" + list[i].Text
			list = append(list[:i], list[i+1:]...)
			i--
		}
	}
	for end := 1; end <= len(list); end++ { // drop: roles alternate, the user's first
		if exchange := end%2 == 1 && end < len(list); exchange {
			continue
		}
		newest := (end - 1) / 2 * 2
		if shown := list[dropped:end]; len(shown) <= 50 && lengthOf(shown) <= 64_000 {
			continue
		}
		for dropped < newest && (end-dropped > 25 || lengthOf(list[dropped:end]) > 32_000) {
			dropped += 2
		}
	}
	if list = list[dropped:]; lengthOf(list) > 64_000 {
		cutNewest(list)
	}
	return list, dropped
}

// cutNewest takes from the end of whichever message is longer, until they fit.
func cutNewest(list []chat.HistoryMessage) {
	room := make([]int, len(list))
	for i := range list {
		room[i] = utf8.RuneCountInString(list[i].Text)
	}
	if len(list) == 1 {
		room[0] = 64_000
	} else {
		short := min(room[0], room[1], 32_000)
		for i := range room {
			room[i] = min(room[i], 64_000-short)
		}
	}
	for i := range list {
		if text := []rune(list[i].Text); len(text) > room[i] {
			list[i].Text = string(text[:room[i]-4]) + mark
		}
	}
}

// Random conversations, many of them at the limits, are pruned as the slow way does it.
func TestPruneHistoryAgainstTheRules(t *testing.T) {
	t.Parallel()
	for seed := range uint64(150) {
		said := conversation(rand.New(rand.NewPCG(seed, 10)))
		want, dropped := pruneSlowly(said)
		messages, p := chat.PruneHistory(said)
		if diff := cmp.Diff(want, texts(messages)); diff != "" {
			t.Fatalf("seed %d (-want +got):\n%.2000s", seed, diff)
		}
		if w := (chat.Pruning{Kept: len(want), Dropped: dropped, Chars: lengthOf(want)}); p != w {
			t.Fatalf("seed %d: %+v, want %+v", seed, p, w)
		}
	}
}

func conversation(r *rand.Rand) (said []chat.HistoryMessage) {
	pieces := []string{"a", "ж", "😀", "\u0085", "\x00", " ", "\n", "é"}
	sizes := []int{0, 1, 3, 200, 2_000, 8_000, 31_999, 32_001, 50_000}
	biggest := 1 + r.IntN(len(sizes))
	for range r.IntN(90 / (1 + biggest/5*5)) {
		piece := pieces[r.IntN(len(pieces))]
		s := chat.HistoryMessage{Role: chat.RoleUser, Text: strings.Repeat(piece, sizes[r.IntN(biggest)]) + pieces[r.IntN(len(pieces))]}
		if r.IntN(2) == 0 {
			s.Role = chat.RoleModel
		}
		said = append(said, s)
	}
	return said
}

// An unanswered message at the end of the history is one with the input.
func TestRequestMessages(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		said []chat.HistoryMessage
		want []chat.HistoryMessage
	}{
		{"no history", nil, []chat.HistoryMessage{user("now")}},
		{"answered", []chat.HistoryMessage{user("a"), assistant("b")}, []chat.HistoryMessage{user("a"), assistant("b"), user("now")}},
		{"not answered", []chat.HistoryMessage{user("a"), assistant("b"), user("c")}, []chat.HistoryMessage{user("a"), assistant("b"), user("c\n\nnow")}},
		{"nothing but a question", []chat.HistoryMessage{user("c")}, []chat.HistoryMessage{user("c\n\nnow")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			req := chat.Request{Input: "now"}
			req.History, req.Pruning = chat.PruneHistory(tt.said)
			before := texts(req.History)
			for range 2 { // asking changes nothing
				if diff := cmp.Diff(tt.want, texts(req.Messages())); diff != "" {
					t.Errorf("Messages (-want +got):\n%s", diff)
				}
			}
			if diff := cmp.Diff(before, texts(req.History)); diff != "" {
				t.Errorf("Messages changed the history (-before +after):\n%s", diff)
			}
		})
	}
}

func TestDecodeHistoryAccepts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, history string
		want          []chat.HistoryMessage
	}{
		{"null", `null`, nil},
		{"empty", `[]`, nil},
		{"an exchange", `[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]`, []chat.HistoryMessage{user("a"), assistant("b")}},
		{"in any order, with escapes", `[ { "content" : "\ud83d\ude00\u0000" , "r\u006fle" : "us\u0065r" } ]`, []chat.HistoryMessage{user("😀")}},
		{"an empty message", `[{"role":"user","content":""},{"role":"user","content":"a"}]`, []chat.HistoryMessage{user("a")}},
		{"unknown members", `[{"id":7,"role":"user","parts":[{"a":{"a":[]}}],"":null,"content":"a","Role":"system"}]`, []chat.HistoryMessage{user("a")}},
		{"deep in what is not known", `[{"role":"user","content":"a","x":` + strings.Repeat("[", 9990) + strings.Repeat("]", 9990) + `}]`, []chat.HistoryMessage{user("a")}},
		{"1000 messages", `[` + strings.Repeat(`{"role":"user","content":" "},`, 999) + `{"role":"user","content":"a"}]`, []chat.HistoryMessage{user("a")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, body := range []string{`{"input":"now","history":` + tt.history + `}`, `{"history":` + tt.history + `,"input":"now"}`} {
				got, err := chat.DecodeRequest([]byte(body))
				if err != nil {
					t.Fatalf("DecodeRequest: %v", err)
				}
				if diff := cmp.Diff(tt.want, texts(got.History)); diff != "" || got.Input != "now" || !got.Accumulated {
					t.Errorf("history of %+v (-want +got):\n%s", got, diff)
				}
			}
		})
	}
}

// A request that names its history may be longer, and one that brings one along wants no
// other: null is named, and is none.
func TestRequestThatBringsItsHistory(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		body       string
		names, has bool
	}{
		{`{"input":"now"}`, false, false},
		{`{"input":"now","history":null}`, true, false},
		{`{"input":"now","history":[]}`, true, true},
		{`{"input":"now","history":[{"role":"user","content":"a"}]}`, true, true},
		{`{"user_id":null,"retention_days":null,"context":null,"history":[],"input":"now"}`, true, true},
		{`{"input":"now","x":{"history":[]},"History":[],"history\ud83d":[]}`, false, false},
		{`{"history":[],"input":7}`, true, false},
		{`{"history":7,"input":"now"}`, true, false},
		{`{"history":[{}],"input":"now"}`, true, false},
		{`{"history":[`, true, false},
		{`{"history"`, false, false},
		{`{"input":,"history":[]}`, false, false},
	} {
		got, _ := chat.DecodeRequest([]byte(tt.body))
		if got.NamesHistory != tt.names || got.HasHistory != tt.has {
			t.Errorf("%s: names a history: %v, brings one: %v; want %v, %v", tt.body, got.NamesHistory, got.HasHistory, tt.names, tt.has)
		}
	}
}

// The faults are written "pointer code", one after the other.
func TestDecodeHistoryRejects(t *testing.T) {
	t.Parallel()
	const ok = `{"role":"user","content":"a"}`
	for _, tt := range []struct{ name, history, want string }{
		{"a string", `"a"`, "/history wrong_type"},
		{"a number", `1`, "/history wrong_type"},
		{"true", `true`, "/history wrong_type"},
		{"an object", `{"role":"user","content":"a"}`, "/history wrong_type"},
		{"an object with a duplicate key", `{"a":1,"a":1}`, "/history duplicate_key"},
		{"a string with a lone surrogate", `"\ud83d"`, "/history wrong_type"},

		{"null within", `[null]`, "/history/0 wrong_type"},
		{"numbers", `[1,2]`, "/history/0 wrong_type, /history/1 wrong_type"},
		{"strings", `["a"]`, "/history/0 wrong_type"},
		{"arrays", `[` + ok + `,[]]`, "/history/1 wrong_type"},

		{"nothing in it", `[{}]`, "/history/0/role required, /history/0/content required"},
		{"no role", `[{"content":"a"}]`, "/history/0/role required"},
		{"no content", `[{"role":"user"}]`, "/history/0/content required"},
		{"role null", `[{"role":null,"content":"a"}]`, "/history/0/role wrong_type"},
		{"role a number", `[{"role":1,"content":"a"}]`, "/history/0/role wrong_type"},
		{"content null", `[{"role":"user","content":null}]`, "/history/0/content wrong_type"},
		{"content of parts", `[{"role":"user","content":[{"type":"text","text":"a"}]}]`, "/history/0/content wrong_type"},
		{"system", `[{"role":"system","content":"a"}]`, "/history/0/role unsupported"},
		{"other roles", `[` + ok + `,{"role":"model","content":"a"},{"role":"tool","content":"a"},{"role":"User","content":"a"},{"role":"","content":"a"}]`,
			"/history/1/role unsupported, /history/2/role unsupported, /history/3/role unsupported, /history/4/role unsupported"},

		{"bytes that are not UTF-8", "[" + ok + ",{\"role\":\"user\",\"content\":\"\xff\"}]", "/history/1/content invalid_utf8"},
		{"lone surrogate in a role", `[{"role":"\udc00","content":"a"}]`, "/history/0/role invalid_utf8"},
		{"lone surrogate in a key", `[{"role":"user","content":"a","\ud83d":1}]`, "/history/0 invalid_utf8"},
		{"bytes that are not UTF-8 in what is not known", "[{\"role\":\"user\",\"content\":\"a\",\"x\":[\"\xff\"]}]", "/history/0/x/0 invalid_utf8"},
		{"invalid UTF-8", "[{\"role\":\"user\",\"content\":\"\xff\"}]", "/history/0/content invalid_utf8"},
		{"role twice", `[{"role":"user","role":"user","content":"a"}]`, "/history/0/role duplicate_key"},
		{"content twice", `[{"role":"user","content":"a","c\u006fntent":"a"}]`, "/history/0/content duplicate_key"},
		{"an unknown key twice", `[{"role":"user","content":"a","x":1,"x":1}]`, "/history/0/x duplicate_key"},
		{"a duplicate key further in", `[{"role":"user","content":"a","x":{"y":1,"y":1}}]`, "/history/0/x duplicate_key"},
		{"each place", `[{"role":"system","content":1},null,{"role":"user"}]`,
			"/history/0/role unsupported, /history/0/content wrong_type, /history/1 wrong_type, /history/2/content required"},

		{"1001 messages", `[` + strings.Repeat(ok+",", 1000) + ok + `]`, "/history too_long"},
		{"1001 of anything", `[` + strings.Repeat(ok+",", 1000) + `null]`, "/history too_long"},
		{"history twice", `[],"history":[]`, "/history duplicate_key"},
		{"deep", `[` + strings.Repeat("[", 20_000), " invalid_json"},
		{"deep in a message", `[{"content":` + strings.Repeat(`{"a":`, 20_000), " invalid_json"},
		{"cut", `[{"role":"user","content":"a"},`, " invalid_json"},
		{"cut in a message", `[{"role":"user",`, " invalid_json"},
		{"cut behind a fault", `[null,{"role":"user",`, "/history/0 wrong_type,  invalid_json"},
		{"not closed", `[{"role":"user","content":"a"}}`, " invalid_json"},
		{"trailing comma", `[` + ok + `,]`, " invalid_json"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := chat.DecodeRequest([]byte(`{"input":"now","history":` + tt.history + `}`))
			if diff := cmp.Diff(tt.want, faults(t, err)); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
			if got.Input != "" || got.History != nil {
				t.Errorf("a rejected request is not zero: %+v", got)
			}
		})
	}
}

// Other fields are judged too, and a history full of faults does not hide theirs.
func TestHistoryFaultsAreBounded(t *testing.T) {
	t.Parallel()
	_, err := chat.DecodeRequest([]byte(`{"history":[` + strings.Repeat("null,", 1500) + `null],"user_id":1}`))
	got := faults(t, err)
	if n := strings.Count(got, "/history/"); n != 16 || !strings.HasSuffix(got, "/history too_long, /user_id wrong_type, /input required") {
		t.Errorf("got %s", got)
	}
}

// Whatever comes: no panic, and what is accepted is within the limits, says what
// encoding/json and the slow way say of it, and is the same when sent again.
func FuzzHistory(f *testing.F) {
	for _, s := range []string{
		`[{"role":"user","content":"a"},{"role":"assistant","content":"b\u0000"}]`, `[{"role":"user","content":"\ud83d\ude00"},{"role":"user","content":"\n"}]`,
		`null`, `[]`, `[null]`, `[{}]`, `[{"role":"system","content":""}]`, `[{"role":"user","content":"\ud83d"}]`, `[{"role":"user","role":"user"}]`, `[[[[`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, history []byte) {
		body := append(append([]byte(`{"input":"now","history":`), history...), '}')
		r, err := chat.DecodeRequest(body)
		if err != nil {
			checkFaults(t, err)
			return
		}
		var judge struct {
			History []struct{ Role, Content string } `json:"history"`
		}
		if err := stdjson.Unmarshal(body, &judge); err != nil {
			t.Skip() // it takes keys without regard to case
		}
		sent := make([]chat.HistoryMessage, len(judge.History))
		for i, m := range judge.History {
			sent[i] = assistant(m.Content)
			if m.Role == "user" {
				sent[i].Role = chat.RoleUser
			}
		}
		want, dropped := pruneSlowly(sent)
		if diff := cmp.Diff(want, texts(r.History)); diff != "" && !otherCase(history) || r.Pruning.Dropped != dropped && !otherCase(history) {
			t.Errorf("%+v (-slow +got):\n%s", r.Pruning, diff)
		}
		checkKept(t, r.Request)
		again, _ := chat.PruneHistory(texts(r.History))
		if diff := cmp.Diff(r.History, again); diff != "" {
			t.Errorf("pruned again (-first +second):\n%s", diff)
		}
	})
}

// otherCase says that encoding/json may take a member for one that it is not.
func otherCase(history []byte) bool {
	var list []map[string]any
	_ = stdjson.Unmarshal(history, &list)
	for _, m := range list {
		for name := range m {
			if name != "role" && name != "content" && (strings.EqualFold(name, "role") || strings.EqualFold(name, "content")) {
				return true
			}
		}
	}
	return false
}

func checkKept(t *testing.T, r chat.Request) {
	t.Helper()
	chars := 0
	for i, s := range texts(r.History) {
		chars += utf8.RuneCountInString(s.Text)
		if (s.Role == chat.RoleUser) != (i%2 == 0) || strings.TrimSpace(s.Text) == "" || !utf8.ValidString(s.Text) || controls.MatchString(s.Text) {
			t.Errorf("message %d is %+v", i, s)
		}
	}
	if len(r.History) > 50 || chars > 64_000 || r.Pruning.Kept != len(r.History) || r.Pruning.Chars != chars {
		t.Errorf("kept %d messages of %d code points, %+v", len(r.History), chars, r.Pruning)
	}
}

// BenchmarkDecodeHistory reads 64,000 code points of history: in ASCII, in two bytes
// each, in many messages. Plain is what encoding/json takes for the same bodies, which
// is the measure: three times that is too slow.
func BenchmarkDecodeHistory(b *testing.B) {
	bodies := map[string][]byte{}
	for name, said := range map[string][]chat.HistoryMessage{
		"ascii": {user(strings.Repeat("x", 32_000)), assistant(strings.Repeat("y", 32_000))},
		"wide":  exchangeStarts(2, 16_000),
		"many":  exchangeStarts(25, 1_280),
		"1000":  exchangeStarts(500, 64),
	} {
		bodies[name] = bodyWith(b, said)
	}
	for name, body := range bodies {
		b.Run(name+"/read", func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := chat.DecodeRequest(body); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/plain", func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				var plain struct {
					Input   string
					History []struct{ Role, Content string }
				}
				if err := stdjson.Unmarshal(body, &plain); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func bodyWith(tb testing.TB, said []chat.HistoryMessage) []byte {
	tb.Helper()
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	body := struct {
		Input   string    `json:"input"`
		History []message `json:"history"`
	}{Input: "now"}
	for _, s := range said {
		role := "assistant"
		if s.Role == chat.RoleUser {
			role = "user"
		}
		body.History = append(body.History, message{role, s.Text})
	}
	data, err := stdjson.Marshal(body)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}
