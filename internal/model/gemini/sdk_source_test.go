//go:build !nosdk

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

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/generative-ai-go/genai"
	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/model"
	"sluice/internal/model/gemini/sdk"
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
			resp, err := sdk.Transport{}.RoundTrip(r)
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
		client, err := sdk.New(over)
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
		if ans, err := s.openRaw(t.Context(), &chat.ModelRequest{}, new(model.Body)); err == nil {
			ans.close()
		}
		if ctx.Err() == nil {
			t.Errorf("status %d: the context goes on", status)
		}
	}
}

// TestRecordsStayApart if the SDK reads ahead.
func TestRecordsStayApart(t *testing.T) {
	t.Parallel()
	wire := ""
	for i := range 5 {
		wire += textChunk(fmt.Sprint("text", i))
	}
	h, c := httpOver(t, &canned{status: 200, body: wire})
	r := &records{http: h, codec: c, body: new(model.Body)}
	if err := r.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer r.close()
	got := new(rawChunk)
	for i, read := range []int{2, 0, 2, 0, 1} {
		for range read {
			if _, err := r.Next(); err != nil {
				t.Fatal(err)
			}
		}
		if !r.popRecord(got) || got.parts[0].text != fmt.Sprint("text", i) {
			t.Fatalf("record %d: %+v", i, got.parts)
		}
	}
	if r.popRecord(got) {
		t.Error("one record too many")
	}
}

func TestTakeOver(t *testing.T) {
	t.Parallel()
	text, call, foreign := rawPart{text: "a"}, rawPart{call: &rawCall{name: "f"}}, rawPart{foreign: true}
	sdkText, sdkCall := sdk.Part{Text: "a"}, sdk.Part{Name: "f", IsCall: true}
	for name, tt := range map[string]struct {
		record []rawPart
		parts  []sdk.Part
		want   bool
	}{
		"same":            {[]rawPart{text, foreign, call}, []sdk.Part{sdkText, sdkCall}, true},
		"nothing":         {[]rawPart{foreign}, nil, true},
		"a part too few":  {[]rawPart{text, text}, []sdk.Part{sdkText}, false},
		"a part too many": {[]rawPart{text}, []sdk.Part{sdkText, sdkText}, false},
		"call for text":   {[]rawPart{text}, []sdk.Part{sdkCall}, false},
		"text for call":   {[]rawPart{call}, []sdk.Part{sdkText}, false},
	} {
		if got := takeOver(&rawChunk{parts: tt.record}, tt.parts); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
	c := &rawChunk{parts: []rawPart{{text: "record's", signature: "s"}, {call: &rawCall{id: "i", name: "record's"}}}}
	takeOver(c, []sdk.Part{{Text: "SDK's"}, {Name: "SDK's", IsCall: true}})
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
	client, err := sdk.New(roundTrip(func(r *http.Request) (_ *http.Response, err error) {
		sent, err = io.ReadAll(r.Body)
		return nil, errors.Join(err, io.EOF)
	}))
	if err != nil {
		t.Fatal(err)
	}
	m := defaultCodec(t)
	for name, req := range requests {
		if _, err := client.Open(t.Context(), sdkRequest("m", req), nil); err == nil {
			t.Errorf("%s: an answer without a service", name)
		}
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
