//go:build unix

package gateway_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/rs/zerolog"

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/settings"
	"sluice/internal/base/testnet"
	"sluice/internal/state/store"
	"sluice/internal/state/store/redis/redistest"
	"sluice/internal/state/task"
	"sluice/stream"
)

// Further variables of the process that is killed in a turn.
const (
	crashModel = "SLUICE_TEST_CRASH_MODEL" // URL of its model
	crashInput = "SLUICE_TEST_CRASH_INPUT" // what it is asked
	crashMore  = "SLUICE_TEST_CRASH_MORE"  // of its configuration file
)

// shop is what a turn works with: a model that does what the input says, and a server that
// counts what it is asked to do.
type shop struct {
	mu         sync.Mutex // guards the fields below
	paid       map[int]int
	rejected   map[int]bool // somebody has said that they were not paid
	looked     int
	model, mcp string // URLs
	written    int    // how many answers to "deliver it": no two are alike
	// delivered are the texts that the webhook got, by the id of the message: each once.
	delivered map[string][]string
	// hold has the names of those that do not go on before they are let: model, in its second answer,
	// and bank.
	// What is reached is in held.
	hold string
	held chan struct{}
	let  chan struct{}
}

// wait waits to be let go on, if that is what is held.
func (s *shop) wait(what string) {
	if strings.Contains(s.hold, what) {
		s.held <- struct{}{}
		<-s.let
	}
}

func openShop(t *testing.T) *shop {
	s := &shop{paid: map[int]int{}, rejected: map[int]bool{}, delivered: map[string][]string{}}
	no, yes := false, true
	m := server.NewMCPServer("bank", "1", server.WithToolCapabilities(true))
	m.AddTool(mcp.NewTool("pay", mcp.WithToolAnnotation(mcp.ToolAnnotation{ReadOnlyHint: &no, DestructiveHint: &yes, IdempotentHint: &no}), mcp.WithNumber("amount")),
		func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			s.wait("bank")
			s.mu.Lock()
			defer s.mu.Unlock()
			n := req.GetInt("amount", 0)
			s.paid[n]++
			return mcp.NewToolResultText(fmt.Sprint("paid ", n)), nil
		})
	m.AddTool(mcp.NewTool("look", mcp.WithToolAnnotation(mcp.ToolAnnotation{ReadOnlyHint: &yes, DestructiveHint: &no})),
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.looked++
			return mcp.NewToolResultText("there is milk"), nil
		})
	bank, gemini := httptest.NewServer(server.NewStreamableHTTPServer(m, server.WithStateLess(true))), httptest.NewServer(s)
	t.Cleanup(bank.Close)
	t.Cleanup(gemini.Close)
	s.model, s.mcp = gemini.URL, bank.URL+"/mcp"
	return s
}

// has says whether an amount was paid.
func (s *shop) has(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.paid[n] > 0
}

// deliver is the webhook.
func (s *shop) deliver(id string, body []byte) {
	var message struct {
		Data struct{ Content string }
	}
	_ = json.Unmarshal(body, &message)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.delivered[id], message.Data.Content) {
		s.delivered[id] = append(s.delivered[id], message.Data.Content)
	}
}

// ServeHTTP is the model, and the webhook.
func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	asked, _ := io.ReadAll(r.Body)
	if r.URL.Path == "/hook" {
		w.Header().Set("Connection", "close") // nothing is left open in the process that sent it
		s.deliver(r.Header.Get("webhook-id"), asked)
		return
	}
	results := bytes.Count(asked, []byte(`"functionResponse"`))
	pay := func(n int) string { return fmt.Sprintf(`{"functionCall":{"name":"pay","args":{"amount":%d}}}`, n) }
	const look = `{"functionCall":{"name":"look","args":{}}}`
	parts := []string{`{"text":"All "}`, `{"text":"is "}`, `{"text":"done."}`}
	has := func(what string) bool { return bytes.Contains(asked, []byte(what)) }
	switch {
	case has("You plan how"):
		parts = []string{`{"text":"{\"criteria\":[{\"id\":\"planned\",\"description\":\"It says that all is done\"}],\"steps\":[]}"}`}
	case has("You check an answer"):
		pass := has("there is milk") && !has("A draft")
		parts = []string{fmt.Sprintf(`{"text":"{\"verdicts\":[{\"id\":\"honest\",\"passed\":%t,\"feedback\":\"f\"},{\"id\":\"planned\",\"passed\":%[1]t,\"feedback\":\"f\"}]}"}`, pass)}
	case has("You rewrite an answer"):
	case has("responseJsonSchema"):
		parts = []string{`{"text":"{\"agentId\":\"a\",\"confidence\":0.9,\"reasoning\":\"r\",\"additionalAgents\":[\"b\"]}"}`}
	case has("AGENT-A") && results == 0 && !has("delegate_to_b"):
		parts = []string{`{"text":"I pay."}`, pay(30)}
	case has("AGENT-A") && results == 0:
		parts = []string{`{"text":"I ask b."}`, `{"functionCall":{"name":"delegate_to_b","args":{"task":"Pay it"}}}`, look}
	case has("at length") && results > 0:
		parts = slices.Repeat([]string{fmt.Sprintf(`{"text":%q}`, strings.Repeat(phrase, 1000))}, 4)
	case has("AGENT-A"):
		parts = []string{`{"text":"A "}`, `{"text":"is done."}`}
	case has("AGENT-B") && results == 0 && has("Pay it"):
		parts = []string{pay(50)}
	case has("AGENT-B") && results == 0:
		parts = []string{`{"text":"I look."}`, look}
	case has("AGENT-B"):
		parts = []string{`{"text":"B "}`, `{"text":"is done."}`}
	case has("just talk"):
	case has("look around") && results == 0, has("hold at length") && results == 0:
		parts = []string{`{"text":"I look."}`, look}
	case has("pay once") && results == 0:
		parts = []string{`{"text":"I pay."}`, pay(30)}
	case has("hold it back") && results < 2, has("ask me first") && results < 2:
		parts = [][]string{{`{"text":"I look."}`, look}, {`{"text":"I pay."}`, pay(30)}}[results]
	case has("hold it back"):
		parts = []string{`{"text":"A "}`, `{"text":"draft."}`}
	case has("write a message") && results == 0:
		parts = []string{pay(30)}
	case has("write a message"):
		parts = []string{`{"text":"All is done, and it was a lot of work. "}`, `{"text":"Now there is nothing more to do."}`}
	case has("deliver it") && results == 0:
		parts = []string{pay(30)}
	case has("deliver it"):
		s.mu.Lock()
		s.written++
		parts = []string{fmt.Sprintf(`{"text":"Answer %d: all is done, and "}`, s.written), `{"text":"it was a lot of work."}`}
		s.mu.Unlock()
	case has("pay twice") && results == 0:
		parts = []string{pay(30), pay(40), look}
	case has("pay in two steps") && results < 2:
		parts = []string{`{"text":"Step."}`, pay(30 + results)}
	}
	if last := len(parts) - 1; has("at length") && strings.Contains(parts[last], "functionCall") {
		parts = parts[last:] // nothing of a text that is held back is saved
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for i, part := range parts {
		end := ""
		if i == len(parts)-1 {
			end = `,"finishReason":"STOP"`
		}
		_, _ = fmt.Fprintf(w, "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[%s]}%s}],\"modelVersion\":\"m\"}\r\n\r\n", part, end)
		w.(http.Flusher).Flush()
		if i == 1 && results > 0 {
			s.wait("model")
		}
	}
}

// crashedTurn is where the gateways of one turn that is killed keep what they keep.
type crashedTurn struct {
	crashing
	model, more, confirm string
}

func (c crashedTurn) gateway(t *testing.T, in store.Store) *wholetest.Flow {
	t.Helper()
	content := fmt.Sprintf("mcpServers: {bank: {url: %q}}\n%s", c.url, c.more)
	cfg, file := wholetest.Configured(t, content, map[string]string{"GEMINI_API_KEY": wholetest.Key, "GEMINI_BASE_URL": c.model, "SLUICE_CONFIRM": cmp.Or(c.confirm, "off"), "HOOK": "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"})
	g, err := gateway.New(t.Context(), settings.Config{Config: cfg, File: file, Version: "test"}, zerolog.New(io.Discard), gateway.Seams{Store: in})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	testnet.Eventually(t, "the agents can be asked", func() bool { // on a busy machine a card comes late
		w := httptest.NewRecorder()
		g.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/agents", nil))
		return !strings.Contains(w.Body.String(), `"available":false`)
	})
	return &wholetest.Flow{T: t, Gateway: g}
}

// TestTurnCrashChild is the process that is killed at one point of a turn. It reports all that
// its client sees.
func TestTurnCrashChild(t *testing.T) {
	if os.Getenv(crashModel) == "" {
		t.Skip("it is run by TestTurnsKilledAtEveryWrite")
	}
	var at int64
	_, _ = fmt.Sscan(os.Getenv(crashAt), &at)
	input := os.Getenv(crashInput)
	turn := killings[input]
	c := crashedTurn{crashing{os.Getenv(crashDir), os.Getenv(crashURL), os.Getenv(crashRedis)}, os.Getenv(crashModel), os.Getenv(crashMore), turn.confirm}
	in := c.open(t)
	t.Cleanup(func() { _ = in.Close() })
	f := c.gateway(t, breakable(in, at))
	wholetest.AwaitTools(t, f)
	if os.Getenv(crashText) != "" {
		dieInText(f, input)
		return
	}
	got := f.Serve("/chat/stream", fmt.Sprintf(`{"input":%q%s}`, input, turn.fields), os.Stdout)
	if turn.confirm != "" {
		var start struct {
			Task string `json:"task_id"`
		}
		wholetest.DataOf(t, got, "start", &start)
		got = f.Serve("/tasks/"+start.Task+"/decision", `{"action":"approve"}`, os.Stdout)
	}
	if !strings.Contains(got, `"finish_reason":"stop"`) {
		t.Fatal(got)
	}
}

// killing is a turn, and what it must have done in the end.
type killing struct {
	paid    []int
	text    string
	more    string // of the configuration file
	fields  string // of the request, besides its input
	confirm string // which calls a person must allow; empty: none
	parts   int    // in the form of its channel
}

// killings are turns by what is asked.
var killings = map[string]killing{
	"just talk":         {text: "All is done."},
	"look around":       {text: "I look.All is done."},
	"pay once":          {paid: []int{30}, text: "I pay.All is done."},
	"pay twice":         {paid: []int{30, 40}, text: "All is done."},
	"pay in two steps":  {paid: []int{30, 31}, text: "Step.Step.All is done."},
	"hold it back":      {paid: []int{30}, text: "All is done.", more: checking},
	"hold at length":    {text: strings.Repeat(phrase, 4000), more: checking},
	"several at length": {paid: []int{30}, text: strings.Repeat(phrase, 8000), more: teamOf("a b", checking)},
	"deliver it":        {paid: []int{30}, text: "Answer #: all is done, and it was a lot of work.", more: delivering, fields: `,"channel":"sms","deliver":true`, parts: 2},
	"write a message":   {paid: []int{30}, text: "All is done, and it was a lot of work. Now there is nothing more to do.", more: short, fields: `,"channel":"sms"`, parts: 2},
	"ask me first":      {paid: []int{30}, text: "I look.I pay.All is done.", confirm: "writes"},
	"one agent":         {paid: []int{30}, text: "I pay.A is done.", more: teamOf("a", "")},
	"several agents":    {paid: []int{30}, text: "I pay.A is done.I look.B is done.", more: teamOf("a b", "")},
	"ask another":       {paid: []int{50}, text: "I ask b.A is done.", more: delegating},
	"one by one":        {paid: []int{30}, text: "I pay.A is done.I look.B is done.", more: teamOf("a b", "dispatch: {mode: sequential}\n")},
}

// checking holds answers back until they are checked by what was asked for and by what the tools
// said. A draft does not pass.
const checking = "quality:\n  mode: enforce\n  drafts: always\n  plan: guide\n  criteria: [{id: honest, description: It says no more than there is}]\n"

// phrase is what makes up an answer for which the outputs of a turn have no room at once.
const phrase = "All is done, and well. "

// short is a channel with little room.
const short = "channels: {sms: {max_length: 40, max_segments: null, indicator: none}}\n"

// delivering is a channel with little room whose messages go to the shop.
const delivering = "channels: {sms: {max_length: 40, max_segments: null, indicator: none, deliver: {url: \"SHOP/hook\", secret: \"${HOOK}\"}}}\n"

// delegating is a team in which one agent calls another.
const delegating = "router: off\nagents:\n  a: {description: asks, prompt: AGENT-A, delegates: [b], tools: [bank]}\n  b: {description: looks, prompt: AGENT-B, tools: [bank]}\n"

// teamOf returns what a configuration file says of a team of these agents.
func teamOf(ids, more string) string {
	all := map[string]string{"a": "  a: {description: pays, prompt: AGENT-A, tools: [bank]}\n", "b": "  b: {description: looks, prompt: AGENT-B, tools: [bank]}\n"}
	more += "agents:\n"
	for id := range strings.FieldsSeq(ids) {
		more += all[id]
	}
	return more
}

// A turn whose process is killed at any of its writes goes on in the next one: nothing is paid
// twice, and its client, which comes back, has the text that the task has.
func TestTurnsKilledAtEveryWrite(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		killTurns(t, "")
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		killTurns(t, redistest.Start(t, "redis-server", os.Getenv("SLUICE_REQUIRE_PEERS") != "").Socket)
	})
}

func killTurns(t *testing.T, redis string) {
	places := make(chan struct{}, 6) // most of the time is a lease that ends
	var some sync.WaitGroup
	for input := range killings {
		some.Go(func() {
			t.Run(input, func(t *testing.T) {
				atEachPoint(t, places, 5, func(t *testing.T, at int) (over bool) { return turnKilledAt(t, redis, input, at) })
			})
		})
	}
	some.Wait()
}

// atEachPoint has a turn killed at each of its points, until it is over before the next one; at every
// so many of them where that takes long.
func atEachPoint(t *testing.T, places chan struct{}, step int, killed func(t *testing.T, at int) (over bool)) {
	t.Helper()
	if !testing.Short() && (!raceEnabled || os.Getenv(crashAll) != "") {
		step = 1
	}
	for at := 1; at < 100 && !t.Failed(); at += step {
		places <- struct{}{}
		over := false
		t.Run(fmt.Sprint("point ", at), func(t *testing.T) { over = killed(t, at) })
		<-places
		if over {
			if at < 6 {
				t.Errorf("a turn has %d points: they are not counted any more", at)
			}
			return
		}
	}
}

// kill has a process begin a turn that is killed at one of its points, and returns what its client got.
// over: the turn has fewer. more are further variables of the process.
func (c *crashedTurn) kill(t *testing.T, input string, at int, more ...string) (got []byte, over bool) {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c.dir = t.TempDir()
	if c.redis != "" { // names the keys
		c.dir = filepath.Join(c.dir, strings.NewReplacer("/", "-", " ", "-").Replace(t.Name()))
		if err := os.Mkdir(c.dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), path, "-test.run=^TestTurnCrashChild$")
	cmd.Env = append(os.Environ(), crashDir+"="+c.dir, fmt.Sprint(crashAt, "=", at), crashURL+"="+c.url, crashRedis+"="+c.redis,
		crashModel+"="+c.model, crashInput+"="+input, crashMore+"="+c.more)
	cmd.Env = append(cmd.Env, more...)
	got, err = cmd.CombinedOutput()
	if err == nil {
		return got, true
	}
	if cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("%v\n%s", err, got)
	}
	if bytes.Contains(got, []byte("WARNING: DATA RACE")) {
		t.Errorf("the process that was killed had a race:\n%s", got)
	}
	return got, false
}

// left opens what a killed process has left: its task, as if its lease had ended. id is empty if there is
// none.
func (c *crashedTurn) left(t *testing.T) (in store.Store, id string, first store.Task) {
	t.Helper()
	in = c.open(t)
	t.Cleanup(func() { _ = in.Close() })
	page, err := in.Tasks(t.Context(), store.Query{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	if len(page.IDs) == 0 {
		return in, "", first
	}
	id, first = page.IDs[0], page.Tasks[0]
	if c.redis != "" && first.Owner != "" {
		if err := in.ReleaseLease(t.Context(), first.Holder); err != nil {
			t.Fatal(err)
		}
	}
	return in, id, first
}

// turnKilledAt kills a process at one of its points, and goes on in this one. It returns true if
// the process had fewer.
func turnKilledAt(t *testing.T, redis, input string, at int) (over bool) {
	s := openShop(t)
	c := crashedTurn{crashing{"", s.mcp, redis}, s.model, "tasks: {lease: 3s}\n" + strings.ReplaceAll(killings[input].more, "SHOP", s.model), killings[input].confirm}
	got, over := c.kill(t, input, at)
	if over {
		return true
	}
	in, id, first := c.left(t)
	if id == "" {
		if strings.Contains(string(got), "event: ") {
			t.Errorf("nothing is kept of a turn that was told of:\n%s", got)
		}
		return false
	}
	f := c.gateway(t, in)
	s.finish(f, id, first.State == task.Completed, input, string(got))
	return false
}

// over waits for the end of a turn that was killed, and says what became of calls of which nobody
// knows.
func (s *shop) over(f *wholetest.Flow, id string) (last store.Task) {
	f.T.Helper()
	testnet.Eventually(f.T, "the turn is over", func() bool {
		var err error
		if last, err = f.Store().Task(f.T.Context(), id); err != nil {
			return false // the machine is busy
		}
		if last.State == task.InputRequired {
			s.say(f, id, last)
		}
		return last.State != task.Working && last.State != task.InputRequired
	})
	return last
}

// finish judges what became of a turn that was killed.
func (s *shop) finish(f *wholetest.Flow, id string, was bool, input, got string) {
	t := f.T
	t.Helper()
	first, err := f.Store().Task(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	last := s.over(f, id)
	if last.State != task.Completed {
		t.Fatalf("the task is %s: %s\n%s", last.State, last.Doc, got)
	}
	want := killings[input]
	for _, n := range want.paid {
		if s.rejected[n] && s.paid[n] <= 1 {
			continue
		}
		if s.paid[n] == 0 && want.more == delegating && strings.Contains(unknownOf(f, first.Turn), "pay") {
			continue // an agent that another one has called learns that nobody knows
		}
		if s.paid[n] != 1 {
			t.Errorf("%d was paid %d times", n, s.paid[n])
		}
	}
	items, err := f.Store().List(t.Context(), store.TurnKey(last.Turn), 0, 0)
	if err != nil || len(items) > 0 {
		t.Errorf("%v, and of the turn that is over %d items are left", err, len(items))
	}
	text, parts := "", 0
	for _, turn := range turnsOf(got, first.Turn, last.Turn) {
		said, n := logOfTurn(f, turn, !was)
		text, parts = text+said, parts+n
	}
	if parts != want.parts {
		t.Errorf("the log has %d parts, want %d", parts, want.parts)
	}
	if strings.Contains(want.text, "#") {
		s.wasDelivered(t, last.Turn, text)
		text = regexp.MustCompile(`[0-9]+`).ReplaceAllString(text, "#")
	}
	if strings.ReplaceAll(text, "\n\n", "") != want.text {
		t.Errorf("the log says %q, want %q", text, want.text)
	}
	s.resumes(f, got)
}

// wasDelivered checks that the webhook got the answer of a turn and no other, under one id.
func (s *shop) wasDelivered(t *testing.T, turn, text string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.delivered) != 1 || !slices.Equal(s.delivered["msg_"+turn], []string{text}) {
		t.Errorf("delivered were %q; the answer of %s is %q", s.delivered, turn, text)
	}
}

// turnsOf returns the turns of a task in their order: those of which its client saw something, and
// others, the last of which may be the same.
func turnsOf(got string, others ...string) (turns []string) {
	for line := range strings.Lines(got) {
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			turn, _, _ := strings.Cut(id, ":")
			turns = append(turns, turn)
		}
	}
	return slices.Compact(append(turns, others...))
}

// unknownOf returns the tools of a turn of whose calls nobody knows what became.
func unknownOf(f *wholetest.Flow, turn string) (names string) {
	log, err := f.Tasks().OpenLog(f.T.Context(), turn)
	if err != nil {
		f.T.Fatal(err)
	}
	_, _ = log.Past(f.T.Context(), func(ev stream.Event) {
		if lost, ok := ev.(*stream.ToolUnknown); ok {
			names += lost.Tool + " "
		}
	})
	return names
}

// say answers the question for which a task waits.
func (s *shop) say(f *wholetest.Flow, id string, waits store.Task) {
	var list struct {
		Approvals []struct {
			Kind  string
			Calls []struct {
				ID        string `json:"call_id"`
				Arguments struct{ Amount int }
			}
		}
	}
	log, err := f.Tasks().OpenLog(f.T.Context(), waits.Turn)
	if err != nil {
		f.T.Fatal(err)
	}
	ended := map[string]bool{}
	_, _ = log.Past(f.T.Context(), func(ev stream.Event) {
		if done, ok := ev.(*stream.ToolCompleted); ok {
			ended[done.ID] = true
		}
	})
	w := httptest.NewRecorder()
	f.ServeHTTP(w, httptest.NewRequestWithContext(f.T.Context(), http.MethodGet, "/approvals?conversation_id="+waits.Conversation, nil))
	if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil || len(list.Approvals) != 1 || list.Approvals[0].Kind != "outcome" && list.Approvals[0].Kind != "tool" {
		f.T.Fatalf("%v: %s of %s", err, w.Body, waits.Doc)
	}
	var calls []string
	for _, c := range list.Approvals[0].Calls {
		if ended[c.ID] {
			f.T.Errorf("it is asked what became of %s, whose result is known", c.ID)
		}
		action := `"action":"modify","result":"paid"`
		if list.Approvals[0].Kind == "tool" {
			action = `"action":"approve"`
		} else if !s.has(c.Arguments.Amount) { // it may still reach the bank
			action = `"action":"reject"`
			s.rejected[c.Arguments.Amount] = true
		}
		calls = append(calls, fmt.Sprintf(`{"call_id":%q,%s}`, c.ID, action))
	}
	body := `{"calls":[` + strings.Join(calls, ",") + `]}`
	if got := f.Serve("/tasks/"+id+"/decision", body, io.Discard); !strings.Contains(got, "event: done") {
		f.T.Fatalf("%s: %s\n%s", body, got, waits.Doc)
	}
}

// logOfTurn returns the text of a turn's log, whose numbers have gaps at takeovers alone.
func logOfTurn(f *wholetest.Flow, turn string, gaps bool) (text string, parts int) {
	t := f.T
	t.Helper()
	log, err := f.Tasks().OpenLog(t.Context(), turn)
	if err != nil {
		t.Fatalf("the log of %s: %v", turn, err)
	}
	last := 0
	calls := map[string]int{}
	for events, err := range log.Events(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if next := (last/1_000_000+1)*1_000_000 + 1; e.N != last+1 && e.N != next {
				t.Fatalf("event %d follows %d", e.N, last)
			}
			last = e.N
			if said := fmt.Sprintf("%+v", e.Event); strings.Contains(said, "draft") {
				t.Errorf("the log has %s", said)
			}
			switch ev := e.Event.(type) {
			case *stream.Delta:
				text += ev.Text
			case *stream.Reset:
				if !strings.HasPrefix(text, ev.Accumulated) || text == ev.Accumulated {
					t.Errorf("of %q stays %q", text, ev.Accumulated)
				}
				text = ev.Accumulated
			case *stream.ChannelMessage:
				if parts++; ev.Sequence != parts {
					t.Errorf("part %d is message %d", parts, ev.Sequence)
				}
			case *stream.ToolStarted:
				calls[ev.ID]++
			case *stream.Done:
				if gaps && last > 1_000_000 && ev.Takeovers != last/1_000_000 {
					t.Errorf("%d takeovers, and the last event is %d", ev.Takeovers, last)
				}
			}
		}
	}
	for id, n := range calls {
		if n != 1 {
			t.Errorf("the begin of %s was told %d times", id, n)
		}
	}
	return text, parts
}

// resumes checks that a client which saw the beginning of a turn has, when it comes back, the
// text of the turn by both of the rules.
func (s *shop) resumes(f *wholetest.Flow, got string) {
	t := f.T
	t.Helper()
	whole := got[:max(0, strings.LastIndex(got, "\n\n"))]
	after, client := "", new(reader)
	for frame := range strings.SplitSeq(whole, "\n\n") {
		if id := client.read(frame); id != "" {
			after = id
		}
	}
	if after != "" { // else it saw nothing, and asks again
		s.resumesFrom(f, client, after)
	}
}

// resumesFrom has a client come back.
func (s *shop) resumesFrom(f *wholetest.Flow, client *reader, after string) {
	t := f.T
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/chat/stream", nil)
	req.Header.Set("Last-Event-ID", after)
	w := httptest.NewRecorder()
	f.ServeHTTP(w, req)
	if w.Code == http.StatusNoContent && client.done {
		return
	}
	for frame := range strings.SplitSeq(w.Body.String(), "\n\n") {
		client.read(frame)
	}
	if !client.done || client.joined != client.accumulated || client.final != client.joined {
		t.Errorf("behind %s: %d %+v\n%s", after, w.Code, client, w.Body)
	}
}

// reader is a client that keeps the text by both rules.
type reader struct {
	joined, accumulated, final string
	done                       bool
}

// read takes a frame. It returns its id.
func (r *reader) read(frame string) (id string) {
	var event, data string
	for line := range strings.SplitSeq(frame, "\n") {
		name, value, _ := strings.Cut(line, ": ")
		switch name {
		case "id":
			id = value
		case "event":
			event = value
		case "data":
			data = value
		}
	}
	var d struct {
		Delta, Accumulated string
		Final              string `json:"final_output"`
	}
	if data == "" || json.Unmarshal([]byte(data), &d) != nil {
		return ""
	}
	switch event {
	case "start":
		*r = reader{}
	case "response_delta":
		r.joined, r.accumulated = r.joined+d.Delta, d.Accumulated
	case "response_reset":
		r.joined, r.accumulated = d.Accumulated, d.Accumulated
	case "done":
		r.final, r.done = d.Final, true
	}
	return id
}
