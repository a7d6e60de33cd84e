package approval

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"testing"
)

// A token that the version before has sealed is opened. Its block of S2 has literals, copies of each
// kind and repeated ones of each length.
func TestTokenOfS2IsOpened(t *testing.T) {
	t.Parallel()
	token, err := os.ReadFile("testdata/s2.token")
	if err != nil {
		t.Fatal(err)
	}
	s := &sealer{keys: []Key{{1, 2, 3}}}
	want := strings.Repeat("repeated, ", 9000) + `{"schema":1,"state":"` + talk(3000) + `"}` + strings.Repeat("ab", 150) + talk(900)
	if got, err := s.open(string(token)); err != nil || string(got) != want {
		t.Errorf("%v; %d bytes, want %d", err, len(got), len(want))
	}
}

// Records are packed by DEFLATE, and what is damaged is no token.
func TestPacking(t *testing.T) {
	t.Parallel()
	s := &sealer{keys: []Key{newKey()}}
	text := []byte(talk(75_000)) // which S2 would leave too long
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
		nil, {0, 0, 0}, {2, 0, 0, 1, 0x10, 'a'}, {1, 0xff, 0xff, 0xff, 0}, {0, 0, 0, 9, 1}, // heads, and DEFLATE
		{1, 0, 0, 4, 0x01, 'a'}, {1, 0, 0, 2, 3, 8, 'a', 'b', 'c'}, {1, 0, 0, 2, 2, 0xfc, 0xff}, {1, 0, 0, 2, 2, 0xf0}, // literals
		{1, 0, 0, 5, 5, 0, 'a', 1, 2}, {1, 0, 0, 5, 5, 0, 'a', 1, 0}, {1, 0, 0, 5, 5, 0, 'a', 2}, {1, 0, 0, 3, 3, 0, 'a', 6, 2, 0}, // copies
	} {
		if _, err := s.unpack(bad); !errors.Is(err, errToken) {
			t.Errorf("%v: %v", bad, err)
		}
	}
	if got, err := s.unpack([]byte{1, 0, 0, 5, 5, 0, 'a', 1, 1}); err != nil || string(got) != "aaaaa" {
		t.Errorf("a copy that reaches into itself: %q, %v", got, err)
	}
}
