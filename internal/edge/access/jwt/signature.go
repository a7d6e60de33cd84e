package jwt

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rsa"
	"math/big"
	"strconv"
)

// isSigned reports whether a signature of a text is good by an algorithm and a key of its family.
// It reads nothing of a header: a token that names or brings keys is as good as one without them.
func isSigned(algorithm, text string, signature []byte, public any) bool {
	if algorithm == "EdDSA" {
		k, ok := public.(ed25519.PublicKey)
		return ok && len(k) == ed25519.PublicKeySize && ed25519.Verify(k, []byte(text), signature)
	}
	hash, ok := digests[algorithm[2:]]
	if !ok {
		return false
	}
	if secret, isSecret := public.([]byte); isSecret && algorithm[:2] == "HS" {
		mac := hmac.New(hash.New, secret)
		mac.Write([]byte(text))
		return hmac.Equal(mac.Sum(nil), signature)
	}
	h := hash.New()
	h.Write([]byte(text))
	digest := h.Sum(nil)
	switch k := public.(type) {
	case *rsa.PublicKey:
		switch algorithm[:2] {
		case "RS":
			return rsa.VerifyPKCS1v15(k, hash, digest, signature) == nil
		case "PS":
			return rsa.VerifyPSS(k, hash, digest, signature, nil) == nil
		}
	case *ecdsa.PublicKey:
		return algorithm[:2] == "ES" && isSignedByCurve(k, algorithm[2:], digest, signature)
	}
	return false
}

// digests are the hashes that the names of algorithms end in.
var digests = map[string]crypto.Hash{"256": crypto.SHA256, "384": crypto.SHA384, "512": crypto.SHA512}

// isSignedByCurve verifies the two numbers of a signature, each as long as the curve's field (RFC
// 7518 §3.4).
func isSignedByCurve(k *ecdsa.PublicKey, bits string, digest, signature []byte) bool {
	size := k.Curve.Params().BitSize
	if want, _ := strconv.Atoi(bits); size != want && (want != 512 || size != 521) {
		return false
	}
	n := (size + 7) / 8
	if len(signature) != 2*n {
		return false
	}
	return ecdsa.Verify(k, digest, new(big.Int).SetBytes(signature[:n]), new(big.Int).SetBytes(signature[n:]))
}
