// This file has the upstreams: a model and two tool servers. Each fails as often as the plan says,
// and counts its tokens or calls. The text of a turn has its order.

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sluice/e2e/scenario"
	"sluice/e2e/toolserver"
)

// order describes a turn: a number of tool calls, one after the other, and a number of words of a
// size. It travels as text through the gateway.
type order struct {
	id    string // no other turn has it; without spaces and colons
	calls int
	words int // at least 1, a chunk each
	size  int // bytes of each
	every time.Duration
}

// String returns the order as the text of a request.
func (o order) String() string {
	return fmt.Sprintf("order %s: calls %d, words %d, size %d, every %dms", o.id, o.calls, o.words, o.size, o.every.Milliseconds())
}

// readOrder finds the order in a request to the model. A request without an order gets one word.
func (m *model) readOrder(body string) (o order) {
	f := m.orders.FindStringSubmatch(body)
	if f == nil {
		return order{id: "none", words: 1, size: 4}
	}
	number := func(text string) int { n, _ := strconv.Atoi(text); return n }
	return order{f[1], number(f[2]), number(f[3]), number(f[4]), time.Duration(number(f[5])) * time.Millisecond}
}

// given counts the tokens that the model gave to a turn.
type given struct {
	tokens int // that it said
	guess  int // of calls that broke off before: what limits count for them
}

// estimateTokens returns how many tokens the gateway assumes for a text of that size.
func estimateTokens(size int) int { return (size + 3) / 4 }

// model is a simulator of the streaming call of the Gemini API. It says its tokens with the
// last chunk of an answer, so that of a cut one it has said none.
type model struct {
	orders   *regexp.Regexp
	faults   int // in 100 calls
	requests atomic.Int64
	failed   atomic.Int64

	mu    sync.Mutex // guards given
	given map[string]given
}

func newModel(faults int) *model {
	return &model{orders: regexp.MustCompile(`order (\S+): calls (\d+), words (\d+), size (\d+), every (\d+)ms`), faults: faults, given: map[string]given{}}
}

// claimGiven returns the tokens of a turn, and forgets them.
func (m *model) claimGiven(id string) given {
	m.mu.Lock()
	defer m.mu.Unlock()
	g := m.given[id]
	delete(m.given, id)
	return g
}

// addGiven adds to the tokens of a turn.
func (m *model) addGiven(id string, tokens, guess int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	g := m.given[id]
	m.given[id] = given{g.tokens + tokens, g.guess + guess}
}

// ServeHTTP answers as the order in the request says, or fails.
func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	m.requests.Add(1)
	o := m.readOrder(string(body))
	fault := ""
	if rand.IntN(100) < m.faults {
		m.failed.Add(1)
		fault = []string{"unavailable", "reset", "cut", "no JSON"}[rand.IntN(4)]
	}
	switch fault {
	case "unavailable":
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`)
		return
	case "reset":
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	// The results in the request say how far the order has come.
	if made := strings.Count(string(body), `"functionResponse"`); made < o.calls {
		tool := "count"
		if made%2 == 1 {
			tool = "look"
		}
		m.finishAnswer(w, o, fault, 0, fmt.Sprintf(`{"functionCall":{"name":%q,"args":{"order":"%s.%d"}}}`, tool, o.id, made+1), 7)
		return
	}
	word := strings.Repeat("w", max(1, o.size-1)) + " "
	for n := 1; n < o.words; n++ {
		sendChunk(w, fmt.Sprintf(`{"text":%q}`, word), "")
		if o.every > 0 && scenario.Pause(r.Context(), o.every) != nil {
			return // a cancelled turn: its progress is unknown
		}
	}
	guess := 0
	if o.words > 1 { // of an answer without a text nothing is counted
		guess = estimateTokens(len(body)) + estimateTokens((o.words-1)*len(word))
	}
	m.finishAnswer(w, o, fault, guess, `{"text":"end."}`, 5+2*o.words)
}

// finishAnswer writes the last chunk of an answer, with its tokens, or breaks off in place of it.
func (m *model) finishAnswer(w http.ResponseWriter, o order, fault string, guess int, part string, tokens int) {
	switch fault {
	case "cut":
		m.addGiven(o.id, 0, guess)
		panic(http.ErrAbortHandler)
	case "no JSON":
		m.addGiven(o.id, 0, guess)
		_, _ = io.WriteString(w, "data: {\"candidates\":[{\n\n")
		return
	}
	m.addGiven(o.id, tokens, 0)
	sendChunk(w, part, fmt.Sprintf(`,"usageMetadata":{"promptTokenCount":%d,"candidatesTokenCount":2,"totalTokenCount":%d}`, tokens-2, tokens))
}

// sendChunk writes a chunk. usage is behind the candidates of the last one, else empty.
func sendChunk(w http.ResponseWriter, part, usage string) {
	end := ""
	if usage != "" {
		end = `,"finishReason":"STOP"`
	}
	_, _ = fmt.Fprintf(w, `data: {"candidates":[{"content":{"role":"model","parts":[%s]},"index":0%s}]%s}`+"\n\n", part, end, usage)
	_ = http.NewResponseController(w).Flush()
}

// tools is the only tool of an MCP server, and counts its calls by order. The judge believes these
// counts, whatever the gateway says.
type tools struct {
	tool   string
	writes bool // the tool changes something, and must not run twice
	faults int  // in 100 calls

	mu     sync.Mutex     // guards the fields below
	ran    map[string]int // by order
	all    int
	failed int
}

// claimCount returns how often something was called, and forgets it.
func (t *tools) claimCount(order string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.ran[order]
	delete(t.ran, order)
	return n
}

// countTwice returns how many orders ran more than once, of those whose count was not taken.
func (t *tools) countTwice() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, times := range t.ran {
		if times > 1 {
			n++
		}
	}
	return n
}

// mcpServer returns the MCP server of the tool.
func (t *tools) mcpServer() *toolserver.Server {
	annotations := fmt.Sprintf(`"readOnlyHint":%t,"destructiveHint":false,"idempotentHint":%t`, !t.writes, !t.writes)
	return &toolserver.Server{Name: t.tool, List: toolserver.Tool(t.tool, "Counts its calls.", toolserver.Argument("order", "string"), annotations), Call: t.runTool}
}

// runTool runs the tool.
func (t *tools) runTool(w http.ResponseWriter, _ *http.Request, c toolserver.Call) toolserver.Reply {
	var args struct{ Order string }
	_ = json.Unmarshal(c.Arguments, &args)
	fault := ""
	if rand.IntN(100) < t.faults {
		fault = []string{"unavailable", "lost", "error"}[rand.IntN(3)]
	}
	n := t.countCall(args.Order, fault)
	switch fault {
	case "unavailable":
		w.WriteHeader(http.StatusServiceUnavailable)
		return ""
	case "lost": // the call took effect, and its caller never learns of it
		panic(http.ErrAbortHandler)
	case "error":
		return toolserver.Failure("it does not work today")
	}
	return toolserver.Text(fmt.Sprint("done, number ", n))
}

// countCall counts a call, and how it ends.
func (t *tools) countCall(order, fault string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all++
	if fault != "" {
		t.failed++
	}
	if fault != "unavailable" {
		t.ran[order]++
	}
	return t.ran[order]
}
