package process

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
)

const (
	// lookTime is how often the files of a certificate are read. A mounted secret is replaced
	// by a symlink to another folder, so that neither the file nor its folder reports a change.
	lookTime = 5 * time.Second
	// expiryNotice is how long before its end a certificate is warned of, once in noticeEvery.
	expiryNotice = 14 * 24 * time.Hour
	noticeEvery  = 24 * time.Hour
)

// TLS has the certificate and the settings of an encrypted Server. The zero value is a Server
// without TLS.
type TLS struct {
	// Cert and Key are PEM files: the certificate with those of its issuers, and its key.
	Cert, Key string
	// Min is the least version of the protocol, such as tls.VersionTLS13; 0: 1.2.
	Min uint16
	// ReadFile reads the two.
	ReadFile func(path string) ([]byte, error)
}

// On says whether the connections of the Server are encrypted.
func (t TLS) On() bool { return t.Cert != "" }

// Certificate is the pair that new handshakes get. Its files may be replaced while the
// process runs; what cannot be used changes nothing. It is safe for concurrent use.
type Certificate struct {
	from    TLS
	log     zerolog.Logger
	current atomic.Pointer[tls.Certificate]
	faulty  atomic.Bool // the files cannot be used: an older pair is in use

	mu      sync.Mutex // guards the fields below: one look at a time
	inUse   files
	refused string    // the fault that was logged last; empty: none since the files were good
	noticed time.Time // when the end of the certificate was last warned of
}

// OpenCertificate reads the pair. Its error names the fault, without a secret.
func OpenCertificate(from TLS, log zerolog.Logger) (*Certificate, error) {
	c := &Certificate{from: from, log: log}
	f, err := c.readFiles()
	if err != nil {
		return nil, err
	}
	pair, err := ParsePair(f.cert, f.key, time.Now())
	if err != nil {
		return nil, err
	}
	c.current.Store(pair)
	c.inUse = f
	c.warnOfExpiry(time.Now())
	return c, nil
}

// ParsePair returns the certificate and the key of two PEM texts. They must fit each other, and
// the certificate must hold now.
func ParsePair(cert, key []byte, now time.Time) (*tls.Certificate, error) {
	pair, err := tls.X509KeyPair(cert, key)
	switch {
	case err != nil:
		return nil, err
	case now.After(pair.Leaf.NotAfter):
		return nil, fmt.Errorf("the certificate has expired on %s", pair.Leaf.NotAfter.UTC().Format(time.DateTime))
	case now.Before(pair.Leaf.NotBefore):
		return nil, fmt.Errorf("the certificate holds from %s on", pair.Leaf.NotBefore.UTC().Format(time.DateTime))
	}
	return &pair, nil
}

// files are the contents of the two files.
type files struct{ cert, key []byte }

func (f files) equal(other files) bool {
	return bytes.Equal(f.cert, other.cert) && bytes.Equal(f.key, other.key)
}

// readFiles returns the contents of the files.
func (c *Certificate) readFiles() (f files, err error) {
	if f.cert, err = c.from.ReadFile(c.from.Cert); err != nil {
		return f, errors.New("the file of the certificate cannot be read")
	}
	if f.key, err = c.from.ReadFile(c.from.Key); err != nil {
		return f, errors.New("the file of the key cannot be read")
	}
	return f, nil
}

// Look reads the files, and uses their pair for new handshakes. A pair that cannot be used changes
// nothing, and is logged once.
func (c *Certificate) Look() {
	c.mu.Lock()
	defer c.mu.Unlock()
	fault := c.replacePair()
	c.faulty.Store(fault != "")
	if fault != c.refused && fault != "" {
		c.log.Error().Dict("details", zerolog.Dict().Str("cause", fault)).Msg("tls_rejected")
	}
	c.refused = fault
	c.warnOfExpiry(time.Now())
}

// replacePair uses the pair of the files, if it has changed. It returns the fault of the new pair.
// An unchanged pair is never a fault, even if it has expired meanwhile. It needs mu.
func (c *Certificate) replacePair() (fault string) {
	f, err := c.readFiles()
	if err != nil {
		return err.Error()
	}
	if f.equal(c.inUse) {
		return ""
	}
	pair, err := ParsePair(f.cert, f.key, time.Now())
	if err != nil {
		return err.Error()
	}
	c.current.Store(pair)
	c.inUse, c.noticed = f, time.Time{}
	c.log.Info().Dict("details", zerolog.Dict().Time("not_after", pair.Leaf.NotAfter.UTC())).Msg("tls_reloaded")
	return ""
}

// warnOfExpiry logs that the certificate in use ends soon. The caller must hold mu, but for the
// first call.
func (c *Certificate) warnOfExpiry(now time.Time) {
	left := c.NotAfter().Sub(now)
	if left > expiryNotice || now.Sub(c.noticed) < noticeEvery {
		return
	}
	c.noticed = now
	c.log.Warn().Dict("details", zerolog.Dict().
		Time("not_after", c.NotAfter().UTC()).Int("days", int(left.Hours()/24))).Msg("tls_expiring")
}

// watchFiles looks at the files until done is closed.
func (c *Certificate) watchFiles(done <-chan struct{}) {
	ticks := time.NewTicker(lookTime)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
			c.Look()
		case <-done:
			return
		}
	}
}

// NotAfter is when the certificate in use ends.
func (c *Certificate) NotAfter() time.Time { return c.current.Load().Leaf.NotAfter }

// OK reports whether the pair in use is that of the files.
func (c *Certificate) OK() bool { return !c.faulty.Load() }

// tlsConfig returns the configuration of handshakes. Suites and curves are Go's own choice.
func (c *Certificate) tlsConfig() *tls.Config {
	least := c.from.Min
	if least == 0 {
		least = tls.VersionTLS12
	}
	return &tls.Config{
		MinVersion: least, NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current.Load(), nil },
	}
}
