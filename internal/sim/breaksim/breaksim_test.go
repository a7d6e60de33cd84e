package breaksim_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"sluice/internal/sim/breaksim"
	"sluice/internal/sim/geminisim"
	"sluice/internal/sim/modelsim"
)

const recordings = "../../../../shared/testdata/"

// wires are the protocols: a request for a text, the recorded streams, and the text of an event.
var wires = []struct {
	name, path, body, recorded string
	text                       func(node) string
}{
	{"gemini", "/v1beta/models/m:streamGenerateContent?alt=sse", `{"contents":[{"role":"user","parts":[{"text":"%s"}]}]}`, "gemini/*.sse",
		func(n node) string { return n.at("candidates").at("content").at("parts").str("text") }},
	{"chat", "/v1/chat/completions", `{"model":"m","stream":true,"messages":[{"role":"user","content":"%s"}]}`, "openai/chat-*.sse",
		func(n node) string { return n.at("choices").at("delta").str("content") }},
	{"responses", "/v1/responses", `{"model":"m","stream":true,"input":"%s"}`, "openai/responses-*.sse", deltaOf("response.output_text.delta", "delta")},
	{"messages", "/v1/messages", `{"model":"m","stream":true,"max_tokens":99,"messages":[{"role":"user","content":"%s"}]}`, "anthropic/*.sse",
		func(n node) string {
			if n.str("type") != "content_block_delta" {
				return ""
			}
			return n.at("delta").str("text")
		}},
}

// node is a JSON object. A list counts as its first element.
type node map[string]any

func (n node) at(name string) node {
	v := n[name]
	if list, ok := v.([]any); ok && len(list) > 0 {
		v = list[0]
	}
	m, _ := v.(map[string]any)
	return m
}

func (n node) str(name string) string { s, _ := n[name].(string); return s }

func deltaOf(kind, member string) func(node) string {
	return func(n node) string {
		if n.str("type") != kind {
			return ""
		}
		return n.str(member)
	}
}

// stream asks a model, and returns its stream up to the break.
func stream(t *testing.T, m geminisim.Model, path, body string) string {
	t.Helper()
	var h http.Handler = modelsim.New(modelsim.Config{Model: m})
	if strings.Contains(path, "v1beta") {
		h = geminisim.New(geminisim.Config{Model: m})
	}
	s := httptest.NewServer(breaksim.Cut(h))
	defer s.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Anthropic-Version", "2023-06-01")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusOK || err == nil != strings.Contains(body, "Hello") {
		t.Fatalf("%d, %v: %s", resp.StatusCode, err, text)
	}
	return string(text)
}

// events returns the whole events of a stream, and the data of the last one if it is cut.
func events(text string) (list []node, last string) {
	for line := range strings.Lines(text) {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var n node
		if json.Unmarshal([]byte(data), &n) == nil {
			list, last = append(list, n), ""
		} else {
			last = data
		}
	}
	return list, last
}

// A stream breaks behind the byte that the input names. All events before it are whole.
func TestStreamsBreakBehindAnyByte(t *testing.T) {
	t.Parallel()
	texts := breaksim.Texts()
	m := &breaksim.Model{Texts: texts, Dies: true}
	for _, w := range wires {
		for _, text := range []int{0, 2, 5} {
			whole := texts[text]
			for cut := 1; cut <= len(whole); cut += 5 {
				list, last := events(stream(t, m, w.path, fmt.Sprintf(w.body, breaksim.Input(text, cut, "takes", "a"))))
				got := ""
				for _, n := range list {
					got += w.text(n)
				}
				want := whole[:cut]
				for !utf8.ValidString(want) {
					want = want[:len(want)-1]
				}
				if got != want || !strings.HasSuffix(last, whole[len(want):cut]) {
					t.Fatalf("%s, cut at %d: the text is %q, and then %q; want %q", w.name, cut, got, last, want)
				}
			}
		}
	}
}

// members adds the paths of an event's members to a set.
func members(set map[string]bool, prefix string, v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			members(set, prefix+"[]", e)
		}
	case map[string]any:
		if kind, ok := v["type"].(string); ok {
			prefix += "(" + kind + ")"
		}
		for name, e := range v {
			set[prefix+"."+name] = true
			members(set, prefix+"."+name, e)
		}
	}
}

// Each member of the double's events stands in a recorded stream too.
func TestEventsAreAsRecorded(t *testing.T) {
	t.Parallel()
	for _, w := range wires {
		files, _ := filepath.Glob(recordings + w.recorded)
		if len(files) == 0 {
			t.Skip("the recordings in shared/testdata are not here")
		}
		known := map[string]bool{}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			list, _ := events(string(text))
			for _, n := range list {
				members(known, "", map[string]any(n))
			}
		}
		list, _ := events(stream(t, &breaksim.Model{}, w.path, fmt.Sprintf(w.body, "Hello")))
		if len(list) < 2 {
			t.Errorf("%s: %d events", w.name, len(list))
		}
		for _, n := range list {
			said := map[string]bool{}
			members(said, "", map[string]any(n))
			for path := range said {
				if !known[path] {
					t.Errorf("%s: no recording has %s", w.name, path)
				}
			}
		}
	}
}
