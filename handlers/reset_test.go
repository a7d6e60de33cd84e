package handlers

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/edge/dialect"
	"sluice/internal/edge/dialect/sluice"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// floods is a Runner that says so much that a client which reads nothing stops it.
type floods struct{ stopped chan struct{} }

func (f floods) Run(_ context.Context, _ *chat.Request, sink stream.Sink) (r stream.Result, err error) {
	defer close(f.stopped)
	for err == nil {
		if err = sink.Emit(&stream.Delta{Text: strings.Repeat("x", 64<<10)}); err == nil {
			err = sink.Flush()
		}
	}
	return r, err
}

// breaking serves replies that are broken off, each in its way, and one that is whole.
func breaking(t *testing.T, sealed bool) (_ *httptest.Server, stopped chan struct{}) {
	t.Helper()
	stopped = make(chan struct{})
	s := NewServer(Config{
		Log: zerolog.New(io.Discard), Runner: floods{stopped}, Model: "m",
		Dialects: []dialect.Dialect{sluice.Dialect{}}, Limits: Limits{Timeout: time.Hour, WriteTimeout: 200 * time.Millisecond, Heartbeat: time.Hour},
	})
	for path, end := range map[string]func(http.ResponseWriter, *http.Request){
		"/whole":            func(http.ResponseWriter, *http.Request) {},
		"/panic":            func(http.ResponseWriter, *http.Request) { panic("SECRET") },
		"/aborted":          func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"/lost-owner":       func(_ http.ResponseWriter, r *http.Request) { abortReply(r) },
		"/credential-ended": func(w http.ResponseWriter, r *http.Request) { breakReply(w, r) },
	} {
		s.routes.echo.GET(path, netHandler(func(w http.ResponseWriter, r *http.Request) error {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: half\n\n")
			_ = http.NewResponseController(w).Flush()
			end(w, r)
			return nil
		}))
	}
	s.routes.echo.GET("/bug", netHandler(func(http.ResponseWriter, *http.Request) error { panic("SECRET") }))
	srv := httptest.NewUnstartedServer(s)
	srv.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context { return WithConn(ctx, Conn{Conn: c}) }
	if sealed {
		srv.StartTLS()
	} else {
		srv.Start()
	}
	t.Cleanup(srv.Close)
	return srv, stopped
}

// An HTTP/1.0 client takes the end of the connection for that of the reply. If a reply is broken
// off, it sees a reset, and over TLS no word of goodbye either. A later client needs none: it
// misses the last chunk.
func TestBrokenReplyIsNoWholeOneForHTTP10(t *testing.T) {
	t.Parallel()
	for _, sealed := range []bool{false, true} {
		for _, tt := range []struct{ path, proto, end string }{
			{"/whole", "1.0", "\r\n\r\ndata: half\n\n"},
			{"/bug", "1.0", "}"},
			{"/panic", "1.0", ""},
			{"/aborted", "1.0", ""},
			{"/lost-owner", "1.0", ""},
			{"/credential-ended", "1.0", ""},
			{"/chat/stream?input=hi", "1.0", ""},
			{"/whole", "1.1", "\ndata: half\n\n\r\n0\r\n\r\n"},
			{"/lost-owner", "1.1", "\ndata: half\n\n\r\n"},
			{"/credential-ended", "1.1", "\ndata: half\n\n\r\n"},
		} {
			t.Run(fmt.Sprint("TLS ", sealed, tt.path, tt.proto), func(t *testing.T) {
				t.Parallel()
				srv, stopped := breaking(t, sealed)
				conn, err := net.Dial("tcp", srv.Listener.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				if sealed {
					conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
				}
				defer conn.Close()
				_, _ = io.WriteString(conn, "GET "+tt.path+" HTTP/"+tt.proto+"\r\nHost: a\r\nConnection: close\r\n\r\n")
				if strings.HasPrefix(tt.path, "/chat") {
					<-stopped // it reads nothing until it was given up
				}
				text, err := io.ReadAll(conn)
				if tt.end != "" && (err != nil || !strings.HasSuffix(string(text), tt.end)) {
					t.Errorf("it ends with %v:\n%q", err, text)
				}
				if tt.end == "" && !errors.Is(err, syscall.ECONNRESET) {
					t.Errorf("%d bytes end with %v, want a reset", len(text), err)
				}
			})
		}
	}
}
