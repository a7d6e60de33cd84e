package approval

import (
	"bytes"
	"cmp"
	"compress/flate"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
)

// A token is text:
//
//	slap1.                       the version, which is also sealed with the rest
//	base64url, without padding:
//	  salt                       16 bytes
//	  nonce                      12 bytes
//	  AES-256-GCM, under the key that HKDF-SHA256 makes of ours and the salt, of
//	    how the record is packed, 1 byte; its length, 3 bytes; and the record, packed
//
// or, where the record itself is in a store, the same prefix with 32 random bytes:
// the record's id and a secret.
const (
	prefix     = "slap1."
	saltSize   = 16
	nonceSize  = 12
	handleSize = 32

	// maxToken is how many bytes a token may have: a request has room for it, with an answer
	// next to it.
	maxToken = 64 << 10

	packedByDeflate = 0 // how a record is packed: RFC 1951
)

// errToken is wrapped by the error of a token that we did not make.
var errToken = errors.New("it is no token of ours")

// errLong is the error of a record that no token has room for.
var errLong = errors.New("the token would be too long")

// Key seals tokens. Two gateways with the same key open each other's.
type Key [32]byte

// parseKeys reads keys in base64 of any alphabet, separated by commas. The error does not
// repeat them.
func parseKeys(text string) (keys []Key, err error) {
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimRight(strings.TrimSpace(part), "=")
		part = strings.NewReplacer("+", "-", "/", "_").Replace(part)
		raw, err := base64.RawURLEncoding.DecodeString(part)
		if err != nil || len(raw) != len(Key{}) {
			return nil, errors.New("must be 32 bytes in base64, or several of these separated by commas")
		}
		keys = append(keys, Key(raw))
	}
	return keys, nil
}

// newKey returns a random key.
func newKey() (k Key) {
	_, _ = rand.Read(k[:]) // never fails
	return k
}

// sealer seals and opens tokens. It is safe for concurrent use.
type sealer struct {
	keys    []Key  // the first one seals, all open
	label   string // the begin of a token; empty: prefix
	max     int    // bytes of a token; 0: maxToken
	writers sync.Pool
	readers sync.Pool
}

// tokenPrefix returns what tokens begin with.
func (s *sealer) tokenPrefix() string { return cmp.Or(s.label, prefix) }

// seal makes a token of a record. The error is errLong if it would exceed MaxToken.
func (s *sealer) seal(record []byte) (string, error) {
	packed, err := s.deflate(record)
	if err != nil {
		return "", err
	}
	label := s.tokenPrefix()
	if tokenSize(label, len(packed)) > cmp.Or(s.max, maxToken) {
		return "", errLong
	}
	raw := make([]byte, saltSize+nonceSize, rawSize(len(packed)))
	_, _ = rand.Read(raw) // never fails
	aead, err := aeadOf(label, s.keys[0], raw[:saltSize])
	if err != nil {
		return "", err
	}
	raw = aead.Seal(raw, raw[saltSize:], packed, []byte(label))
	token := make([]byte, 0, tokenSize(label, len(packed)))
	token = base64.RawURLEncoding.AppendEncode(append(token, label...), raw)
	return string(token), nil
}

// rawSize is how many bytes a token has before base64, and tokenSize behind it, if so many
// are packed in it.
func rawSize(packed int) int { return saltSize + nonceSize + packed + 16 }

func tokenSize(label string, packed int) int {
	return len(label) + base64.RawURLEncoding.EncodedLen(rawSize(packed))
}

// deflate packs a record by DEFLATE, behind its length.
func (s *sealer) deflate(record []byte) ([]byte, error) {
	var packed bytes.Buffer
	packed.Grow(len(record)/2 + 64)
	packed.Write(binary.BigEndian.AppendUint32(nil, packedByDeflate<<24|uint32(len(record))))
	w, _ := s.writers.Get().(*flate.Writer)
	if w == nil {
		w, _ = flate.NewWriter(&packed, flate.BestSpeed) // the level is valid
	} else {
		w.Reset(&packed)
	}
	defer s.writers.Put(w)
	_, err := w.Write(record)
	err = errors.Join(err, w.Close())
	return packed.Bytes(), err
}

// open returns the record of a token that one of the keys has sealed.
func (s *sealer) open(token string) ([]byte, error) {
	label := s.tokenPrefix()
	raw, err := rawOf(label, token)
	if err != nil {
		return nil, err
	}
	if len(raw) < saltSize+nonceSize+16 {
		return nil, fmt.Errorf("%w: it is too short", errToken)
	}
	salt, nonce, sealed := raw[:saltSize], raw[saltSize:saltSize+nonceSize], raw[saltSize+nonceSize:]
	for _, key := range s.keys {
		aead, err := aeadOf(label, key, salt)
		if err != nil {
			return nil, err
		}
		if packed, err := aead.Open(nil, nonce, sealed, []byte(label)); err == nil {
			return s.unpackRecord(packed)
		}
	}
	return nil, fmt.Errorf("%w: no key opens it", errToken)
}

// unpackRecord reads the content of a token. It allocates the length in the token before it reads.
// The length is below run.maxPaused, and only tokens sealed by our keys come this far.
func (s *sealer) unpackRecord(packed []byte) ([]byte, error) {
	if len(packed) < 4 {
		return nil, fmt.Errorf("%w: what is in it cannot be read", errToken)
	}
	head := binary.BigEndian.Uint32(packed)
	how, size := head>>24, int(head&0xffffff)
	packed = packed[4:]
	if how != packedByDeflate {
		return nil, fmt.Errorf("%w: another version has made it", errToken)
	}
	record, err := s.inflate(packed, size)
	if err != nil {
		return nil, fmt.Errorf("%w: what is in it cannot be read: %w", errToken, err)
	}
	return record, nil
}

// inflate reads a record of so many bytes that deflate has packed.
func (s *sealer) inflate(packed []byte, size int) ([]byte, error) {
	record := make([]byte, size)
	in := bytes.NewReader(packed)
	r, _ := s.readers.Get().(io.ReadCloser)
	if r == nil {
		r = flate.NewReader(in)
	} else if err := r.(flate.Resetter).Reset(in, nil); err != nil {
		return nil, err
	}
	defer s.readers.Put(r)
	_, err := io.ReadFull(r, record)
	return record, err
}

// aeadOf returns the cipher of one token.
func aeadOf(label string, key Key, salt []byte) (cipher.AEAD, error) {
	own, err := hkdf.Key(sha256.New, key[:], salt, label, len(key))
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(own)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// rawOf returns the bytes of a token.
func rawOf(label, token string) ([]byte, error) {
	text, ok := strings.CutPrefix(token, label)
	if !ok || len(token) > maxToken {
		return nil, fmt.Errorf("%w: its form is another one", errToken)
	}
	if strings.IndexByte(text, '\r') >= 0 || strings.IndexByte(text, '\n') >= 0 { // which base64 skips
		return nil, fmt.Errorf("%w: its form is another one", errToken)
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("%w: its form is another one", errToken)
	}
	return raw, nil
}

// handle is a token whose record is in a store.
type handle [handleSize]byte

// newHandle returns a handle that nobody can guess.
func newHandle() (h handle) {
	_, _ = rand.Read(h[:]) // never fails
	return h
}

// setQuestion sets the handle's id to that of a task's question, the same each time. The secret
// stays.
func (h *handle) setQuestion(task, key string) {
	sum := sha256.Sum256([]byte(task + "\x00" + key))
	copy(h[:16], sum[:])
}

// handleOf returns the handle that a token is.
func handleOf(token string) (h handle, ok bool) {
	raw, err := rawOf(prefix, token)
	if err != nil || len(raw) != handleSize {
		return h, false
	}
	return handle(raw), true
}

// token is the handle in the form of a token.
func (h handle) token() string { return prefix + base64.RawURLEncoding.EncodeToString(h[:]) }

// recordID is that of the record, and of the question.
func (h handle) recordID() string { return idOf(h[:16]) }

// storedSum returns the SHA-256 of the handle, for the record.
func (h handle) storedSum() []byte {
	sum := sha256.Sum256(h[:])
	return sum[:]
}
