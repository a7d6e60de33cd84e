package process

import (
	"bytes"
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
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/app/gateway/gatewaytest"
)

// newPair returns a certificate of a name and its key as PEM. It holds from now for so long.
func newPair(t testing.TB, name string, from time.Time, life time.Duration) (cert, key []byte) {
	t.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(from.UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: from, NotAfter: from.Add(life), IsCA: true, BasicConstraintsValid: true,
	}, &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}}, &secret.PublicKey, secret)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
}

// folder holds the files of a certificate.
type folder struct {
	mu    sync.Mutex // guards files
	files map[string][]byte
}

func (f *folder) read(name string) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if content, ok := f.files[name]; ok {
		return content, nil
	}
	return nil, errors.New("no such file")
}

// holds makes it hold a certificate and a key; nil: no such file.
func (f *folder) holds(cert, key []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.files = map[string][]byte{"cert": cert, "key": key}
	maps.DeleteFunc(f.files, func(_ string, content []byte) bool { return content == nil })
}

func (f *folder) tls() TLS { return TLS{Cert: "cert", Key: "key", ReadFile: f.read} }

// shown is the name in the certificate that a handshake gets.
func shown(c *Certificate) string {
	pair, _ := c.tlsConfig().GetCertificate(new(tls.ClientHelloInfo))
	return pair.Leaf.Subject.CommonName
}

// A pair that can be used is used by the handshakes that follow. Any other changes nothing, and
// is logged once, without what it holds.
func TestCertificateIsReplaced(t *testing.T) {
	t.Parallel()
	const year = 365 * 24 * time.Hour
	for name, tt := range map[string]struct {
		put  func(t *testing.T, f *folder, cert, key []byte) // what stands in the files instead
		want string                                          // the name that is shown then
		logs []string
	}{
		"the same": {func(*testing.T, *folder, []byte, []byte) {}, "first", nil},
		"another": {func(t *testing.T, f *folder, _, _ []byte) { f.holds(newPair(t, "second", time.Now(), year)) },
			"second", []string{"tls_reloaded"}},
		"half written": {func(_ *testing.T, f *folder, cert, key []byte) { f.holds(cert[:len(cert)/2], key) },
			"first", []string{"tls_rejected"}},
		"empty": {func(_ *testing.T, f *folder, cert, _ []byte) { f.holds(cert, []byte{}) }, "first", []string{"tls_rejected"}},
		"the key of another": {func(t *testing.T, f *folder, cert, _ []byte) {
			_, key := newPair(t, "second", time.Now(), year)
			f.holds(cert, key)
		}, "first", []string{"tls_rejected"}},
		"expired": {func(t *testing.T, f *folder, _, _ []byte) {
			f.holds(newPair(t, "second", time.Now().Add(-year), year-time.Second))
		}, "first", []string{"tls_rejected"}},
		"of tomorrow": {func(t *testing.T, f *folder, _, _ []byte) {
			f.holds(newPair(t, "second", time.Now().Add(24*time.Hour), year))
		}, "first", []string{"tls_rejected"}},
		"no certificate": {func(_ *testing.T, f *folder, _, key []byte) { f.holds(nil, key) }, "first", []string{"tls_rejected"}},
		"no key":         {func(_ *testing.T, f *folder, cert, _ []byte) { f.holds(cert, nil) }, "first", []string{"tls_rejected"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, tail := new(folder), new(gatewaytest.LogTail)
			cert, key := newPair(t, "first", time.Now(), year)
			f.holds(cert, key)
			c, err := OpenCertificate(f.tls(), OwnLogger(NewLogger(tail, "info")))
			if err != nil {
				t.Fatal(err)
			}
			tt.put(t, f, cert, key)
			c.Look()
			c.Look()
			if got := shown(c); got != tt.want {
				t.Errorf("handshakes get %q, want %q", got, tt.want)
			}
			lines, _ := tail.Since(0)
			if len(lines) != len(tt.logs) || len(lines) == 1 && !lines[0].Is(tt.logs[0]) {
				t.Errorf("the log is, want %q once:\n%s", tt.logs, tail)
			}
			isRejected := len(tt.logs) > 0 && tt.logs[0] == "tls_rejected"
			if c.OK() == isRejected {
				t.Errorf("it is well: %v", c.OK())
			}
			if !isRejected {
				return
			}
			f.holds(cert, key)
			c.Look()
			if again, _ := tail.Since(0); !c.OK() || len(again) != len(lines) {
				t.Errorf("with the former files: well %v, the log is\n%s", c.OK(), tail)
			}
			tt.put(t, f, cert, key)
			c.Look()
			if again, _ := tail.Since(0); len(again) != 2*len(lines) {
				t.Errorf("the fault came back, the log is\n%s", tail)
			}
		})
	}
}

// A start with files that cannot be used fails.
func TestCertificateAtTheStart(t *testing.T) {
	t.Parallel()
	f := new(folder)
	cert, _ := newPair(t, "a", time.Now(), time.Hour)
	_, key := newPair(t, "b", time.Now(), time.Hour)
	f.holds(cert, key)
	if _, err := OpenCertificate(f.tls(), OwnLogger(NewLogger(new(bytes.Buffer), "info"))); err == nil {
		t.Error("a key of another certificate is taken")
	}
}

// The files are looked at each five seconds, and the end of a certificate is warned of once a
// day from two weeks before it on. What has expired stays in use: there is no other.
func TestCertificateIsLookedAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const day = 24 * time.Hour
		f, tail := new(folder), new(gatewaytest.LogTail)
		f.holds(newPair(t, "first", time.Now(), 15*day))
		c, err := OpenCertificate(f.tls(), OwnLogger(NewLogger(tail, "info")))
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		var kept sync.WaitGroup
		kept.Go(func() { c.watchFiles(done) })
		warnings := func(want int) {
			t.Helper()
			if got := len(tail.All("tls_expiring")); got != want {
				t.Errorf("%d warnings, want %d", got, want)
			}
		}
		time.Sleep(day - time.Minute)
		warnings(0)
		time.Sleep(2 * time.Minute)
		warnings(1)
		time.Sleep(13 * day)
		warnings(14)
		time.Sleep(2 * day)
		warnings(16)
		if shown(c) != "first" || !c.OK() {
			t.Errorf("after its end: %q, well %v", shown(c), c.OK())
		}
		f.holds(newPair(t, "second", time.Now(), 90*day))
		time.Sleep(lookTime + time.Second)
		if shown(c) != "second" || len(tail.All("tls_reloaded")) != 1 {
			t.Errorf("after another one came: %q\n%s", shown(c), tail)
		}
		time.Sleep(2 * day)
		warnings(16)
		if got, want := c.NotAfter(), time.Now().Add(88*day); want.Sub(got).Abs() > time.Minute {
			t.Errorf("it ends at %v, want %v", got, want)
		}
		for i, name := range []string{"third", "fourth"} { // each ends soon, which is said of each
			f.holds(newPair(t, name, time.Now(), 10*day))
			time.Sleep(lookTime + time.Second)
			warnings(17 + i)
		}
		close(done)
		kept.Wait()
	})
}
