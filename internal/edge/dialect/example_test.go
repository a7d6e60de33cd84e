package dialect_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// plain is a protocol with one route. Its body is the input, and its answer is text.
type plain struct{}

func (plain) Routes() []dialect.Route {
	return []dialect.Route{{
		Dialect: "plain", Methods: []string{http.MethodPost}, Path: "/plain", ContentType: "text/plain",
		Open: func(_ *http.Request, body []byte) (*dialect.Exchange, error) {
			return &dialect.Exchange{
				Request: chat.Request{Input: string(body)},
				Header:  http.Header{"Content-Type": {"text/plain; charset=utf-8"}},
				Encoder: texts{},
			}, nil
		},
	}}
}

// texts writes the pieces of the answer, and nothing else.
type texts struct{}

func (texts) Encode(dst []byte, _ stream.Stamp, ev stream.Event) []byte {
	if d, ok := ev.(*stream.Delta); ok {
		dst = append(dst, d.Text...)
	}
	return dst
}

func (texts) Heartbeat() []byte { return nil }

// A Dialect reads requests and names the encoder of their answers. The server does all else.
func ExampleDialect() {
	route := plain{}.Routes()[0]
	r := httptest.NewRequest(route.Methods[0], route.Path, strings.NewReader("hello"))
	exchange, err := route.Open(r, []byte("hello"))
	fmt.Println(route.Name(), exchange.Request.Input, err)
	fmt.Printf("%s\n", exchange.Encoder.Encode(nil, stream.Stamp{N: 2}, &stream.Delta{Text: "Hi."}))
	// Output:
	// plain hello <nil>
	// Hi.
}
