package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// authority signs the gateway's certificates. Clients trust it, so that a certificate may be
// replaced at any time.
type authority struct {
	dir  string // of the pairs
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	next int64 // serial number
}

// newAuthority makes one that keeps its pairs in dir.
func newAuthority(dir string) (*authority, error) {
	a := &authority{dir: dir, next: 1}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(48 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	a.key = key
	a.cert, err = x509.ParseCertificate(der)
	return a, err
}

// certPool returns the pool of the only certificate that a client trusts.
func (a *authority) certPool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.cert)
	return p
}

// pairPaths returns the paths of the current pair.
func (a *authority) pairPaths() (cert, key string) {
	return filepath.Join(a.dir, "current", "tls.crt"), filepath.Join(a.dir, "current", "tls.key")
}

// issuePair puts another pair in the place of the one before, both files in one step, as a mounted
// secret is. It returns the serial number.
func (a *authority) issuePair() (serial int64, err error) {
	a.next++
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return 0, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(a.next), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		return 0, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return 0, err
	}
	folder, err := os.MkdirTemp(a.dir, "pair-")
	if err != nil {
		return 0, err
	}
	next, current := filepath.Join(a.dir, "next"), filepath.Join(a.dir, "current")
	return a.next, errors.Join(
		os.WriteFile(filepath.Join(folder, "tls.crt"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600),
		os.WriteFile(filepath.Join(folder, "tls.key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600),
		os.Symlink(folder, next), os.Rename(next, current))
}
