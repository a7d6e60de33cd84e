package jwt

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"sluice/internal/base/fault"
	"sluice/internal/base/testnet"
	"sluice/internal/edge/access"
)

const (
	testIssuer   = "http://127.0.0.1:1"
	testAudience = "sluice"
	testSecret   = "0123456789abcdef0123456789abcdef"
)

// The keys of all tests: making one for RSA costs time.
var (
	rsaKey     = sync.OnceValue(func() *rsa.PrivateKey { return must(rsa.GenerateKey(rand.Reader, 2048)) })
	otherRSA   = sync.OnceValue(func() *rsa.PrivateKey { return must(rsa.GenerateKey(rand.Reader, 2048)) })
	p256Key    = sync.OnceValue(func() *ecdsa.PrivateKey { return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) })
	p384Key    = sync.OnceValue(func() *ecdsa.PrivateKey { return must(ecdsa.GenerateKey(elliptic.P384(), rand.Reader)) })
	p521Key    = sync.OnceValue(func() *ecdsa.PrivateKey { return must(ecdsa.GenerateKey(elliptic.P521(), rand.Reader)) })
	ed25519Key = sync.OnceValue(func() ed25519.PrivateKey {
		_, key, err := ed25519.GenerateKey(rand.Reader)
		return must(key, err)
	})
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

var hashes = map[string]crypto.Hash{"256": crypto.SHA256, "384": crypto.SHA384, "512": crypto.SHA512}

// sign makes a token without the library that reads it. The header and the claims are used as
// they are.
func sign(header, claims string, algorithm string, key any) string {
	enc := base64.RawURLEncoding
	text := enc.EncodeToString([]byte(header)) + "." + enc.EncodeToString([]byte(claims))
	return text + "." + enc.EncodeToString(signature(text, algorithm, key))
}

func signature(text, algorithm string, key any) []byte {
	if algorithm == "EdDSA" {
		return ed25519.Sign(key.(ed25519.PrivateKey), []byte(text))
	}
	hash := hashes[algorithm[2:]]
	if algorithm[:2] == "HS" {
		mac := hmac.New(hash.New, key.([]byte))
		mac.Write([]byte(text))
		return mac.Sum(nil)
	}
	h := hash.New()
	h.Write([]byte(text))
	sum := h.Sum(nil)
	switch algorithm[:2] {
	case "RS":
		return must(rsa.SignPKCS1v15(nil, key.(*rsa.PrivateKey), hash, sum))
	case "PS":
		return must(rsa.SignPSS(rand.Reader, key.(*rsa.PrivateKey), hash, sum, &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash}))
	}
	private := key.(*ecdsa.PrivateKey)
	r, s := must2(ecdsa.Sign(rand.Reader, private, sum))
	size := (private.Curve.Params().BitSize + 7) / 8
	both := make([]byte, 2*size)
	r.FillBytes(both[:size])
	s.FillBytes(both[size:])
	return both
}

func must2[A, B any](a A, b B, err error) (A, B) {
	if err != nil {
		panic(err)
	}
	return a, b
}

// claims are a good token's, with changes: nil takes a claim out.
func claims(changes ...map[string]any) string {
	all := map[string]any{"iss": testIssuer, "aud": testAudience, "sub": "ann", "exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix()}
	for _, c := range changes {
		for name, v := range c {
			if all[name] = v; v == nil {
				delete(all, name)
			}
		}
	}
	return string(must(json.Marshal(all)))
}

func header(algorithm, kid string) string {
	return fmt.Sprintf(`{"alg":%q,"kid":%q,"typ":"JWT"}`, algorithm, kid)
}

// edToken is a good token, unless changes make it another.
func edToken(kid string, changes ...map[string]any) string {
	return sign(header("EdDSA", kid), claims(changes...), "EdDSA", ed25519Key())
}

// jwk is a public key as an issuer shows it.
func jwk(id, algorithm string, key any) jose.JSONWebKey {
	if signer, ok := key.(crypto.Signer); ok {
		key = signer.Public()
	}
	return jose.JSONWebKey{Key: key, KeyID: id, Algorithm: algorithm, Use: "sig"}
}

func setOf(keys ...jose.JSONWebKey) string {
	return string(must(json.Marshal(jose.JSONWebKeySet{Keys: keys})))
}

// spec is an issuer with a key set in a file, or with what change makes of it.
func spec(change func(*Spec)) Spec {
	s := Spec{Issuer: testIssuer, Audiences: []string{testAudience}, JWKSFile: "set"}
	if change != nil {
		change(&s)
	}
	return s
}

// files is a file system of a few texts.
type files map[string]string

func (f files) read(path string) ([]byte, error) {
	if text, ok := f[path]; ok {
		return []byte(text), nil
	}
	return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
}

// open returns a Verifier until the test ends.
func open(t testing.TB, cfg Config) *Verifier {
	t.Helper()
	v, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	return v
}

// reason returns the word of a refusal, or what else came of a token.
func reason(id *access.Identity, err error) string {
	if refused, ok := errors.AsType[*access.Refused](err); ok {
		return refused.Reason
	}
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return string(f.Type)
	}
	if err != nil {
		return err.Error()
	}
	return "as " + strings.Trim(id.Tenant+"/"+id.ID, "/")
}

// provider is an issuer on a network in memory.
type provider struct {
	mu      sync.Mutex
	handler http.HandlerFunc // nil: status 500
	fetched atomic.Int64
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.fetched.Add(1)
	p.mu.Lock()
	h := p.handler
	p.mu.Unlock()
	if h == nil {
		h = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }
	}
	h(w, r)
}

// serves sets what the provider answers from now on.
func (p *provider) serves(h http.HandlerFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.handler = h
}

// shows has the provider show a text.
func (p *provider) shows(text string) {
	p.serves(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) })
}

// publisher is a provider that shows the key "one". caching is its header of that name; empty: none.
func publisher(caching string) *provider {
	p := new(provider)
	p.serves(func(w http.ResponseWriter, _ *http.Request) {
		if caching != "" {
			w.Header().Set("Cache-Control", caching)
		}
		fmt.Fprint(w, setOf(jwk("one", "", ed25519Key())))
	})
	return p
}

// online opens a Verifier for a provider, within a bubble.
func online(t *testing.T, p *provider, cfg Config) *Verifier {
	if cfg.Issuers == nil {
		cfg.Issuers = []Spec{{Issuer: testIssuer, Audiences: []string{testAudience}, JWKS: testIssuer + "/keys"}}
	}
	ours := newTransport(nil)
	ours.DialContext = testnet.Serve(t, p).DialContext
	cfg.transport = ours
	return open(t, cfg)
}
