package gateway_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"sluice/internal/app/gateway/wholetest"
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
//	gemini       a script of internal/sim/geminisim, all of which must be used, or
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
	files, err := filepath.Glob("../../../testdata/transcripts/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			tr := wholetest.ReadTranscript(t, file)
			synctest.Test(t, func(t *testing.T) { playAndJudge(tr, t) })
			if *update && !t.Failed() {
				if err := os.WriteFile(file, txtar.Format(tr.Archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// playAndJudge plays the transcript inside a bubble and judges what came of it.
func playAndJudge(tr wholetest.Transcript, t *testing.T) {
	sim := tr.Gemini(t)
	var log bytes.Buffer
	replies := tr.Play(t, sim, &log)
	for _, r := range replies {
		for _, fault := range wholetest.Judge(r) {
			t.Errorf("the reply breaks the contract: %s", fault)
		}
	}
	last := replies[len(replies)-1]
	for _, fault := range wholetest.JudgeLog(log.Bytes(), privateTexts(tr, last)) {
		t.Errorf("the log breaks the contract: %s", fault)
	}
	tr.JudgeGemini(t, sim)
	checkFile(tr, t, "want.sse", wholetest.WithoutChance(last.Text()))
	if tr.Has("want.gemini") {
		checkFile(tr, t, "want.gemini", wholetest.WireRequests(t, sim.Requests()))
	}
}

// privateTexts returns texts that must not be in the log: the key, and of a turn what
// the user, the model and the tools said. Short ones may be there by chance.
func privateTexts(tr wholetest.Transcript, got wholetest.WireReply) []string {
	texts := []string{wholetest.Key, "UPSTREAM"}
	if strings.Contains(tr.Get("config"), "SLUICE_LOG_PAYLOADS=true") {
		return texts
	}
	for _, m := range said.FindAllStringSubmatch(tr.Get("request")+got.Body, -1) {
		if len(m[1]) > 10 && !strings.Contains(tr.Get("sluice.yaml"), m[1]) {
			texts = append(texts, m[1])
		}
	}
	return texts
}

var said = regexp.MustCompile(`"(?:input|delta|content|result)":"((?:[^"\\]|\\.)*)"`)

// checkFile compares, or with -update rewrites.
func checkFile(tr wholetest.Transcript, t *testing.T, name, got string) {
	t.Helper()
	if *update {
		tr.Set(name, got)
		return
	}
	if diff := cmp.Diff(tr.Get(name), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}
