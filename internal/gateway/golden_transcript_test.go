package gateway

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/tools/txtar"

	"sluice/internal/geminisim"
	"sluice/internal/offline"
	"sluice/internal/providers"
)

// transcript is a golden file; see TestGolden.
type transcript struct{ *txtar.Archive }

// turnTranscripts returns the golden files in which a turn is run, with their names.
func turnTranscripts(t *testing.T) iter.Seq2[string, transcript] {
	t.Helper()
	files, err := filepath.Glob("../../testdata/transcripts/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	return func(yield func(string, transcript) bool) {
		for _, file := range files {
			tr := readTranscript(t, file)
			if strings.Contains(tr.get("want.sse"), "event: start") && !yield(strings.TrimSuffix(filepath.Base(file), ".txtar"), tr) {
				return
			}
		}
	}
}

func readTranscript(t *testing.T, file string) transcript {
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
	return transcript{Archive: ar}
}

func (tr transcript) file(name string) *txtar.File {
	for i := range tr.Files {
		if tr.Files[i].Name == name {
			return &tr.Files[i]
		}
	}
	return nil
}

func (tr transcript) has(name string) bool { return tr.file(name) != nil }

func (tr transcript) get(name string) string {
	if f := tr.file(name); f != nil {
		return string(f.Data)
	}
	return ""
}

func (tr transcript) set(name, data string) {
	if f := tr.file(name); f != nil {
		f.Data = []byte(data)
		return
	}
	tr.Files = append(tr.Files, txtar.File{Name: name, Data: []byte(data)})
}

// geminiSim is what stands in for Gemini.
type geminiSim = geminisim.Server

func (tr transcript) offline() bool { return strings.TrimSpace(tr.get("gemini")) == "offline" }

// gemini returns the model that the transcript asks for.
func (tr transcript) gemini(t *testing.T) *geminiSim {
	t.Helper()
	if tr.offline() {
		return geminisim.New(geminisim.Config{Model: offline.Model{}, Roles: offline.Roles(), RequireKey: goldenKey, Pace: providers.OfflinePace, FirstDelay: providers.OfflineFirst})
	}
	text := tr.get("gemini")
	if strings.TrimSpace(text) == "" {
		text = "end" // one response, which is never asked for
	}
	script, err := geminisim.ParseScript(text)
	if err != nil {
		t.Fatal(err)
	}
	return geminisim.New(geminisim.Config{RequireKey: goldenKey, Script: script})
}

// requests returns the requests of the transcript, in order.
func (tr transcript) requests(t *testing.T) []*http.Request {
	t.Helper()
	var all []*http.Request
	for text := range strings.SplitSeq(tr.get("request"), "\n---\n") {
		all = append(all, readRequest(t, text))
	}
	return all
}

// readRequest reads one request.
func readRequest(t *testing.T, text string) *http.Request {
	t.Helper()
	head, body, _ := strings.Cut(text, "\n\n")
	line, headers, _ := strings.Cut(strings.TrimSpace(head), "\n")
	raw := line + " HTTP/1.1\r\nHost: gateway\r\nX-Request-ID: " + goldenID + "\r\n"
	for h := range strings.Lines(headers) {
		raw += strings.TrimSpace(h) + "\r\n"
	}
	in, err := http.ReadRequest(bufio.NewReader(strings.NewReader(raw + "\r\n")))
	if err != nil {
		t.Fatal(err)
	}
	out, err := http.NewRequestWithContext(t.Context(), in.Method, "http://gateway"+in.RequestURI, strings.NewReader(repeat(strings.TrimSpace(body))))
	if err != nil {
		t.Fatal(err)
	}
	out.Header = in.Header
	return out
}

// repeat spells out what a transcript may shorten: {{20 x}} is 20 times x.
func repeat(text string) string {
	return repetition.ReplaceAllStringFunc(text, func(s string) string {
		m := repetition.FindStringSubmatch(s)
		n, _ := strconv.Atoi(m[1])
		return strings.Repeat(m[2], n)
	})
}

var repetition = regexp.MustCompile(`\{\{(\d+) (.+?)\}\}`)

// wireRequests returns what Gemini was sent, a line for each member of a request,
// with its JSON pointer; each of the contents has a line of its own. Left out are
// the system instruction and the tools, which have tests of their own.
func wireRequests(t *testing.T, requests []geminisim.Request) string {
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
