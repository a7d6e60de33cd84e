package openai

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"hash/fnv"
	"strings"
)

// idLength is the length of ids that every provider takes: Mistral's takes no other.
const idLength = 9

// maxID is how long an id may be that comes from a model; a longer one counts as none.
const maxID = 256

// newID returns an id of nine letters and digits.
func newID() string { return rand.Text()[:idLength] }

// fitsMistral says whether id is one that Mistral takes: nine letters and digits.
func fitsMistral(id string) bool {
	if len(id) != idLength {
		return false
	}
	for _, c := range []byte(id) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}

// ids tells the calls of an answer apart.
type ids map[string]bool

func newIDs(n int) ids { return make(ids, n) }

// take returns id, or one of ours if it is missing or was taken.
func (s ids) take(id string) string {
	for id == "" || len(id) > maxID || s[id] {
		id = newID()
	}
	s[id] = true
	return id
}

// derivedID returns nine letters and digits that are the same for the same id and
// attempt.
func derivedID(id string, attempt int) string {
	h := fnv.New64a()
	h.Write([]byte(id))
	h.Write([]byte{byte(attempt), byte(attempt >> 8)})
	text := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(binary.BigEndian.AppendUint64(nil, h.Sum64()))
	return strings.ToLower(text[:idLength])
}
