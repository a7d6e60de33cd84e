package settings

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	"sluice/internal/base/config"
	"sluice/internal/base/config/configtest"
)

// pemPair returns a certificate that holds for life from a day ago, and its key.
func pemPair(t *testing.T, life time.Duration) (cert, key string) {
	t.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	from := time.Now().Add(-24 * time.Hour)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: from, NotAfter: from.Add(life)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &secret.PublicKey, secret)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
}

// A certificate that cannot be used stops the start, with all other faults. What looks again at the settings of a
// gateway that runs does not stumble over it.
func TestCertificateOfTheStart(t *testing.T) {
	t.Parallel()
	const year = 365 * 24 * time.Hour
	cert, key := pemPair(t, year)
	other, _ := pemPair(t, year)
	late, lateKey := pemPair(t, time.Hour)
	files := map[string]string{"cert": cert, "key": key, "other": other, "late": late, "lateKey": lateKey, "half": cert[:len(cert)/2]}
	for name, tt := range map[string]struct{ cert, key, fault string }{
		"good":               {"cert", "key", ""},
		"none":               {"", "", ""},
		"no key":             {"cert", "", "used together"},
		"no certificate":     {"", "key", "used together"},
		"of another":         {"other", "key", "private key does not match"},
		"half of it":         {"half", "key", "failed to find"},
		"expired":            {"late", "lateKey", "has expired on"},
		"the key as a chain": {"key", "key", "failed to find"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := configtest.World{Files: files, Env: map[string]string{
				"SLUICE_TLS_CERT": tt.cert, "SLUICE_TLS_KEY": tt.key, "SLUICE_TLS_MIN": "1.3", "SLUICE_MAX_STEPS": "many",
			}}
			_, err := Loader().Load(nil, w.Lookup, w.ReadFile)
			if err == nil || !strings.Contains(err.Error(), "SLUICE_MAX_STEPS") {
				t.Fatalf("the other fault is missing: %v", err)
			}
			if tt.fault != "" && !strings.Contains(err.Error(), "SLUICE_TLS_KEY: ") || !strings.Contains(err.Error(), tt.fault) {
				t.Errorf("%v, want %q", err, tt.fault)
			}
			if tt.fault == "" && strings.Contains(err.Error(), "TLS") {
				t.Error(err)
			}
			delete(w.Env, "SLUICE_MAX_STEPS")
			cfg, err := LoaderAgain(new(File)).Load(nil, w.Lookup, w.ReadFile)
			if got := config.Of[Process](&cfg).TLS; err != nil && tt.fault != "used together" || got.Cert != tt.cert || got.Key != tt.key || got.Min != tls.VersionTLS13 {
				t.Errorf("again: %+v, %v", got, err)
			}
		})
	}
}

// A gateway that reads its settings again wants a method as at its start; who only asks it does not
// know the file in which that is.
func TestRequiredMethodIsWantedOfTheGateway(t *testing.T) {
	t.Parallel()
	w := configtest.World{Env: map[string]string{"SLUICE_AUTH": "required"}}
	for name, tt := range map[string]struct {
		loader *config.Loader
		fault  bool
	}{"start": {Loader(), true}, "again": {LoaderAgain(new(File)), true}, "client": {LoaderOfClient(new(File)), false}} {
		_, err := tt.loader.Load(nil, w.Lookup, w.ReadFile)
		if got := err != nil && strings.Contains(err.Error(), "SLUICE_AUTH: needs a method"); got != tt.fault || !tt.fault && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
