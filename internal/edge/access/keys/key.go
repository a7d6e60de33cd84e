// Package keys proves the sender of a request by an API key. The gateway keeps only a hash of it,
// in a file.
//
// A key is slk_, an id (10 of 0-9a-z), _, and 32 of 0-9A-Za-z (190 random bits). It ends with the
// CRC-32 of all that, in six digits of base 62, so that a scanner for secrets recognizes a key. The
// file has a SHA-256 of the whole: a slow hash would add nothing to 190 bits, and would hand out
// CPU.
//
// A Ring holds the keys of a file and follows its changes; Add, Revoke and Rotate change it.
package keys

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"hash/crc32"
	"strings"
)

const (
	prefix     = "slk_"
	idLen      = 10
	secretLen  = 32
	sumLen     = 6
	secretFrom = len(prefix) + idLen + 1
	sumFrom    = secretFrom + secretLen
	keyLen     = sumFrom + sumLen
)

const (
	idDigits = "0123456789abcdefghijklmnopqrstuvwxyz"
	digits   = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// isKey reports whether a credential wants to be a key rather than a token.
func isKey(credential string) bool { return strings.HasPrefix(credential, prefix) }

// generateKey makes a key. It never returns if the system lacks random bits.
func generateKey() (id, key string) {
	id = randomText(idDigits, idLen)
	key = prefix + id + "_" + randomText(digits, secretLen)
	return id, key + checksumOf(key)
}

// randomText returns n letters of an alphabet, each as likely as the others.
func randomText(alphabet string, n int) string {
	text := make([]byte, 0, n)
	fair := 256 - 256%len(alphabet) // above it the first letters would be likelier
	for bytes := make([]byte, 2*n); ; {
		rand.Read(bytes) // never fails
		for _, b := range bytes {
			if int(b) < fair {
				text = append(text, alphabet[int(b)%len(alphabet)])
			}
			if len(text) == n {
				return string(text)
			}
		}
	}
}

// checksumOf returns the six digits at the end of a key.
func checksumOf(key string) string {
	sum := sumOf(key)
	return string(sum[:])
}

// sumOf goes byte by byte, as crc32.ChecksumIEEE would have a copy of the key on the heap.
func sumOf(key string) (sum [sumLen]byte) {
	rest := ^uint32(0)
	for i := range len(key) {
		rest = crc32.IEEETable[byte(rest)^key[i]] ^ rest>>8
	}
	rest = ^rest
	for i := sumLen - 1; i >= 0; i-- {
		sum[i] = digits[rest%uint32(len(digits))]
		rest /= uint32(len(digits))
	}
	return sum
}

// hasForm reports whether a text has the form of a key, its checksum apart.
func hasForm(text string) bool {
	return len(text) == keyLen && isKey(text) && isID(text[len(prefix):secretFrom-1]) && text[secretFrom-1] == '_' &&
		strings.Trim(text[secretFrom:], digits) == ""
}

// isID reports whether a text has the form of the id of a key.
func isID(text string) bool { return len(text) == idLen && strings.Trim(text, idDigits) == "" }

// idOf returns the id of a text that has the form of a key.
func idOf(key string) string { return key[len(prefix) : secretFrom-1] }

// hashPrefix names the function that made the hash, for the day on which there is another.
const hashPrefix = "sha256:"

// hashOf returns the hash of a key as the file has it.
func hashOf(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hashPrefix + hex.EncodeToString(sum[:])
}

// parseHash reads what hashOf returns.
func parseHash(text string) (sum [sha256.Size]byte, ok bool) {
	rest, ok := strings.CutPrefix(text, hashPrefix)
	if !ok || len(rest) != hex.EncodedLen(len(sum)) || strings.ToLower(rest) != rest {
		return sum, false
	}
	_, err := hex.Decode(sum[:], []byte(rest))
	return sum, err == nil
}
