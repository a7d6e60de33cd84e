package engine

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// NewUUID returns a random UUID (version 4).
func NewUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	return formatUUID(b)
}

// uuidOfParts returns a UUID of the form of version 4 that is equal for equal parts: a call has
// one id in every attempt.
func uuidOfParts(parts ...string) string {
	return formatUUID([16]byte(hashParts(parts...)[:16]))
}

// hashParts returns the SHA-256 of the parts. They are separated by a zero byte, so that "a","bc"
// and "ab","c" differ.
func hashParts(parts ...string) []byte {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return sum[:]
}

// formatUUID sets the bits of version 4 and the variant (RFC 9562, section 5.4) and writes the
// text.
func formatUUID(b [16]byte) string {
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// hashOfArguments returns the SHA-256 of arguments in canonical form (RFC 8785), so that the order
// of members does not matter. Integers stay unchanged, as large ones would lose digits.
func hashOfArguments(args jsontext.Value) string {
	canonical := args.Clone()
	if canonical.Canonicalize(jsontext.CanonicalizeRawInts(false)) != nil {
		canonical = args
	}
	return hex.EncodeToString(hashParts(string(canonical)))
}
