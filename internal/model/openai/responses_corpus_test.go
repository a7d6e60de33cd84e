package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/model"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// responsesDir has recordings that others made, which are not ours to pass on. Each
// comes with what a reader by other hands got out of it.
const responsesDir = "../../../../shared/testdata/openai"

// responsesRecording is an answer as it went over the wire.
type responsesRecording struct {
	Name    string
	Wire    []byte
	Request json.RawMessage
	Expect  struct {
		Text     string
		Thinking int `json:"thinking_chars"`
		Calls    []struct {
			ID, Name  string
			Arguments any
		}
		End   string
		Usage *struct {
			Input    int `json:"input_tokens"`
			Output   int `json:"output_tokens"`
			Thinking int `json:"thinking_tokens"`
			Cached   int `json:"cached_tokens"`
		}
	}
}

// responsesRecordings reads the recordings, and skips the test where there are none.
func responsesRecordings(t testing.TB) (list []responsesRecording) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(responsesDir, "responses-*.json"))
	if len(files) == 0 {
		t.Skip("the recordings in shared/testdata/openai are not here")
	}
	for _, file := range files {
		var rec responsesRecording
		meta, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(meta, &rec); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		base := strings.TrimSuffix(file, ".json")
		rec.Name = filepath.Base(base)
		if rec.Wire, err = os.ReadFile(base + ".sse"); errors.Is(err, os.ErrNotExist) {
			lines, err := os.ReadFile(base + ".chunks.jsonl")
			if err != nil {
				t.Fatal(err)
			}
			rec.Wire = responsesWire(strings.Split(strings.TrimSpace(string(lines)), "\n")...)
		}
		list = append(list, rec)
	}
	return list
}

// responsesWire makes a stream of events without names.
func responsesWire(docs ...string) []byte {
	var b bytes.Buffer
	for _, d := range docs {
		b.WriteString("data: " + d + "\n\n")
	}
	return b.Bytes()
}

// responsesRead is what an answer reported, put together.
type responsesRead struct {
	Text, Thoughts string
	Calls          []tool.Call
	Parts          []chat.Part
	Usage          *chat.Usage
	Finish         chat.Finish
}

// readResponses reads a stream with a plain reading of SSE, as the frame reads it: chunk
// by chunk, and End once.
func readResponses(a model.Answer, r io.Reader) (*responsesRead, error) {
	got := new(responsesRead)
	var name string
	var data []byte
	use := func(f func(c *chat.Chunk) error) error {
		var c chat.Chunk
		err := f(&c)
		got.add(&c)
		return err
	}
	lines := bufio.NewReader(r)
	for !a.HasEnded() {
		line, err := lines.ReadString('\n')
		line = strings.TrimRight(line, "\r\n")
		switch field, value, _ := strings.Cut(line, ":"); {
		case line == "" && data != nil:
			// The data is gone after Take, so what the codec keeps of it would show.
			err := use(func(c *chat.Chunk) error { return a.Decode(name, data, c) })
			clear(data)
			if err != nil {
				return got, err
			}
			name, data = "", nil
		case field == "event":
			name = strings.TrimPrefix(value, " ")
		case field == "data":
			if data != nil {
				data = append(data, '\n')
			}
			data = append(data, strings.TrimPrefix(value, " ")...)
		}
		if err != nil {
			break
		}
	}
	return got, use(a.End)
}

func (got *responsesRead) add(c *chat.Chunk) {
	for _, p := range c.Parts {
		switch {
		case p.Call != nil:
			got.Calls = append(got.Calls, *p.Call)
		case p.Thought:
			got.Thoughts += p.Text
		default:
			got.Text += p.Text
		}
	}
	got.Parts = append(got.Parts, c.Parts...)
	if c.Usage != nil {
		u := *c.Usage
		got.Usage = &u
	}
	if c.Finish != chat.FinishNone {
		got.Finish = c.Finish
	}
}

// TestResponsesCorpus reads each recording whole, and one byte a read.
func TestResponsesCorpus(t *testing.T) {
	t.Parallel()
	codec := newResponses(model.Spec{Key: "fast", Model: "gpt-5"}, nil)
	list := responsesRecordings(t)
	if len(list) < 14 {
		t.Errorf("only %d recordings", len(list))
	}
	for _, rec := range list {
		t.Run(rec.Name, func(t *testing.T) {
			t.Parallel()
			a := codec.NewAnswer()
			got, err := readResponses(a, bytes.NewReader(rec.Wire))
			checkResponses(t, &rec, got, err)
			a.Reset()
			got, err = readResponses(a, iotest.OneByteReader(bytes.NewReader(rec.Wire)))
			checkResponses(t, &rec, got, err)
			got, err = readResponses(codec.NewAnswer(), bytes.NewReader(withoutResponsesNames(rec.Wire)))
			checkResponses(t, &rec, got, err)
		})
	}
}

// withoutResponsesNames takes the event lines out of a stream.
func withoutResponsesNames(wire []byte) []byte {
	var out []byte
	for line := range bytes.Lines(wire) {
		if !bytes.HasPrefix(line, []byte("event:")) {
			out = append(out, line...)
		}
	}
	return out
}

func checkResponses(t *testing.T, rec *responsesRecording, got *responsesRead, err error) {
	t.Helper()
	want := &rec.Expect
	if got.Text != want.Text {
		t.Errorf("text %q, want %q", got.Text, want.Text)
	}
	if n := utf8.RuneCountInString(got.Thoughts); n != want.Thinking {
		t.Errorf("%d characters of thoughts, want %d", n, want.Thinking)
	}
	if len(got.Calls) != len(want.Calls) {
		t.Fatalf("%d calls, want %d", len(got.Calls), len(want.Calls))
	}
	for i, c := range got.Calls {
		var args any
		if err := json.Unmarshal(c.Arguments, &args); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(want.Calls[i].Arguments, args); c.ID != want.Calls[i].ID || c.Name != want.Calls[i].Name || diff != "" {
			t.Errorf("call %d: %s %s (-want +got):\n%s", i, c.ID, c.Name, diff)
		}
	}
	var usage *chat.Usage
	if u := want.Usage; u != nil {
		usage = &chat.Usage{InputTokens: u.Input, OutputTokens: u.Output, ThinkingTokens: u.Thinking, CachedTokens: u.Cached}
	}
	if diff := cmp.Diff(usage, got.Usage); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
	if end := responsesEnd(got, err); end != want.End {
		t.Errorf("ended with %q (%v), want %q", end, err, want.End)
	}
}

// responsesEnd puts an ending into the words of the recordings.
func responsesEnd(got *responsesRead, err error) string {
	if err == nil {
		return string(got.Finish)
	}
	if r, ok := errors.AsType[*model.Refusal](err); ok {
		switch r.Kind {
		case model.KindRateLimited:
			return "error model_rate_limited"
		case model.KindStatus, model.KindServer:
			return "error model_unavailable"
		}
		return "error model_error"
	}
	if _, ok := errors.AsType[*model.Blocked](err); ok {
		return "error model_blocked"
	}
	if errors.Is(err, model.ErrMalformedCall) {
		return "error model_error"
	}
	return "error model_unavailable"
}

// TestResponsesCut ends each recording after each of its events: before the one that
// ends it, no answer is whole, and what was reported of it is the beginning of what it says.
func TestResponsesCut(t *testing.T) {
	t.Parallel()
	codec := newResponses(model.Spec{}, nil)
	for _, rec := range responsesRecordings(t) {
		t.Run(rec.Name, func(t *testing.T) {
			t.Parallel()
			events := bytes.SplitAfter(bytes.TrimRight(bytes.ReplaceAll(rec.Wire, []byte("\r\n"), []byte("\n")), "\n"), []byte("\n\n"))
			ended := false
			for n := range events {
				got, err := readResponses(codec.NewAnswer(), io.MultiReader(bytes.NewReader(bytes.Join(events[:n], nil)), strings.NewReader("\n\n")))
				if !strings.HasPrefix(rec.Expect.Text, got.Text) || len(got.Calls) > len(rec.Expect.Calls) {
					t.Errorf("after %d events: text %q and %d calls", n, got.Text, len(got.Calls))
				}
				ended = ended || rec.Expect.End != "stop" && responsesEnd(got, err) == rec.Expect.End
				if !ended && !errors.Is(err, model.ErrCut) {
					t.Errorf("after %d events: %v, want %v", n, err, model.ErrCut)
				}
			}
		})
	}
}

// TestResponsesPairs makes the second request of each recorded conversation out of the
// first answer, and looks in it for what the recorded one holds.
func TestResponsesPairs(t *testing.T) {
	t.Parallel()
	list := responsesRecordings(t)
	byName := map[string]*responsesRecording{}
	for i := range list {
		byName[list[i].Name] = &list[i]
	}
	pairs := 0
	for name, second := range byName {
		first := byName[strings.TrimSuffix(name, "-2")+"-1"]
		if !strings.HasSuffix(name, "-2") || first == nil {
			continue
		}
		pairs++
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var want struct {
				Model string
				Input []map[string]any
			}
			if err := json.Unmarshal(second.Request, &want); err != nil {
				t.Fatal(err)
			}
			codec := newResponses(model.Spec{Key: "fast", Model: want.Model}, nil)
			answer, err := readResponses(codec.NewAnswer(), bytes.NewReader(first.Wire))
			if err != nil {
				t.Fatal(err)
			}
			results := chat.Message{Role: chat.RoleUser}
			for _, c := range answer.Calls {
				results.Parts = append(results.Parts, chat.Part{Result: &tool.Result{ID: c.ID, Name: c.Name, Text: responsesOutput(want.Input, c.ID)}})
			}
			got := renderResponses(t, codec, &chat.ModelRequest{Messages: []chat.Message{
				{Role: chat.RoleUser, Parts: []chat.Part{{Text: "question"}}},
				{Role: chat.RoleModel, Maker: codec.maker, Parts: answer.Parts},
				results,
			}})
			checkResponsesInput(t, first, want.Input, responsesItems(got))
		})
	}
	if pairs < 5 {
		t.Errorf("only %d pairs", pairs)
	}
}

// responsesOutput returns the output that the recorded client gave for a call.
func responsesOutput(input []map[string]any, id string) string {
	for _, item := range input {
		if item["type"] == "function_call_output" && item["call_id"] == id {
			return item["output"].(string)
		}
	}
	return ""
}

// checkResponsesInput compares what of an input goes back, item by item. What recorded
// clients send beyond it are members of messages that stand for nothing. Some do not
// return the reasoning and the ids that go with it: it must be as the first answer has it.
func checkResponsesInput(t *testing.T, first *responsesRecording, want, got []map[string]any) {
	t.Helper()
	sealed := map[string]any{}
	for _, item := range responsesDone(t, first.Wire) {
		if item["type"] == "reasoning" && item["encrypted_content"] != nil {
			sealed[item["id"].(string)] = item
		}
	}
	returned := 0
	var wantRest, gotRest []map[string]any
	for _, item := range got {
		if item["type"] != "reasoning" {
			gotRest = append(gotRest, item)
			continue
		}
		returned++
		if diff := cmp.Diff(sealed[item["id"].(string)], any(item)); diff != "" {
			t.Errorf("reasoning item (-answer +request):\n%s", diff)
		}
	}
	if returned != len(sealed) {
		t.Errorf("%d reasoning items go back, want %d", returned, len(sealed))
	}
	for _, item := range want {
		switch {
		case item["type"] == "reasoning":
			answered, _ := sealed[item["id"].(string)].(map[string]any)
			for name, value := range item {
				if diff := cmp.Diff(value, answered[name]); diff != "" {
					t.Errorf("reasoning item, %s (-recorded +answer):\n%s", name, diff)
				}
			}
		case item["role"] == nil || item["role"] == "assistant":
			delete(item, "status")
			wantRest = append(wantRest, item)
		}
	}
	plain := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == `["annotations"]` }, cmp.Ignore())
	quotes := cmp.Transformer("quotes", func(s string) string { return strings.NewReplacer("’", "'", "“", `"`, "”", `"`).Replace(s) })
	gotRest = gotRest[1:] // without the question
	for i, item := range gotRest {
		if i < len(wantRest) && wantRest[i]["id"] == nil {
			delete(item, "id")
		}
	}
	if diff := cmp.Diff(wantRest, gotRest, plain, quotes); diff != "" {
		t.Errorf("input after the question (-recorded +ours):\n%s", diff)
	}
	if i, j := responsesAt(got, "reasoning"), responsesAt(got, "function_call"); returned > 0 && i > j {
		t.Errorf("the reasoning item stands at %d, after its call at %d", i, j)
	}
}

func responsesAt(items []map[string]any, kind string) int {
	for i, item := range items {
		if item["type"] == kind {
			return i
		}
	}
	return -1
}

// responsesDone reads the items of an answer that are done.
func responsesDone(t *testing.T, wire []byte) (items []map[string]any) {
	t.Helper()
	for line := range bytes.Lines(wire) {
		data, ok := bytes.CutPrefix(line, []byte("data: "))
		if !ok {
			continue
		}
		var ev struct {
			Type string
			Item map[string]any
		}
		if err := json.Unmarshal(data, &ev); err != nil {
			t.Fatal(err)
		}
		if ev.Type == "response.output_item.done" {
			items = append(items, ev.Item)
		}
	}
	return items
}

// renderResponses renders a request and reads it again.
func renderResponses(t testing.TB, c *responsesCodec, req *chat.ModelRequest, omit ...string) map[string]any {
	t.Helper()
	b := c.Render([]byte("before"), req, omit)
	if !bytes.HasPrefix(b, []byte("before")) {
		t.Fatalf("what stood before is gone: %.40s", b)
	}
	var body map[string]any
	if err := json.Unmarshal(b[len("before"):], &body); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	return body
}

func responsesItems(body map[string]any) (items []map[string]any) {
	for _, item := range body["input"].([]any) {
		items = append(items, item.(map[string]any))
	}
	return items
}
