package geminisim

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// signatureHead makes a signature look like a real one, a protobuf message: field 2 {field 1: 32
// bytes}.
const signatureHead = "\x12\x22\x0a\x20"

// signWords returns a thought signature over the given words. It works without memory: everyone who
// knows the signed words can check it.
func signWords(words ...string) string {
	sum := sha256.Sum256([]byte("geminisim\x00" + strings.Join(words, "\x00")))
	return base64.StdEncoding.EncodeToString([]byte(signatureHead + string(sum[:])))
}

// callKey names a function call by all that must come back unchanged.
func callKey(c *functionCall) string {
	args := c.Args.Clone()
	if len(args) == 0 {
		args = jsontext.Value("{}")
	}
	if err := args.Canonicalize(); err != nil {
		args = c.Args
	}
	return c.Name + "\x00" + c.ID + "\x00" + string(args)
}

// digest names a request body; answers derive their ids from it, so that the
// same request always gets the same answer.
func digest(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// callID returns the 8-character id of the nth call of an answer.
func callID(digest string, n int) string {
	const alphabet = "0123456789abcdefghijklmnopqrstuvwxyz"
	sum := sha256.Sum256(fmt.Appendf(nil, "%s call %d", digest, n))
	id := make([]byte, 8)
	for i := range id {
		id[i] = alphabet[int(sum[i])%len(alphabet)]
	}
	return string(id)
}

// responseID returns an id in the shape of the real ones: 23 characters, URL-safe.
func responseID(digest string) string {
	sum := sha256.Sum256([]byte(digest + " response"))
	return base64.RawURLEncoding.EncodeToString(sum[:])[:23]
}

// standIn replaces the signature of a call by another model
// (ai.google.dev/gemini-api/docs/thought-signatures).
const standIn = "skip_thought_signature_validator"

// ledger remembers the calls whose signature a script wrote by hand. signWords signed all other
// calls, and works without memory.
type ledger struct {
	mu      sync.Mutex
	signed  map[string]string // callKey -> signature, "" for a call issued unsigned
	foreign bool              // calls of other models are taken with standIn
}

// isStandIn reports whether a signature stands for that of a call which another model made.
func (l *ledger) isStandIn(signature string) bool {
	return l != nil && l.foreign && signature == standIn
}

// addCall records the signature of a sent call. A script that loops issues the same calls again and
// again, so the map does not grow with the number of requests.
func (l *ledger) addCall(c *functionCall, signature string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.signed == nil {
		l.signed = make(map[string]string)
	}
	l.signed[callKey(c)] = signature
}

// signatureOf returns the signature of c. first reports whether c leads its model turn: of parallel
// calls only the first is signed.
func (l *ledger) signatureOf(c *functionCall, first bool) string {
	key := callKey(c)
	if l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		if s, ok := l.signed[key]; ok {
			return s
		}
	}
	if !first {
		return ""
	}
	return signWords(key)
}

// sameSignature compares two signatures by the bytes that they stand for: base64
// may come back URL-safe or without padding. ok is false when got is not base64.
func sameSignature(want, got string) (same, ok bool) {
	w, _ := decodeBase64(want)
	g, err := decodeBase64(got)
	return string(w) == string(g), err == nil
}

// decodeBase64 takes both alphabets, with and without padding, as the service
// does.
func decodeBase64(s string) ([]byte, error) {
	s = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(s, "="))
	return base64.RawStdEncoding.DecodeString(s)
}
