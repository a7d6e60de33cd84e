package offline

import (
	"bufio"
	"bytes"
	"encoding/json" // a decoder that the package does not use, to judge it
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sluice/internal/sim/geminisim"
	"sluice/internal/sim/geminisim/simtest"
)

// testNow is the same moment.
func testNow() time.Time {
	return time.Date(2026, 11, 21, 11, 30, 0, 0, time.FixedZone("Europe/Berlin", 3600))
}

const streamPath = "/v1beta/models/offline-demo:streamGenerateContent?alt=sse"

// serve starts a simulator with the offline model.
func serve(t *testing.T) string {
	t.Helper()
	h := httptest.NewServer(geminisim.New(geminisim.Config{Model: Model{Now: testNow}}))
	t.Cleanup(h.Close)
	return h.URL
}

type wirePart struct {
	Text         *string `json:"text"`
	Thought      bool    `json:"thought"`
	Signature    string  `json:"thoughtSignature"`
	FunctionCall *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
}

// answerOf is what a stream holds.
type answerOf struct {
	text  string
	calls []string // raw parts with a functionCall
	lines []string // the calls as "name {args}"
}

func gather(t *testing.T, body string) answerOf {
	t.Helper()
	var a answerOf
	sc := bufio.NewScanner(strings.NewReader(body))
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		data, ok := strings.CutPrefix(sc.Text(), "data: ")
		if !ok {
			continue
		}
		var c struct {
			Candidates []struct {
				Content struct {
					Parts []json.RawMessage `json:"parts"`
				} `json:"content"`
			} `json:"candidates"`
		}
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			t.Fatalf("chunk %q: %v", data, err)
		}
		for _, raw := range c.Candidates[0].Content.Parts {
			a.add(t, raw)
		}
	}
	return a
}

func (a *answerOf) add(t *testing.T, raw json.RawMessage) {
	t.Helper()
	var p wirePart
	if err := json.Unmarshal(raw, &p); err != nil {
		t.Fatal(err)
	}
	if p.FunctionCall == nil {
		a.text += *p.Text
		return
	}
	var args bytes.Buffer
	if err := json.Compact(&args, p.FunctionCall.Args); err != nil {
		t.Fatal(err)
	}
	a.calls = append(a.calls, string(raw))
	a.lines = append(a.lines, p.FunctionCall.Name+" "+args.String())
}

// answered sends a request and returns the calls, one a line, or else the text.
func answered(t *testing.T, url, request string) string {
	t.Helper()
	resp, body := simtest.Post(t, url+streamPath, request)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", request, body)
	}
	a := gather(t, body)
	if len(a.lines) > 0 {
		return strings.Join(a.lines, "\n")
	}
	return a.text
}
