package geminisim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/sim/geminisim/simtest"
)

// shape replaces all values that may differ between two answers.
func shape(s string) string {
	for _, r := range []struct{ re, by string }{
		{`"text": "(?:[^"\\]|\\.)*"`, `"text": "T"`},
		{`"(modelVersion|responseId|thoughtSignature)": "[^"]*"`, `"$1": "X"`},
		{`: \d+`, `: N`},
	} {
		s = regexp.MustCompile(r.re).ReplaceAllString(s, r.by)
	}
	return s
}

// The bytes of a stream, but for the values, are those of a recorded one.
func TestFramingIsThatOfTheRealAPI(t *testing.T) {
	want := shape(string(recording(t, "pyric-gemini31flashlite-framing.sse")))
	sc := script(t, `
usage 15 15
text 1 2 3 4 5 6 7 8
usage 15 20
text " 9 10"
data {"candidates": [{"content": {"parts": [{"text": "","thoughtSignature": "EjQ="}],"role": "model"},"finishReason": "STOP","index": 0}],"usageMetadata": {"promptTokenCount": 15,"candidatesTokenCount": 20,"totalTokenCount": 35,"promptTokensDetails": [{"modality": "TEXT","tokenCount": 15}],"serviceTier": "standard"},"modelVersion": "x","responseId": "y"}
`)
	_, url := serve(t, Config{Script: sc})
	_, got := simtest.Post(t, url+streamPath, simtest.UserSays("count"))
	if diff := cmp.Diff(want, shape(got)); diff != "" {
		t.Errorf("script (-want +got)\n%s", diff)
	}

	_, url = serve(t, Config{Model: parrot{}})
	for _, text := range []string{"hello", "a b c d e f", "one\n\ntwo", "x", "yes, no, perhaps", "1 2 3 4 5 6 7 8 9 10 11"} {
		_, got = simtest.Post(t, url+streamPath, simtest.UserSays(text))
		blocks := strings.SplitAfter(shape(got), "\r\n\r\n")
		wanted := strings.SplitAfter(want, "\r\n\r\n")
		for i, block := range blocks[:len(blocks)-1] {
			model := wanted[0]
			if i == len(blocks)-2 {
				model = wanted[2]
				if !strings.Contains(block, "thoughtSignature") {
					model = strings.Replace(model, `,"thoughtSignature": "X"`, "", 1)
				}
			}
			if block != model {
				t.Errorf("%q, chunk %d: %q, want %q", text, i, block, model)
			}
		}
	}
}

// A call and a thought have the fields of the recorded ones, in their order.
func TestCallsAndThoughtsLookLikeRecordedOnes(t *testing.T) {
	_, url := serve(t, Config{Model: parrot{}})
	body := strings.Replace(simtest.UserSays("call create_todo"), `{"contents"`, `{"generationConfig":{"thinkingConfig":{"includeThoughts":true}},"contents"`, 1)
	_, got := simtest.Post(t, url+streamPath, body)
	blocks := strings.Split(strings.TrimSuffix(got, "\r\n\r\n"), "\r\n\r\n")
	thoughtShape := regexp.MustCompile(`^data: \{"candidates": \[\{"content": \{"parts": \[\{"text": "\*\*[^*]+\*\*\\n\\n[^"]+\\n\\n\\n","thought": true\}\],"role": "model"\},"index": 0\}\],"usageMetadata": \{"promptTokenCount": \d+,"totalTokenCount": \d+,"promptTokensDetails": \[\{"modality": "TEXT","tokenCount": \d+\}\],"thoughtsTokenCount": \d+,"serviceTier": "standard"\},"modelVersion": "parrot","responseId": "[\w-]{23}"\}$`)
	callShape := regexp.MustCompile(`^data: \{"candidates": \[\{"content": \{"parts": \[\{"functionCall": \{"name": "create_todo","args": \{"title": "buy eggs","priority": "medium"\},"id": "[0-9a-z]{8}"\},"thoughtSignature": "[A-Za-z0-9+/]+=*"\}\],"role": "model"\},"index": 0\}\],`)
	for i, re := range []*regexp.Regexp{thoughtShape, callShape, regexp.MustCompile(`"finishReason": "STOP"`)} {
		if i >= len(blocks) || !re.MatchString(blocks[i]) {
			t.Fatalf("chunk %d does not look right:\n%s", i, strings.Join(blocks, "\n"))
		}
	}
}

// Thoughts are billed, but only shown to those who ask for them.
func TestThoughtsOnlyWhereAskedFor(t *testing.T) {
	t.Parallel()
	_, url := serve(t, Config{Model: parrot{}})
	_, body := simtest.Post(t, url+streamPath, simtest.UserSays("call create_todo"))
	if got := gather(t, body); got.thoughts != "" || len(got.calls) != 1 {
		t.Errorf("%+v", got)
	}
	if n, ok := readSSE(t, body)[0].Usage["thoughtsTokenCount"].(float64); !ok || n < 5 {
		t.Errorf("usage %v", readSSE(t, body)[0].Usage)
	}
}

func TestAnswersCannotPassForTheRealAPI(t *testing.T) {
	t.Parallel()
	_, url := serve(t, Config{})
	for _, path := range []string{streamPath, "/v1beta/models/m:generateContent", "/nothing", "/v1beta/models/m:embedContent"} {
		resp, _ := simtest.Post(t, url+path, simtest.UserSays("hello"))
		if resp.Header.Get("Server") != "geminisim" || resp.Header.Get("X-Geminisim") != "simulator" {
			t.Errorf("%s: headers %v", path, resp.Header)
		}
	}
}

func TestEveryChunkHasOneIDAndGrowingUsage(t *testing.T) {
	t.Parallel()
	_, url := serve(t, Config{Model: parrot{}})
	resp, body := simtest.Post(t, url+streamPath, simtest.UserSays(strings.Repeat("many words ", 25)))
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("Content-Type %q", got)
	}
	chunks := readSSE(t, body)
	last := 0.0
	for i, c := range chunks {
		if c.ModelVersion != "parrot" || c.ResponseID != chunks[0].ResponseID || len(c.ResponseID) != 23 {
			t.Errorf("chunk %d: model %q, id %q", i, c.ModelVersion, c.ResponseID)
		}
		prompt, said, total := c.Usage["promptTokenCount"].(float64), c.Usage["candidatesTokenCount"].(float64), c.Usage["totalTokenCount"].(float64)
		if said < last || total != prompt+said || prompt < 100 {
			t.Errorf("chunk %d: usage %v", i, c.Usage)
		}
		last = said
		if finish := c.Candidates[0].FinishReason; (finish == "STOP") != (i == len(chunks)-1) {
			t.Errorf("chunk %d: finishReason %q", i, finish)
		}
	}
	if len(chunks) < 10 {
		t.Errorf("only %d chunks", len(chunks))
	}
}

func TestSameRequestSameAnswer(t *testing.T) {
	t.Parallel()
	_, one := serve(t, Config{Model: parrot{}})
	_, two := serve(t, Config{Model: parrot{}})
	body := simtest.UserSays("call one two three")
	_, a := simtest.Post(t, one+streamPath, body)
	_, b := simtest.Post(t, two+streamPath, body)
	if a != b {
		t.Errorf("two answers:\n%s\n%s", a, b)
	}
}

func TestJSONArrayStream(t *testing.T) {
	t.Parallel()
	_, url := serve(t, Config{Model: parrot{}})
	resp, body := simtest.Post(t, url+"/v1beta/models/m:streamGenerateContent?%24alt=json%3Benum-encoding%3Dint", simtest.UserSays("hello to the array"))
	var chunks []wireChunk
	if err := json.Unmarshal([]byte(body), &chunks); err != nil || len(chunks) < 3 {
		t.Fatalf("%d chunks, %v: %s", len(chunks), err, body)
	}
	if got := resp.Header.Get("Content-Type"); !strings.HasPrefix(got, "application/json") {
		t.Errorf("Content-Type %q", got)
	}
	if !strings.HasPrefix(body, "[{\n  \"candidates\": [\n") || !strings.Contains(body, "}\n,\r\n{") || !strings.HasSuffix(body, "}\n]\n") {
		t.Errorf("layout: %q", body)
	}

	_, body = simtest.Post(t, url+"/v1beta/models/m:streamGenerateContent", `{"contents":[]}`)
	if !strings.HasPrefix(body, "[{\n  \"error\"") {
		t.Errorf("an error in a JSON stream is an element of the array: %q", body)
	}
}

func TestUnary(t *testing.T) {
	t.Parallel()
	_, url := serve(t, Config{Model: parrot{}})
	path := url + "/v1beta/models/m:generateContent"
	_, body := simtest.Post(t, path, simtest.UserSays("a text of more than one piece"))
	var c wireChunk
	if err := json.Unmarshal([]byte(body), &c); err != nil {
		t.Fatal(err)
	}
	if n := len(c.Candidates[0].Content.Parts); n > 2 || !strings.Contains(body, "a text of more than one piece") {
		t.Errorf("%d parts in %s", n, body)
	}

	_, body = simtest.Post(t, path, simtest.UserSays("call one two"))
	if strings.Count(body, `"functionCall"`) != 2 || strings.Count(body, `"thoughtSignature"`) != 1 || !strings.Contains(body, `"finishMessage": "Model generated function call(s)."`) {
		t.Error(body)
	}
}

func TestModelIsDescribed(t *testing.T) {
	t.Parallel()
	_, url := serve(t, Config{Model: parrot{}, RequireKey: "k"})
	for key, want := range map[string]int{"": http.StatusForbidden, "k": http.StatusOK} {
		req, err := http.NewRequest(http.MethodGet, url+"/v1beta/models/gemini-flash-latest", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("x-goog-api-key", key)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var model struct{ Name, Version string }
		if err := json.NewDecoder(resp.Body).Decode(&model); err != nil {
			t.Error(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want || want == http.StatusOK && (model.Name != "models/gemini-flash-latest" || model.Version != "parrot") {
			t.Errorf("key %q: %d %+v", key, resp.StatusCode, model)
		}
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	_, url := serve(t, Config{RequireKey: "secret"})
	for _, tc := range []struct {
		name, header, query string
		code                int
		want                string
	}{
		{"missing", "", "", 403, "unregistered callers"},
		{"wrong", "other", "", 400, "API key not valid. Please pass a valid API key."},
		{"header", "secret", "", 200, ""},
		{"query", "", "&key=secret", 200, ""},
	} {
		req, err := http.NewRequest(http.MethodPost, url+streamPath+tc.query, strings.NewReader(simtest.UserSays("hello")))
		if err != nil {
			t.Fatal(err)
		}
		if tc.header != "" {
			req.Header.Set("x-goog-api-key", tc.header)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if _, err := b.ReadFrom(resp.Body); err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != tc.code || !strings.Contains(b.String(), tc.want) {
			t.Errorf("%s: %d %s", tc.name, resp.StatusCode, b.String())
		}
	}
}

func TestUnknownPaths(t *testing.T) {
	t.Parallel()
	_, url := serve(t, Config{})
	for _, path := range []string{"/", "/v1beta/models/", "/v1/models/m:generateContent", "/v1beta/models/m:countTokens"} {
		resp, body := simtest.Post(t, url+path, simtest.UserSays("hello"))
		if code, status, _ := apiMessage(t, body); resp.StatusCode != 404 || code != 404 || status != "NOT_FOUND" {
			t.Errorf("%s: %d %s", path, resp.StatusCode, body)
		}
	}
}

func TestHugeBodyIsRefused(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, streamPath, bytes.NewReader(make([]byte, maxBody+1)))
	New(Config{}).ServeHTTP(w, r)
	if w.Code != 400 || !strings.Contains(w.Body.String(), "exceeds the limit") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestWhatAServerRemembers(t *testing.T) {
	t.Parallel()
	unscripted, url := serve(t, Config{})
	simtest.Post(t, url+streamPath, simtest.UserSays("hello"))
	if unscripted.Calls() != 1 || len(unscripted.Requests()) != 0 {
		t.Errorf("a server with a model counts (%d) but keeps nothing (%d)", unscripted.Calls(), len(unscripted.Requests()))
	}

	s := New(Config{Script: script(t, "text a\nfinish STOP\n---\nend\n---\nend\nloop")})
	for i := range keptCalls + 5 {
		r, err := http.NewRequest(http.MethodPost, streamPath, strings.NewReader(`{"contents":[`+simtest.Text("user", fmt.Sprint("hello ", i))+`]}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Request-ID", fmt.Sprint("req_", i))
		s.ServeHTTP(discard{http.Header{}}, r)
		if i == 0 && s.Unused() != 2 {
			t.Errorf("%d responses unused after the first call", s.Unused())
		}
	}
	requests := s.Requests()
	if s.Calls() != keptCalls+5 || len(requests) != keptCalls || s.Unused() != 0 {
		t.Fatalf("%d calls, %d kept, %d unused", s.Calls(), len(requests), s.Unused())
	}
	second := requests[1]
	if second.Method != "POST" || second.URL != streamPath || second.Header.Get("X-Request-ID") != "req_1" || !strings.Contains(string(second.Body), `"hello 1"`) {
		t.Errorf("%+v", second)
	}
}

// discard is a ResponseWriter that nobody reads.
type discard struct{ h http.Header }

func (d discard) Header() http.Header         { return d.h }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}
func (d discard) Flush()                      {}
