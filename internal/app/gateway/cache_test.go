package gateway_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"sluice/internal/app/gateway"
	"sluice/internal/engine/agent"
	"sluice/internal/model"
	"sluice/internal/model/anthropic"
	"sluice/internal/model/gemini"
	"sluice/internal/model/openai"
	"sluice/internal/sim/geminisim"
	"sluice/internal/sim/modelsim"
	"sluice/internal/sim/todo"
	"sluice/internal/state/store/memory"
	"sluice/internal/state/task/conversation"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/mcpclient"
	"sluice/stream"
)

// keeper is a provider that keeps prompts: how one of the protocols is spoken to, and what it says
// of a request's order.
type keeper struct {
	name string
	spec model.Spec
	open func(model.Spec, model.Options) (*model.Model, error)
	read func(model.Object) *sent
	// least is the shortest beginning that is kept, in tokens.
	least int
	// most is the price of a conversation, as a part of that with the time in front.
	most float64
}

// keepers returns the four protocols, each at its provider's own host.
func keepers() []keeper {
	at := func(provider, api, endpoint, name string) model.Spec {
		return model.Spec{Key: "default", Provider: provider, API: api, Endpoint: endpoint, Model: name, First: time.Minute, Idle: time.Minute}
	}
	return []keeper{
		{"gemini", at("gemini", "", gemini.DefaultBaseURL, "gemini-2.5-flash"), gemini.New, readContents, 2048, 0.25},
		{"chat", at("openai", "chat", "https://api.openai.com/v1/chat/completions", "m"), openai.New, readChat, 1024, 0.31},
		{"responses", at("openai", "responses", "https://api.openai.com/v1/responses", "m"), openai.New, readItems, 1024, 0.31},
		{"messages", at("anthropic", "", "https://api.anthropic.com/v1/messages", "m"), anthropic.New, readBlocks, 1024, 0.25},
	}
}

// sent is what a provider reads of a request, in the order in which it keeps it: tools, system
// prompt, messages.
type sent struct {
	at       time.Time
	head     []string
	messages []string
	blocks   []string // of head and messages; what a mark may end
	marks    []int    // of blocks, the last of a part that is kept
	key      string
	choice   string // which tool is to be called
}

// add appends messages of several blocks each.
func (p *sent) add(messages []jsontext.Value, blocks string) {
	for _, m := range messages {
		for _, b := range model.Elements(model.Members(m).Get(blocks)) {
			p.block(string(model.Members(m).Get("role")) + string(b))
		}
		p.messages = append(p.messages, markOf.ReplaceAllString(string(m), ""))
	}
}

// whole appends messages that are a block each.
func (p *sent) whole(messages []jsontext.Value) {
	for _, m := range messages {
		p.block(string(m))
		p.messages = append(p.messages, string(m))
	}
}

// begin appends what stands before all messages.
func (p *sent) begin(parts ...jsontext.Value) {
	for _, b := range parts {
		if len(b) > 0 {
			p.block(string(b))
			p.head = append(p.head, markOf.ReplaceAllString(string(b), ""))
		}
	}
}

// block appends a block without its mark.
func (p *sent) block(text string) {
	if plain := markOf.ReplaceAllString(text, ""); plain != text {
		p.marks, text = append(p.marks, len(p.blocks)), plain
	}
	p.blocks = append(p.blocks, text)
}

var markOf = regexp.MustCompile(`,"cache_control":\{[^}]*\}`)

func readContents(body model.Object) *sent {
	p := new(sent)
	p.begin(body.Get("tools"), body.Get("systemInstruction"))
	p.add(model.Elements(body.Get("contents")), "parts")
	return p
}

func readChat(body model.Object) *sent {
	p := &sent{key: string(body.Get("prompt_cache_key"))}
	p.begin(model.Elements(body.Get("tools"))...)
	p.whole(model.Elements(body.Get("messages")))
	return p
}

func readItems(body model.Object) *sent {
	p := &sent{key: string(body.Get("prompt_cache_key"))}
	p.begin(append(model.Elements(body.Get("tools")), body.Get("instructions"))...)
	p.whole(model.Elements(body.Get("input")))
	return p
}

func readBlocks(body model.Object) *sent {
	p := &sent{choice: string(body.Get("tool_choice"))}
	p.begin(append(model.Elements(body.Get("tools")), model.Elements(body.Get("system"))...)...)
	p.add(model.Elements(body.Get("messages")), "content")
	return p
}

// says is a model behind a simulator.
type says func(geminisim.Question) geminisim.Answer

func (says) Version() string                                { return "m" }
func (s says) Answer(q geminisim.Question) geminisim.Answer { return s(q) }

// serve returns a model over a simulator of the protocol, which refuses what its provider would
// refuse. Each prompt is handed to saw.
func (k *keeper) serve(t *testing.T, answers says, saw func(*sent)) *model.Model {
	t.Helper()
	var server interface {
		http.Handler
		Failures() []string
	} = modelsim.New(modelsim.Config{Model: answers})
	if k.name == "gemini" {
		server = geminisim.New(geminisim.Config{Model: answers})
	}
	m, err := k.open(k.spec, model.Options{Transport: carries(func(r *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		p := k.read(model.Members(body))
		p.at = time.Now()
		saw(p)
		r.Body = io.NopCloser(bytes.NewReader(body))
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		for _, f := range server.Failures() {
			t.Errorf("%s: %s", k.name, f)
		}
		return w.Result(), nil
	})})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// carries is a transport that stays in the process.
type carries func(*http.Request) (*http.Response, error)

func (c carries) RoundTrip(r *http.Request) (*http.Response, error) { return c(r) }

// shelf is a set of tools of some size.
func shelf() *finds {
	f := new(finds)
	for i := range 8 {
		f.set.Specs = append(f.set.Specs, tool.Spec{Name: fmt.Sprint("find", i), Description: strings.Repeat("Finds things. ", 30), InputSchema: jsontext.Value(`{"type":"object"}`), Annotations: tool.Annotations{ReadOnly: true, Idempotent: true}})
	}
	return f
}

// steps counts the answers with calls behind the user's newest input.
func steps(q *geminisim.Question) (n int) {
	for _, m := range slices.Backward(q.Messages) {
		if m.Model && len(m.Calls) > 0 {
			n++
		} else if !m.Model && len(m.Results) == 0 && !strings.HasPrefix(m.Text, "Added by the gateway") {
			break
		}
	}
	return n
}

// In whatever a turn does, each model call's messages begin with all those of the call before, in
// the bytes that are sent, and tools and system prompt are the same.
func TestCallsOfATurnBeginAlike(t *testing.T) {
	t.Parallel()
	for _, k := range keepers() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(40) {
				var calls []*sent
				r := rand.New(rand.NewPCG(seed, 1))
				limit := 1 + r.IntN(5)
				answers := func(q geminisim.Question) geminisim.Answer {
					a := geminisim.Answer{Thoughts: []string{"Hm."}, Text: "Well."}
					if n := 1 + r.IntN(3); q.MayCall && r.IntN(6) > 0 {
						a.Text = ""
						for i := range n {
							a.Calls = append(a.Calls, geminisim.Call{Name: fmt.Sprint("find", r.IntN(8)), Args: jsontext.Value(fmt.Sprintf(`{"n":%d}`, i+10*steps(&q)))})
						}
					}
					return a
				}
				m := k.serve(t, answers, func(p *sent) { calls = append(calls, p) })
				req := &chat.Request{Input: "Find it", UserID: "ann"}
				if r.IntN(2) > 0 {
					req.UserName, req.ConversationID = "Ann", "conv_1"
					req.History = []chat.Message{{Role: chat.RoleUser, Parts: []chat.Part{{Text: "Hi"}}}, {Role: chat.RoleModel, Parts: []chat.Part{{Text: "Hi."}}}}
					req.Pruning.Dropped = r.IntN(2)
				}
				if _, err := agent.New(agent.Config{Model: m, Tools: shelf(), MaxSteps: limit, Origin: agent.Origin("a", k.spec.Key, k.spec.Model)}).Run(t.Context(), req, dropped{}); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				for i, now := range calls[1:] {
					before := calls[i]
					if diff := cmp.Diff(before.head, now.head); diff != "" {
						t.Fatalf("seed %d, call %d: tools and system prompt (-before +now):\n%s", seed, i+2, diff)
					}
					if n := len(before.messages); len(now.messages) <= n {
						t.Fatalf("seed %d, call %d has %d messages, the one before %d", seed, i+2, len(now.messages), n)
					} else if diff := cmp.Diff(before.messages, now.messages[:n]); diff != "" {
						t.Fatalf("seed %d, call %d does not begin as the one before (-before +now):\n%s", seed, i+2, diff)
					}
				}
			}
		})
	}
}

// The line of the time, and what belongs to the moment, in the bytes of each protocol.
func TestLineOfTheTimeIsSent(t *testing.T) {
	t.Parallel()
	const said = `Now it is Saturday, 2000-01-01, 09:30 in the time zone Asia/Kolkata (UTC+05:30).\n\nHi`
	want := map[string][]string{
		"gemini":    {`{"role":"user","parts":[{"text":"` + said + `"},{"text":"MOMENT"}]}`},
		"chat":      {`{"role":"user","content":"` + said + `"}`, `{"role":"user","content":"MOMENT"}`},
		"responses": {`{"type":"message","role":"user","content":[{"type":"input_text","text":"` + said + `"},{"type":"input_text","text":"MOMENT"}]}`},
		"messages":  {`{"role":"user","content":[{"type":"text","text":"` + said + `"},{"type":"text","text":"MOMENT"}]}`},
	}
	moment := regexp.MustCompile(`Added by the gateway, not by the user:[^"]*Ann[^"]*`)
	for _, k := range keepers() {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(4 * time.Hour)
			var got []string
			m := k.serve(t, func(geminisim.Question) geminisim.Answer { return geminisim.Answer{Text: "Hi."} }, func(p *sent) {
				got = p.messages[len(p.messages)-len(want[k.name]):]
				if strings.Contains(strings.Join(p.head, ""), "2000") {
					t.Errorf("%s: the system prompt has the time", k.name)
				}
			})
			req := &chat.Request{Input: "Hi", Location: time.FixedZone("Asia/Kolkata", 5*3600+1800)}
			req.UserName = "Ann"
			if _, err := agent.New(agent.Config{Model: m, Tools: shelf()}).Run(t.Context(), req, dropped{}); err != nil {
				t.Fatal(err)
			}
			for i := range got {
				got[i] = moment.ReplaceAllString(got[i], "MOMENT")
			}
			if diff := cmp.Diff(want[k.name], got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", k.name, diff)
			}
		})
	}
}

// bill is what a provider charges for the input of a call, in tokens of the full price.
type bill struct {
	price         float64
	total, cached int // tokens
}

// charger is a provider's rule of prefixes.
type charger interface {
	charge(p *sent) bill
}

const (
	tokenBytes   = 4    // of a prompt in a token, about
	cachedPrice  = 0.1  // of what was kept, with all three providers
	writtenPrice = 1.25 // of what Messages keeps for five minutes
	keptFor      = 5 * time.Minute
)

// size returns the tokens of blocks.
func size(blocks []string) (n int) {
	for _, b := range blocks {
		n += len(b)
	}
	return n / tokenBytes
}

// marked is the rule of Messages: what ends with a mark is kept, if it is long enough; a mark finds
// what was kept up to itself or to one of the 20 blocks in front of it. Whether tools may be called
// is part of what is kept of the messages.
type marked struct {
	t     *testing.T
	least int
	until map[string]time.Time // of a kept beginning
}

func (m *marked) charge(p *sent) bill {
	const most, back = 4, 20
	if len(p.marks) > most {
		m.t.Errorf("%d marks, the API takes %d", len(p.marks), most)
	}
	beginning := func(last int) string {
		key := strings.Join(p.blocks[:last+1], "\x00")
		if last >= len(p.head) {
			key += p.choice
		}
		return key
	}
	read, written := 0, 0
	for _, mark := range p.marks {
		for last := mark; last >= 0 && last > mark-back; last-- {
			if key := beginning(last); m.until[key].After(p.at) {
				read, m.until[key] = max(read, size(p.blocks[:last+1])), p.at.Add(keptFor)
				break
			}
		}
	}
	for _, mark := range p.marks {
		if n := size(p.blocks[:mark+1]); n >= m.least {
			m.until[beginning(mark)], written = p.at.Add(keptFor), max(written, n)
		}
	}
	total := size(p.blocks)
	written = max(written, read)
	return bill{price: cachedPrice*float64(read) + writtenPrice*float64(written-read) + float64(total-written), total: total, cached: read}
}

// unasked is the rule of providers that keep by themselves: the longest beginning that a prompt
// has in common with one before it, in steps of so many tokens. With OpenAI the first tokens and
// the key say which machine a prompt meets, and what is more than 15 a minute meets another one.
type unasked struct {
	least, step int
	routed      bool
	kept        map[string][]*sent // by machine
	met         map[string]int     // prompts of a minute, by machine
}

func (u *unasked) charge(p *sent) bill {
	const first, aMinute = 256 * tokenBytes, 15
	all := strings.Join(p.blocks, "\x00")
	machine := ""
	if u.routed {
		machine = all[:min(first, len(all))] + p.key
		minute := fmt.Sprint(p.at.Unix()/60, machine)
		machine += fmt.Sprint(u.met[minute] / aMinute)
		u.met[minute]++
	}
	read := 0
	for _, k := range u.kept[machine] {
		if p.at.Sub(k.at) < keptFor {
			read = max(read, inCommon(strings.Join(k.blocks, "\x00"), all)/tokenBytes/u.step*u.step)
		}
	}
	if read < u.least {
		read = 0
	}
	u.kept[machine] = append(u.kept[machine], p)
	total := len(all) / tokenBytes
	return bill{price: cachedPrice*float64(read) + float64(total-read), total: total, cached: read}
}

// inCommon returns how many bytes a begins with as b does.
func inCommon(a, b string) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// rule returns the rule of the provider, with nothing kept.
func (k *keeper) rule(t *testing.T) charger {
	if k.name == "messages" {
		return &marked{t: t, least: k.least, until: map[string]time.Time{}}
	}
	u := &unasked{least: k.least, step: 128, routed: k.name != "gemini", kept: map[string][]*sent{}, met: map[string]int{}}
	if !u.routed {
		u.step = 1
	}
	return u
}

// dateInFront sends prompts as they would be with the time in the system prompt: no message has a
// line of it, turns leave the history one by one, and of the cache nothing is asked but for tools
// and system prompt.
type dateInFront struct{ *model.Model }

func (d dateInFront) Stream(ctx context.Context, req *chat.ModelRequest, yield func(*chat.Chunk) error) error {
	own := *req
	own.Of, own.System = nil, req.System+"\n\n"+chat.LineIn(req.Messages)
	own.Messages = slices.Clone(newest(req.Messages))
	for i := range own.Messages {
		if m := &own.Messages[i]; m.Spoken() {
			m.Parts = slices.Clone(m.Parts)
			if _, text, ok := strings.Cut(m.Parts[0].Text, ").\n\n"); ok {
				m.Parts[0].Text = text
			}
		}
	}
	return d.Model.Stream(ctx, &own, yield)
}

// newest returns the newest turns that memory's default of messages has room for, and the one that
// runs.
func newest(messages []chat.Message) []chat.Message {
	first, input := 0, 0
	for i, m := range slices.Backward(messages) {
		if !m.Spoken() {
			continue
		}
		if input == 0 {
			input = i
		} else if input-i > conversation.DefaultMaxMessages {
			break
		}
		first = i
	}
	return messages[first:]
}

// account is what a conversation cost.
type account struct {
	calls  []bill
	short  []bool   // calls that are too short for the rule
	misses []string // each with its reason
}

// price returns the price of the calls that the rule allows to be cheap.
func (a *account) price(short []bool) (price, full float64) {
	for i, b := range a.calls {
		if !short[i] {
			price, full = price+b.price, full+float64(b.total)
		}
	}
	return price, full
}

// why says why less than half of a prompt was kept; empty: for no reason that is known. short says
// that the rule allows no more.
func (k *keeper) why(before, now *sent) (reason string, short bool) {
	switch {
	case before == nil:
		return "the first call", true
	case !slices.Equal(before.head, now.head):
		return "tools or system prompt differ", false
	case k.first(before) != k.first(now):
		return "a block left memory", false
	case before.choice != now.choice:
		return "other tools may be called", false
	case inCommon(strings.Join(before.blocks, ""), strings.Join(now.blocks, ""))/tokenBytes < k.least:
		return fmt.Sprintf("its beginning is below %d tokens", k.least), true
	}
	return "", false
}

// first returns what the first message of the user's begins with, its time among it.
func (k *keeper) first(p *sent) string {
	i := len(p.head)
	if k.name == "chat" {
		i++ // the system prompt is a message
	}
	return p.blocks[i][:min(150, len(p.blocks[i]))]
}

// todoTools returns the tools of the built-in todo server.
func todoTools(t *testing.T) *finds {
	t.Helper()
	store, err := todo.Open(t.Context(), todo.Config{Path: gateway.InMemory})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	c, err := mcpclient.New(mcpclient.Config{Version: "test", Servers: []mcpclient.Server{{Name: "todo", Transport: mcpclient.InProcess, InProcess: todo.NewServer(store, "test")}}})
	if err != nil {
		t.Fatal(err)
	}
	c.Start(t.Context())
	f := &finds{*c.Tools(t.Context())}
	if err := c.Close(); err != nil || len(f.set.Specs) != 4 {
		t.Fatalf("%d tools: %v", len(f.set.Specs), err)
	}
	return f
}

// converse has a conversation of 60 turns, a minute apart, a tool in each third, and returns what
// its input cost. A name of the user's stands with the moment.
func (k *keeper) converse(t *testing.T, tools *finds, user string, front bool) *account {
	t.Helper()
	s := memory.New(memory.Config{})
	defer func() { _ = s.Close() }()
	var sum account
	var before *sent
	rule, turn := k.rule(t), 0
	m := k.serve(t, func(q geminisim.Question) geminisim.Answer {
		if turn%3 == 0 && steps(&q) == 0 {
			return geminisim.Answer{Calls: []geminisim.Call{{Name: "list_todos", Args: jsontext.Value(`{}`)}}}
		}
		return geminisim.Answer{Text: strings.Repeat("answer ", 43)}
	}, func(p *sent) {
		b, short := rule.charge(p), false
		if 2*b.cached < b.total {
			reason := ""
			if reason, short = k.why(before, p); reason == "" && !front {
				t.Errorf("%s, turn %d: %d of %d tokens were kept, for no reason", k.name, turn+1, b.cached, b.total)
			}
			sum.misses = append(sum.misses, fmt.Sprintf("turn %d: %s (%d of %d tokens kept)", turn+1, reason, b.cached, b.total))
		}
		sum.calls, sum.short, before = append(sum.calls, b), append(sum.short, short), p
	})
	var asked agent.Model = m
	var spec conversation.Spec
	if front {
		asked, spec = dateInFront{m}, conversation.Spec{MaxMessages: 5000, MaxTokens: 1_000_000}
	}
	r := conversation.New(conversation.Config{Store: s, Spec: spec}).Around(agent.New(agent.Config{Model: asked, Tools: tools, Origin: agent.Origin("a", k.spec.Key, k.spec.Model)}))
	for turn = range 60 {
		req := &chat.Request{Input: fmt.Sprintf("question %d, asked with some words", turn), ConversationID: "conv_1", UserID: "ann"}
		req.UserName = user
		if result, err := r.Run(t.Context(), req, dropped{}); err != nil || result.Reason != stream.Stop {
			t.Fatalf("%s, turn %d: %v %v", k.name, turn, result.Reason, err)
		}
		time.Sleep(time.Minute)
	}
	return &sum
}

// What a conversation costs by the published rules: of the full price, and of that of a prompt with
// the time in front, a quarter at most. With OpenAI it is a little more of the latter: tools and
// system prompt in front of the time were long enough to be kept already. Calls that are too short
// for the rule do not count; each of which less than half was kept is named.
func TestPriceOfAConversation(t *testing.T) {
	t.Parallel()
	tools := todoTools(t)
	for _, k := range keepers() {
		for _, user := range []string{"", "Ann"} {
			t.Run(k.name+user, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					front, now := k.converse(t, tools, user, true), k.converse(t, tools, user, false)
					if len(front.calls) != 80 || len(now.calls) != 80 {
						t.Fatalf("%d and %d calls", len(front.calls), len(now.calls))
					}
					before, _ := front.price(now.short)
					price, full := now.price(now.short)
					t.Logf("%.3f of the price with the time in front, %.3f of the full price\n%s", price/before, price/full, strings.Join(now.misses, "\n"))
					if price > k.most*before || price > full/4 {
						t.Errorf("%.3f of the price with the time in front, want %.2f; %.3f of the full price, want 0.25", price/before, k.most, price/full)
					}
				})
			})
		}
	}
}
