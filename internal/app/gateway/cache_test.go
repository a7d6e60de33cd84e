package gateway_test

import (
	"bytes"
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
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/mcpclient"
)

// keeper is a provider that keeps prompts: how one of the protocols is spoken to, and what it says
// of a request's order.
type keeper struct {
	name  string
	spec  model.Spec
	open  func(model.Spec, model.Options) (*model.Model, error)
	read  func(model.Object) *sent
	rule  string // of the provider's cache, for the price of a conversation
	brief bool   // long conversations are measured with the other protocol of the rule
}

// keepers returns the four protocols, each at its provider's own host.
func keepers() []keeper {
	at := func(provider, api, endpoint, name string) model.Spec {
		return model.Spec{Key: "default", Provider: provider, API: api, Endpoint: endpoint, Model: name, First: time.Minute, Idle: time.Minute}
	}
	return []keeper{
		{"gemini", at("gemini", "", gemini.DefaultBaseURL, "gemini-2.5-flash"), gemini.New, readContents, "recent prefix", false},
		{"chat", at("openai", "chat", "https://api.openai.com/v1/chat/completions", "m"), openai.New, readChat, "any prefix", false},
		{"responses", at("openai", "responses", "https://api.openai.com/v1/responses", "m"), openai.New, readItems, "any prefix", false},
		{"messages", at("anthropic", "", "https://api.anthropic.com/v1/messages", "m"), anthropic.New, readBlocks, "marked", false},
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
	choice   string   // which tool is to be called
	exact    bool     // nothing is kept without a mark
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

// whole appends messages of one block, or of several parts that are a block each.
func (p *sent) whole(messages []jsontext.Value) {
	for _, m := range messages {
		parts := model.Elements(model.Members(m).Get("content"))
		if len(parts) == 0 {
			p.block(string(m))
		}
		for _, part := range parts {
			p.block(string(model.Members(m).Get("role")) + string(part))
		}
		p.messages = append(p.messages, markOf.ReplaceAllString(string(m), ""))
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

var markOf = regexp.MustCompile(`,"(cache_control|prompt_cache_breakpoint)":\{[^}]*\}`)

func readContents(body model.Object) *sent {
	p := new(sent)
	p.begin(body.Get("tools"), body.Get("systemInstruction"))
	p.add(model.Elements(body.Get("contents")), "parts")
	return p
}

func readChat(body model.Object) *sent {
	p := &sent{exact: body.Get("prompt_cache_options") != nil}
	p.begin(model.Elements(body.Get("tools"))...)
	p.whole(model.Elements(body.Get("messages")))
	return p
}

func readItems(body model.Object) *sent {
	p := &sent{exact: body.Get("prompt_cache_options") != nil}
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
