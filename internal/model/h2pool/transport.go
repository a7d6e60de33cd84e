// Package h2pool sends requests over HTTP/2 with no more connections than they need.
//
// The pool of net/http dials for each request without a free stream, and does not stop when another
// dial has made room. A burst of 5,000 requests opened 9,851 connections to a server that took 100
// streams on each. Here such a request waits. The pool dials as many connections as the waiting
// requests fill, by the number of streams that the server announces.
//
// A request is sent again, as RFC 9113 allows and up to a limit, if the server refused it unread
// (REFUSED_STREAM, or a stream behind the last one of a GOAWAY). Other requests are not repeated:
// the caller decides about a request that the server may have seen. Servers that speak HTTP/1.1
// alone are served by net/http.
package h2pool

import (
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
)

// maxReplays is how often a request is sent again that the server did not process.
const maxReplays = 2

// Transport is an http.RoundTripper. It is safe for concurrent use.
//
// Requests over https share connections as the package comment says, once the host has negotiated
// HTTP/2. All others bypass it: over HTTP/1.1 a connection carries one request, and a limit would
// be a queue.
//
// It remembers each host for good, so it is for a few hosts.
type Transport struct {
	base *http.Transport

	mu    sync.Mutex // guards hosts
	hosts map[string]*host
}

// New returns a Transport that makes its connections as base would, with all of
// base's settings but MaxConnsPerHost and the limits on idle connections. Base
// must have HTTP/2 and keep-alives enabled, and limits on the time for a dial and
// a handshake: a dial does not end with the request that it was started for.
func New(base *http.Transport) *Transport {
	return &Transport{base: base, hosts: map[string]*host{}}
}

// RoundTrip implements http.RoundTripper. The time until a stream is free counts
// as part of it, and ends with the request's context.
//
// A request that the server provably did not process is sent again, if its body
// can be had again: when a connection that was in use is drained, or when the
// server refuses the stream. A connection that is lost before its first answer is
// an error at once, so that a caller that retries can wait before it: a server that
// drains each new connection would be dialled in a loop otherwise.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL == nil || req.URL.Scheme != "https" || req.Close || !isASCII(req.URL.Host) {
		return t.base.RoundTrip(req)
	}
	h := t.hostFor(req.URL)
	for left := maxReplays; ; {
		c, err := h.acquireStream(req.Context())
		if err != nil {
			closeBody(req)
			return nil, err
		}
		if c == nil {
			return h.roundTripHTTP1(req)
		}
		resp, err := c.roundTrip(req)
		if err == nil {
			h.recordAnswer(c)
			return resp, nil
		}
		switch h.recordFailure(c, err, req.Context().Err() != nil) {
		case sendAgain:
			left--
		case giveUp:
			return nil, err
		}
		if left < 0 || !rewindBody(&req) {
			return nil, err
		}
	}
}

// CloseIdleConnections closes the connections that no request uses, and ends the
// dials that no request waits for.
func (t *Transport) CloseIdleConnections() {
	t.mu.Lock()
	hosts := slices.Collect(maps.Values(t.hosts))
	t.mu.Unlock()
	for _, h := range hosts {
		h.closeIdle()
	}
	t.base.CloseIdleConnections()
}

// hostFor returns the pool of a URL's host and port.
func (t *Transport) hostFor(u *url.URL) *host {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.hosts[u.Host]
	if h == nil {
		port := u.Port()
		if port == "" {
			port = "443"
		}
		h = newHost(t.base, net.JoinHostPort(u.Hostname(), port))
		t.hosts[u.Host] = h
	}
	return h
}

// isASCII is false for the names that net/http would have to encode (RFC 5891).
func isASCII(host string) bool {
	for i := range len(host) {
		if host[i] >= 0x80 {
			return false
		}
	}
	return true
}

// closeBody closes the body of a request that is not sent, as a RoundTripper
// must.
func closeBody(req *http.Request) {
	if req.Body != nil {
		req.Body.Close()
	}
}
