// This file makes texts that only this server, asked for the same model, accepts back: signatures,
// encrypted reasoning, ids of calls. It keeps no memory for that, except for reasoning without a
// signature. It is not cryptography: it finds mistakes of a client, not attacks.

package modelsim

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
)

// sealHead stands in front of all that is sealed, so that no one takes it for real.
const sealHead = "modelsim:"

// seal returns an opaque text that holds payload and shows, to the same server asked for the same
// model, that it comes from there. It works without memory.
//
// kind keeps a text of one use from being taken for one of another.
func (t *turn) seal(kind, payload string) string {
	return base64.StdEncoding.EncodeToString([]byte(sealHead + payload + "\x00" + t.mark(kind, payload)))
}

// unseal returns the payload of what seal returned; ok is false for anything else.
func (t *turn) unseal(kind, sealed string) (payload string, ok bool) {
	b, err := base64.StdEncoding.DecodeString(sealed)
	if err != nil {
		return "", false
	}
	payload, mark, _ := strings.Cut(strings.TrimPrefix(string(b), sealHead), "\x00")
	return payload, strings.HasPrefix(string(b), sealHead) && mark == t.mark(kind, payload)
}

// mark returns a text for kind and payload that only this server writes.
func (t *turn) mark(kind, payload string) string {
	return letters(t.s.cfg.Name+"\x00"+t.model+"\x00"+kind+"\x00"+payload, 32)
}

// letters hashes s to n letters and digits.
//
// n is at most 32, the length of the hash.
func letters(s string, n int) string {
	const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	sum := sha256.Sum256([]byte(s))
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[int(sum[i])%len(alphabet)]
	}
	return string(b)
}

// nonce names the answer to a request: the same request gets the same answer.
func nonce(body []byte) string { return letters("nonce\x00"+string(body), 12) }

// idMark is how many letters at the end of an id show where it comes from.
const idMark = 8

// callID returns the id of the nth call of the answer. It says to this server, asked
// for the same model, that it came with reasoning, if it did.
//
// The odd forms are those of real servers: an empty id, the same id twice, one of nine
// characters, one of a megabyte, one with points and colons.
func (t *turn) callID(prefix string, n int, reasoned bool) string {
	switch t.ids {
	case "none":
		return ""
	case "repeated":
		n = 0
	case "nine":
		return letters(fmt.Sprint(t.nonce, n), 9)
	case "long":
		return strings.Repeat("i", 1<<20)
	case "odd":
		return fmt.Sprintf("functions.%s:%d", "call", n)
	}
	id := fmt.Sprintf("%s%02d", t.nonce, n)
	if !reasoned {
		return prefix + id + letters(id, idMark)
	}
	return prefix + id + t.mark("reasoned", id)[:idMark]
}

// reasonedID returns the nonce of the answer that an id comes from, if this server
// made it together with reasoning.
func (t *turn) reasonedID(prefix, id string) (nonce string, ok bool) {
	rest, found := strings.CutPrefix(id, prefix)
	if !found || len(rest) != 14+idMark {
		return "", false
	}
	return rest[:12], rest[14:] == t.mark("reasoned", rest[:14])[:idMark]
}

// remember notes reasoning that goes out without a signature.
//
// The bound is for servers that run for long; beyond it reasoning is taken for foreign.
func (t *turn) remember(text string) {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	if len(t.s.thought) < 100_000 {
		t.s.thought[t.mark("thought", text)] = true
	}
}

// foreign reports whether reasoning without a signature came from elsewhere.
func (t *turn) foreign(text string) bool {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	return text != "" && !t.s.thought[t.mark("thought", text)]
}
