package wire

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"maps"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sluice/e2e/process"
	"sluice/internal/base/config/configtest"
)

// patience bounds every wait for something that must come on a busy machine.
const patience = process.Patience

func TestMain(m *testing.M) {
	if serveStandard() { // this process is a server that a test has started
		return
	}
	configtest.Parallel(6)
	os.Exit(process.Main(m))
}

// pair is a certificate with its key, in files.
type pair struct{ cert, key string }

// writePair makes a pair in dir that holds from then for so long. The two files are replaced as
// one, by a symlink, as a mounted secret is.
func writePair(t testing.TB, dir, name string, from time.Time, life time.Duration) pair {
	t.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, DNSNames: []string{"localhost", name},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: from, NotAfter: from.Add(life),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &secret.PublicKey, secret)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	real, err := os.MkdirTemp(dir, "pair-")
	if err != nil {
		t.Fatal(err)
	}
	link, next := filepath.Join(dir, "current"), filepath.Join(dir, "next")
	for file, block := range map[string]*pem.Block{"tls.crt": {Type: "CERTIFICATE", Bytes: der}, "tls.key": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(filepath.Join(real, file), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink(real, next), os.Rename(next, link)); err != nil {
		t.Fatal(err)
	}
	return pair{filepath.Join(link, "tls.crt"), filepath.Join(link, "tls.key")}
}

// gateway is Sluice as a process.
type gateway struct{ *process.Gateway }

// start starts a gateway with a simulated model. It must end well with the test.
func start(t testing.TB, env map[string]string) *gateway {
	t.Helper()
	return &gateway{process.Start(t, env)}
}

// startSealed starts a gateway with a certificate, in a folder where it may be replaced.
func startSealed(t testing.TB, env map[string]string) (_ *gateway, dir string) {
	t.Helper()
	dir = t.TempDir()
	p := writePair(t, dir, "first.test", time.Now().Add(-time.Hour), 365*24*time.Hour)
	all := map[string]string{"SLUICE_TLS_CERT": p.cert, "SLUICE_TLS_KEY": p.key}
	maps.Copy(all, env)
	return start(t, all), dir
}

// trusting is what a client that knows no certificate goes by.
func trusting(protocols ...string) *tls.Config {
	return &tls.Config{InsecureSkipVerify: true, NextProtos: protocols} //nolint:gosec // G402: a test's certificate signs itself
}

// dial opens a connection over TLS that speaks one of protocols.
func (g *gateway) dial(t testing.TB, protocols ...string) *tls.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, err := (&tls.Dialer{Config: trusting(protocols...)}).DialContext(ctx, "tcp", g.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c.(*tls.Conn)
}

// client returns a client that speaks HTTP/2, or HTTP/1.1 alone.
func (g *gateway) client(t testing.TB, h2 bool) *http.Client {
	transport := &http.Transport{TLSClientConfig: trusting(), ForceAttemptHTTP2: h2}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience}
}

// healthy fails the test unless a new connection gets an answer.
func (g *gateway) healthy(t testing.TB) {
	t.Helper()
	resp, err := g.client(t, false).Get("https://" + g.Addr + "/healthz")
	if err != nil {
		t.Errorf("a new client: %v", err)
		return
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("a new client gets %d", resp.StatusCode)
	}
}
