package mcpclient

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/fault"
)

const todoSchema = `{
	"type":"object","additionalProperties":false,"required":["title"],
	"properties":{
		"title":{"type":"string","minLength":1,"maxLength":5},
		"due_date":{"type":"string","format":"date-time"},
		"priority":{"enum":["low","high"]},
		"kind":{"const":"todo"},
		"tags":{"type":"array","items":{"type":"string","pattern":"^[a-z]+$"},"maxItems":2},
		"note":{"anyOf":[{"type":"string"},{"type":"null"}]},
		"when":{"oneOf":[{"type":"object","required":["at"]},{"type":"object","required":["in"]}]},
		"n":{"type":"integer","minimum":1,"maximum":9.5},
		"a/b":{"type":"number"}
	}}`

func TestArguments(t *testing.T) {
	t.Parallel()
	schema, _, err := compileSchema(jsontext.Value(todoSchema), maxToolWork)
	if err != nil {
		t.Fatal(err)
	}
	const notJSON = "they are not one valid JSON object"
	tests := []struct{ args, want string }{
		{`{"title":"milk"}`, ""},
		{`{"title":"milk","due_date":"tomorrow"}`, ""}, // formats are the server's business
		{`{"title":"milk","note":null}`, ""},
		{`{"title":"milk","n":1.0}`, ""},
		{``, `missing required "title"`},
		{`{}`, `missing required "title"`},
		{`{"title":"milk","due_date":5}`, `/due_date: got number, want string`},
		{`{"due_date":5}`, `missing required "title"; /due_date: got number, want string`},
		{`{"title":"milk","priority":"urgent"}`, `/priority: must be one of "low", "high"`},
		{`{"title":"milk","kind":"x"}`, `/kind: must be "todo"`},
		{`{"title":"milk","foo":1,"bar":2}`, `unknown "bar", "foo"`},
		{`{"title":"milk","note":5}`, `/note: got number, want string or null`},
		{`{"title":"milk","when":{}}`, `/when: fits none of the allowed forms`},
		{`{"title":"milk","when":{"at":1,"in":2}}`, `/when: fits more than one form, where only one is allowed`},
		{`{"title":"milk","tags":["UP"]}`, `/tags/0: must match ^[a-z]+$`},
		{`{"title":"milk","tags":["a","b","c"]}`, `/tags: does not satisfy maxItems`},
		{`{"title":"","n":0}`, `/n: must be at least 1; /title: has 0 characters, at least 1 wanted`},
		{`{"title":"milkmilk","n":10}`, `/n: must be at most 19/2; /title: has 8 characters, at most 5 allowed`},
		{`{"title":"milk","a/b":"x"}`, `/a~1b: got string, want number`},
		{`[]`, notJSON},
		{`"{}"`, notJSON},
		{`{"title":"milk"`, notJSON},
		{`{"title":"milk"} {}`, notJSON},
		{`{"title":"milk","title":5}`, notJSON},
		{"{\"title\":\"\xff\"}", notJSON},
	}
	for _, tt := range tests {
		_, f := checkArguments(t.Context(), "create_todo", schema, jsontext.Value(tt.args))
		if tt.want == "" {
			if f != nil {
				t.Errorf("%s: %v", tt.args, f.Hint)
			}
			continue
		}
		want := "Invalid arguments for create_todo: " + tt.want + ". Correct them and call again."
		if f == nil || f.ForModel() != want {
			// santhosh walks a map, so that the order of properties may differ.
			if f == nil || !sameParts(f.ForModel(), want) {
				t.Errorf("%s:\ngot  %+v\nwant %s", tt.args, f, want)
			}
		}
	}
}

func sameParts(a, b string) bool {
	const prefix, suffix = "Invalid arguments for create_todo: ", ". Correct them and call again."
	split := func(s string) map[string]bool {
		parts := map[string]bool{}
		for _, p := range strings.Split(strings.TrimSuffix(strings.TrimPrefix(s, prefix), suffix), "; ") {
			parts[p] = true
		}
		return parts
	}
	x, y := split(a), split(b)
	for p := range x {
		if !y[p] {
			return false
		}
	}
	return len(x) == len(y)
}

func TestArgumentProblemsAreFewAndShort(t *testing.T) {
	t.Parallel()
	var properties, args []string
	for i := range 50 {
		properties = append(properties, fmt.Sprintf(`"p%d":{"type":"string","enum":["%s"]}`, i, strings.Repeat("v", 500)))
		args = append(args, fmt.Sprintf(`"p%d":"%s"`, i, strings.Repeat("secret", 1000)))
	}
	schema, _, err := compileSchema(jsontext.Value(`{"properties":{`+strings.Join(properties, ",")+`}}`), maxToolWork)
	if err != nil {
		t.Fatal(err)
	}
	_, f := checkArguments(t.Context(), "t", schema, jsontext.Value("{"+strings.Join(args, ",")+"}"))
	if f == nil || len(f.Hint) > (maxProblems+2)*maxProblem || strings.Contains(f.Hint, "secret") {
		t.Errorf("the hint is %v", f)
	}
	if !strings.Contains(f.Hint, "and 45 more") {
		t.Errorf("the hint does not say how many more: %s", f.Hint)
	}
}

func TestInvalidArgumentsAreNotSent(t *testing.T) {
	t.Parallel()
	f := newFake(`{"name":"create_todo","inputSchema":` + todoSchema + `}`)
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
	if want := `There is no tool "wrote". Available: write, read.`; err.ForModel() != want {
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
		"image":          {`{"content":[{"type":"image","mimeType":"image/png","data":"` + strings.Repeat("AAAA", 4096) + `"}]}`, "[image image/png, 12 KB, not shown]"},
		"audio":          {`{"content":[{"type":"audio","mimeType":"audio/wav","data":"AAA="}]}`, "[audio audio/wav, 2 bytes, not shown]"},
		"link":           {`{"content":[{"type":"resource_link","uri":"todo://1","name":"milk"}]}`, "[link milk, todo://1]"},
		"embedded text":  {`{"content":[{"type":"resource","resource":{"uri":"todo://1","text":"buy milk"}}]}`, "buy milk"},
		"embedded blob":  {`{"content":[{"type":"resource","resource":{"uri":"todo://1","mimeType":"x/y","blob":"AAAA"}}]}`, "[resource todo://1, x/y, 3 bytes, not shown]"},
		"unknown":        {`{"content":[{"type":"hologram"},{"type":"text","text":"t"}]}`, "[content of type hologram, not shown]\nt"},
		"structured":     {`{"content":[],"structuredContent":{"n":12345678901234567890, "a":1}}`, `{"n":12345678901234567890, "a":1}`},
		"without text":   {`{"structuredContent":[1]}`, `[1]`},
		"text counts":    {`{"content":[{"type":"text","text":"t"}],"structuredContent":{"breaks":"its schema"}}`, "t"},
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
		text, _, err := render(data)
		if err == nil && clean(text) != text {
			t.Errorf("%q is not clean", text)
		}
	})
}
