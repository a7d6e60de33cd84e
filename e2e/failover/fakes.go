// This file has the fakes that the judge believes: a model that follows the order in the request's
// text, and a tool server that counts. They run in the judge's process, so that their counts
// survive the kills of gateways and Redis.

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"sluice/e2e/scenario"
	"sluice/e2e/toolserver"
)

// order describes an answer of the fake model: a number of tool calls, one after the other, and
// then a number of words. It stands in the text of the request, so each turn carries its own
// script.
//
// It travels as text through gateways, stores and take-overs, and must come out the same.
type order struct {
	id    string // no other turn of the scenario has it; without spaces and colons
	calls int    // each in a step of its own
	words int    // at least 1, a chunk each
	every time.Duration
}

// String returns the order as the text of a request.
func (o order) String() string {
	return fmt.Sprintf("order %s: calls %d, words %d, every %dms", o.id, o.calls, o.words, o.every.Milliseconds())
}

// answerText returns the final answer of the model.
func (o order) answerText() (text string) {
	for n := 1; n < o.words; n++ {
		text += fmt.Sprintf("word%d ", n)
	}
	return text + "end."
}

// readOrder finds the order in a request to the model.
//
// A request without an order gets one word.
func readOrder(re *regexp.Regexp, body string) (o order) {
	m := re.FindStringSubmatch(body)
	if m == nil {
		return order{id: "none", words: 1}
	}
	o.id = m[1]
	o.calls, _ = strconv.Atoi(m[2])
	o.words, _ = strconv.Atoi(m[3])
	ms, _ := strconv.Atoi(m[4])
	o.every = time.Duration(ms) * time.Millisecond
	return o
}

// model is a simulator of the Gemini API: of its streaming call, as far as a gateway needs
// it. It stands in the process of the judge, so that its clock is the judge's.
type model struct {
	once  sync.Once
	order *regexp.Regexp
	// closed is when the gateway closed the request of an order before its end, a time.Time by
	// the order's id. A cancel that does not come so far costs money.
	closed sync.Map
}

// ServeHTTP answers as the order in the request says.
func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.once.Do(func() { m.order = regexp.MustCompile(`order (\S+): calls (\d+), words (\d+), every (\d+)ms`) })
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	o := readOrder(m.order, string(body))
	w.Header().Set("Content-Type", "text/event-stream")
	say := func(parts, end string) {
		fmt.Fprintf(w, `data: {"candidates":[{"content":{"role":"model","parts":[%s]},"index":0%s}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":2,"totalTokenCount":5}}`+"\n\n", parts, end)
		_ = http.NewResponseController(w).Flush()
	}
	// The results in the request say how far the order has come.
	if made := strings.Count(string(body), `"functionResponse"`); made < o.calls {
		say(fmt.Sprintf(`{"functionCall":{"name":"count","args":{"order":"%s.%d"}}}`, o.id, made+1), `,"finishReason":"STOP"`)
		return
	}
	for n := 1; n < o.words; n++ {
		say(fmt.Sprintf(`{"text":"word%d "}`, n), "")
		if o.every > 0 && scenario.Pause(r.Context(), o.every) != nil {
			m.closed.Store(o.id, time.Now())
			return
		}
	}
	say(`{"text":"end."}`, `,"finishReason":"STOP"`)
}

// tools are those of an MCP server. They change something, must not run twice, and count their
// calls: count by "order", refund by "amount". The judge believes them, whatever gateways say.
type tools struct {
	// hold is from when a call comes to its answer. It counts in the middle, so that a kill
	// finds calls that have not counted yet, and calls whose answer is lost.
	hold time.Duration

	mu    sync.Mutex     // guards the fields below
	calls map[string]int // by order or amount
	lasts map[string]calling
}

// calling is one call: when it came, and when its answer went out, or would have.
type calling struct{ came, answered time.Time }

// lastCall returns the last call of something that was called.
func (t *tools) lastCall(key string) calling {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lasts[key]
}

// countCalls returns how often something was called.
//
// 0: never.
func (t *tools) countCalls(key string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.calls[key]
}

// sumCalls returns the number of all calls, and the largest number of calls with one key.
func (t *tools) sumCalls() (all, most int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, n := range t.calls {
		all, most = all+n, max(most, n)
	}
	return all, most
}

// mcpServer returns the MCP server of the tools. They must not run twice: they say so themselves, and
// no gateway may be more careless with them than their annotations are.
func (t *tools) mcpServer() *toolserver.Server {
	const writes = `"readOnlyHint":false,"destructiveHint":true,"idempotentHint":false`
	tool := func(name, argument, kind string) string {
		return toolserver.Tool(name, "Counts its calls.", toolserver.Argument(argument, kind), writes)
	}
	return &toolserver.Server{Name: "failover", List: tool("count", "order", "string") + "," + tool("refund", "amount", "number"),
		Call: func(_ http.ResponseWriter, r *http.Request, c toolserver.Call) toolserver.Reply {
			return toolserver.Text(fmt.Sprint("done, number ", t.runTool(r, callKey(c))))
		}}
}

// callKey returns the key by which a call counts.
func callKey(c toolserver.Call) string {
	var args struct {
		Order  string
		Amount float64
	}
	_ = json.Unmarshal(c.Arguments, &args)
	if c.Name == "refund" {
		return strconv.FormatFloat(args.Amount, 'f', -1, 64)
	}
	return args.Order
}

// runTool counts a call even if its caller has left: the call takes effect.
func (t *tools) runTool(r *http.Request, key string) int {
	came := time.Now()
	time.Sleep(t.hold / 2)
	t.mu.Lock()
	if t.calls == nil {
		t.calls, t.lasts = map[string]int{}, map[string]calling{}
	}
	t.calls[key]++
	n := t.calls[key]
	t.lasts[key] = calling{came, came.Add(t.hold)} // whether or not anybody waits for the answer
	t.mu.Unlock()
	_ = scenario.Pause(r.Context(), t.hold/2)
	return n
}
