package gateway

import (
	"bytes"
	"flag"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
	"golang.org/x/tools/txtar"

	"sluice/config"
	"sluice/internal/process"
	"sluice/internal/providers"
	"sluice/internal/settings"
	"sluice/internal/testnet"
)

var update = flag.Bool("update", false, "rewrite the want files of the golden transcripts")

// TestGolden plays each transcript over the whole HTTP path, in fake time, and
// compares the bytes that the client gets. A transcript begins with a comment
// that says what it shows, and has the files
//
//	config       NAME=value lines, as in the environment (optional)
//	request      METHOD path, headers, an empty line, the body; several are
//	             separated by a line "---" and sent one after the other; {{token}}
//	             is that of the last question to a person
//	sluice.yaml  the configuration file (optional)
//	gemini.NAME  what Gemini answers where the system prompt says "You are NAME."
//	gemini       a script of internal/geminisim, all of which must be used, or
//	             "offline" for the offline model; without it nobody may be asked
//	mcp          "todo" for the built-in server, "down" for one that cannot be
//	             reached, or a JSON list of fakeTool (optional: no tools)
//	mcp.spare    such a list for a second server, "spare" (optional)
//	want.sse     the last reply: a stream's body, or a whole reply of another kind
//	want.gemini  the requests that Gemini got, without instruction and tools (optional)
//
// Whatever want.sse says, a reply must also keep the rules of docs/events.md (see
// judge), so -update cannot write down a stream that breaks one of them.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("../../testdata/transcripts/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			tr := readTranscript(t, file)
			synctest.Test(t, func(t *testing.T) { tr.test(t) })
			if *update && !t.Failed() {
				if err := os.WriteFile(file, txtar.Format(tr.Archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// test plays the transcript inside a bubble and judges what came of it.
func (tr transcript) test(t *testing.T) {
	sim := tr.gemini(t)
	var log bytes.Buffer
	replies := tr.play(t, sim, &log)
	for _, r := range replies {
		for _, fault := range judge(r) {
			t.Errorf("the reply breaks the contract: %s", fault)
		}
	}
	last := replies[len(replies)-1]
	for _, fault := range judgeLog(log.Bytes(), tr.private(last)) {
		t.Errorf("the log breaks the contract: %s", fault)
	}
	tr.judgeGemini(t, sim)
	tr.check(t, "want.sse", withoutChance(last.text()))
	if tr.has("want.gemini") {
		tr.check(t, "want.gemini", wireRequests(t, sim.Requests()))
	}
}

// judgeGemini checks what must hold for the requests of every transcript. The
// simulator itself refuses what the API would refuse, and a wrong key.
func (tr transcript) judgeGemini(t *testing.T, sim *geminiSim) {
	t.Helper()
	for _, failure := range sim.Failures() {
		t.Errorf("Gemini was sent what it does not expect: %s", failure)
	}
	if !tr.has("gemini") {
		if n := sim.Calls(); n > 0 {
			t.Errorf("Gemini was asked %d times, and nothing should have run", n)
		}
	} else if n := sim.Unused(); n > 0 {
		t.Errorf("Gemini was not asked for the last %d responses of its script", n)
	}
	for _, r := range sim.Requests() {
		if r.Header.Get("X-Request-ID") != goldenID || strings.Contains(r.URL, goldenKey) {
			t.Errorf("Gemini was asked at %s with request id %q", r.URL, r.Header.Get("X-Request-ID"))
		}
	}
}

// private returns texts that must not be in the log: the key, and of a turn what
// the user, the model and the tools said. Short ones may be there by chance.
func (tr transcript) private(got wireReply) []string {
	texts := []string{goldenKey, "UPSTREAM"}
	if strings.Contains(tr.get("config"), "SLUICE_LOG_PAYLOADS=true") {
		return texts
	}
	for _, m := range said.FindAllStringSubmatch(tr.get("request")+got.body, -1) {
		if len(m[1]) > 10 && !strings.Contains(tr.get("sluice.yaml"), m[1]) {
			texts = append(texts, m[1])
		}
	}
	return texts
}

var said = regexp.MustCompile(`"(?:input|delta|content|result)":"((?:[^"\\]|\\.)*)"`)

// check compares, or with -update rewrites.
func (tr transcript) check(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		tr.set(name, got)
		return
	}
	if diff := cmp.Diff(tr.get(name), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

const (
	goldenKey = "a-key-that-nobody-may-see"
	goldenID  = "req_golden"
)

// play starts a gateway in front of sim and the transcript's tools, sends the
// requests and returns the replies.
func (tr transcript) play(t *testing.T, sim *geminiSim, log *bytes.Buffer) []wireReply {
	t.Helper()
	return tr.playWith(t, sim, log, Seams{})
}

// playWith is play with parts of the test's own; Gemini and the servers are those of
// the transcript.
func (tr transcript) playWith(t *testing.T, sim *geminiSim, log *bytes.Buffer, with Seams) (replies []wireReply) {
	t.Helper()
	cfg, file := tr.config(t)
	setServers(&cfg, nil) // they are the transcript's own
	models, calls := tr.byAgent(t, sim)
	with.Gemini, with.Servers = testnet.Serve(t, models), tr.servers(t, cfg)
	g, err := New(t.Context(), settings.Config{Config: cfg, File: file, Version: "test"}, process.NewLogger(zerolog.SyncWriter(log), config.Of[settings.Logging](&cfg).Level), with)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	synctest.Wait() // for the sessions with the MCP servers
	return tr.askAll(t, testnet.Serve(t, g), calls)
}

// askAll sends the requests, one after the other. calls counts those of models.
func (tr transcript) askAll(t *testing.T, gateway http.RoundTripper, calls func() int) (replies []wireReply) {
	t.Helper()
	client := http.Client{Transport: gateway}
	for _, req := range tr.requests(t) {
		before := calls()
		resp, err := client.Do(withTokens(t, req, replies))
		if err != nil {
			t.Fatal(err)
		}
		r := readReply(t, resp)
		r.calls = calls() - before
		replies = append(replies, r)
		synctest.Wait() // until the request is over on our side too
	}
	return replies
}

func (tr transcript) config(t testing.TB) (config.Config, settings.File) {
	t.Helper()
	env := map[string]string{
		"GEMINI_API_KEY": goldenKey, "GEMINI_BASE_URL": "http://gemini", "SLUICE_HEARTBEAT": "0",
		"SLUICE_LOG_LEVEL": "debug",
	}
	for line := range strings.Lines(tr.get("config")) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		env[name] = value
	}
	if tr.offline() {
		env["GEMINI_MODEL"] = providers.OfflineModel
	}
	readFile := os.ReadFile
	if tr.has("sluice.yaml") {
		env["SLUICE_CONFIG"] = "sluice.yaml"
		readFile = func(string) ([]byte, error) { return []byte(tr.get("sluice.yaml")), nil }
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
