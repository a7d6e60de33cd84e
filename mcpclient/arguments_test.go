package mcpclient

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"sluice/internal/base/fault"
	"sluice/internal/turn/tool"
)

// What fits a schema is tested in package tool.
func TestInvalidArgumentsAreNotSent(t *testing.T) {
	t.Parallel()
	f := newFake(`{"name":"create_todo","inputSchema":{"type":"object","required":["title"]}}`)
	c := newClient(t, over(serve(t, f)))
	_, err := callWith(t.Context(), c, "create_todo", `{}`)
	wantFault(t, err, fault.ToolFailed, false)
	if want := "create_todo was called with arguments that do not fit its schema"; err.Message != want {
		t.Errorf("got message %q, want %q", err.Message, want)
	}
	if n := f.counts("tools/call"); n != 0 {
		t.Errorf("the server got %d calls, want 0", n)
	}
	if n := failures(c); n != 0 {
		t.Errorf("the breaker counts %d failures, want 0", n)
	}
}

func TestUnknownTool(t *testing.T) {
	t.Parallel()
	c := newClient(t, over(serve(t, newFake())))
	_, err := call(t.Context(), c, "wrote")
	wantFault(t, err, fault.ToolFailed, false)
	if want := `There is no tool "wrote". Available: read, write.`; err.ForModel() != want {
		t.Errorf("got %q, want %q", err.ForModel(), want)
	}
}

func TestUnknownToolAmongMany(t *testing.T) {
	t.Parallel()
	var tools []string
	for i := range 200 {
		tools = append(tools, fmt.Sprintf(`{"name":"tool_%d","inputSchema":{}}`, i))
	}
	c := newClient(t, over(serve(t, newFake(tools...))))
	_, err := call(t.Context(), c, strings.Repeat("x", 10_000))
	if n := len(err.ForModel()); n > 1000 {
		t.Errorf("a hint of %d bytes", n)
	}
}

func TestResults(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ result, want string }{
		"texts":          {`{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`, "a\nb"},
		"nothing":        {`{"content":[]}`, ""},
		"image":          {`{"content":[{"type":"image","mimeType":"image/png","data":"` + strings.Repeat("AAAA", 4096) + `"}]}`, "[image/png, 12 KB, left out]"},
		"audio":          {`{"content":[{"type":"audio","mimeType":"audio/wav","data":"AAA="}]}`, "[audio/wav, 2 bytes, left out]"},
		"link":           {`{"content":[{"type":"resource_link","uri":"todo://1","name":"milk"}]}`, "[link milk, todo://1]"},
		"embedded text":  {`{"content":[{"type":"resource","resource":{"uri":"todo://1","text":"buy milk"}}]}`, "buy milk"},
		"embedded blob":  {`{"content":[{"type":"resource","resource":{"uri":"todo://1","mimeType":"x/y","blob":"AAAA"}}]}`, "[resource todo://1, x/y, 3 bytes, not shown]"},
		"unknown":        {`{"content":[{"type":"hologram"},{"type":"text","text":"t"}]}`, "[content of type hologram, not shown]\nt"},
		"structured":     {`{"content":[],"structuredContent":{"n":12345678901234567890, "a":1}}`, `{"n":12345678901234567890, "a":1}`},
		"without text":   {`{"structuredContent":[1]}`, `[1]`},
		"text counts":    {`{"content":[{"type":"text","text":"t"}],"structuredContent":{"breaks":"its schema"}}`, "t\n{\"breaks\":\"its schema\"}"},
		"controls":       {`{"content":[{"type":"text","text":"a\u0000b\u001b[31mc\u0085\td\r\n\u007f"}]}`, "ab[31mc\td\r\n"},
		"bidi and tags":  {`{"content":[{"type":"text","text":"a\u202eb\u2066c\udb40\udc41"}]}`, "abc"},
		"bad UTF-8":      {"{\"content\":[{\"type\":\"text\",\"text\":\"a\xffb\"}]}", "a\uFFFDb"},
		"lone surrogate": {`{"content":[{"type":"text","text":"a\ud83d"}]}`, "a\uFFFD"},
		"emoji":          {`{"content":[{"type":"text","text":"👩‍👩‍👧"}]}`, "👩‍👩‍👧"},
	}
	f := newFake()
	c := newClient(t, over(serve(t, f)))
	for name, tt := range tests {
		f.setOnCall(func(w http.ResponseWriter, _ *http.Request, req fakeRequest) { sendResult(w, req, tt.result) })
		r, err := call(t.Context(), c, "read")
		if err != nil || r.Text != tt.want || r.IsError {
			t.Errorf("%s: got %q, %v; want %q", name, r.Text, err, tt.want)
		}
	}
}

func FuzzRender(f *testing.F) {
	f.Add([]byte(`{"content":[{"type":"text","text":"a"}],"isError":true}`))
	f.Add([]byte(`{"content":[{"type":"resource","resource":{"blob":"="}},{"type":"image","data":"=="}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := readResult(data)
		if r == nil {
			return
		}
		if text := r.renderText(); tool.Clean(text) != text {
			t.Errorf("%q is not clean", text)
		}
	})
}
