package wire

import (
	"net"
	"net/http"
	"time"
)

// NewTransport returns the transport of all HTTP servers.
func NewTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: 3 * time.Second, KeepAlive: 15 * time.Second}
	return &http.Transport{
		DialContext:         dialer.DialContext,
		ForceAttemptHTTP2:   true,
		TLSHandshakeTimeout: 3 * time.Second,
		// net/http keeps 2 by default, and dials again for every further call that
		// runs at the same time.
		MaxIdleConnsPerHost: 256,
		// uvicorn and Node close a connection that was idle for 5 s. A request that
		// meets such a close on its way has an unknown outcome, so we are first.
		IdleConnTimeout:        4 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}
}
