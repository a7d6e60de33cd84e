package gemini

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// corpusDir has recordings that others made, which are not ours to pass on; ownDir has
// answers of the same shapes that we wrote.
const (
	corpusDir = "../../../../shared/testdata/gemini"
	ownDir    = "../../../testdata/streams"
)

// corpusFiles returns the recordings whose names end in suffix, and skips the
// test where there are none.
func corpusFiles(t *testing.T, suffix string) []string {
	t.Helper()
	files := filesIn(corpusDir, suffix)
	if len(files) == 0 {
		t.Skip("the recordings in shared/testdata/gemini are not here")
	}
	return files
}

func filesIn(dir, suffix string) []string {
	files, _ := filepath.Glob(filepath.Join(dir, "*"+suffix))
	return files
}

// recording is an answer of the API as it goes over the wire, and the JSON
// documents in it.
type recording struct {
	name   string
	status int
	wire   string
	docs   []map[string]any
}

// TestCorpus serves each recorded answer and compares what the Model reports with a reading of
// the same file that shares no code with it.
func TestCorpus(t *testing.T) {
	recordings := readCorpus(t)
	if len(recordings) < 9 {
		t.Errorf("only %d answers of our own", len(recordings))
	}
	t.Run("recordings of the API", func(t *testing.T) {
		if corpusFiles(t, ""); len(recordings) < 60 {
			t.Errorf("only %d recordings found", len(recordings))
		}
	})
	eachDriver(t, func(t *testing.T, open func(*testing.T, Config) *Model) {
		for _, rec := range recordings {
			t.Run(rec.name, func(t *testing.T) {
				u := serve(t, func(w http.ResponseWriter, _ *http.Request) {
					w.WriteHeader(rec.status)
					w.Write([]byte(rec.wire))
				})
				got, err := ask(t.Context(), open(t, Config{BaseURL: u.URL}))
				want, wantErr := readIndependently(rec.docs)
				if wantErr != "" {
					want.Usage = got.Usage // a chunk with nothing but figures may not have been handed on
				}
				if diff := cmp.Diff(want, got, ignoreCounts, cmp.Comparer(sameCall)); diff != "" {
					t.Errorf("told (-want +got):\n%s", diff)
				}
				if wantErr == "" && err != nil {
					t.Fatal(err)
				}
				if wantErr != "" {
					wantFault(t, err, wantErr)
				}
			})
		}
	})
}

// sameCall compares arguments as JSON values.
func sameCall(a, b tool.Call) bool {
	var x, y any
	return a.ID == b.ID && a.Name == b.Name && json.Unmarshal(a.Arguments, &x) == nil && json.Unmarshal(b.Arguments, &y) == nil && cmp.Equal(x, y)
}

// readCorpus reads our own answers, and the recordings where they are.
func readCorpus(t *testing.T) []recording {
	t.Helper()
	var list []recording
	both := func(suffix string) []string { return append(filesIn(ownDir, suffix), filesIn(corpusDir, suffix)...) }
	for _, f := range both(".sse") {
		raw := readFile(t, f)
		list = append(list, recording{filepath.Base(f), 200, raw, sseDocs(t, raw)})
	}
	for _, f := range both(".chunks.jsonl") {
		list = append(list, fromDocs(t, filepath.Base(f), strings.Split(strings.TrimSpace(readFile(t, f)), "\n")))
	}
	for _, f := range both(".responses.jsonl") {
		list = append(list, fromResponses(t, f)...)
	}
	for _, f := range both(".json") {
		if strings.HasSuffix(f, ".req.json") {
			continue
		}
		rec := fromDocs(t, filepath.Base(f), []string{readFile(t, f)})
		if e, ok := rec.docs[0]["error"].(map[string]any); ok {
			rec.status, rec.wire = int(e["code"].(float64)), readFile(t, f)
		}
		list = append(list, rec)
	}
	for _, f := range both(".html") {
		list = append(list, recording{filepath.Base(f), 404, readFile(t, f), []map[string]any{{"error": map[string]any{"code": 404.0}}}})
	}
	return list
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// fromResponses reads a file whose lines hold the chunks of one answer each.
func fromResponses(t *testing.T, file string) (list []recording) {
	for i, line := range strings.Split(strings.TrimSpace(readFile(t, file)), "\n") {
		var entry struct{ Response json.RawMessage }
		mustUnmarshal(t, line, &entry)
		chunks := []json.RawMessage{entry.Response}
		if entry.Response[0] == '[' {
			mustUnmarshal(t, string(entry.Response), &chunks)
		}
		var docs []string
		for _, c := range chunks {
			docs = append(docs, string(c))
		}
		list = append(list, fromDocs(t, filepath.Base(file)+"#"+strconv.Itoa(i+1), docs))
	}
	return list
}

// fromDocs makes a stream of events out of JSON documents. A document of several
// lines becomes an event of several data lines.
func fromDocs(t *testing.T, name string, docs []string) recording {
	rec := recording{name: name, status: 200}
	for _, d := range docs {
		var doc map[string]any
		mustUnmarshal(t, d, &doc)
		rec.docs = append(rec.docs, doc)
		rec.wire += "data: " + strings.ReplaceAll(strings.TrimSpace(d), "\n", "\ndata: ") + "\n\n"
	}
	return rec
}

// sseDocs reads the documents of an .sse file: each data line holds one, or the
// whole file is one, or an array of them.
func sseDocs(t *testing.T, raw string) (docs []map[string]any) {
	if !strings.Contains(raw, "data:") {
		if strings.HasPrefix(raw, "[") {
			mustUnmarshal(t, raw, &docs)
			return docs
		}
		docs = make([]map[string]any, 1)
		mustUnmarshal(t, raw, &docs[0])
		return docs
	}
	for _, m := range regexp.MustCompile(`(?m)^data:(.*?)\r?$`).FindAllStringSubmatch(raw, -1) {
		var doc map[string]any
		mustUnmarshal(t, m[1], &doc)
		docs = append(docs, doc)
	}
	return docs
}

func mustUnmarshal(t *testing.T, s string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(s), v); err != nil {
		t.Fatal(err)
	}
}

// readIndependently says what the documents of an answer mean.
func readIndependently(docs []map[string]any) (*collected, fault.Type) {
	want, reason := new(collected), ""
	var open *partial
	for _, doc := range docs {
		if e, ok := doc["error"].(map[string]any); ok {
			return want, errorType(int(e["code"].(float64)))
		}
		readUsage(want, doc)
		if f, ok := doc["promptFeedback"].(map[string]any); ok && (f["blockReason"] != nil || f["blockReasonMessage"] != nil) {
			return want, fault.ModelBlocked
		}
		list, _ := doc["candidates"].([]any)
		for _, c := range list {
			candidate := c.(map[string]any)
			content, _ := candidate["content"].(map[string]any)
			parts, _ := content["parts"].([]any)
			for _, p := range parts {
				open = readPart(want, p.(map[string]any), open)
			}
			if r, ok := candidate["finishReason"].(string); ok {
				reason = r
			}
		}
	}
	switch reason {
	case "STOP":
		want.Finish = chat.FinishStop
		return want, ""
	case "MAX_TOKENS":
		want.Finish = chat.FinishMaxTokens
		return want, ""
	case "SAFETY", "RECITATION":
		return want, fault.ModelBlocked
	case "MALFORMED_FUNCTION_CALL":
		return want, fault.ModelError
	}
	return want, fault.ModelUnavailable
}

func errorType(code int) fault.Type {
	switch {
	case code == 429:
		return fault.ModelRateLimited
	case code < 500:
		return fault.ModelError
	}
	return fault.ModelUnavailable
}

func readUsage(want *collected, doc map[string]any) {
	u, _ := doc["usageMetadata"].(map[string]any)
	if u["promptTokenCount"] == nil {
		return
	}
	number := func(name string) int { n, _ := u[name].(float64); return int(n) }
	want.Usage = chat.Usage{
		InputTokens:    number("promptTokenCount") + number("toolUsePromptTokenCount"),
		OutputTokens:   number("candidatesTokenCount"),
		ThinkingTokens: number("thoughtsTokenCount"),
		CachedTokens:   number("cachedContentTokenCount"),
	}
}

// partial is a call whose arguments come in pieces, as a tree of any.
type partial struct {
	name string
	args any
}

func readPart(want *collected, p map[string]any, open *partial) *partial {
	if sig, ok := p["thoughtSignature"].(string); ok {
		want.Signatures = append(want.Signatures, sig)
	}
	if text, ok := p["text"].(string); ok {
		if p["thought"] == true {
			want.Thoughts += text
		} else {
			want.Text += text
		}
	}
	call, ok := p["functionCall"].(map[string]any)
	if !ok {
		return open
	}
	if open == nil {
		open = &partial{name: call["name"].(string), args: call["args"]}
	}
	pieces, _ := call["partialArgs"].([]any)
	for _, piece := range pieces {
		arg := piece.(map[string]any)
		path := regexp.MustCompile(`\w+`).FindAllString(arg["jsonPath"].(string), -1)
		open.args = put(open.args, path, arg["stringValue"].(string))
	}
	if call["willContinue"] == true {
		return open
	}
	if open.args == nil {
		open.args = map[string]any{}
	}
	args, _ := json.Marshal(open.args)
	id, _ := call["id"].(string)
	want.Calls = append(want.Calls, tool.Call{ID: id, Name: open.name, Arguments: args})
	return nil
}

// put appends s to the string at path in tree.
func put(tree any, path []string, s string) any {
	if len(path) == 0 {
		before, _ := tree.(string)
		return before + s
	}
	if i, err := strconv.Atoi(path[0]); err == nil {
		list, _ := tree.([]any)
		if i == len(list) {
			list = append(list, nil)
		}
		list[i] = put(list[i], path[1:], s)
		return list
	}
	m, _ := tree.(map[string]any)
	if m == nil {
		m = map[string]any{}
	}
	m[path[0]] = put(m[path[0]], path[1:], s)
	return m
}
