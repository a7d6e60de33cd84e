package gemini

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/generative-ai-go/genai"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/iterator"

	"sluice/internal/base/fault"
	"sluice/internal/model"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// roundTrip is a transport.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestSDKFailures are failures that are neither the service's nor the network's.
// They hold neither what was read nor what was panicked with.
func TestSDKFailures(t *testing.T) {
	t.Parallel()
	// Replaced is what the SDK reads in place of what the pump made.
	replaced := func(body string) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			resp, err := sdkTransport{}.RoundTrip(r)
			if err == nil {
				resp.Body = io.NopCloser(strings.NewReader(body))
			}
			return resp, err
		})
	}
	panicking := roundTrip(func(*http.Request) (*http.Response, error) { panic("PRIVATE") })
	for _, tt := range []struct {
		name      string
		transport http.RoundTripper
		want      string
	}{
		{"panic over a part", replaced(`[{"candidates":[{"content":{"parts":[{"functionResponse":{"name":"PRIVATE"}}]}}]}]`), "panic (string) in github.com/google/generative-ai-go/genai.partFromProto"},
		{"panic before the answer", panicking, "panic (string) in sluice/internal/model/gemini.TestSDKFailures"},
		{"nil", replaced(`[null]`), "the SDK "},
		{"unreadable", replaced(`[{"candidates":"PRIVATE"}]`), "the SDK returned a "},
		{"no array", replaced(`PRIVATE`), "the SDK returned a "},
		{"more than was sent", replaced(`[{}]`), "out of step"},
		{"end before the end", replaced(`[]`), "the SDK returned a "},
		{"never asked", roundTrip(func(*http.Request) (*http.Response, error) { return nil, errors.New("PRIVATE") }), "the SDK returned a *url.Error"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			u := serve(t, finished("a"))
			m := openOver(t, tt.transport, Config{BaseURL: u.URL})
			got, err := ask(t.Context(), m)
			e := &fault.Error{}
			if !errors.As(err, &e) || e.Type != fault.Internal || e.Message != fault.From(io.EOF).Message || got.chunks != 0 {
				t.Fatalf("error = %v after %d chunks", err, got.chunks)
			}
			if s := err.Error(); !strings.Contains(s, tt.want) || strings.Contains(s, "PRIVATE") {
				t.Errorf("error = %q, want %q in it", s, tt.want)
			}
			wantFailures(t, m, 0)
		})
	}
}

// openOver makes a Model whose SDK talks through t.
func openOver(t *testing.T, over http.RoundTripper, cfg Config) *Model {
	t.Helper()
	return open(t, func(cfg Config) (*Model, error) {
		client, err := newSDKClient(over)
		if err != nil {
			return nil, err
		}
		return newModel(cfg, overSDK(client))
	}, cfg)
}

// TestSDKPanicsMidStream: one call's panic is no other's.
func TestSDKPanicsMidStream(t *testing.T) {
	t.Parallel()
	body := io.MultiReader(strings.NewReader(textChunk("part")), roundTripReader(func([]byte) (int, error) { panic("PRIVATE") }))
	m := open(t, NewSDK, Config{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Body: io.NopCloser(body), Request: r}, nil
	})})
	got, err := ask(t.Context(), m)
	e := wantFault(t, err, fault.Internal)
	if got.Text != "part" || strings.Contains(e.Error(), "PRIVATE") {
		t.Errorf("text = %q, error %v", got.Text, err)
	}
}

type roundTripReader func([]byte) (int, error)

func (f roundTripReader) Read(b []byte) (int, error) { return f(b) }

// TestSDKTransportSendsNothingElse: no second request in a call, and none without
// a call.
func TestSDKTransportSendsNothingElse(t *testing.T) {
	t.Parallel()
	client, err := newSDKClient(sdkTransport{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.GenerativeModel("m").GenerateContent(t.Context(), genai.Text("hello")); !errors.Is(err, errForeignRequest) {
		t.Errorf("error = %v", err)
	}
	c := &canned{status: 200, body: textChunk("a")}
	a := &sdkAnswer{rest: restOf(t, c), body: new(model.Body), cancel: func() {}}
	r, _ := http.NewRequestWithContext(context.WithValue(t.Context(), sdkCallKey{}, a), http.MethodPost, "http://x", http.NoBody)
	for i, want := range []error{nil, errForeignRequest} {
		if _, err := (sdkTransport{}).RoundTrip(r); err != want {
			t.Errorf("request %d: error = %v, want %v", i+1, err, want)
		}
	}
	a.close()
}

// TestSDKCallIsCancelled when its answer is closed, and when there is none: the
// SDK's iterator has no other end.
func TestSDKCallIsCancelled(t *testing.T) {
	t.Parallel()
	for _, status := range []int{200, 400} {
		var ctx context.Context
		c := &canned{status: status, body: textChunk("a")}
		s := sdkOver(t, roundTrip(func(r *http.Request) (*http.Response, error) {
			ctx = r.Context()
			return c.RoundTrip(r)
		}))
		if ans, err := s.open(t.Context(), &chat.ModelRequest{}, new(model.Body)); err == nil {
			ans.close()
		}
		if ctx.Err() == nil {
			t.Errorf("status %d: the context goes on", status)
		}
	}
}

// TestSDKReadsThePump has the SDK's own reader judge what the pump makes.
func TestSDKReadsThePump(t *testing.T) {
	t.Parallel()
	wire := event(`{"candidates":[{"content":{"parts":[{"text":"hm","thought":true},{"text":"a"},{"inlineData":{}}]}}]}`) +
		event(`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"a":1e999}}},{"text":"","thoughtSignature":"s"}]}}]}`) + finishChunk("STOP")
	for name, wrap := range map[string]func(io.Reader) io.Reader{
		"as it comes": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader, "error with data": iotest.DataErrReader,
	} {
		client, err := newSDKClient(roundTrip(func(r *http.Request) (*http.Response, error) {
			rest, _ := restOf(t, &canned{status: 200, body: wire}).open(r.Context(), new(model.Body))
			return &http.Response{StatusCode: 200, Body: io.NopCloser(wrap(&pump{upstream: rest})), Request: r}, nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		var got [][]genai.Part
		it := client.GenerativeModel("m").StartChat().SendMessageStream(t.Context(), genai.Text("hello"))
		resp, err := it.Next()
		for ; err == nil; resp, err = it.Next() {
			got = append(got, resp.Candidates[0].Content.Parts)
		}
		want := [][]genai.Part{{genai.Text("hm"), genai.Text("a")}, {genai.FunctionCall{Name: "f"}, genai.Text("")}, nil}
		if diff := cmp.Diff(want, got); diff != "" || err != iterator.Done {
			t.Errorf("%s: the SDK read (-want +got):\n%s%v", name, diff, err)
		}
		if merged := it.MergedResponse().Candidates[0].Content.Parts; len(merged) != len(want[0]) {
			t.Errorf("%s: the SDK joined the chunks, at a cost that grows with their square: %v", name, merged)
		}
	}
}

// TestPumpErrorStays: after an error, gax reads again.
func TestPumpErrorStays(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		transport *canned
		text      string
	}{
		"end":       {&canned{status: 200, body: textChunk("a")}, "]"},
		"empty":     {&canned{status: 200}, "[]"},
		"cut":       {&canned{status: 200, body: textChunk("a"), err: io.ErrUnexpectedEOF}, ""},
		"API error": {&canned{status: 200, body: textChunk("a") + event(googleError(503, "", ""))}, ""},
	} {
		rest, err := restOf(t, tt.transport).open(t.Context(), new(model.Body))
		if err != nil {
			t.Fatal(err)
		}
		p := &pump{upstream: rest}
		all, first := io.ReadAll(p)
		n, again := p.Read(make([]byte, 8))
		if n != 0 || !errors.Is(again, p.err) || (first == nil) != (again == io.EOF) || !strings.HasSuffix(string(all), tt.text) || (tt.text == "") == strings.HasSuffix(string(all), "]") {
			t.Errorf("%s: read %q, %v, and then %d bytes, %v", name, all, first, n, again)
		}
		rest.close()
	}
}

// TestPumpKeepsRecordsApart if somebody reads ahead.
func TestPumpKeepsRecordsApart(t *testing.T) {
	t.Parallel()
	wire := ""
	for i := range 5 {
		wire += textChunk(fmt.Sprint("text", i))
	}
	rest, err := restOf(t, &canned{status: 200, body: wire}).open(t.Context(), new(model.Body))
	if err != nil {
		t.Fatal(err)
	}
	defer rest.close()
	p := &pump{upstream: rest}
	c := new(rawChunk)
	for i, read := range []int{2, 0, 2, 0, 1} {
		for range read {
			p.Read(make([]byte, 1000))
		}
		if !p.pop(c) || c.parts[0].text != fmt.Sprint("text", i) {
			t.Fatalf("record %d: %+v", i, c.parts)
		}
	}
	if p.pop(c) {
		t.Error("one record too many")
	}
}

func TestTakeOver(t *testing.T) {
	t.Parallel()
	answer := func(parts ...genai.Part) *genai.GenerateContentResponse {
		return &genai.GenerateContentResponse{Candidates: []*genai.Candidate{{Content: &genai.Content{Parts: parts}}}}
	}
	text, call, foreign := rawPart{text: "a"}, rawPart{call: &rawCall{name: "f"}}, rawPart{foreign: true}
	for name, tt := range map[string]struct {
		record []rawPart
		resp   *genai.GenerateContentResponse
		want   bool
	}{
		"same":            {[]rawPart{text, foreign, call}, answer(genai.Text("a"), genai.FunctionCall{Name: "f"}), true},
		"nothing":         {[]rawPart{foreign}, answer(), true},
		"no candidate":    {nil, &genai.GenerateContentResponse{}, false},
		"no content":      {nil, &genai.GenerateContentResponse{Candidates: []*genai.Candidate{{}}}, false},
		"a part too few":  {[]rawPart{text, text}, answer(genai.Text("a")), false},
		"a part too many": {[]rawPart{text}, answer(genai.Text("a"), genai.Text("b")), false},
		"call for text":   {[]rawPart{text}, answer(genai.FunctionCall{}), false},
		"text for call":   {[]rawPart{call}, answer(genai.Text("a")), false},
		"another type":    {[]rawPart{text}, answer(genai.Blob{}), false},
	} {
		if got := takeOver(&rawChunk{parts: tt.record}, tt.resp); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
	c := &rawChunk{parts: []rawPart{{text: "record's", signature: "s"}, {call: &rawCall{id: "i", name: "record's"}}}}
	takeOver(c, answer(genai.Text("SDK's"), genai.FunctionCall{Name: "SDK's"}))
	if a, b := c.parts[0], c.parts[1].call; a.text != "SDK's" || a.signature != "s" || b.name != "SDK's" || b.id != "i" {
		t.Errorf("taken over: %+v, %+v", a, b)
	}
}

// TestSDKRendersTheSameRequest compares our rendering of a conversation with the
// SDK's own, which is not sent: Google's reading of what goes where.
func TestSDKRendersTheSameRequest(t *testing.T) {
	t.Parallel()
	tools := &tool.Set{Specs: []tool.Spec{{Name: "now", Description: "the time"}, {Name: "add", InputSchema: jsontext.Value(`{"type":"object","properties":{"a":{}}}`)}}}
	hello := []chat.Message{user(chat.Part{Text: "hello"})}
	requests := map[string]*chat.ModelRequest{
		"hello":    {Messages: hello, System: "be kind", Tools: tools},
		"no tools": {Messages: hello, Tools: tools, NoTools: true},
		"a step": {Messages: []chat.Message{
			user(chat.Part{Text: "add"}), user(chat.Part{Text: "please"}),
			byModel(chat.Part{Text: "hm", Thought: true}, chat.Part{Text: "", Signature: "s0"}, chat.Part{Call: callOf("id", "add", `{"a":[1.5,"x",null,true,{"b":{}}]}`), Signature: "s1"}, chat.Part{Call: callOf("", "now", "")}),
			user(chat.Part{Result: &tool.Result{ID: "id", Name: "add", Text: "3"}}), user(chat.Part{Result: &tool.Result{Name: "now", Text: "no clock", IsError: true}}),
			user(chat.Part{Text: "go on"}),
		}},
	}
	for _, f := range recordedRequests(t) {
		var doc map[string]any
		mustUnmarshal(t, readFile(t, f), &doc)
		requests[filepath.Base(f)] = requestOf(t, doc)
	}
	var sent []byte
	client, err := newSDKClient(roundTrip(func(r *http.Request) (_ *http.Response, err error) {
		sent, err = io.ReadAll(r.Body)
		return nil, errors.Join(err, io.EOF)
	}))
	if err != nil {
		t.Fatal(err)
	}
	s := &sdk{client: client, model: "m"}
	m := defaultCodec(t)
	for name, req := range requests {
		s.send(t.Context(), req)
		var ours, theirs map[string]any
		mustUnmarshal(t, string(m.Render(nil, req, nil)), &ours)
		mustUnmarshal(t, string(sent), &theirs)
		delete(theirs, "model")
		if diff := cmp.Diff(common(theirs), common(ours)); diff != "" {
			t.Errorf("%s (-SDK +ours):\n%s", name, diff)
		}
	}
}

func recordedRequests(t *testing.T) (files []string) {
	t.Run("recordings", func(t *testing.T) { files = corpusFiles(t, ".req.json") })
	return files
}

// common leaves out of a request what the SDK has no field for, or sends on its
// own, or leaves out because it is empty.
func common(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = common(v[i])
		}
	case map[string]any:
		for name, member := range v {
			switch name {
			case "id", "thoughtSignature", "parametersJsonSchema", "generationConfig":
				delete(v, name)
				continue
			case "args", "description":
				if empty, _ := json.Marshal(member); len(empty) == 2 {
					delete(v, name)
					continue
				}
			case "mode":
				if member == float64(genai.FunctionCallingNone) {
					member = "NONE"
				}
			}
			v[name] = common(member)
		}
	}
	return v
}
