package sse

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// BenchmarkWriteDeadline writes frames to a client behind a socket: with the deadline
// set ahead for several writes, set at each write, and without one.
func BenchmarkWriteDeadline(b *testing.B) {
	frame := []byte("data: " + strings.Repeat("x", 150) + "\n\n")
	for _, rival := range []struct {
		name    string
		timeout time.Duration
		each    bool
	}{{"ahead", 30 * time.Second, false}, {"each", 30 * time.Second, true}, {"none", 0, false}} {
		b.Run(rival.name, func(b *testing.B) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				s := NewWriter(w, Config{WriteTimeout: rival.timeout, HTTP1: true})
				defer s.Close()
				for b.Loop() {
					if rival.each {
						s.expires = time.Time{} // as if none were set
					}
					if s.WriteFrame(frame) != nil || s.Flush() != nil {
						b.Error("the client is gone")
						return
					}
				}
			}))
			defer srv.Close()
			resp, err := srv.Client().Get(srv.URL)
			if err != nil {
				b.Fatal(err)
			}
			defer resp.Body.Close()
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				b.Fatal(err)
			}
		})
	}
}
