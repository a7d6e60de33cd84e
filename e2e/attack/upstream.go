// This file has the attacks by upstreams: invalid figures, and a server that closes each connection
// with GOAWAY. A client that dials again at once would spin on it.

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// oddUsage sends a good answer with figures that cannot be read.
func oddUsage(r *run) {
	odd := []string{`{"promptTokenCount":1.5}`, `{"promptTokenCount":"7"}`, `{"promptTokenCount":-5}`, `{"promptTokenCount":1e300}`, `[]`, `"x"`}
	g := r.mustStart(options{model: func(q question, say func(string)) {
		for i, usage := range odd {
			if q.mentions(fmt.Sprintf("case %d", i)) {
				say(wholeAnswer(`[{"text":"Fine."}]`, usage))
			}
		}
	}})
	kept := 0
	for i := range odd {
		if g.runTurn(fmt.Sprintf("case %d", i), 5*time.Second).endReason() == "stop" {
			kept++
		}
	}
	r.Exactly("good answers kept", kept, len(odd))
	r.checkBreaker(g)
}

// goAway is an HTTP/2 server that refuses each connection as soon as it is made.
func goAway(r *run) {
	trusted := filepath.Join(r.makeFolder(), "ca.pem")
	pair, err := makeCertificate(trusted)
	r.Must(err)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2"}})
	r.Must(err)
	var conns counter
	var wg sync.WaitGroup
	wg.Go(func() { refuseAll(l, &conns, &wg) })
	// The gateway is ended before, so its connections are closed.
	r.AtEnd(func() { _ = l.Close(); wg.Wait() })
	g := r.mustStart(options{env: []string{"GEMINI_BASE_URL=https://" + l.Addr().String(), "SSL_CERT_FILE=" + trusted, "SLUICE_MODEL_TIMEOUT=4s"}})
	before, _ := g.usage()
	r.checkTurn("a turn", g.runTurn("hi", 15*time.Second), 10*time.Second, "model_unavailable", "timeout")
	// Each of the three attempts may find a few connections that are just gone.
	r.atMost("connections", int(conns.Load()), 24)
	r.checkCost(g, before, 500*time.Millisecond, 100)
}

// refuseAll accepts connections, counts them, and answers each with a refusal,
// until l is closed. wg waits for all.
//
// The bytes are written before the client has said anything, as a server that shuts down
// may do.
func refuseAll(l net.Listener, conns *counter, wg *sync.WaitGroup) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		conns.Add(1)
		wg.Go(func() {
			defer conn.Close()
			// SETTINGS, then GOAWAY: last stream 0, NO_ERROR (RFC 9113, 6.5 and 6.8).
			_, _ = io.WriteString(conn, "\x00\x00\x00\x04\x00\x00\x00\x00\x00"+
				"\x00\x00\x08\x07\x00\x00\x00\x00\x00"+"\x00\x00\x00\x00\x00\x00\x00\x00")
			_, _ = io.Copy(io.Discard, conn)
		})
	}
}

// makeCertificate makes one for 127.0.0.1 and writes it to path, to be trusted.
func makeCertificate(path string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, err
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, os.WriteFile(path, block, 0o600)
}
