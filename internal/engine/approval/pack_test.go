package approval

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
)

// Records are packed by DEFLATE, and a damaged one is refused.
func TestPacking(t *testing.T) {
	t.Parallel()
	s := &sealer{keys: []Key{newKey()}}
	text := []byte(talk(75_000))
	token, err := s.seal(text)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.open(token); err != nil || !bytes.Equal(got, text) {
		t.Error(err)
	}
	packed, err := s.deflate(text)
	if err != nil || binary.BigEndian.Uint32(packed)>>24 != packedByDeflate {
		t.Errorf("packed in way %d: %v", packed[0], err)
	}
	for _, bad := range [][]byte{
		nil, {0, 0, 0}, {2, 0, 0, 1, 0x10, 'a'}, {1, 0, 0, 5, 5, 0, 'a', 1, 1}, {0, 0, 0, 9, 1},
	} {
		if _, err := s.unpackRecord(bad); !errors.Is(err, errToken) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}
