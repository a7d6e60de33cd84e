package peers

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/internal/sim/geminisim"
	demo "sluice/internal/sim/offline"
)

// useChats are the versions of @ai-sdk/react that are tried.
var useChats = []string{"react-2.0.280", "react-3.0.326", "react-4.0.177"}

// storyteller is the offline model, which also has stories: of each the first word comes, and the
// rest when it is released.
type storyteller struct {
	*gemini
	stopped chan string // the stories whose listener has left

	mu      sync.Mutex // guards the field below
	stories map[string]chan struct{}
}

var story = regexp.MustCompile(`Tell me the story of ([\w-]+)`)

func newStoryteller(t *testing.T) *storyteller {
	t.Helper()
	s := &storyteller{stopped: make(chan string, 100), stories: map[string]chan struct{}{}}
	// A call of a history has no signature of this model's.
	sim := simulator(t, geminisim.Config{Model: demo.Model{}, Foreign: true})
	mux := http.NewServeMux()
	mux.HandleFunc("POST /release", func(_ http.ResponseWriter, r *http.Request) { close(s.of(r.FormValue("story"))) })
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the gateway has left
		}
		if m := story.FindSubmatch(body); m != nil {
			s.begin(w, r, string(m[1]))
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		sim.ServeHTTP(w, r)
	})
	s.gemini = &gemini{Server: sim, url: serve(t, mux)}
	return s
}

// of returns what is closed when a story may go on.
func (s *storyteller) of(name string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stories[name] == nil {
		s.stories[name] = make(chan struct{})
	}
	return s.stories[name]
}

func (s *storyteller) begin(w http.ResponseWriter, r *http.Request, name string) {
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, `data: {"candidates":[{"content":{"role":"model","parts":[{"text":"Once "}]}}]}`+"\r\n\r\n")
	_ = http.NewResponseController(w).Flush()
	select {
	case <-s.of(name):
	case <-r.Context().Done():
		s.stopped <- name
		return
	}
	fmt.Fprint(w, `data: {"candidates":[{"content":{"role":"model","parts":[{"text":"upon a time."}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1}}`+"\r\n\r\n")
}

// useChatPage is a page that usechat.mjs opens.
type useChatPage struct {
	React string `json:"react"`
	Chat  string `json:"chat"`
}

// useChatSeen is what one has shown.
type useChatSeen struct {
	Talk, Asked [][]string
	Resumed     [][]string
	Faults      []string
}

// The example for React has conversations in a real browser and in jsdom, with each version: text,
// thoughts, cards of calls, an error, a stop; a question about the first turn is answered from
// the history, questions of the gateway's by buttons, and a page that is loaded again reads the
// turn under way from its first word. The console stays empty.
func TestUseChat(t *testing.T) {
	t.Parallel()
	installed(t, dialectsFolder+"/aisdk/node_modules")
	dir := t.TempDir()
	var bundled int
	runDialect(t, "aisdk", "bundle.mjs", map[string]any{"dir": dir, "reacts": useChats}, &bundled)
	files := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(files.Close)
	model := newStoryteller(t)
	plain := startGateway(t, model.env("SLUICE_CORS_ORIGINS", files.URL, "SLUICE_STORE", "memory"))
	asking := startGateway(t, model.env("SLUICE_CORS_ORIGINS", files.URL, "SLUICE_CONFIRM", "writes"))
	for _, engine := range []string{"jsdom", "chromium"} {
		t.Run(engine, func(t *testing.T) {
			job := map[string]any{"dir": dir, "origin": files.URL, "plain": plain.base, "asking": asking.base, "release": model.url + "/release"}
			if engine == "chromium" {
				job["chromium"] = browserPath(t)
			}
			var pages []useChatPage
			for _, react := range useChats {
				pages = append(pages, useChatPage{react, engine + "-" + react[len("react-"):len("react-")+1]})
			}
			job["pages"] = pages
			before := turnsOf(plain)
			seen := map[string]*useChatSeen{}
			runDialect(t, "aisdk", "usechat.mjs", job, &seen)
			for _, page := range pages {
				t.Run(page.React, func(t *testing.T) { seen[page.React].check(t, model, "tea"+page.Chat) })
			}
			if got, want := turnsOf(plain)-before, 7*len(pages); got != want { // one for each step
				t.Errorf("%d turns, want %d: something was sent by itself", got, want)
			}
		})
	}
}

// turnsOf counts the turns that pages have asked for.
func turnsOf(g *gateway) int {
	return len(g.log("request_received", "path", "/api/chat", "method", "POST"))
}

// browserPath returns Chromium's, or ends the test.
func browserPath(t *testing.T) string {
	t.Helper()
	installed(t, "e2e/browser/npm/node_modules/playwright-core")
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	missing(t, "chromium")
	return ""
}

// check compares what a page has shown with what was said. thing is what the todo list is about.
func (s *useChatSeen) check(t *testing.T, model *storyteller, thing string) {
	t.Helper()
	if s == nil || len(s.Talk) != 6 || len(s.Faults) > 0 {
		t.Fatalf("%+v", s)
	}
	const thought = "details Thoughts**"
	wantParts(t, s.Talk[0], thought, "fieldset create_todo: output-available{", "p I've added **buy "+thing)
	wantParts(t, s.Talk[1], thought, "fieldset list_todos: output-available{", "p ")
	wantParts(t, s.Talk[2], thought, "fieldset update_todo: output-available{", "p ")
	wantParts(t, s.Talk[3], "p The request has a fault: ")
	first := "p The first thing you asked me was: “Remind me to buy " + thing
	wantParts(t, s.Talk[4], first)
	wantParts(t, s.Talk[5], "p Once")
	select {
	case <-model.stopped:
	case <-time.After(patience):
		t.Error("the gateway goes on after the stop")
	}
	if len(s.Asked) > 0 {
		wantParts(t, s.Asked[0], "fieldset create_todo: output-available{", "p I've added **buy "+thing)
		wantParts(t, s.Asked[1], "fieldset create_todo: output-error", "p I couldn't add ")
		wantParts(t, s.Asked[2], first)
	}
	if got := fmt.Sprint(s.Resumed); got != "[[p Once ] [p Once upon a time.] [p Once upon a time.]]" {
		t.Errorf("resumed: %s", got)
	}
	if slices.ContainsFunc(slices.Concat(s.Talk...), func(part string) bool { return strings.Contains(part, "input-available") }) {
		t.Errorf("a call has no result: %q", s.Talk)
	}
}
