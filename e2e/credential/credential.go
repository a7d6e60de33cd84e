// Package credential makes the credentials of users, for programs that judge a gateway: API keys
// with their entries, and an issuer of tokens. It shares no code with the gateway.
package credential

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"hash/crc32"
	"net/http"
	"sync"
	"time"
)

// Entry is a key as the key file has it.
type Entry struct {
	ID      string   `json:"id"`
	Hash    string   `json:"hash"`
	User    string   `json:"user"`
	Tenant  string   `json:"tenant"`
	Scopes  []string `json:"scopes"`
	Limits  string   `json:"limits,omitempty"`
	Created string   `json:"created"`
}

// Audience is whom tokens are for.
const Audience = "judged"

// NewKey makes an API key and its entry, by the form that docs/access.md gives.
func NewKey(user, tenant, limits string, scopes ...string) (key string, e Entry) {
	id := randomText("0123456789abcdefghijklmnopqrstuvwxyz", 10)
	key = "slk_" + id + "_" + randomText(digits, 32)
	rest := crc32.ChecksumIEEE([]byte(key))
	var sum [6]byte
	for i := len(sum) - 1; i >= 0; i-- {
		sum[i] = digits[rest%62]
		rest /= 62
	}
	key += string(sum[:])
	hash := sha256.Sum256([]byte(key))
	return key, Entry{id, "sha256:" + hex.EncodeToString(hash[:]), user, tenant, scopes, limits, time.Now().UTC().Format(time.RFC3339)}
}

const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// randomText returns n random letters of an alphabet, some of them a little likelier than others.
func randomText(alphabet string, n int) string {
	text := make([]byte, n)
	rand.Read(text)
	for i := range text {
		text[i] = alphabet[int(text[i])%len(alphabet)]
	}
	return string(text)
}

// Issuer signs tokens, and serves the keys that check them. Rotate makes the first key. It is safe
// for concurrent use.
type Issuer struct {
	URL string // its name, and where it serves its keys

	mu   sync.Mutex // guards the fields below
	keys []*signer  // the last one signs
}

// signer is a key with its name.
type signer struct {
	kid string
	key *ecdsa.PrivateKey
}

// Rotate makes another key the one that signs. The one before stays in the set: tokens that it
// has signed are still shown.
func (i *Issuer) Rotate() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys = append(i.keys, &signer{randomText(digits, 8), key})
	i.keys = i.keys[max(0, len(i.keys)-2):]
	return nil
}

// ServeHTTP serves the key set.
func (i *Issuer) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
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

// Token signs one for a user, good for so long.
func (i *Issuer) Token(user, tenant, limits string, life time.Duration) (string, error) {
	i.mu.Lock()
	s := i.keys[len(i.keys)-1]
	i.mu.Unlock()
	part := func(v any) string {
		text, _ := json.Marshal(v)
		return base64.RawURLEncoding.EncodeToString(text)
	}
	claims := map[string]any{"iss": i.URL, "aud": Audience, "sub": user, "tenant": tenant, "jti": randomText(digits, 12), "iat": time.Now().Unix(), "exp": time.Now().Add(life).Unix()}
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
