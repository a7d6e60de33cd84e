package wire

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A transport that does not report to httptrace proves nothing, except by a dial
// that failed.
func TestProofThatNothingWasSent(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err     error
		notSent bool
	}{
		{&net.OpError{Op: "dial", Err: io.EOF}, true},
		{&net.OpError{Op: "read", Err: io.EOF}, false},
		{io.EOF, false},
	} {
		rt := &roundTripper{next: roundTripFunc(func(*http.Request) (*http.Response, error) { return nil, tt.err })}
		x := NewCall()
		req := httptest.NewRequestWithContext(WithExchange(t.Context(), x), http.MethodPost, "http://s/", nil)
		_, err := rt.RoundTrip(req)
		if _, ok := errors.AsType[*NotSentError](err); ok != tt.notSent {
			t.Errorf("%v: got %v", tt.err, err)
		}
		if x.Withdraw() != tt.notSent {
			t.Errorf("%v: the exchange says otherwise", tt.err)
		}
	}
}

// net/http sends a POST again by itself when it has a header for an idempotency key. No request
// of ours does, wherever the header comes from.
func TestNoHeaderLetsACallRunTwice(t *testing.T) {
	t.Parallel()
	r := &replying{status: 202, body: strings.NewReader("")}
	c := Client{Next: r, Headers: map[string]string{"Idempotency-Key": "a", "x-idempotency-key": "b"}}.HTTP()
	x := NewCall()
	x.Header = map[string]string{"Idempotency-Key": "c"}
	if _, err := posted(t, c.Transport, x, ""); err != nil {
		t.Fatal(err)
	}
	for name := range r.seen.Header {
		if strings.Contains(name, "Idempotency") {
			t.Errorf("the request has the header %s", name)
		}
	}
}
