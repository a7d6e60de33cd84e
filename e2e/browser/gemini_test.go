package browser

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"sluice/e2e/process"
	"sluice/internal/sim/geminisim"
)

// gemini is a simulated Gemini API on loopback which knows what it was asked.
type gemini struct {
	url     string
	scripts map[string]*geminisim.Server // by what a question begins with

	mu    sync.Mutex // guards the field below
	asked []string   // the questions, one for each call
}

// startGemini serves scripts (see geminisim.ParseScript). A question picks the one
// whose name it begins with: "fails-3" is answered by "fails".
func startGemini(t testing.TB, scripts map[string]string) *gemini {
	t.Helper()
	g := &gemini{scripts: map[string]*geminisim.Server{}}
	for name, text := range scripts {
		script, err := geminisim.ParseScript("loop\n" + text)
		if err != nil {
			t.Fatal(err)
		}
		g.scripts[name] = geminisim.New(geminisim.Config{Script: script})
	}
	s := httptest.NewServer(g)
	t.Cleanup(s.Close)
	g.url = s.URL
	return g
}

func (g *gemini) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the gateway has left
	}
	var asked struct {
		Contents []struct {
			Role  string
			Parts []struct{ Text string }
		}
	}
	_ = json.Unmarshal(body, &asked)
	var question string // the last one: before it stands the history, behind it what tools returned
	for _, c := range asked.Contents {
		if text := process.UserText(c.Parts[0].Text); c.Role == "user" && text != "" {
			question = text
		}
	}
	g.mu.Lock()
	g.asked = append(g.asked, question)
	g.mu.Unlock()
	name, _, _ := strings.Cut(question, "-")
	r.Body = io.NopCloser(bytes.NewReader(body))
	g.scripts[name].ServeHTTP(w, r)
}

// turns returns how often a question was asked: once in each turn that calls no tool.
func (g *gemini) turns(question string) (n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, q := range g.asked {
		if q == question {
			n++
		}
	}
	return n
}

// env points a gateway at the simulator, with names and values added.
func (g *gemini) env(more ...string) map[string]string {
	env := map[string]string{"GEMINI_API_KEY": "test-key-0123456789", "GEMINI_BASE_URL": g.url}
	for pair := range slices.Chunk(more, 2) {
		env[pair[0]] = pair[1]
	}
	return env
}
