package wholetest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/rs/zerolog"
	"golang.org/x/tools/txtar"

	"sluice/breaker"
	"sluice/internal/app/gateway"
	"sluice/internal/app/process"
	"sluice/internal/app/providers"
	"sluice/internal/app/settings"
	"sluice/internal/base/config"
	"sluice/internal/base/testnet"
	"sluice/internal/sim/geminisim"
	"sluice/internal/sim/offline"
	"sluice/mcpclient"
	"sluice/mcpclient/servers"
)

var (
	Tokens      = regexp.MustCompile(`slap1\.[A-Za-z0-9_-]+`)
	approvalIDs = regexp.MustCompile(`appr_(?:[0-9a-v]{26}|id)`)
)

// withTokens puts the token of the last question into a request that says {{token}}.
func withTokens(t *testing.T, req *http.Request, replies []WireReply) *http.Request {
	t.Helper()
	var body bytes.Buffer
	if _, err := body.ReadFrom(req.Body); err != nil {
		t.Fatal(err)
	}
	text := body.String()
	if strings.Contains(text, "{{token}}") {
		token := ""
		for _, r := range replies {
			if found := Tokens.FindString(r.Body); found != "" {
				token = found
			}
		}
		text = strings.ReplaceAll(text, "{{token}}", token)
	}
	again, err := http.NewRequestWithContext(t.Context(), req.Method, req.URL.String(), strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	again.Header = req.Header
	return again
}

// callSeeds matches the seeds in ids of calls without a model's id. They depend on whether a turn
// is stored.
var callSeeds = regexp.MustCompile(`call_[a-z2-7]{16}_`)

// WithoutChance replaces the random parts of a question, and of the ids of calls.
func WithoutChance(text string) string {
	text = callSeeds.ReplaceAllString(text, "call_seed_")
	return approvalIDs.ReplaceAllString(Tokens.ReplaceAllString(text, "slap1.token"), "appr_id")
}

// Servers returns the MCP servers that the transcript asks for.
func (tr Transcript) Servers(t *testing.T, cfg config.Config) []mcpclient.Server {
	t.Helper()
	s := mcpclient.Server{Name: "fake", Transport: mcpclient.InProcess}
	switch text := strings.TrimSpace(expandRepeats(tr.Get("mcp"))); text {
	case "todo":
		s.Name, s.InProcess = "todo", todoServer(t)
	case "down": // no program has this name, so each attempt to connect fails at once
		s.Transport, s.Command = mcpclient.Stdio, "no/such/program"
	case "down with a fallback":
		s.Transport, s.Command = mcpclient.Stdio, "no/such/program"
		s.Policy.Fallback = map[string][]string{"search": {"spare/lookup"}}
	default:
		s.InProcess = FakeServer(t, text)
		s.Policy.Fallback = fallbacksOf(t, text)
	}
	list := []mcpclient.Server{s}
	if tr.Has("mcp.spare") {
		list = append(list, mcpclient.Server{Name: "spare", Transport: mcpclient.InProcess, InProcess: FakeServer(t, tr.Get("mcp.spare"))})
	}
	for i := range list {
		set := config.Of[servers.Common](&cfg).Breaker
		list[i].Breaker = breaker.New(breaker.Config{Service: "mcp:" + list[i].Name, Failures: set.Failures, Recovery: set.Recovery})
	}
	return list
}

// WireReply is the reply that the client got.
type WireReply struct {
	Status int
	Header http.Header
	Body   string
	closed bool // after it the connection was closed
	Calls  int  // of Gemini, for this request
}

// ReadReply reads a reply to its end.
func ReadReply(t *testing.T, resp *http.Response) WireReply {
	t.Helper()
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Errorf("the reply broke off: %v", err)
	}
	return WireReply{Status: resp.StatusCode, Header: resp.Header, Body: string(body), closed: resp.Close}
}

// Text returns the reply as a transcript shows it.
func (r WireReply) Text() string {
	if r.Status == http.StatusOK {
		return r.withoutJitter()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\n", r.Status, http.StatusText(r.Status))
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		if name != "Date" && name != "Content-Length" {
			fmt.Fprintf(&b, "%s: %s\n", name, strings.Join(r.Header[name], ", "))
		}
	}
	if r.closed { // net/http takes the header out
		b.WriteString("Connection: close\n")
	}
	if r.Body != "" {
		fmt.Fprintf(&b, "\n%s\n", r.Body)
	}
	return b.String()
}

var (
	modelCalls = regexp.MustCompile(`"model_ms":\[([0-9,]*)\]`)
	routeCalls = regexp.MustCompile(`"attempts":(\d+),"duration_ms"`)
	jittered   = regexp.MustCompile(`"(total_ms|first_delta_ms|execution_time_ms)":\d+|"(model_ms)":\[[0-9,]*\]`)
)

// withoutJitter returns the body. When a model call was tried again, after a
// random pause, the times that hold the pause are replaced.
func (r WireReply) withoutJitter() string {
	m := modelCalls.FindStringSubmatch(r.Body)
	if m == nil {
		return r.Body
	}
	sent := len(strings.FieldsFunc(m[1], func(c rune) bool { return c == ',' }))
	if routed := routeCalls.FindStringSubmatch(r.Body); routed != nil {
		n, _ := strconv.Atoi(routed[1])
		sent += n
	}
	if r.Calls <= sent {
		return r.Body
	}
	return jittered.ReplaceAllString(r.Body, `"$1$2":"random"`)
}

// ofAgent begins the names of the files with what Gemini answers an agent.
const ofAgent = "gemini."

// ByAgent returns a stand-in for Gemini: a script for each agent that has one, distinguished by the
// system prompt, and sim for all others.
func (tr Transcript) ByAgent(t *testing.T, sim *GeminiSim) (all http.Handler, calls func() int) {
	scripts := map[string]*GeminiSim{}
	for _, f := range tr.Files {
		name, ok := strings.CutPrefix(f.Name, ofAgent)
		if !ok {
			continue
		}
		script, err := geminisim.ParseScript(string(f.Data))
		if err != nil {
			t.Fatal(err)
		}
		own := geminisim.New(geminisim.Config{RequireKey: Key, Script: script})
		scripts[name] = own
		t.Cleanup(func() {
			for _, failure := range own.Failures() {
				t.Errorf("agent %s sent what is not expected: %s", name, failure)
			}
			if n := own.Unused(); n > 0 {
				t.Errorf("agent %s has not asked for its last %d responses", name, n)
			}
		})
	}
	all = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		for name, own := range scripts {
			if bytes.Contains(body, []byte("You are "+name+".")) {
				own.ServeHTTP(w, r)
				return
			}
		}
		sim.ServeHTTP(w, r)
	})
	return all, func() int {
		n := sim.Calls()
		for _, own := range scripts {
			n += own.Calls()
		}
		return n
	}
}

// JudgeGemini checks the rules for the requests of every transcript. The simulator itself refuses
// requests that the API would refuse, and a wrong key.
func (tr Transcript) JudgeGemini(t *testing.T, sim *GeminiSim) {
	t.Helper()
	for _, failure := range sim.Failures() {
		t.Errorf("Gemini was sent what it does not expect: %s", failure)
	}
	if !tr.Has("gemini") {
		if n := sim.Calls(); n > 0 {
			t.Errorf("Gemini was asked %d times, and nothing should have run", n)
		}
	} else if n := sim.Unused(); n > 0 {
		t.Errorf("Gemini was not asked for the last %d responses of its script", n)
	}
	for _, r := range sim.Requests() {
		if r.Header.Get("X-Request-ID") != RequestID || strings.Contains(r.URL, Key) {
			t.Errorf("Gemini was asked at %s with request id %q", r.URL, r.Header.Get("X-Request-ID"))
		}
	}
}

// Play starts a gateway in front of sim and the transcript's tools, sends the
// requests and returns the replies.
func (tr Transcript) Play(t *testing.T, sim *GeminiSim, log *bytes.Buffer) []WireReply {
	t.Helper()
	return tr.PlayWith(t, sim, log, gateway.Seams{})
}

// PlayWith is Play with parts of the test's own; Gemini and the servers are those of
// the transcript.
func (tr Transcript) PlayWith(t *testing.T, sim *GeminiSim, log *bytes.Buffer, with gateway.Seams) (replies []WireReply) {
	t.Helper()
	cfg, file := tr.Config(t)
	SetServers(&cfg, nil) // they are the transcript's own
	models, calls := tr.ByAgent(t, sim)
	with.Gemini, with.Servers = testnet.Serve(t, models), tr.Servers(t, cfg)
	g, err := gateway.New(t.Context(), settings.Config{Config: cfg, File: file, Version: "test"}, process.NewLogger(zerolog.SyncWriter(log), config.Of[settings.Logging](&cfg).Level), with)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	synctest.Wait() // for the sessions with the MCP servers
	return tr.AskAll(t, testnet.Serve(t, g), calls)
}

// AskAll sends the requests, one after the other. calls counts those of models.
func (tr Transcript) AskAll(t *testing.T, gateway http.RoundTripper, calls func() int) (replies []WireReply) {
	t.Helper()
	client := http.Client{Transport: gateway}
	for _, req := range tr.Requests(t) {
		before := calls()
		resp, err := client.Do(withTokens(t, req, replies))
		if err != nil {
			t.Fatal(err)
		}
		r := ReadReply(t, resp)
		r.Calls = calls() - before
		replies = append(replies, r)
		synctest.Wait() // until the request is over on our side too
	}
	return replies
}

// Config returns the settings and the file that the transcript asks for.
func (tr Transcript) Config(t testing.TB) (config.Config, settings.File) {
	t.Helper()
	env := map[string]string{
		"GEMINI_API_KEY": Key, "GEMINI_BASE_URL": "http://gemini", "SLUICE_HEARTBEAT": "0",
		"SLUICE_LOG_LEVEL": "debug",
	}
	for line := range strings.Lines(tr.Get("config")) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		env[name] = value
	}
	if tr.isOffline() {
		env["GEMINI_MODEL"] = providers.OfflineModel
	}
	readFile := os.ReadFile
	if tr.Has("sluice.yaml") {
		env["SLUICE_CONFIG"] = "sluice.yaml"
		readFile = func(string) ([]byte, error) { return []byte(tr.Get("sluice.yaml")), nil }
	}
	unread := maps.Clone(env)
	var file settings.File
	cfg, err := settings.LoaderWith(&file).Load(nil, func(name string) (string, bool) {
		delete(unread, name)
		value, ok := env[name]
		return value, ok
	}, readFile)
	if err != nil || len(unread) > 0 {
		t.Fatalf("config: %v; nobody reads %v", err, unread)
	}
	return cfg, file
}

// Transcript is a golden file; see TestGolden.
type Transcript struct{ *txtar.Archive }

// TurnTranscripts returns the golden files with a turn, and their names.
func TurnTranscripts(t *testing.T) iter.Seq2[string, Transcript] {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(Root(), "testdata/transcripts/*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	return func(yield func(string, Transcript) bool) {
		for _, file := range files {
			tr := ReadTranscript(t, file)
			if strings.Contains(tr.Get("want.sse"), "event: start") && !yield(strings.TrimSuffix(filepath.Base(file), ".txtar"), tr) {
				return
			}
		}
	}
}

// ReadTranscript reads a golden file.
func ReadTranscript(t *testing.T, file string) Transcript {
	t.Helper()
	ar, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(bytes.TrimSpace(ar.Comment)) == 0 {
		t.Error("a transcript begins with a comment that says what it shows")
	}
	for _, f := range ar.Files {
		switch f.Name {
		case "config", "request", "gemini", "mcp", "mcp.spare", "sluice.yaml", "want.sse", "want.gemini":
		default:
			if strings.HasPrefix(f.Name, ofAgent) {
				continue
			}
			t.Errorf("a transcript has no file %q", f.Name)
		}
	}
	return Transcript{Archive: ar}
}

func (tr Transcript) findFile(name string) *txtar.File {
	for i := range tr.Files {
		if tr.Files[i].Name == name {
			return &tr.Files[i]
		}
	}
	return nil
}

// Has says whether the transcript has that file.
func (tr Transcript) Has(name string) bool { return tr.findFile(name) != nil }

// Get returns a file of the transcript, or an empty text without one.
func (tr Transcript) Get(name string) string {
	if f := tr.findFile(name); f != nil {
		return string(f.Data)
	}
	return ""
}

// Set replaces a file of the transcript, or adds it.
func (tr Transcript) Set(name, data string) {
	if f := tr.findFile(name); f != nil {
		f.Data = []byte(data)
		return
	}
	tr.Files = append(tr.Files, txtar.File{Name: name, Data: []byte(data)})
}

// GeminiSim is the stand-in for Gemini.
type GeminiSim = geminisim.Server

func (tr Transcript) isOffline() bool { return strings.TrimSpace(tr.Get("gemini")) == "offline" }

// Gemini returns the model that the transcript asks for.
func (tr Transcript) Gemini(t *testing.T) *GeminiSim {
	t.Helper()
	if tr.isOffline() {
		return geminisim.New(geminisim.Config{Model: offline.Model{}, Roles: offline.Roles(), RequireKey: Key, Pace: providers.OfflinePace, FirstDelay: providers.OfflineFirst})
	}
	text := tr.Get("gemini")
	if strings.TrimSpace(text) == "" {
		text = "end" // one response that is never requested
	}
	script, err := geminisim.ParseScript(text)
	if err != nil {
		t.Fatal(err)
	}
	return geminisim.New(geminisim.Config{RequireKey: Key, Script: script})
}

// Requests returns the requests of the transcript, in order.
func (tr Transcript) Requests(t *testing.T) []*http.Request {
	t.Helper()
	var all []*http.Request
	for text := range strings.SplitSeq(tr.Get("request"), "\n---\n") {
		all = append(all, ReadRequest(t, text))
	}
	return all
}

// ReadRequest reads one request.
func ReadRequest(t *testing.T, text string) *http.Request {
	t.Helper()
	head, body, _ := strings.Cut(text, "\n\n")
	line, headers, _ := strings.Cut(strings.TrimSpace(head), "\n")
	raw := line + " HTTP/1.1\r\nHost: gateway\r\nX-Request-ID: " + RequestID + "\r\n"
	for h := range strings.Lines(headers) {
		raw += strings.TrimSpace(h) + "\r\n"
	}
	in, err := http.ReadRequest(bufio.NewReader(strings.NewReader(raw + "\r\n")))
	if err != nil {
		t.Fatal(err)
	}
	out, err := http.NewRequestWithContext(t.Context(), in.Method, "http://gateway"+in.RequestURI, strings.NewReader(expandRepeats(strings.TrimSpace(body))))
	if err != nil {
		t.Fatal(err)
	}
	out.Header = in.Header
	return out
}

// expandRepeats expands the short form of a transcript: {{20 x}} is 20 times x.
func expandRepeats(text string) string {
	return repetition.ReplaceAllStringFunc(text, func(s string) string {
		m := repetition.FindStringSubmatch(s)
		n, _ := strconv.Atoi(m[1])
		return strings.Repeat(m[2], n)
	})
}

var repetition = regexp.MustCompile(`\{\{(\d+) (.+?)\}\}`)

// WireRequests returns the requests to Gemini, a line for each member, with its JSON pointer. Each
// of the contents has a line of its own. The system instruction and the tools are left out, as they
// have tests of their own.
func WireRequests(t *testing.T, requests []geminisim.Request) string {
	t.Helper()
	var b strings.Builder
	for _, r := range requests {
		fmt.Fprintf(&b, "%s %s\n", r.Method, r.URL)
		var body map[string]jsontext.Value
		var contents []jsontext.Value
		if err := errors.Join(json.Unmarshal(r.Body, &body), json.Unmarshal(body["contents"], &contents)); err != nil {
			t.Fatal(err)
		}
		for i, c := range contents {
			fmt.Fprintf(&b, "/contents/%d %s\n", i, c)
		}
		for _, name := range slices.Sorted(maps.Keys(body)) {
			if name != "contents" && name != "systemInstruction" && name != "tools" {
				fmt.Fprintf(&b, "/%s %s\n", name, body[name])
			}
		}
	}
	return b.String()
}

// KeptID matches the ids of a stream that is stored.
var KeptID = regexp.MustCompile(`(?m)^id: (turn_[0-9a-z]{26}):(\d+)$`)

// Drafted matches the frame of a draft.
var Drafted = regexp.MustCompile(`event: inner_delta\ndata: [^\n]*"attempt":\d}\n\n`)

var keptStart = regexp.MustCompile(`,"task_id":"task_[0-9a-z]{26}","turn_id":"turn_[0-9a-z]{26}"`)

var keptTask = regexp.MustCompile(`,"task_id":"task_[0-9a-z]{26}"`) // of a question

// Plain returns a kept stream as it is without a store.
func Plain(body string) string {
	body = strings.Replace(body, "retry: 1000\n", "retry: 86400000\n", 1)
	return WithoutChance(keptTask.ReplaceAllString(keptStart.ReplaceAllString(KeptID.ReplaceAllString(body, "id: "+RequestID+":$2"), ""), ""))
}

// Second starts a gateway of the same settings, whose model nobody asks.
func (tr Transcript) Second(t *testing.T, with gateway.Seams) Peer {
	t.Helper()
	cfg, file := tr.Config(t)
	SetServers(&cfg, nil) // they are the transcript's own
	with.Gemini = testnet.Serve(t, Silent())
	with.Servers = nil
	g, err := gateway.New(t.Context(), settings.Config{Config: cfg, File: file, Version: "test"}, zerolog.Nop(), with)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return Peer{Client: http.Client{Transport: testnet.Serve(t, g)}}
}
