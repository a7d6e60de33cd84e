package anthropic

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"sluice/internal/model"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// corpusDir has recordings that others made, which are not ours to pass on.
const corpusDir = "../../../../shared/testdata/anthropic"

// recording is an answer of the API, and what is to be read in it.
type recording struct {
	name   string
	body   string
	stream bool

	Status  int
	Headers map[string]string
	Request json.RawMessage
	Expect  struct {
		Text          string
		ThinkingChars int `json:"thinking_chars"`
		Calls         []struct {
			ID, Name  string
			Arguments any
		}
		Signatures int
		End        string
		Usage      *struct {
			Input    int `json:"input_tokens"`
			Output   int `json:"output_tokens"`
			Thinking int `json:"thinking_tokens"`
			Cached   int `json:"cached_tokens"`
		}
	}
}

// recordings returns all recordings, and skips the test where there are none.
func recordings(t *testing.T) (list []recording) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(corpusDir, "messages-*.json"))
	if len(files) == 0 {
		t.Skip("the recordings in shared/testdata/anthropic are not here")
	}
	for _, f := range files {
		list = append(list, readRecording(t, strings.TrimSuffix(f, ".json")))
	}
	return list
}

func readRecording(t *testing.T, file string) recording {
	t.Helper()
	rec := recording{name: filepath.Base(file)}
	description, err := os.ReadFile(file + ".json")
	if err != nil {
		t.Skip("the recordings in shared/testdata/anthropic are not here")
	}
	if err := json.Unmarshal(description, &rec); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{".sse", ".chunks.jsonl", ".body"} {
		body, err := os.ReadFile(file + suffix)
		if err != nil {
			continue
		}
		rec.body, rec.stream = string(body), suffix != ".body"
		if suffix == ".chunks.jsonl" {
			rec.body = "data: " + strings.ReplaceAll(strings.TrimSpace(rec.body), "\n", "\n\ndata: ") + "\n\n"
		}
	}
	return rec
}

func (rec *recording) events(t *testing.T) []sseEvent { return split(t, strings.NewReader(rec.body)) }

// check compares what was reported with what the recording's description expects.
func (rec *recording) check(t *testing.T, got decoded) {
	t.Helper()
	end := string(got.finish)
	if got.err != nil {
		end = "error " + faultOf(got.err)
	}
	if end != rec.Expect.End {
		t.Errorf("end %q (%v), want %q", end, got.err, rec.Expect.End)
	}
	if got.text != rec.Expect.Text {
		t.Errorf("text (-want +got):\n%s", cmp.Diff(rec.Expect.Text, got.text))
	}
	if n := utf8.RuneCountInString(got.thoughts); n != rec.Expect.ThinkingChars {
		t.Errorf("%d code points of thoughts, want %d", n, rec.Expect.ThinkingChars)
	}
	if len(got.calls) != len(rec.Expect.Calls) {
		t.Fatalf("%d calls, want %d", len(got.calls), len(rec.Expect.Calls))
	}
	for i, want := range rec.Expect.Calls {
		c := got.calls[i]
		if c.ID != want.ID || c.Name != want.Name || !cmp.Equal(parse(t, string(c.Arguments)), want.Arguments) {
			t.Errorf("call %d: %+v, want %+v", i, c, want)
		}
	}
	if u := rec.Expect.Usage; u != nil {
		want := &chat.Usage{InputTokens: u.Input, OutputTokens: u.Output, ThinkingTokens: u.Thinking, CachedTokens: u.Cached}
		if diff := cmp.Diff(want, got.usage); diff != "" {
			t.Errorf("usage (-want +got):\n%s", diff)
		}
	}
}

// Every recorded answer says what its description expects.
func TestRecordings(t *testing.T) {
	t.Parallel()
	list := recordings(t)
	if len(list) < 15 {
		t.Errorf("only %d recordings", len(list))
	}
	for _, rec := range list {
		t.Run(rec.name, func(t *testing.T) {
			t.Parallel()
			c := testCodec(nil)
			if !rec.stream {
				header := map[string][]string{"X-Should-Retry": {rec.Headers["x-should-retry"]}}
				r := c.Refuse(rec.Status, header, []byte(rec.body))
				rec.check(t, decoded{err: r})
				if r.Status != rec.Status || r.Member != "" || r.NoRetry != (rec.Headers["x-should-retry"] == "false") {
					t.Errorf("refusal %+v", r)
				}
				return
			}
			a := c.NewAnswer()
			rec.check(t, read(a, rec.events(t)))
			a.Reset()
			rec.check(t, read(a, split(t, iotest.OneByteReader(strings.NewReader(rec.body)))))
		})
	}
}

// A stream that breaks off after any event has no end, unless it said why it stopped; what it
// showed is the beginning of what the whole stream shows, and no call runs.
func TestRecordingsCut(t *testing.T) {
	t.Parallel()
	for _, rec := range recordings(t) {
		if !rec.stream || strings.HasPrefix(rec.Expect.End, "error") {
			continue
		}
		t.Run(rec.name, func(t *testing.T) {
			t.Parallel()
			a := testCodec(nil).NewAnswer()
			all := rec.events(t)
			for n := range all {
				a.Reset()
				got := read(a, all[:n])
				if n == len(all)-1 {
					rec.check(t, got) // all but message_stop
					continue
				}
				if got.err != model.ErrCut || len(got.calls) > 0 || !strings.HasPrefix(rec.Expect.Text, got.text) {
					t.Errorf("after %d events: %v, %d calls, %q", n, got.err, len(got.calls), got.text)
				}
			}
		})
	}
}

// The redacted block of the recording is kept whole, before the text.
func TestRedactedBlockIsKept(t *testing.T) {
	t.Parallel()
	rec := readRecording(t, filepath.Join(corpusDir, "messages-claude-redacted"))
	got := read(testCodec(nil).NewAnswer(), rec.events(t))
	if len(got.parts) < 2 || got.parts[0].Kept == "" || got.parts[len(got.parts)-1].Text == "" {
		t.Fatalf("parts %+v", got.parts)
	}
	block := parse(t, got.parts[0].Kept).(map[string]any)
	if data, _ := block["data"].(string); block["type"] != "redacted_thinking" || !strings.Contains(rec.body, data) || len(data) < 100 {
		t.Errorf("kept %s", got.parts[0].Kept)
	}
}

// The later request of each recorded pair is rebuilt from the earlier answer.
func TestRecordedPairs(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"messages-claude-parallel", "messages-claude-cache", "messages-claude-thinking-tool"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, second := readRecording(t, filepath.Join(corpusDir, name+"-1")), readRecording(t, filepath.Join(corpusDir, name+"-2"))
			extra := jsontext.Value(`{"max_tokens":` + memberOf(t, first.Request, "max_tokens") + `,"tool_choice":` + memberOf(t, first.Request, "tool_choice") + `}`)
			c := testCodec(func(s *model.Spec) {
				if strings.Contains(name, "thinking") {
					s.Thinking = model.Thinking{Tokens: 4000}
				}
			})
			req := requestOf(t, first.Request)
			render := func() jsontext.Value {
				body, err := model.Merge(c.Render(nil, req, nil), extra)
				if err != nil {
					t.Fatal(err)
				}
				return body
			}
			compareRequests(t, first.Request, render())
			got := read(c.NewAnswer(), first.events(t))
			if n := keptIn(got.parts); n != first.Expect.Signatures {
				t.Errorf("%d blocks kept, want %d", n, first.Expect.Signatures)
			}
			req.Messages = append(req.Messages, said(ours, got.parts...), user(resultsIn(t, second.Request, got.calls)...))
			compareRequests(t, second.Request, render())
		})
	}
}

func keptIn(parts []chat.Part) (n int) {
	for _, p := range parts {
		if p.Kept != "" {
			n++
		}
	}
	return n
}

func memberOf(t *testing.T, doc json.RawMessage, name string) string {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(doc, &m); err != nil {
		t.Fatal(err)
	}
	return string(m[name])
}

// requestOf reads a recorded first request into ours.
func requestOf(t *testing.T, doc json.RawMessage) *chat.ModelRequest {
	t.Helper()
	var r struct {
		System   []struct{ Text string }
		Messages []struct{ Content []struct{ Text string } }
		Tools    []struct {
			Name, Description string
			InputSchema       json.RawMessage `json:"input_schema"`
		}
	}
	if err := json.Unmarshal(doc, &r); err != nil {
		t.Fatal(err)
	}
	req := &chat.ModelRequest{System: r.System[0].Text, Messages: []chat.Message{user(text(r.Messages[0].Content[0].Text))}, Tools: new(tool.Set)}
	for _, spec := range r.Tools {
		req.Tools.Specs = append(req.Tools.Specs, tool.Spec{Name: spec.Name, Description: spec.Description, InputSchema: jsontext.Value(spec.InputSchema)})
	}
	return req
}

// resultsIn reads the results of a recorded request, last first, as tools that run
// together may end in any order.
func resultsIn(t *testing.T, doc json.RawMessage, calls []tool.Call) (parts []chat.Part) {
	t.Helper()
	var r struct {
		Messages []struct {
			Content []struct {
				ToolUseID string `json:"tool_use_id"`
				Content   []struct{ Text string }
			}
		}
	}
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(doc), `"content":"`, `"_":"`)), &r); err != nil {
		t.Fatal(err)
	}
	for i, content := range r.Messages[len(r.Messages)-1].Content {
		parts = append(parts, result(content.ToolUseID, calls[i].Name, content.Content[0].Text))
	}
	slices.Reverse(parts)
	return parts
}

// compareRequests compares requests member by member. Where caches end is another
// matter: TestCacheControl.
func compareRequests(t *testing.T, want json.RawMessage, got []byte) {
	t.Helper()
	if diff := cmp.Diff(withoutCaches(parse(t, string(want))), withoutCaches(parse(t, string(got)))); diff != "" {
		t.Errorf("request (-recorded +ours):\n%s", diff)
	}
}

func withoutCaches(v any) any {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "cache_control")
		for _, m := range v {
			withoutCaches(m)
		}
	case []any:
		for _, e := range v {
			withoutCaches(e)
		}
	}
	return v
}
