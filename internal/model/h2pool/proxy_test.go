package h2pool_test

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/model/h2pool"
)

// tunnels is a proxy that opens tunnels and remembers where to.
type tunnels struct {
	URL    *url.URL
	opened atomic.Int64
	to     sync.Map
}

func startTunnels(t *testing.T) *tunnels {
	p := new(tunnels)
	var mu sync.Mutex // guards running against an Add during Wait
	var running sync.WaitGroup
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.opened.Add(1)
		mu.Lock()
		running.Add(1) // a hijacked connection is not waited for by the server
		mu.Unlock()
		defer running.Done()
		p.to.Store(r.Method+" "+r.Host, true)
		up, err := net.Dial("tcp", r.Host)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer up.Close()
		down, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer down.Close()
		_, _ = io.WriteString(down, "HTTP/1.1 200 OK\r\n\r\n")
		ended := make(chan struct{})
		go func() { defer close(ended); _, _ = io.Copy(up, down); up.Close() }()
		_, _ = io.Copy(down, up)
		down.Close()
		<-ended
	}))
	t.Cleanup(func() {
		srv.Close()
		mu.Lock()
		defer mu.Unlock()
		running.Wait()
	})
	p.URL, _ = url.Parse(srv.URL)
	return p
}

// Requests over HTTP/2 share a connection through the proxy, which is chosen by the
// whole address.
func TestProxy(t *testing.T) {
	t.Parallel()
	for name, protocol := range map[string]bool{"HTTP/2": true, "HTTP/1.1": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewUnstartedServer(http.HandlerFunc(echo))
			srv.EnableHTTP2 = protocol
			srv.StartTLS()
			defer srv.Close()
			host := srv.Listener.Addr().String()
			proxy := startTunnels(t)
			tr := h2pool.New(&http.Transport{
				Proxy: func(r *http.Request) (*url.URL, error) {
					if r.URL.Host != host {
						t.Errorf("asked for the proxy of %s, want %s", r.URL.Host, host)
					}
					return proxy.URL, nil
				},
				TLSClientConfig:     &tls.Config{InsecureSkipVerify: true},
				TLSHandshakeTimeout: 5 * time.Second,
				ForceAttemptHTTP2:   true,
			})
			defer tr.CloseIdleConnections()
			for range 5 {
				r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL, nil)
				resp, err := tr.RoundTrip(r)
				if err != nil {
					t.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				if (resp.ProtoMajor == 2) != protocol {
					t.Errorf("answered over %s", resp.Proto)
				}
			}
			// A first connection that turns out to speak HTTP/1.1 is not used.
			if n := proxy.opened.Load(); n == 0 || n > 2 {
				t.Errorf("%d tunnels, want one", n)
			}
			if _, ok := proxy.to.Load("CONNECT " + host); !ok {
				t.Errorf("no tunnel to %s", host)
			}
		})
	}
}
