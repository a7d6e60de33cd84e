package jwt

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"math/big"
	"slices"
	"strings"

	_ "crypto/sha512" // for the algorithms with 384 and 512

	"github.com/go-jose/go-jose/v4"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of a key set.
const (
	maxSet  = 256 << 10 // bytes
	maxKeys = 100
	minRSA  = 2048 // bits
	maxRSA  = 8192
)

// Errors of key sets. Their texts hold no part of a key set.
var (
	errTooLarge  = errors.New("the key set has more than 256 KiB")
	errMalformed = errors.New("the key set is malformed")
	errTooMany   = errors.New("the key set has more than 100 keys")
	errNoKeys    = errors.New("the key set has no key that can be used")
)

// keySet is the keys of one issuer. Keys of two issuers are independent, even with equal ids.
type keySet struct {
	keys []key
	// text is equal for equal sets. A cached token counts as long as the text is the same.
	text string
}

// key is one that signatures are verified with.
type key struct {
	id, algorithm string // may be empty
	family        string // the algorithms that it can serve: see families
	public        any
}

// families are the algorithms that a key can serve by its type.
var families = map[string][]string{
	"RSA":     {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"},
	"P-256":   {"ES256"},
	"P-384":   {"ES384"},
	"P-521":   {"ES512"},
	"Ed25519": {"EdDSA"},
	"secret":  {"HS256", "HS384", "HS512"},
}

// fitsAlgorithm reports whether the key verifies signatures of an algorithm. A key with an
// algorithm of its own serves only that.
func (k *key) fitsAlgorithm(algorithm string) bool {
	return (k.algorithm == "" || k.algorithm == algorithm) && slices.Contains(families[k.family], algorithm)
}

// parseKeySet reads a key set (RFC 7517). Keys that cannot be used are left out, one by one:
// an issuer may publish keys of types to come, and those for encryption.
func parseKeySet(text []byte) (*keySet, error) {
	if len(text) > maxSet {
		return nil, errTooLarge
	}
	var set struct {
		Keys []jsontext.Value `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, errMalformed
	}
	if len(set.Keys) > maxKeys {
		return nil, errTooMany
	}
	return usableKeys(set.Keys)
}

// usableKeys returns the keys that can be used, of which there is one at least.
func usableKeys(list []jsontext.Value) (*keySet, error) {
	var keys []key
	var texts []string
	for _, v := range list {
		k, text, ok := parseKey(v)
		if ok && !slices.Contains(texts, text) { // one that is there twice is one
			keys, texts = append(keys, k), append(texts, text)
		}
	}
	if len(keys) == 0 {
		return nil, errNoKeys
	}
	slices.Sort(texts)
	return &keySet{keys, strings.Join(texts, "\n")}, nil
}

// publicParts are the members of a public key. The library reads nothing else of one:
// a certificate that it cannot parse does not make the key worse.
var publicParts = []string{"kty", "crv", "x", "y"}

// parseKey reads a key, with a text that is equal for equal keys. It returns false for a private or
// symmetric key, an unknown type, a key for encryption, and one too short or too long.
func parseKey(v jsontext.Value) (k key, text string, ok bool) {
	members, ok := publicMembers(v)
	if !ok || !isForSignatures(members) {
		return key{}, "", false
	}
	id, hasID := textOf(members["kid"])
	algorithm, hasAlgorithm := textOf(members["alg"])
	if !hasID || !hasAlgorithm {
		return key{}, "", false
	}
	public := publicOf(members)
	family := familyOf(public)
	if family == "" {
		return key{}, "", false
	}
	print, err := (&jose.JSONWebKey{Key: public}).Thumbprint(crypto.SHA256)
	if err != nil {
		return key{}, "", false
	}
	return key{id, algorithm, family, public}, id + "\x00" + algorithm + "\x00" + string(print), true
}

// publicMembers reads the members of a key that is neither private nor symmetric.
func publicMembers(v jsontext.Value) (members map[string]jsontext.Value, ok bool) {
	if v.Kind() != '{' || json.Unmarshal(v, &members) != nil {
		return nil, false
	}
	return members, members["d"] == nil && members["k"] == nil
}

// isForSignatures reports whether a key may verify signatures: its use is sig or missing.
func isForSignatures(members map[string]jsontext.Value) bool {
	use, ok := textOf(members["use"])
	return ok && (use == "" || use == "sig")
}

// publicOf returns the public key that the members of a key describe; nil: none.
func publicOf(members map[string]jsontext.Value) any {
	if kty, _ := textOf(members["kty"]); kty == "RSA" {
		return rsaOf(members["n"], members["e"])
	}
	public := map[string]jsontext.Value{}
	for _, name := range publicParts {
		if members[name] != nil {
			public[name] = members[name]
		}
	}
	reduced, err := json.Marshal(public)
	var jwk jose.JSONWebKey
	if err != nil || jwk.UnmarshalJSON(reduced) != nil {
		return nil
	}
	return jwk.Key
}

// rsaOf reads a key of RSA. The library has a bound for all of a process, of 4096 bits.
func rsaOf(modulus, exponent jsontext.Value) any {
	n, e := numberOf(modulus), numberOf(exponent)
	if n.BitLen() < minRSA || n.BitLen() > maxRSA || e.BitLen() > 31 || e.Int64() < 3 || e.Bit(0) == 0 {
		return nil
	}
	return &rsa.PublicKey{N: n, E: int(e.Int64())}
}

// numberOf reads a number (RFC 7518 §2, Base64urlUInt). It returns 0 for malformed text.
func numberOf(v jsontext.Value) *big.Int {
	text, _ := textOf(v)
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return new(big.Int)
	}
	return new(big.Int).SetBytes(b)
}

// familyOf returns the family of a public key, or "" for an unknown type.
func familyOf(public any) string {
	switch p := public.(type) {
	case *rsa.PublicKey:
		return "RSA"
	case *ecdsa.PublicKey:
		return p.Curve.Params().Name
	case ed25519.PublicKey:
		return "Ed25519"
	}
	return ""
}

// textOf returns a member that is a text. ok is false if it is something else; an absent one
// is empty.
func textOf(v jsontext.Value) (text string, ok bool) {
	if v == nil {
		return "", true
	}
	if v.Kind() != '"' || json.Unmarshal(v, &text) != nil {
		return "", false
	}
	return text, true
}

// secretSet returns the set of one secret. The secret has an empty id and serves tokens with any
// id.
func secretSet(secret []byte) *keySet {
	sum := sha256.Sum256(secret)
	return &keySet{[]key{{family: "secret", public: bytes.Clone(secret)}}, string(sum[:])}
}

// findKey returns the key of a token. unknown is true if the set lacks the id. It returns nil
// unless exactly one key fits: a token must not choose among several.
func (s *keySet) findKey(id, algorithm string) (public any, unknown bool) {
	unknown = id != ""
	for i := range s.keys {
		k := &s.keys[i]
		if !k.isMeant(id) {
			continue
		}
		unknown = false
		if !k.fitsAlgorithm(algorithm) {
			continue
		}
		if public != nil {
			return nil, false
		}
		public = k.public
	}
	return public, unknown
}

// isMeant reports whether a token that names this id, or none, can mean the key.
func (k *key) isMeant(id string) bool {
	return id == "" || k.id == id || k.family == "secret"
}
