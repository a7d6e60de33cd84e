package handlers_test

import (
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	"sluice/handlers"
	"sluice/internal/base/testnet"
)

// serveHTTP2 serves HTTP/2 without TLS, in memory, and counts connections.
func serveHTTP2(t testing.TB, cfg handlers.Config) (*gateway, *atomic.Int64) {
	g := &gateway{}
	g.prepare(cfg)
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	var conns atomic.Int64
	g.net = &http.Server{Handler: g.Server, Protocols: &protocols, ConnState: func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Add(1)
		}
	}}
	l := testnet.Listen()
	served := make(chan struct{})
	go func() { defer close(served); _ = g.net.Serve(l) }()
	transport := &http.Transport{Protocols: &protocols, DialContext: l.Dial}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = g.net.Close()
		<-served
	})
	g.client, g.url = &http.Client{Transport: transport}, "http://gateway"
	return g, &conns
}
