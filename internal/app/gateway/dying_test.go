package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/sim/breaksim"
	"sluice/internal/sim/geminisim"
	"sluice/internal/sim/modelsim"
)

// dieEverywhere is the variable that cuts each answer behind each byte, for each protocol and front
// end: half a million turns. Else every dyingStride-th place is cut.
const (
	dieEverywhere = "SLUICE_TEST_DIE_EVERYWHERE"
	dyingStride   = 331
)

// mortal is a gateway whose first model breaks off, in one protocol, and whose second one continues
// the answer in a manner.
type mortal struct {
	*wholetest.Flow
	protocol string
	texts    []string
	tally    *tally
	// Verdicts of two turns by front end: one that no model continues, and one that does not break.
	today, fine map[string]string
	turns       atomic.Int64
}

// tally counts the turns of a test by their ends.
type tally struct {
	mu         sync.Mutex // guards the fields below
	ran        map[string]int
	followed   int // turns whose second model follows the note
	whole      int
	others     int // turns whose second model does not
	asToday    int
	equalRows  int // turns with equal rows that are not as expected
	faults     []string
	seams      int
	byFrontEnd map[string]int
}

// fault records a turn that is not as expected.
func (c *tally) fault(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

// startMortal starts a gateway. Its tool counts its calls by turn.
func startMortal(t *testing.T, w wholetest.Protocol, texts []string, afterText string, c *tally) *mortal {
	t.Helper()
	serve := func(dies bool) string {
		m := &breaksim.Model{Texts: texts, Dies: dies, Report: func(fault string) { c.fault("%s: %s", w.Name, fault) }}
		if w.Path == "" {
			sim := geminisim.New(geminisim.Config{Model: m, Foreign: true})
			t.Cleanup(func() { failAll(t, dies, sim.Failures()) })
			return gatewaytest.ServeHandler(t, breaksim.Cut(sim))
		}
		sim := modelsim.New(modelsim.Config{Model: m})
		t.Cleanup(func() { failAll(t, dies, sim.Failures()) })
		return gatewaytest.ServeHandler(t, breaksim.Cut(sim))
	}
	tools := server.NewMCPServer("tools", "1")
	tools.AddTool(mcp.NewTool(breaksim.Tool, mcp.WithString("turn")), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.ran[r.GetString("turn", "")]++
		return mcp.NewToolResultText("done"), nil
	})
	file := fmt.Sprintf("a2a: {enabled: true}\nmcpServers: {tools: {url: %q}}\nmodels:\n", gatewaytest.ServeHandler(t, server.NewStreamableHTTPServer(tools))) +
		w.Spec("default", serve(true), `retries: 0, breaker: "1000,1s,3", fallback: [spare]`+afterText) + w.Spec("spare", serve(false), `breaker: "1000,1s,3"`)
	g := &mortal{Flow: wholetest.StartFlows(t, file, map[string]string{"TEST_KEY": "k"}), protocol: w.Name, texts: texts, tally: c, today: map[string]string{}, fine: map[string]string{}}
	wholetest.AwaitTools(t, g.Gateway)
	return g
}

func failAll(t *testing.T, dies bool, faults []string) {
	for _, f := range faults {
		t.Errorf("the model that dies: %t: %s", dies, f)
	}
}

// ask runs a turn by a front end, and returns the turn as its client reads it.
func (g *mortal) ask(t *testing.T, p *protocol, input, turn string) seen {
	body := strings.NewReplacer(`"go"`, fmt.Sprintf("%q", input), `"messageId":"m"`, fmt.Sprintf(`"messageId":%q`, turn)).Replace(p.body)
	req := httptest.NewRequestWithContext(g.T.Context(), http.MethodPost, p.path, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	if name, value, ok := strings.Cut(p.header, ": "); ok {
		req.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	g.ServeHTTP(w, req)
	got := p.read(t, w.Body.String())
	if p.name == "native" && strings.Contains(w.Body.String(), `"seams":[`) {
		g.tally.mu.Lock()
		g.tally.seams++
		g.tally.mu.Unlock()
	}
	return got
}

// breakOff runs a turn whose answer breaks off, and judges it.
func (g *mortal) breakOff(t *testing.T, p *protocol, text, cut int, manner string) {
	turn := fmt.Sprintf("%s%s%dx%d%s", g.protocol, strings.Map(letter, p.name), text, cut, manner)
	whole := g.texts[text]
	shown := whole[:min(cut, len(whole))]
	for cut < len(whole) && !utf8.RuneStart(whole[len(shown)]) {
		shown = shown[:len(shown)-1]
	}
	if cut > len(whole) && g.protocol == "gemini" {
		shown = "" // its calls come first
	}
	if g.turns.Add(1)%400 == 0 {
		g.Post(`{"input":"Hello"}`) // an answer that ends: else the breaker opens
	}
	got := g.ask(t, p, breaksim.Input(text, cut, manner, turn), turn)
	want, calls, ends := whole, 0, true
	noted := strings.TrimSpace(shown) != ""
	switch follows := slices.Contains(breaksim.Following(), manner); {
	case noted && (!follows || len(shown) > 64<<10):
		want, ends = shown, false
	case noted && manner == "calls":
		want, calls = shown, 1
	case text%7 == 0:
		calls = 1
	}
	output := got.Text
	if calls > 0 {
		if behind, ok := strings.CutPrefix(output, want); ok && strings.TrimSpace(behind) == breaksim.Ending {
			output = want
		} else {
			output += "(the text behind the tool is missing)"
		}
	}
	c := g.tally
	c.mu.Lock()
	defer c.mu.Unlock()
	ran := c.ran[turn]
	delete(c.ran, turn)
	c.byFrontEnd[p.name]++
	verdict := g.today[p.name]
	if ends {
		verdict = g.fine[p.name]
	}
	good := output == want && ran == calls && got.Verdict == verdict
	switch {
	case text == breaksim.Rows && !good && ran <= 1:
		c.equalRows++
		return
	case ends:
		c.followed++
	default:
		c.others++
	}
	switch {
	case good && ends:
		c.whole++
	case good:
		c.asToday++
	}
	if twice := repeated(got.Text, whole); twice != "" {
		c.faults = append(c.faults, fmt.Sprintf("%s: %q stands twice in %q", turn, twice, got.Text))
	}
	if !good {
		c.faults = append(c.faults, fmt.Sprintf("%s: %q, the tool ran %d times, want %d, %q\ngot  %q\nwant %q", turn, shown, ran, calls, got.Verdict, clipText(output), clipText(want)))
	}
}

func letter(r rune) rune {
	if !unicode.IsLetter(r) {
		return -1
	}
	return r
}

func clipText(text string) string {
	if len(text) > 2000 {
		return fmt.Sprintf("%s…%s (%d bytes)", text[:100], text[len(text)-100:], len(text))
	}
	return text
}

// repeated returns a sentence that stands more often in a text than in the whole answer, or "".
func repeated(text, whole string) string {
	for _, sentence := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(".!?;。\n", r) }) {
		if s := strings.TrimSpace(sentence); utf8.RuneCountInString(s) > 8 && strings.Count(text, s) > max(1, strings.Count(whole, s)) {
			return s
		}
	}
	return ""
}

// dyingFrontEnds are the rows of protocols whose text cannot be taken back, or is to continue.
func dyingFrontEnds() (list []*protocol) {
	for _, p := range protocols() {
		if slices.Contains([]string{"native", "A2A", "ChatKit", "AG-UI", "AI SDK", "Chat Completions", "Responses"}, p.name) {
			list = append(list, &p)
		}
	}
	return list
}

// A model dies behind any byte of its answer, in each protocol and for each front end. If the next
// model follows the note, the answer ends whole. Else the text stays, with the error of a gateway
// that continues nothing.
func TestModelDies(t *testing.T) {
	t.Parallel()
	texts := breaksim.Texts()
	c := &tally{ran: map[string]int{}, byFrontEnd: map[string]int{}}
	manners := append(breaksim.Following(), breaksim.Others()...)
	stride := dyingStride
	switch {
	case os.Getenv(dieEverywhere) != "":
		stride = 1
	case raceEnabled || testing.Short():
		stride *= 8
	}
	t.Run("protocols", func(t *testing.T) {
		for i, w := range wholetest.Protocols() {
			t.Run(w.Name, func(t *testing.T) {
				t.Parallel()
				g := startMortal(t, w, texts, ", fallback_after_text: continue", c)
				before := startMortal(t, w, texts, "", c)
				for _, p := range dyingFrontEnds() {
					g.today[p.name] = before.ask(t, p, breaksim.Input(2, 70, "refuses", "today"), "today").Verdict
					g.fine[p.name] = before.ask(t, p, "Hello", "fine").Verdict
				}
				var running sync.WaitGroup
				free := make(chan struct{}, 2)
				place := i * 41
				for text, whole := range texts {
					for cut := 1; cut <= len(whole)+1; cut++ {
						if cut > len(whole) && text%7 != 0 {
							continue // there is no call to cut behind
						}
						for at, p := range dyingFrontEnds() {
							if place++; place%stride != 0 {
								continue
							}
							manner := manners[(place/stride+text+at+i)%len(manners)]
							free <- struct{}{}
							running.Go(func() {
								defer func() { <-free }()
								g.breakOff(t, p, text, cut, manner)
							})
						}
					}
				}
				running.Wait()
			})
		}
	})
	c.report(t)
	if c.followed < 800/(1+stride/dyingStride) || c.others < 300/(1+stride/dyingStride) || c.seams == 0 {
		t.Error("the test proves little")
	}
}

// report fails the test if too few answers are whole, or any other turn is not as expected.
func (c *tally) report(t *testing.T) {
	t.Helper()
	t.Logf("%d turns whose next model follows the note: %d end whole; %d others: %d end as without a continuation; %d with equal rows lack or repeat a row; seams told %d; %v",
		c.followed, c.whole, c.others, c.asToday, c.equalRows, c.seams, c.byFrontEnd)
	for i, fault := range c.faults {
		if i == 20 {
			t.Errorf("and %d more", len(c.faults)-i)
			break
		}
		t.Error(fault)
	}
	if len(c.ran) > 0 {
		t.Errorf("calls of unknown turns: %v", c.ran)
	}
}

// A text of 64 KiB continues, and one with a byte more does not.
func TestLongestTextContinues(t *testing.T) {
	t.Parallel()
	var long strings.Builder
	for i := 0; long.Len() < 65<<10; i++ {
		fmt.Fprintf(&long, "Line-%d-of-a-long-text-has-its-own-number.\n", i)
	}
	texts := []string{"", long.String()}
	c := &tally{ran: map[string]int{}, byFrontEnd: map[string]int{}}
	for _, w := range wholetest.Protocols() {
		g := startMortal(t, w, texts, ", fallback_after_text: continue", c)
		for _, p := range dyingFrontEnds() {
			g.today[p.name] = g.ask(t, p, breaksim.Input(1, 70, "refuses", "today"), "today").Verdict
			g.fine[p.name] = g.ask(t, p, "Hello", "fine").Verdict
			for _, cut := range []int{64 << 10, 64<<10 + 1} {
				g.breakOff(t, p, 1, cut, "takes")
			}
		}
	}
	c.report(t)
	if c.whole != 4*len(dyingFrontEnds()) || c.asToday != c.whole {
		t.Error("a text at the limit has another end")
	}
}
