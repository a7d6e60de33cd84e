package loadtest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// canned answers every request with the same bytes, without a socket.
type canned struct {
	body   []byte
	header http.Header
}

func (c canned) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: c.header, Body: io.NopCloser(bytes.NewReader(c.body)), Request: req}, nil
}

// answer is a stream with so many deltas of 24 bytes.
func answer(deltas int, accumulated bool) []byte {
	var b, text strings.Builder
	b.WriteString(event(1, "start", startData))
	for i := range deltas {
		text.WriteString("a piece of text, 24 by.\\n")
		members := `"delta":"a piece of text, 24 by.\n"`
		if accumulated {
			members += `,"accumulated":"` + text.String() + `"`
		}
		b.WriteString(event(i+2, "response_delta", members))
	}
	b.WriteString(event(deltas+2, "done", strings.Replace(doneData, `Hello, world\n`, text.String(), 1)))
	return []byte(b.String())
}

// BenchmarkAudit is what an event costs the generator, sockets left out.
func BenchmarkAudit(b *testing.B) {
	for _, accumulated := range []bool{false, true} {
		for _, deltas := range []int{40, 2000} {
			b.Run(fmt.Sprintf("deltas=%d/accumulated=%t", deltas, accumulated), func(b *testing.B) {
				body := answer(deltas, accumulated)
				header := http.Header{"Content-Type": {"text/event-stream"}, "X-Request-Id": {"req_1"}}
				cfg := Config{URL: address, Clients: 1, Inputs: []string{"hi"}, Turns: 1, Accumulated: accumulated, Transport: canned{body, header}}
				r, err := newRunner(b.Context(), cfg.withDefaults())
				if err != nil {
					b.Fatal(err)
				}
				r.startClock(time.Now())
				b.SetBytes(int64(len(body)))
				b.ReportAllocs()
				for b.Loop() {
					if o := r.runTurn(0, r.begin); o.class != done {
						b.Fatal(o)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(deltas+2), "ns/event")
			})
		}
	}
}
