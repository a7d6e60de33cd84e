package geminisim

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/sim/geminisim/simtest"
)

const unaryPath = "/v1beta/models/m:generateContent"

// Each code has its name in google.rpc, in each framing.
func TestNamesOfErrors(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]string{
		400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED",
		500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED", 418: "UNKNOWN",
	} {
		for _, path := range []string{streamPath, unaryPath, strings.TrimSuffix(streamPath, "?alt=sse")} {
			_, url := serve(t, Config{Script: script(t, fmt.Sprint("error ", code, ` "Slow\ndown"`))})
			resp, body := simtest.Post(t, url+path, simtest.UserSays("hi"))
			if strings.HasSuffix(path, "streamGenerateContent") {
				body = strings.TrimSuffix(strings.TrimPrefix(body, "["), "]\n") // the only element of the array
			}
			got, status, message := apiMessage(t, body)
			if resp.StatusCode != code || got != code || status != want || message != "Slow\ndown" || resp.Header.Get("Content-Type") != "application/json; charset=UTF-8" {
				t.Errorf("%s: %d %v %s", path, resp.StatusCode, resp.Header, body)
			}
		}
	}
	if got := (&apiError{Code: 429, Status: "RESOURCE_EXHAUSTED", Message: "Slow down"}).Error(); got != "429 RESOURCE_EXHAUSTED: Slow down" {
		t.Errorf("in a log: %s", got)
	}
}

// A unary answer has the pieces of a stream put together, as far as they may be.
func TestUnaryPutsPiecesTogether(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ script, parts, finish string }{
		"texts":            {"text a\ntext b\nfinish STOP", `[{"text":"ab"}]`, "STOP"},
		"thoughts stay":    {"thought a\nthought b\ntext c\ntext d", `[{"text":"a","thought":true},{"text":"b","thought":true},{"text":"cd"}]`, ""},
		"calls between":    {"text a\ncall f {} id=x sig=none\ntext b\nfinish MAX_TOKENS", `[{"text":"a"},{"functionCall":{"args":{},"id":"x","name":"f"}},{"text":"b"}]`, "MAX_TOKENS"},
		"an empty one":     {"finish SAFETY", `[{"text":""}]`, "SAFETY"},
		"parts as written": {"text a\nparts [{\"x\":1}]\ntext b", `[{"text":"a"},{"x":1},{"text":"b"}]`, ""},
	} {
		_, url := serve(t, Config{Script: script(t, tt.script)})
		_, body := simtest.Post(t, url+unaryPath, simtest.UserSays("hi"))
		var got struct {
			Candidates []struct {
				Content      struct{ Parts any }
				FinishReason string
			}
		}
		if err := json.Unmarshal([]byte(body), &got); err != nil || len(got.Candidates) != 1 {
			t.Fatalf("%s: %v in %s", name, err, body)
		}
		parts, err := json.Marshal(got.Candidates[0].Content.Parts)
		if err != nil {
			t.Fatal(err)
		}
		if string(parts) != tt.parts || got.Candidates[0].FinishReason != tt.finish {
			t.Errorf("%s: %s, finished %q", name, parts, got.Candidates[0].FinishReason)
		}
	}
}

// A body that breaks off is no request, and is not counted as one.
func TestBodyThatBreaksOff(t *testing.T) {
	t.Parallel()
	s := New(Config{})
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, streamPath, io.NopCloser(iotest.ErrReader(io.ErrUnexpectedEOF))))
	if _, _, message := apiMessage(t, w.Body.String()); w.Code != 400 || message != "The request body could not be read." || s.Calls() != 0 {
		t.Errorf("%d %s, %d calls", w.Code, w.Body, s.Calls())
	}
}

// What of a script nobody has asked for is counted, and never below nothing.
func TestUnused(t *testing.T) {
	t.Parallel()
	s, url := serve(t, Config{Script: script(t, "text a\n---\ntext b")})
	for want := 2; want >= 0; want-- {
		if got := s.Unused(); got != want {
			t.Errorf("%d are unused, want %d", got, want)
		}
		simtest.Post(t, url+streamPath, simtest.UserSays("hi"))
	}
	if got := s.Unused(); got != 0 {
		t.Errorf("after too many requests %d are unused", got)
	}
	if plain := New(Config{}); plain.Unused() != 0 {
		t.Error("a server without a script has unused responses")
	}
}

// Errors name members as protocol buffers do, and numbers of elements in brackets.
func TestPathsInErrors(t *testing.T) {
	t.Parallel()
	for pointer, want := range map[string]string{
		"": "", "/contents": "contents", "/tools/0/functionDeclarations/12/parametersJsonSchema": "tools[0].function_declarations[12].parameters_json_schema",
		"/generationConfig/topP": "generation_config.top_p",
	} {
		if got := fieldPath(jsontext.Pointer(pointer)); got != want {
			t.Errorf("%q: %s, want %s", pointer, got, want)
		}
	}
}
