package wire

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
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
