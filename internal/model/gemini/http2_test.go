package gemini

import (
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"sluice/internal/base/fault"
	"sluice/internal/base/telemetry/metrics"
	"sluice/internal/model"
	"sluice/internal/model/h2pool"
)

// overTLS returns the transport of a Model for servers with a test's certificate.
func overTLS(t *testing.T) *h2pool.Transport {
	base := model.NewTransport(nil)
	base.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
	tr := h2pool.New(base)
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

// TestBurstOverHTTP2 opens the connections that its calls fill, and no more.
func TestBurstOverHTTP2(t *testing.T) {
	eachDriver(t, func(t *testing.T, open func(*testing.T, Config) *Model) {
		const calls, limit = 150, 50
		var conns atomic.Int64
		var arrived sync.WaitGroup
		arrived.Add(calls)
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			arrived.Done()
			arrived.Wait() // all run at once
			finished("hello")(w, r)
		}))
		srv.EnableHTTP2 = true
		srv.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: limit}
		srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
			if s == http.StateNew {
				conns.Add(1)
			}
		}
		srv.StartTLS()
		t.Cleanup(srv.Close)
		m := open(t, Config{BaseURL: srv.URL, Transport: overTLS(t)})
		var asking sync.WaitGroup
		for range calls {
			asking.Go(func() {
				if got, err := ask(t.Context(), m); err != nil || got.Text != "hello" {
					t.Errorf("told %+v, %v", got, err)
				}
			})
		}
		asking.Wait()
		// One more if the server was so slow to announce its limit that the first
		// connection got more than that.
		if got := conns.Load(); got > calls/limit+1 {
			t.Errorf("%d connections for %d calls, %d streams each", got, calls, limit)
		}
	})
}

// TestDrainedConnections: a service that drains each new connection has as many of
// them as a call has attempts, not a loop of dials.
func TestDrainedConnections(t *testing.T) {
	eachDriver(t, func(t *testing.T, open func(*testing.T, Config) *Model) {
		srv := httptest.NewUnstartedServer(nil) // for its certificate
		srv.StartTLS()
		t.Cleanup(srv.Close)
		l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: srv.TLS.Certificates, NextProtos: []string{"h2"}})
		if err != nil {
			t.Fatal(err)
		}
		var conns atomic.Int64
		var running sync.WaitGroup
		running.Go(func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				conns.Add(1)
				running.Go(func() { drain(conn) })
			}
		})
		t.Cleanup(func() { l.Close(); running.Wait() })
		tr := overTLS(t) // closed before running is waited for
		count := metrics.New()
		m := open(t, Config{BaseURL: "https://" + l.Addr().String(), Transport: tr, Metrics: count})
		_, err = ask(t.Context(), m)
		wantFault(t, err, fault.ModelUnavailable)
		if got := conns.Load(); got != (1 + retries) {
			t.Errorf("%d connections", got)
		}
		wantOutcomes(t, count, map[string]int{model.OutcomeError: (1 + retries)})
	})
}

// drain speaks just enough HTTP/2 (RFC 9113, section 6) to take no request.
func drain(conn net.Conn) {
	defer conn.Close()
	preface := make([]byte, len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
	if _, err := io.ReadFull(conn, preface); err != nil {
		return
	}
	settings := []byte{0, 0, 0, 4, 0, 0, 0, 0, 0}
	goAway := []byte{0, 0, 8, 7, 0, 0, 0, 0, 0}
	goAway = binary.BigEndian.AppendUint32(goAway, 0) // the last stream that it answers
	goAway = binary.BigEndian.AppendUint32(goAway, 0) // no error
	_, _ = conn.Write(append(settings, goAway...))
	_, _ = io.Copy(io.Discard, conn)
}
