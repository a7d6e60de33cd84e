package approval

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
)

// Tokens of the version before are opened, and records too long for S2 still
// find room.
func TestDeflatedTokensAreOpened(t *testing.T) {
	t.Parallel()
	s := &sealer{keys: []Key{newKey()}}
	for _, tt := range []struct {
		bytes int
		by    uint32
	}{{20_000, packedByS2}, {75_000, packedByDeflate}} {
		text := []byte(talk(tt.bytes))
		token, err := s.seal(text)
		if err != nil {
			t.Fatalf("%d bytes: %v", tt.bytes, err)
		}
		got, err := s.open(token)
		if err != nil || !bytes.Equal(got, text) {
			t.Errorf("%d bytes: %v", tt.bytes, err)
		}
		raw, _ := rawOf(token)
		aead, _ := aeadOf(s.keys[0], raw[:saltSize])
		packed, err := aead.Open(nil, raw[saltSize:saltSize+nonceSize], raw[saltSize+nonceSize:], []byte(prefix))
		if err != nil || binary.BigEndian.Uint32(packed)>>24 != tt.by {
			t.Errorf("%d bytes are packed in way %d, want %d", tt.bytes, packed[0], tt.by)
		}
	}
	for _, bad := range [][]byte{nil, {0, 0, 0}, {2, 0, 0, 1, 0x10, 'a'}, {1, 0xff, 0xff, 0xff, 0}, {1, 0, 0, 4, 0x01, 'a'}, {1, 0, 0, 2, 3, 8, 'a', 'b', 'c'}, {0, 0, 0, 9, 1}} {
		if _, err := s.unpack(bad); !errors.Is(err, errToken) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}
