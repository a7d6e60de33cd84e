package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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

// recordings is where answers are that others recorded, which are not ours to pass on.
const recordings = "../../../../shared/testdata/openai"

// recording is an answer with what must come out of it, by other hands.
type recording struct {
	name, file string
	Endpoint   string
	Status     int
	Request    json.RawMessage
	Expect     struct {
		Text          string
		ThinkingChars int `json:"thinking_chars"`
		Calls         []struct {
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

// readRecordings reads those whose answer's file matches one of the patterns, and skips
// the test where there are none.
func readRecordings(t testing.TB, patterns ...string) (list []recording) {
	t.Helper()
	for _, pattern := range patterns {
		files, _ := filepath.Glob(filepath.Join(recordings, pattern))
		for _, file := range files {
			name := filepath.Base(file)
			name = name[:strings.IndexByte(name, '.')]
			list = append(list, readRecording(t, name, file))
		}
	}
	if len(list) == 0 {
		t.Skip("the recordings in shared/testdata/openai are not here")
	}
	return list
}

func readRecording(t testing.TB, name, file string) recording {
	t.Helper()
	rec := recording{name: name, file: file}
	data, err := os.ReadFile(filepath.Join(recordings, name+".json"))
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("the recordings in shared/testdata/openai are not here")
	}
	if err == nil {
		err = json.Unmarshal(data, &rec)
	}
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// wire returns the body as it went over the wire.
func (rec *recording) wire(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile(rec.file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(rec.file, ".jsonl") {
		return data
	}
	var b []byte
	for line := range bytes.Lines(data) {
		b = fmt.Appendf(b, "data: %s\n\n", bytes.TrimSpace(line))
	}
	return append(b, "data: [DONE]\n\n"...)
}

// event is a server-sent event.
type event struct{ name, data string }

// split reads server-sent events: a slow, plain reading of the standard, and the field error:
// besides.
func split(s *bufio.Scanner) (list []event) {
	var name string
	var data []string
	for s.Scan() {
		field, value, _ := strings.Cut(strings.TrimSuffix(s.Text(), "\r"), ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "event":
			name = value
		case "data":
			data = append(data, value)
		case "error":
			list = append(list, event{"error", value})
		case "":
			if s.Text() == "" && data != nil {
				list = append(list, event{name, strings.Join(data, "\n")})
				name, data = "", nil
			}
		}
	}
	return list
}

func splitBytes(wire []byte) []event { return split(bufio.NewScanner(bytes.NewReader(wire))) }

// observed is what a reader makes of an answer.
type observed struct {
	text, thoughts string
	calls          []tool.Call
	parts          []chat.Part
	finish         chat.Finish
	usage          *chat.Usage
	note           model.Stats
	err            error
}

func (h *observed) add(c *chat.Chunk) {
	for _, p := range c.Parts {
		switch {
		case p.Call != nil:
			h.calls = append(h.calls, *p.Call)
		case p.Thought:
			h.thoughts += p.Text
		default:
			h.text += p.Text
		}
		h.parts = append(h.parts, p)
	}
	if c.Usage != nil {
		u := *c.Usage
		h.usage = &u
	}
	h.finish = c.Finish
	*c = chat.Chunk{Parts: c.Parts[:0]}
}

// observe lets a read events, as the frame does.
func observe(a model.Answer, events []event) (h observed) {
	defer func() { h.note = a.Stats() }()
	var c chat.Chunk
	for _, e := range events {
		data := []byte(e.data)
		h.err = a.Decode(e.name, data, &c)
		clear(data) // valid until Take returns
		h.add(&c)
		if h.err != nil {
			return h
		}
		if a.HasEnded() {
			break
		}
	}
	h.err = a.End(&c)
	h.add(&c)
	return h
}

func testChat(t testing.TB, spec model.Spec) *chatCodec {
	t.Helper()
	if spec.Model == "" {
		spec.Key, spec.Model = "fast", "m"
	}
	c, err := newCodec(spec, func(name, reason string) { t.Logf("tool %s is left out: %s", name, reason) })
	if err != nil {
		t.Fatal(err)
	}
	return c.(*chatCodec)
}

// Every recorded answer says what others read in it.
func TestChatCorpus(t *testing.T) {
	t.Parallel()
	list := readRecordings(t, "chat-*.sse", "chat-*.chunks.jsonl", "quoted-chat-*.sse")
	if len(list) < 60 {
		t.Errorf("only %d recordings found", len(list))
	}
	codec := testChat(t, model.Spec{})
	for _, rec := range list {
		t.Run(rec.name, func(t *testing.T) {
			t.Parallel()
			wire := rec.wire(t)
			answer := codec.NewAnswer()
			compare(t, &rec, observe(answer, splitBytes(wire)))

			answer.Reset()
			dribble := split(bufio.NewScanner(iotest.OneByteReader(bytes.NewReader(wire))))
			compare(t, &rec, observe(answer, dribble))
		})
	}
}

func compare(t *testing.T, rec *recording, h observed) {
	t.Helper()
	want := &rec.Expect
	if diff := cmp.Diff(want.Text, h.text); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	if got := utf8.RuneCountInString(h.thoughts); got != want.ThinkingChars {
		t.Errorf("%d characters of thoughts, want %d", got, want.ThinkingChars)
	}
	if end := ending(h); end != want.End {
		t.Errorf("ends as %q (%v), want %q", end, h.err, want.End)
	}
	compareCalls(t, rec, h.calls)
	switch u := want.Usage; {
	case u == nil && h.usage != nil && !h.usage.Estimated:
		t.Errorf("usage is %+v, which nobody told", h.usage)
	case u != nil:
		wantUsage := &chat.Usage{InputTokens: u.Input, OutputTokens: u.Output, ThinkingTokens: u.Thinking, CachedTokens: u.Cached}
		if diff := cmp.Diff(wantUsage, h.usage); diff != "" {
			t.Errorf("usage (-want +got):\n%s", diff)
		}
	}
}

func compareCalls(t *testing.T, rec *recording, calls []tool.Call) {
	t.Helper()
	if len(calls) != len(rec.Expect.Calls) {
		t.Fatalf("%d calls, want %d", len(calls), len(rec.Expect.Calls))
	}
	for i, want := range rec.Expect.Calls {
		got := calls[i]
		var args any
		if err := json.Unmarshal(got.Arguments, &args); err != nil {
			t.Error(err)
		}
		if got.Name != want.Name || !cmp.Equal(args, want.Arguments) {
			t.Errorf("call %d is %s(%s), want %s(%v)", i, got.Name, got.Arguments, want.Name, want.Arguments)
		}
		if want.ID != "" && got.ID != want.ID || want.ID == "" && !model.NineLetters(got.ID) {
			t.Errorf("call %d has id %q, want %q", i, got.ID, want.ID)
		}
	}
}

// ending names how an answer ended, in the words of the recordings. What the frame makes
// of a refusal is reported by its kind and status.
func ending(h observed) string {
	var refusal *model.Refusal
	var blocked *model.Blocked
	switch {
	case h.err == nil:
		return string(h.finish)
	case errors.As(h.err, &blocked):
		return "error model_blocked"
	case errors.Is(h.err, model.ErrMalformedCall):
		return "error model_error"
	case errors.As(h.err, &refusal):
		return "error " + faultOf(refusal)
	}
	return "error model_unavailable"
}

func faultOf(r *model.Refusal) string {
	switch r.Kind {
	case model.KindServer:
		return "model_unavailable"
	case model.KindRateLimited:
		return "model_rate_limited"
	case model.KindBlocked:
		return "model_blocked"
	case model.KindStatus:
		switch {
		case r.Status == 429:
			return "model_rate_limited"
		case r.Status >= 400 && r.Status < 500 && r.Status != 408:
			return "model_error"
		}
		return "model_unavailable"
	}
	return "model_error"
}

// An answer that is cut anywhere never ends well, unless its end was reported already; and what
// came before the cut is what came of the whole.
func TestChatCorpusCut(t *testing.T) {
	t.Parallel()
	codec := testChat(t, model.Spec{})
	for _, rec := range readRecordings(t, "chat-*.sse", "quoted-chat-*.sse") {
		t.Run(rec.name, func(t *testing.T) {
			t.Parallel()
			events := splitBytes(rec.wire(t))
			answer := codec.NewAnswer()
			reported := false
			for n := range events {
				reported = reported || n > 0 && endsAnswer(events[n-1])
				answer.Reset()
				h := observe(answer, events[:n])
				if !strings.HasPrefix(rec.Expect.Text, h.text) {
					t.Fatalf("cut at chunk %d: %q is not the beginning of the text", n, h.text)
				}
				if (h.err == nil) != reported && !strings.HasPrefix(rec.Expect.End, "error") {
					t.Fatalf("cut at chunk %d: %v, the end was told: %v", n, h.err, reported)
				}
			}
		})
	}
}

// endsAnswer reports whether an event has a finish reason, or is the last of all.
func endsAnswer(e event) bool {
	var chunk struct {
		Choices []struct {
			Finish string `json:"finish_reason"`
		}
	}
	return e.data == "[DONE]" || json.Unmarshal([]byte(e.data), &chunk) == nil && len(chunk.Choices) > 0 && chunk.Choices[0].Finish != ""
}

// The recorded error bodies say what others read in them.
func TestChatErrorBodies(t *testing.T) {
	t.Parallel()
	codec := testChat(t, model.Spec{})
	members := map[string]string{
		"quoted-error-mistral-422":                     "stream_options",
		"quoted-error-openai-400-tools-need-responses": "reasoning_effort",
	}
	kinds := map[string]model.Kind{
		"error-openai-400-context":       model.KindOverflow,
		"error-openai-401":               model.KindMisconfigured,
		"error-openai-404-model":         model.KindMisconfigured,
		"error-deepseek-400-context":     model.KindOverflow,
		"error-groq-400-tool-use-failed": model.KindMalformed,
		"quoted-error-openai-429-quota":  model.KindQuota,
	}
	for _, rec := range readRecordings(t, "*error-*.body") {
		t.Run(rec.name, func(t *testing.T) {
			t.Parallel()
			r := codec.Refuse(rec.Status, nil, rec.wire(t))
			if got := "error " + faultOf(r); got != rec.Expect.End {
				t.Errorf("%+v ends as %q, want %q", r, got, rec.Expect.End)
			}
			if r.Member != members[rec.name] {
				t.Errorf("names %q, want %q", r.Member, members[rec.name])
			}
			if r.Kind != kinds[rec.name] {
				t.Errorf("is of kind %d, want %d", r.Kind, kinds[rec.name])
			}
			if r.Message == "" || r.Status != rec.Status {
				t.Errorf("%+v", r)
			}
		})
	}
}
