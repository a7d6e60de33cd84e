// This file makes what users show at the door: API keys, half of them, and tokens of an
// issuer of this program's own. All are replaced while the gateway runs; the last ones before
// stay good until the next time, as those of a user who is slow to change.

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// entry is a key as the key file has it.
type entry struct {
	ID      string   `json:"id"`
	Hash    string   `json:"hash"`
	User    string   `json:"user"`
	Tenant  string   `json:"tenant"`
	Scopes  []string `json:"scopes"`
	Limits  string   `json:"limits,omitempty"`
	Created string   `json:"created"`
}

// newKey makes an API key and its entry, by the form that docs/access.md gives.
func newKey(user, tenant, limits string, scopes ...string) (key string, e entry) {
	id := letters("0123456789abcdefghijklmnopqrstuvwxyz", 10)
	key = "slk_" + id + "_" + letters(digits, 32)
	rest := crc32.ChecksumIEEE([]byte(key))
	var sum [6]byte
	for i := len(sum) - 1; i >= 0; i-- {
		sum[i] = digits[rest%62]
		rest /= 62
	}
	key += string(sum[:])
	hash := sha256.Sum256([]byte(key))
	return key, entry{id, "sha256:" + hex.EncodeToString(hash[:]), user, tenant, scopes, limits, time.Now().UTC().Format(time.RFC3339)}
}

const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// letters returns n letters of an alphabet. That they are not quite as likely is no matter here.
func letters(alphabet string, n int) string {
	text := make([]byte, n)
	rand.Read(text)
	for i := range text {
		text[i] = alphabet[int(text[i])%len(alphabet)]
	}
	return string(text)
}

// issuer signs tokens, and serves the keys by which they are checked.
type issuer struct {
	url string

	mu   sync.Mutex // guards the fields below
	keys []*signer  // the last one signs
}

// signer is a key with its name.
type signer struct {
	kid string
	key *ecdsa.PrivateKey
}

// rotate makes another key the one that signs. The one before stays in the set: tokens that it
// has signed are still shown.
func (i *issuer) rotate() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys = append(i.keys, &signer{letters(digits, 8), key})
	i.keys = i.keys[max(0, len(i.keys)-2):]
	return nil
}

// ServeHTTP serves the key set.
func (i *issuer) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	var set struct {
		Keys []map[string]string `json:"keys"`
	}
	for _, s := range i.keys {
		point, err := s.key.PublicKey.Bytes() // 4, and the two coordinates
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		half := (len(point) - 1) / 2
		set.Keys = append(set.Keys, map[string]string{"kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": s.kid,
			"x": base64.RawURLEncoding.EncodeToString(point[1 : 1+half]), "y": base64.RawURLEncoding.EncodeToString(point[1+half:])})
	}
	_ = json.NewEncoder(w).Encode(set)
}

// token signs one for a user, good for so long.
func (i *issuer) token(user, tenant, limits string, life time.Duration) (string, error) {
	i.mu.Lock()
	s := i.keys[len(i.keys)-1]
	i.mu.Unlock()
	part := func(v any) string {
		text, _ := json.Marshal(v)
		return base64.RawURLEncoding.EncodeToString(text)
	}
	claims := map[string]any{"iss": i.url, "aud": "soak", "sub": user, "tenant": tenant, "jti": letters(digits, 12), "iat": time.Now().Unix(), "exp": time.Now().Add(life).Unix()}
	if limits != "" {
		claims["limits"] = limits
	}
	signed := part(map[string]string{"alg": "ES256", "typ": "JWT", "kid": s.kid}) + "." + part(claims)
	digest := sha256.Sum256([]byte(signed))
	r, t, err := ecdsa.Sign(rand.Reader, s.key, digest[:])
	if err != nil {
		return "", err
	}
	var signature [64]byte
	r.FillBytes(signature[:32])
	t.FillBytes(signature[32:])
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature[:]), nil
}

// wardrobe is the key file: the entries of now and those before. One goroutine uses it.
type wardrobe struct {
	path     string
	operator entry   // never changes
	last     []entry // that were new the last time
}

// write replaces the file by one with the operator's key, the last ones and new ones, as one
// step: the gateway may look at any moment.
func (w *wardrobe) write(fresh []entry) error {
	all := append(append([]entry{w.operator}, w.last...), fresh...)
	text, err := json.Marshal(map[string]any{"keys": all})
	if err != nil {
		return err
	}
	w.last = fresh
	return replace(w.path, text)
}

// replace writes a file that is there whole or as it was before.
func replace(path string, content []byte) error {
	next := path + ".next"
	if err := os.WriteFile(next, content, 0o600); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return os.Rename(next, path)
}
