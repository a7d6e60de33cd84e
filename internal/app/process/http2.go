// This file serves HTTP/2, and bounds the work that a client can cause. The server is that of
// golang.org/x/net: a client can crash the one inside Go 1.26.8 (docs/adr/0043).

package process

//lint:file-ignore SA1019 the server inside Go 1.26.8 can be crashed, so that of x/net is asked by its own names (docs/adr/0043)

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/http2"

	"sluice/internal/edge/conns"
)

const (
	maxStreams    = 250       // of one connection at a time
	streamWindow  = 256 << 10 // bytes of a body that are on their way unread
	connWindow    = 1 << 20   // of all bodies of a connection
	maxFrame      = 16 << 10  // buffer of a connection for a frame; the least that the protocol allows
	silence       = 30 * time.Second
	silenceAnswer = 15 * time.Second // after silence a connection is asked, and has this long to answer
)

// http2Server serves the connections of one http.Server that have agreed on HTTP/2.
type http2Server struct {
	h2 *http2.Server
	// base has the settings of h2's connections. It accepts none itself: its Shutdown makes all of
	// h2's say GOAWAY, which http.Server offers only together with an end.
	base        *http.Server
	connContext func(ctx context.Context, c net.Conn, place Place) context.Context
	limiter     *conns.Limiter // nil: connections are not bounded
}

// newHTTP2 makes to, which serves TLS, serve HTTP/2 too.
func newHTTP2(to *http.Server, cfg *ServerConfig, limiter *conns.Limiter) (*http2Server, error) {
	s := &http2Server{connContext: cfg.ConnContext, limiter: limiter}
	s.base = &http.Server{
		ReadHeaderTimeout: to.ReadHeaderTimeout, ReadTimeout: to.ReadTimeout, IdleTimeout: to.IdleTimeout,
		MaxHeaderBytes: to.MaxHeaderBytes, ErrorLog: to.ErrorLog, ConnState: to.ConnState, TLSConfig: to.TLSConfig,
	}
	s.h2 = &http2.Server{
		MaxConcurrentStreams: maxStreams, MaxUploadBufferPerStream: streamWindow, MaxUploadBufferPerConnection: connWindow,
		MaxReadFrameSize: maxFrame, ReadIdleTimeout: silence, PingTimeout: silenceAnswer,
		// A write to one stream has a deadline of its own, but a reset that follows it needs a
		// connection that can be written to.
		WriteByteTimeout: cfg.WriteTimeout,
		CountError:       cfg.HTTP2Error,
	}
	if err := http2.ConfigureServer(s.base, s.h2); err != nil {
		return nil, err
	}
	to.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){http2.NextProtoTLS: s.serveConn}
	to.RegisterOnShutdown(s.goAway)
	return s, nil
}

// serveConn serves one connection until it ends.
func (s *http2Server) serveConn(_ *http.Server, c *tls.Conn, h http.Handler) {
	p := newPaced(c)
	defer p.stop()
	var place *conns.Place
	if s.limiter != nil {
		place = s.limiter.Place(acceptedConn(c))
	}
	s.h2.ServeConn(p, &http2.ServeConnOpts{BaseConfig: s.base, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.serveRequest(p, place, h, w, r)
	})})
}

// serveRequest has h answer one request.
func (s *http2Server) serveRequest(p *paced, place *conns.Place, h http.Handler, w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	defer p.chargeBroken(ctx)
	var part Place
	if place != nil {
		stream := place.Stream()
		defer stream.End()
		part = stream
	}
	r = r.WithContext(s.connContext(ctx, p.encrypted, part))
	if r.ContentLength == 0 {
		r.Body = http.NoBody
	} else {
		r.Body = &pacedBody{r.Body, p}
	}
	h.ServeHTTP(w, r)
}

// goAway has each connection announce that it refuses further requests. Requests under way go on; a
// connection without any is closed a second later. It may be called again.
func (s *http2Server) goAway() { _ = s.base.Shutdown(context.Background()) }

// pacedBody is a request's body. Its bytes are refunded once they are read.
type pacedBody struct {
	io.ReadCloser
	p *paced
}

// Read implements io.Reader.
func (b *pacedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.p.budget.Add(int64(n))
	return n, err
}

// acceptedConn returns the connection that a listener returned, of one that wraps it.
func acceptedConn(c net.Conn) net.Conn {
	for {
		outer, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			return c
		}
		c = outer.NetConn()
	}
}
