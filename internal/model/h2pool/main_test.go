package h2pool_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sluice/internal/model/h2pool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// network is a listener in memory, so that whole servers run in the fake time of a
// synctest bubble. It counts the dials.
type network struct {
	conns  chan net.Conn
	done   chan struct{}
	once   sync.Once
	dialed atomic.Int64
	fail   atomic.Pointer[error] // of further dials
}

func newNetwork() *network {
	return &network{conns: make(chan net.Conn), done: make(chan struct{})}
}

func (n *network) Accept() (net.Conn, error) {
	select {
	case c := <-n.conns:
		return c, nil
	case <-n.done:
		return nil, net.ErrClosed
	}
}

func (n *network) Close() error   { n.once.Do(func() { close(n.done) }); return nil }
func (n *network) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func (n *network) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	n.dialed.Add(1)
	time.Sleep(10 * time.Millisecond) // all that come at once are there by then
	if err := n.fail.Load(); err != nil {
		time.Sleep(time.Second)
		return nil, *err
	}
	client, server := net.Pipe()
	select {
	case n.conns <- server:
		return client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// tlsConfig has a certificate that the transport of these tests trusts, as it
// trusts any.
func tlsConfig(t *testing.T, protocols ...string) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{cert}, PrivateKey: key}}, NextProtos: protocols}
}

// serve runs net/http's server, over HTTP/2 with a limit on the streams of a
// connection, or over HTTP/1.1 if the limit is 0.
func serve(t *testing.T, limit int, handler http.HandlerFunc) (*h2pool.Transport, *network) {
	t.Helper()
	n := newNetwork()
	srv := &http.Server{Handler: handler, HTTP2: &http.HTTP2Config{MaxConcurrentStreams: limit}, Protocols: new(http.Protocols)}
	srv.Protocols.SetHTTP1(limit == 0)
	srv.Protocols.SetHTTP2(limit > 0)
	srv.TLSConfig = tlsConfig(t)
	served := make(chan struct{})
	go func() { defer close(served); _ = srv.ServeTLS(n, "", "") }()
	t.Cleanup(func() { _ = srv.Close(); <-served })
	return transport(t, n), n
}

func transport(t *testing.T, n *network) *h2pool.Transport {
	tr := h2pool.New(&http.Transport{
		DialContext:         n.dial,
		TLSClientConfig:     &tls.Config{InsecureSkipVerify: true},
		TLSHandshakeTimeout: 5 * time.Second,
		ForceAttemptHTTP2:   true,
		IdleConnTimeout:     90 * time.Second,
		MaxIdleConnsPerHost: 1024,
		HTTP2:               &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 5 * time.Second},
	})
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		time.Sleep(time.Minute) // until TLS has given up to say goodbye to one that does not read
	})
	return tr
}

// get sends a request with a body and reads the answer to its end.
func get(ctx context.Context, tr http.RoundTripper, body string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://model.test/path", strings.NewReader(body))
	if err != nil {
		return "", err
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

// burst sends n requests at once. Wait returns when all have ended, with the
// errors of those that failed or have not the answer that echoes their body.
func burst(t *testing.T, tr http.RoundTripper, n int) (wait func() []error) {
	var running sync.WaitGroup
	var mu sync.Mutex
	var failed []error
	for i := range n {
		running.Go(func() {
			body := fmt.Sprint("request ", i)
			got, err := get(t.Context(), tr, body)
			if err == nil && got != body {
				err = fmt.Errorf("answer %q to %q", got, body)
			}
			if err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = append(failed, err)
			}
		})
	}
	return func() []error { running.Wait(); return failed }
}

// echo answers with the request's body.
func echo(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }
