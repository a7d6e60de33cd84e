package wire

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
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
