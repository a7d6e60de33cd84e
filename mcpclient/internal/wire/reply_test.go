package wire

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"
)

func TestWholeReply(t *testing.T) {
	t.Parallel()
	const answer = `data: {"jsonrpc":"2.0","id":1,"result":{"text":"é"}}`
	tests := map[string]struct {
		text   string
		asking bool
	}{
		"answer":             {answer + "\n\n", false},
		"CRLF":               {"event: message\r\n" + answer + "\r\n\r\n", false},
		"primed":             {"id: x\ndata:\n\n" + answer + "\n\n", false},
		"comment":            {": ping\n\n" + answer + "\n\n", false},
		"data in lines":      {"data: {\"jsonrpc\":\"2.0\",\ndata: \"id\":1,\ndata: \"result\":{}}\n\n", false},
		"note first":         {`data: {"jsonrpc":"2.0","method":"notifications/message"}` + "\n\n" + answer + "\n\n", false},
		"no answer":          {`data: {"jsonrpc":"2.0","method":"notifications/message"}` + "\n\n", false},
		"no end":             {answer, false},
		"an error":           {`data: {"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}` + "\n\n", false},
		"a request":          {`data: {"jsonrpc":"2.0","id":"q","method":"ping"}` + "\n\n" + answer + "\n\n", true},
		"a request with CRs": {`data: {"method":"ping","id":7}` + "\r\n\r\n" + answer + "\r\n\r\n", true},
	}
	for name, tt := range tests {
		for _, size := range []int{1, 2, 3, 7, 1000} {
			resp := &http.Response{
				Header: http.Header{"Content-Type": {"text/event-stream; charset=utf-8"}},
				Body:   io.NopCloser(&chunked{strings.NewReader(tt.text), size}),
			}
			stopped := false
			b, err := wholeReply(resp, &Exchange{limit: 1000}, func() { stopped = true })
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if stopped == tt.asking {
				t.Errorf("%s in pieces of %d: the request was ended: %v", name, size, stopped)
			}
			if got, err := io.ReadAll(b); err != nil || string(got) != tt.text {
				t.Errorf("%s in pieces of %d: got %q, %v", name, size, got, err)
			}
			b.Close()
			if !stopped {
				t.Errorf("%s: closing the body does not end the request", name)
			}
		}
	}
}

func TestWholeReplyBreaksOff(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for text, want := range map[string]error{
		`data: {"id":1,"result":{}}` + "\n\n": nil, // the answer is there
		`data: {"id":1,"result":{}}` + "\n":   broken,
		`data: {"method":"x"}` + "\n\n":       broken,
		"":                                    broken,
	} {
		resp := &http.Response{
			Header: http.Header{"Content-Type": {"text/event-stream"}},
			Body:   io.NopCloser(io.MultiReader(strings.NewReader(text), &failing{broken})),
		}
		_, err := wholeReply(resp, &Exchange{limit: 1000}, func() {})
		if !errors.Is(err, want) {
			t.Errorf("%q: got %v, want %v", text, err, want)
		}
	}
}

type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }

// replyOf makes a reply of a text.
func replyOf(contentType string, body io.Reader) *http.Response {
	return &http.Response{Header: http.Header{"Content-Type": {contentType}}, Body: io.NopCloser(body)}
}

// Of a list that is too large the first tools are the reply, with the id that is waited for, in
// the form that was asked for; of anything else nothing is.
func TestReplyTooLarge(t *testing.T) {
	t.Parallel()
	const tool = `{"name":"t"}`
	for name, tt := range map[string]struct {
		contentType, head string
		list              bool
		want              string
	}{
		"a list":                  {"application/json", `{"jsonrpc":"2.0","id":3,"result":{"tools":[` + tool + `,"`, true, `{"jsonrpc":"2.0","id":7,"result":{"tools":[` + tool + `]}}`},
		"a list in events":        {"text/event-stream", `data: {"jsonrpc":"2.0","id":3,"result":{"tools":[` + tool + `,"`, true, `data: {"jsonrpc":"2.0","id":7,"result":{"tools":[` + tool + "]}}\n\n"},
		"a list in lines of data": {"text/event-stream", "data: {\"jsonrpc\":\"2.0\",\ndata: \"result\":{\"tools\":[" + tool + `,"`, true, `data: {"jsonrpc":"2.0","id":7,"result":{"tools":[` + tool + "]}}\n\n"},
		"a list of one tool":      {"application/json", `{"result":{"tools":["`, true, ""},
		"no list":                 {"application/json", `{"result":{"content":["`, true, ""},
		"the result of a call":    {"application/json", `{"result":{"tools":[` + tool + `,"`, false, ""},
	} {
		x := &Exchange{limit: 1000, id: mcp.NewRequestId(int64(7))}
		if tt.list {
			x.List = &List{}
		}
		stopped := false
		body, err := wholeReply(replyOf(tt.contentType, strings.NewReader(tt.head+strings.Repeat("x", 100<<10))), x, func() { stopped = true })
		if tt.want == "" {
			if !errors.Is(err, ErrTooLarge) || x.List != nil && x.List.more {
				t.Errorf("%s: got %v", name, err)
			}
			continue
		}
		got, _ := io.ReadAll(body)
		if diff := cmp.Diff(tt.want, string(got)); err != nil || diff != "" || !x.List.more || !stopped {
			t.Errorf("%s: %v, more: %v, ended: %v (-want +got):\n%s", name, err, x.List.more, stopped, diff)
		}
	}
}

// The limit is of one answer: notifications before it, however many, do not add up, and each is
// reported once.
func TestNotificationsBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	var want []string
	for i := range 20_000 { // more than the limit
		note := fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":%d}}`, i)
		fmt.Fprintf(&text, "event: message\r\ndata: %s\r\n\r\n", note)
		want = append(want, " "+note+"\n")
	}
	answer := `data: {"jsonrpc":"2.0","id":1,"result":{}}` + "\n\n"
	var got []string
	x := &Exchange{limit: MaxReply, OnMessage: func(message []byte) { got = append(got, string(message)) }}
	body, err := wholeReply(replyOf("text/event-stream", &chunked{strings.NewReader(text.String() + answer), 4096}), x, func() {})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(want, got) {
		t.Errorf("%d notifications were reported, want %d", len(got), len(want))
	}
	if rest, _ := io.ReadAll(body); !strings.HasSuffix(string(rest), answer) || len(rest) > 2*maxNotes {
		t.Errorf("the body has %d bytes", len(rest))
	}
}

// A reply without events is not looked into: it may hold lines that look like some.
func TestReplyWithoutEvents(t *testing.T) {
	t.Parallel()
	const text = "data: {\"id\":1,\"method\":\"ping\"}\n\n"
	for _, contentType := range []string{"application/json", "text/plain", ""} {
		stopped := false
		body, err := wholeReply(replyOf(contentType, strings.NewReader(text)), &Exchange{limit: 1000}, func() { stopped = true })
		if err != nil || !stopped {
			t.Fatalf("%q: %v, ended: %v", contentType, err, stopped)
		}
		if got, _ := io.ReadAll(body); string(got) != text {
			t.Errorf("%q: got %q", contentType, got)
		}
		if _, err := wholeReply(replyOf(contentType, io.MultiReader(strings.NewReader(text), &failing{io.ErrUnexpectedEOF})), &Exchange{limit: 1000}, func() {}); !BrokeOff(err) {
			t.Errorf("%q: a reply that broke off: %v", contentType, err)
		}
	}
}

// A stream that stays open behind its answer holds the caller up for TailWait, no longer.
func TestTailOfAStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		go io.WriteString(w, `data: {"id":1,"result":{}}`+"\n\n")
		began := time.Now()
		body, err := wholeReply(replyOf("text/event-stream", r), &Exchange{limit: 1000}, func() { w.CloseWithError(io.ErrClosedPipe) })
		if err != nil || time.Since(began) != TailWait {
			t.Fatalf("got %v after %v", err, time.Since(began))
		}
		if got, _ := io.ReadAll(body); string(got) != `data: {"id":1,"result":{}}`+"\n\n" {
			t.Errorf("got %q", got)
		}
	})
}

// What a message is, depends on its members at the top, in any order. One with an id and nothing
// else answers nothing: servers write such lines to a log.
func TestWhatAMessageIs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]messageKind{
		`{"id":1,"result":{}}`:                              answered,
		`{"result":{"method":"x"},"id":"a"}`:                answered,
		`{"id":1,"error":{}}`:                               answered,
		`{"id":1,"result":null}`:                            answered,
		`{"id":1,"result":null,"error":null}`:               answered,
		`{"id":1,"method":"tools/call","result":{}}`:        answered,
		`{"method":"ping","id":1}`:                          questioned,
		`{"id":"a","params":{},"method":"ping"}`:            questioned,
		`{"method":"notifications/progress"}`:               nothing,
		`{"method":"x","id":null}`:                          nothing,
		`{"id":null,"result":{}}`:                           nothing,
		`{"params":{"id":1}}`:                               nothing,
		"{\"id\":1,\"result\":\"\xff\",\"result\":2}":       answered,
		`{"id":1,"result":`:                                 nothing,
		`{"id":1,5`:                                         nothing,
		`{"level":"debug","id":1,"msg":"handling"}`:         stray,
		`{"id":1,"error":null}`:                             stray,
		`[{"id":1,"result":{}}]`:                            answered,
		`[{"method":"notifications/x"},{"id":1,"error":1}]`: answered,
		`[{"id":1}]`:                                        stray,
		`{}`:                                                nothing,
		``:                                                  nothing,
		`ping`:                                              nothing,
	} {
		if got, _ := new(reply).findAnswer([]byte(text)); got != want {
			t.Errorf("%s: got %d, want %d", text, got, want)
		}
	}
}
