package loadtest

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/go-json-experiment/json"
)

// requests makes the requests of a run.
type requests struct {
	method string
	header http.Header
	host   string
	urls   []*url.URL // for each input
	bodies [][]byte   // for each input; empty with GET
	run    string     // part of the idempotency keys
}

// newRequests makes the common parts of a run's requests, once: their URLs and bodies are shared by
// all turns.
func newRequests(cfg Config) (*requests, error) {
	q := &requests{method: cfg.Method, header: cfg.Header.Clone(), host: cfg.Header.Get("Host"), run: rand.Text()}
	if q.header == nil {
		q.header = http.Header{}
	}
	base, err := url.Parse(cfg.URL + "/chat/stream")
	if err != nil {
		return nil, err
	}
	for _, input := range cfg.Inputs {
		if err := q.addInput(*base, input, cfg.Accumulated); err != nil {
			return nil, err
		}
	}
	if q.method == http.MethodPost {
		q.header.Set("Content-Type", "application/json")
	}
	return q, nil
}

// addInput makes the request of one input. u is a copy, as a GET adds its query to it.
func (q *requests) addInput(u url.URL, input string, accumulated bool) error {
	body, err := json.Marshal(struct {
		Input       string `json:"input"`
		Accumulated bool   `json:"accumulated"`
	}{input, accumulated})
	if q.method == http.MethodGet {
		u.RawQuery = url.Values{"input": {input}, "accumulated": {strconv.FormatBool(accumulated)}}.Encode()
	}
	q.urls, q.bodies = append(q.urls, &u), append(q.bodies, body)
	return err
}

// makeRequest makes the request of turn n.
//
// net/http sends a GET again by itself when a connection that it kept turns out to
// be dead, and cannot know whether the first one ran. A key for each turn makes the
// gateway refuse the repetition, so that it is seen. A POST with a body is sent
// again only if nothing of it had left.
func (q *requests) makeRequest(ctx context.Context, n int) *http.Request {
	i := n % len(q.urls)
	req := &http.Request{
		Method: q.method, URL: q.urls[i], Host: q.host, Header: q.header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	if q.method == http.MethodGet {
		u := *req.URL
		u.RawQuery += "&idempotency_key=" + q.run + "-" + strconv.Itoa(n)
		req.URL = &u
		return req.WithContext(ctx)
	}
	req.ContentLength = int64(len(q.bodies[i]))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(q.bodies[i])), nil }
	req.Body, _ = req.GetBody()
	return req.WithContext(ctx)
}
