// This file serves HTTP/2, and bounds what a client can make it do. The server is that of
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
	maxFrame      = 16 << 10  // what a connection holds of a frame; the least that the protocol allows
	silence       = 30 * time.Second
	silenceAnswer = 15 * time.Second // after silence a connection is asked, and has this long to answer
)

// http2Server serves the connections of one http.Server that have agreed on HTTP/2.
type http2Server struct {
	h2 *http2.Server
	// own has the settings of h2's connections. It accepts none itself: its Shutdown makes all of
	// h2's say GOAWAY, which http.Server offers only together with an end.
	own         *http.Server
	connContext func(ctx context.Context, c net.Conn, place Place) context.Context
	limiter     *conns.Limiter // nil: connections are not bounded
}

// newHTTP2 makes to, which serves TLS, serve HTTP/2 too.
func newHTTP2(to *http.Server, cfg *ServerConfig, limiter *conns.Limiter) (*http2Server, error) {
	s := &http2Server{connContext: cfg.ConnContext, limiter: limiter}
	s.own = &http.Server{
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
	if err := http2.ConfigureServer(s.own, s.h2); err != nil {
		return nil, err
	}
	to.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){http2.NextProtoTLS: s.serve}
	to.RegisterOnShutdown(s.goAway)
	return s, nil
}

// serve serves one connection until it ends.
func (s *http2Server) serve(_ *http.Server, c *tls.Conn, h http.Handler) {
	p := newPaced(c)
	defer p.stop()
	var place *conns.Place
	if s.limiter != nil {
		place = s.limiter.Place(accepted(c))
	}
	s.h2.ServeConn(p, &http2.ServeConnOpts{BaseConfig: s.own, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.answer(p, place, h, w, r)
	})})
}

// answer has h answer one request.
func (s *http2Server) answer(p *paced, place *conns.Place, h http.Handler, w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	defer p.ended(ctx)
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

// goAway has each connection say that it takes no further requests. Those under way go on; a
// connection without any is closed a second later. It may be called again.
func (s *http2Server) goAway() { _ = s.own.Shutdown(context.Background()) }

// pacedBody is a request's body. What is read of it is not counted.
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

// accepted returns the connection that a listener returned, of one that wraps it.
func accepted(c net.Conn) net.Conn {
	for {
		outer, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			return c
		}
		c = outer.NetConn()
	}
}
