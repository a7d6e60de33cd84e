package sdk

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/generative-ai-go/genai"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/api/iterator"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// roundTrip is a transport.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// script is an Upstream that returns chunks, and then an error.
type script struct {
	chunks [][]Part
	err    error // nil: io.EOF
	refuse error // of Open
	opened int
}

func (s *script) Open(context.Context) error { s.opened++; return s.refuse }

func (s *script) Next() ([]Part, error) {
	if len(s.chunks) == 0 {
		if s.err == nil {
			return nil, io.EOF
		}
		return nil, s.err
	}
	c := s.chunks[0]
	s.chunks = s.chunks[1:]
	return c, nil
}

func newClient(t *testing.T, over http.RoundTripper) *Client {
	t.Helper()
	c, err := New(over)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestAnswer: each chunk of the upstream comes through the SDK as it was, and then the
// upstream's own end.
func TestAnswer(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	chunks := [][]Part{{{Text: "a\u2028\x00\\\""}, {Name: "f\"", IsCall: true}}, nil, {{Text: ""}}, {{Text: "a"}}}
	for name, end := range map[string]error{"end": nil, "cut": io.ErrUnexpectedEOF, "down": down} {
		up := &script{chunks: chunks, err: end}
		a, err := newClient(t, Transport{}).Open(t.Context(), &Request{Model: "m"}, up)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range chunks {
			got, err := a.Next()
			if err != nil || cmp.Diff(append([]Part{}, want...), append([]Part{}, got...)) != "" {
				t.Errorf("%s: chunk %d is %+v, %v; want %+v", name, i, got, err, want)
			}
		}
		for range 2 {
			if _, err := a.Next(); err != end && (end != nil || err != io.EOF) {
				t.Errorf("%s: the answer ended with %v", name, err)
			}
		}
		a.Close()
	}
	refused := &script{refuse: down}
	if _, err := newClient(t, Transport{}).Open(t.Context(), &Request{Model: "m"}, refused); err != down || refused.opened != 1 {
		t.Errorf("refused: error = %v after %d requests", err, refused.opened)
	}
}

// TestTransportSendsNothingElse: no second request in a call, and no request without a call.
func TestTransportSendsNothingElse(t *testing.T) {
	t.Parallel()
	client := newClient(t, Transport{})
	if _, err := client.genai.GenerativeModel("m").GenerateContent(t.Context(), genai.Text("hello")); !errors.Is(err, errForeignRequest) {
		t.Errorf("error = %v", err)
	}
	a := &Answer{pump: pump{upstream: new(script)}}
	r, _ := http.NewRequestWithContext(context.WithValue(t.Context(), callKey{}, a), http.MethodPost, "http://x", http.NoBody)
	for i, want := range []error{nil, errForeignRequest} {
		if _, err := (Transport{}).RoundTrip(r); err != want {
			t.Errorf("request %d: error = %v, want %v", i+1, err, want)
		}
	}
}

// TestSDKReadsThePump has the SDK's own reader judge what the pump makes.
func TestSDKReadsThePump(t *testing.T) {
	t.Parallel()
	chunks := [][]Part{{{Text: "hm"}, {Text: "a"}}, {{Name: "f", IsCall: true}, {Text: ""}}, nil}
	for name, wrap := range map[string]func(io.Reader) io.Reader{
		"as it comes": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader, "error with data": iotest.DataErrReader,
	} {
		client := newClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: io.NopCloser(wrap(&pump{upstream: &script{chunks: chunks}})), Request: r}, nil
		}))
		var got [][]genai.Part
		it := client.genai.GenerativeModel("m").StartChat().SendMessageStream(t.Context(), genai.Text("hello"))
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
	chunks := [][]Part{{{Text: "a"}}}
	for name, tt := range map[string]struct {
		upstream *script
		text     string
	}{
		"end":   {&script{chunks: chunks}, "]"},
		"empty": {&script{}, "[]"},
		"cut":   {&script{chunks: chunks, err: io.ErrUnexpectedEOF}, ""},
	} {
		p := &pump{upstream: tt.upstream}
		all, first := io.ReadAll(p)
		n, again := p.Read(make([]byte, 8))
		if n != 0 || !errors.Is(again, p.err) || (first == nil) != (again == io.EOF) || !strings.HasSuffix(string(all), tt.text) || (tt.text == "") == strings.HasSuffix(string(all), "]") {
			t.Errorf("%s: read %q, %v, and then %d bytes, %v", name, all, first, n, again)
		}
	}
}

// TestReadParts refuses a chunk that the pump cannot have made.
func TestReadParts(t *testing.T) {
	t.Parallel()
	answer := func(parts ...genai.Part) *genai.GenerateContentResponse {
		return &genai.GenerateContentResponse{Candidates: []*genai.Candidate{{Content: &genai.Content{Parts: parts}}}}
	}
	for name, tt := range map[string]struct {
		pending int
		resp    *genai.GenerateContentResponse
		want    []Part
		ok      bool
	}{
		"parts":          {1, answer(genai.Text("a"), genai.FunctionCall{Name: "f"}), []Part{{Text: "a"}, {Name: "f", IsCall: true}}, true},
		"no parts":       {1, answer(), nil, true},
		"a chunk more":   {0, answer(genai.Text("a")), nil, false},
		"no candidate":   {1, &genai.GenerateContentResponse{}, nil, false},
		"two candidates": {1, &genai.GenerateContentResponse{Candidates: []*genai.Candidate{{}, {}}}, nil, false},
		"no content":     {1, &genai.GenerateContentResponse{Candidates: []*genai.Candidate{{}}}, nil, false},
		"another type":   {1, answer(genai.Blob{}), nil, false},
	} {
		a := &Answer{pump: pump{pending: tt.pending}}
		if ok := a.readParts(tt.resp); ok != tt.ok || len(a.parts) != len(tt.want) || ok && cmp.Diff(tt.want, a.parts) != "" {
			t.Errorf("%s: %v, %+v", name, ok, a.parts)
		}
	}
}
