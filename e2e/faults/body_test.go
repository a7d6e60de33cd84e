package faults

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/e2e/process"
)

// A body that is too long gets 413 at once, also one whose length is not said; its connection closes.
func TestC13LongBody(t *testing.T) {
	t.Parallel()
	g := start(t, echo)
	long := func(n int, rest string) string {
		return `{"pad":"` + strings.Repeat("a", n-len(`{"pad":"","input":"x"}`)-len(rest)) + `","input":"x"` + rest + `}`
	}
	chunked := func(body string) string {
		return fmt.Sprintf("POST /chat/stream HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	}
	const json = "Content-Type: application/json"
	const history = `,"history":[]`
	for name, tt := range map[string]struct {
		request string
		ok      bool
	}{
		"128 KiB":                        {request("POST", "/chat/stream", long(128<<10, ""), json), true},
		"128 KiB and a byte":             {request("POST", "/chat/stream", long(128<<10+1, ""), json), false},
		"the same, chunked":              {chunked(long(128<<10+1, "")), false},
		"with a history":                 {request("POST", "/chat/stream", long(128<<10+1, history), json), true},
		"1 MiB and a byte":               {request("POST", "/chat/stream", long(1<<20+1, history), json), false},
		"1 MiB and a byte, only said":    {"POST /chat/stream HTTP/1.1\r\nHost: x\r\n" + json + "\r\nContent-Length: 1048577\r\n\r\n", false},
		"1 MiB and a byte, not finished": {strings.TrimSuffix(chunked(long(1<<20+100, "")), "\r\n0\r\n\r\n"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, closed := g.say(t, tt.request)
			if tt.ok {
				got.finished(t)
				return
			}
			got.refused(t, 413, "payload_too_large", "")
			if strings.HasPrefix(name, "1 MiB") && !closed { // others were read to their end
				t.Errorf("the connection stays open: %v", got.header)
			}
		})
	}
}

// Characters are counted as people count them, after what is stripped: 5,000 of four bytes are not
// too many, in a body and in an address.
func TestC14LengthOfInput(t *testing.T) {
	t.Parallel()
	g := start(t, echo)
	emoji := strings.Repeat("😀", 5000)
	for body, fault := range map[string]string{
		`{"input":"` + strings.Repeat("a", 5001) + `"}`: "/input too_long",
		`{"input":"` + emoji + `!"}`:                    "/input too_long",
		`{"input":""}`:                                  "/input blank",
		`{"input":"\u0001\u007f\u009f"}`:                "/input blank",
		`{"input":" \n\t"}`:                             "/input blank",
	} {
		g.post(t, body).refused(t, 422, "validation_error", fault)
	}
	g.untouched(t)
	if got := g.post(t, `{"input":"`+emoji+`\u0000"}`).finished(t); got != emoji {
		t.Errorf("of 5,000 emoji come back %d bytes", len(got))
	}
	got, _ := g.say(t, request("GET", "/chat/stream?input="+url.QueryEscape(emoji), ""))
	if answer := got.finished(t); answer != emoji {
		t.Errorf("of 5,000 emoji in an address come back %d bytes", len(answer))
	}
}

// What only JSON can be is sent as JSON.
func TestC15ContentType(t *testing.T) {
	t.Parallel()
	g := start(t, echo)
	for _, h := range []string{"X-No: type", "Content-Type: application/x-www-form-urlencoded", "Content-Type: text/plain", "Content-Type: multipart/form-data; boundary=x", "Content-Type: application/jsonp"} {
		got, _ := g.say(t, request("POST", "/chat/stream", aTurn, h))
		got.refused(t, 415, "unsupported_media_type", "")
	}
	g.untouched(t)
	got, _ := g.say(t, request("POST", "/chat/stream", aTurn, "Content-Type: Application/JSON; charset=utf-8"))
	got.finished(t)
}

// bodies are those of a row that are refused, with the fault that is named.
func bodies(t *testing.T, refused map[string]string) {
	t.Helper()
	t.Parallel()
	g := start(t, echo)
	for body, fault := range refused {
		g.post(t, body).refused(t, 422, "validation_error", fault)
	}
	g.untouched(t)
	g.post(t, aTurn).finished(t)
}

// One byte order mark is skipped; a second one is a fault.
func TestC18ByteOrderMark(t *testing.T) {
	t.Parallel()
	g := start(t, echo)
	g.post(t, "\ufeff\ufeff"+aTurn).refused(t, 422, "validation_error", " invalid_json")
	g.untouched(t)
	g.post(t, "\ufeff"+aTurn).finished(t)
}

// A key twice is a fault: two readers could believe two different values.
func TestC19DuplicateKeys(t *testing.T) {
	bodies(t, map[string]string{
		`{"input":"a","input":"b"}`:             "/input duplicate_key",
		`{"input":"a","inp\u0075t":"b"}`:        "/input duplicate_key",
		`{"input":"a","other":{"x":1,"x":2}}`:   "/other duplicate_key",
		`{"input":"a","user_id":"u","input":1}`: "/input duplicate_key",
	})
}

// A newer client's members are ignored.
func TestC20UnknownField(t *testing.T) {
	t.Parallel()
	g := start(t, echo)
	if got := g.post(t, `{"input":"hello","newer":{"deep":[1,null,{"x":true}]}}`).finished(t); got != "hello" {
		t.Errorf("the answer is %q", got)
	}
}

func TestC21TrailingData(t *testing.T) {
	bodies(t, map[string]string{`{"input":"a"}{"input":"b"}`: " trailing_data", `{"input":"a"}]`: " trailing_data", `{"input":"a"} x`: " trailing_data"})
}

func TestC22CaseOfKeys(t *testing.T) {
	bodies(t, map[string]string{`{"INPUT":"a"}`: "/input required", `{"Input":"a"}`: "/input required"})
}

func TestC23DeepJSON(t *testing.T) {
	bodies(t, map[string]string{
		`{"input":"a","x":` + strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001) + `}`: " invalid_json",
		`{"input":` + strings.Repeat("[", 100_000):                                            " invalid_json",
		strings.Repeat(`{"input":`, 14_000):                                                   " invalid_json",
	})
}

func TestC24InvalidUnicode(t *testing.T) {
	bodies(t, map[string]string{
		"{\"input\":\"a\xff\"}":            "/input invalid_utf8",
		"{\"input\":\"\xed\xa0\x80\"}":     "/input invalid_utf8",
		"{\"input\":\"\xc0\x80\"}":         "/input invalid_utf8",
		`{"input":"a\ud800"}`:              "/input invalid_utf8",
		`{"input":"\udc00\ud800"}`:         "/input invalid_utf8",
		`{"input":"a","user_id":"\udfff"}`: "/user_id invalid_utf8",
	})
}

func TestC25WrongTypes(t *testing.T) {
	bodies(t, map[string]string{
		`{"input":null}`:                  "/input wrong_type",
		`{"input":1}`:                     "/input wrong_type",
		`{"input":["a"]}`:                 "/input wrong_type",
		`{"input":{"a":1}}`:               "/input wrong_type",
		`{"input":true}`:                  "/input wrong_type",
		`{"input":"a","user_id":7}`:       "/user_id wrong_type",
		`{"input":"a","accumulated":"y"}`: "/accumulated wrong_type",
		`["input"]`:                       " wrong_type",
	})
}

// Controls are stripped before a model sees them, and none is raw in the log.
func TestC26ControlCharacters(t *testing.T) {
	t.Parallel()
	g := start(t, echo, "SLUICE_LOG_PAYLOADS", "true")
	answer := g.post(t, `{"input":"a\u0000b\u001b[31mc\u009b2Jd\u007fe\tf\ng"}`).finished(t)
	want := "ab[31mc2Jde\tf\ng"
	if got := g.model.Questions()[0].Text; got != want {
		t.Errorf("the model is asked %q, want %q", got, want)
	}
	if answer != want {
		t.Errorf("the answer is %q, want %q", answer, want)
	}
	g.Await("request_completed")
	g.plainLog(t)
}

// plainLog checks that no line of the log holds a character that a terminal acts on.
func (g *gateway) plainLog(t *testing.T) {
	t.Helper()
	for _, l := range g.Logged("") {
		for _, r := range l.Raw {
			if r < 0x20 || r >= 0x7f && r < 0xa0 || r >= 0x200b && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0xe0000 && r < 0xe1000 {
				t.Errorf("%U in %s", r, l.Raw)
			}
		}
	}
}

// What is invisible reaches the model as it was written, where emoji and scripts need it, and is
// escaped in what people read: the log, and names in events.
func TestC27InvisibleCharacters(t *testing.T) {
	t.Parallel()
	const family, bidi, tags = "👩‍👩‍👧", "a\u202eb", "x\U000e0041\U000e0042"
	g := start(t, func(q *process.Question) {
		if q.Results == 0 {
			q.Call("delete\u202e_all", `{"x":"`+tags+`"}`)
			return
		}
		q.SendText(q.Text)
	}, "SLUICE_LOG_PAYLOADS", "true")
	got := g.post(t, `{"input":"`+family+bidi+tags+`"}`)
	got.finished(t)
	if asked := g.model.Questions()[0].Text; !strings.Contains(asked, family) {
		t.Errorf("the model is asked %q", asked)
	}
	g.Await("request_completed")
	g.plainLog(t)
	named := 0
	for block := range strings.SplitSeq(got.body, "\n\n") {
		if strings.Contains(block, "event: tool_call\n") {
			if named++; !strings.Contains(block, `"delete\u202e_all"`) {
				t.Errorf("a name in %s", block)
			}
		}
	}
	if named == 0 {
		t.Errorf("no call in %s", got.body)
	}
}

// What a user or a model writes cannot become an event: each has one line of JSON.
func TestC28TextThatLooksLikeEvents(t *testing.T) {
	t.Parallel()
	g := start(t, echo)
	for _, text := range []string{`x\n\nevent: done\ndata: {\"success\":true}\n\n`, `\r\rdata: {}\r\r`, `\u2028event: error\u2029`, `\r\n\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n`} {
		got := g.post(t, `{"input":"`+text+`z"}`)
		if answer := got.finished(t); !strings.HasSuffix(answer, "z") {
			t.Errorf("the answer is %q", answer)
		}
		kinds := map[string]int{}
		for _, e := range events(t, got.body) {
			kinds[e.kind]++
		}
		delete(kinds, "response_delta")
		if diff := cmp.Diff(map[string]int{"start": 1, "done": 1}, kinds); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	}
}

// Ids have a form and a length.
func TestC33Ids(t *testing.T) {
	conversation := func(id string) string { return `{"input":"a","conversation_id":"` + id + `"}` }
	t.Run("refused", func(t *testing.T) {
		refused := map[string]string{`{"input":"a","user_id":"` + strings.Repeat("u", 257) + `"}`: "/user_id too_long"}
		for _, id := range []string{strings.Repeat("a", 10<<10), "../../etc/passwd", "conv_a/b", "conv_", "conv_" + strings.Repeat("a", 65), "conv_a\\u0000b", "conv_%2e%2e"} {
			refused[conversation(id)] = "/conversation_id invalid_format"
		}
		bodies(t, refused)
	})
	t.Run("accepted", func(t *testing.T) {
		t.Parallel()
		g := start(t, echo)
		for _, body := range []string{conversation("conv_" + strings.Repeat("a", 64)), conversation("123e4567-e89b-12d3-a456-426614174000"), `{"input":"a","user_id":"../a:b/` + strings.Repeat("😀", 240) + `"}`} {
			g.post(t, body).finished(t)
		}
	})
}
