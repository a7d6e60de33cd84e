package jwt

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// token is a token that was taken apart. Until verify has returned nil it is only what
// somebody claims.
type token struct {
	algorithm, keyID, kind string
	hasKind                bool // typ is there
	issuer                 string
	claims                 map[string]jsontext.Value
	signed                 string // the text under the signature
	signature              []byte
}

// strict refuses input that a decoder may overlook: line ends, and bits after the last byte.
var strict = base64.RawURLEncoding.Strict()

// parseToken takes a token apart. It refuses a token that could be read in two ways.
func parseToken(text string) (*token, error) {
	decoded, ok := decodeParts(text)
	if !ok {
		return nil, refusedFor("malformed")
	}
	var header map[string]jsontext.Value
	t := &token{signed: text[:strings.LastIndexByte(text, '.')], signature: decoded[2]}
	if json.Unmarshal(decoded[0], &header) != nil || json.Unmarshal(decoded[1], &t.claims) != nil || t.claims == nil {
		return nil, refusedFor("malformed")
	}
	if err := t.readHeader(header); err != nil {
		return nil, err
	}
	if t.issuer, ok = textOf(t.claims["iss"]); !ok {
		return nil, refusedFor("issuer")
	}
	return t, nil
}

// decodeParts decodes the header, the claims and the signature of a token.
func decodeParts(text string) (decoded [3][]byte, ok bool) {
	parts := strings.Split(text, ".")
	if len(parts) != len(decoded) || strings.ContainsAny(text, "\r\n") {
		return decoded, false // an encrypted one has five
	}
	for i, part := range parts {
		var err error
		if decoded[i], err = strict.DecodeString(part); err != nil || part == "" {
			return decoded, false
		}
	}
	return decoded, true
}

// readHeader reads what matters of a header. Keys that it names or brings along are not
// looked at; what changes the meaning of the rest is refused.
func (t *token) readHeader(header map[string]jsontext.Value) error {
	if header["crit"] != nil || header["b64"] != nil {
		return refusedFor("critical")
	}
	var isText [3]bool
	t.algorithm, isText[0] = textOf(header["alg"])
	t.keyID, isText[1] = textOf(header["kid"])
	t.kind, isText[2] = textOf(header["typ"])
	t.hasKind = header["typ"] != nil
	if isText != [3]bool{true, true, true} {
		return refusedFor("malformed")
	}
	return nil
}

// checkHeader checks the header against the issuer's algorithms and types.
func (t *token) checkHeader(i *issuer) error {
	switch {
	case !slices.Contains(i.algorithms, jose.SignatureAlgorithm(t.algorithm)):
		return refusedFor("algorithm")
	case t.hasKind && !i.spec.hasType(t.kind):
		return refusedFor("type")
	}
	return nil
}

// defaultTypes are those of tokens, and of access tokens (RFC 9068).
var defaultTypes = []string{"JWT", "at+jwt"}

// hasType compares media types: their case does not matter, and application/ is understood
// (RFC 7515 §4.1.9).
func (s *Spec) hasType(kind string) bool {
	types := s.Types
	if types == nil {
		types = defaultTypes
	}
	return slices.ContainsFunc(types, func(t string) bool { return strings.EqualFold(bareType(t), bareType(kind)) })
}

func bareType(kind string) string {
	const prefix = "application/"
	if len(kind) > len(prefix) && strings.EqualFold(kind[:len(prefix)], prefix) {
		return kind[len(prefix):]
	}
	return kind
}

// verifySignature checks the signature. The algorithm is one of the issuer's, and the key one that
// fits it.
func (t *token) verifySignature(public any) error {
	if !isSigned(t.algorithm, t.signed, t.signature, public) {
		return refusedFor("signature")
	}
	return nil
}
