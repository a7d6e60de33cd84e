package model

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
)

// idLength is the length of ids that every provider takes: Mistral's takes no other.
const idLength = 9

// maxID is how long an id may be that comes from a model, in bytes; a longer one counts
// as none. It stands in events and goes back with each request. The longest seen have
// some 120.
const maxID = 256

// newID returns an id of nine letters and digits, which fits every protocol.
func newID() string { return rand.Text()[:idLength] }

// IDs tells the calls of one answer apart. Its zero value is ready.
type IDs struct{ taken map[string]bool }

// Take returns id, or one of ours if it is missing, too long, or taken.
func (s *IDs) Take(id string) string {
	for id == "" || len(id) > maxID || s.taken[id] {
		id = newID()
	}
	if s.taken == nil {
		s.taken = map[string]bool{}
	}
	s.taken[id] = true
	return id
}

// Any says whether an id was taken.
func (s *IDs) Any() bool { return len(s.taken) > 0 }

// Reset makes s ready for another answer.
func (s *IDs) Reset() { clear(s.taken) }

// SentIDs gives the calls of a request the ids that they go by. Its zero value is ready.
type SentIDs struct {
	few  []string        // that were given
	many map[string]bool // the same; nil while there are few
}

// fewIDs is up to how many ids are looked through.
const fewIDs = 32

// Fit returns id if it fits and no call before had it, else nine letters and digits.
// These are the same each time that the conversation is sent, so that the provider's
// cache of prompts knows it.
func (s *SentIDs) Fit(id string, fits func(id string) bool) string {
	sent := id
	if id == "" {
		id = "call " + strconv.Itoa(s.len()+1) // by its place
	}
	for n := 0; sent == "" || s.has(sent) || !fits(sent); n++ {
		sent = derivedID(id, n)
	}
	s.add(sent)
	return sent
}

// len counts the ids.
func (s *SentIDs) len() int { return max(len(s.few), len(s.many)) }

// has says whether an id was given before. Few are looked for one by one, which
// allocates nothing.
func (s *SentIDs) has(id string) bool {
	if s.many != nil {
		return s.many[id]
	}
	return slices.Contains(s.few, id)
}

// add moves all ids into a map once there are more than fewIDs: a conversation may
// have thousands.
func (s *SentIDs) add(id string) {
	switch {
	case s.many != nil:
		s.many[id] = true
	case len(s.few) < fewIDs:
		s.few = append(s.few, id)
	default:
		s.many = map[string]bool{id: true}
		for _, old := range s.few {
			s.many[old] = true
		}
	}
}

// derivedID returns nine letters and digits that are the same for the same id and
// attempt.
func derivedID(id string, attempt int) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id))
	_, _ = h.Write([]byte{byte(attempt), byte(attempt >> 8)})
	text := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(binary.BigEndian.AppendUint64(nil, h.Sum64()))
	return strings.ToLower(text[:idLength])
}

// NineLetters says whether id is nine letters and digits, the only ids that Mistral's
// API takes.
func NineLetters(id string) bool { return len(id) == idLength && strings.Trim(id, alphanumeric) == "" }

// alphanumeric are the characters that all protocols take in ids and names.
const alphanumeric = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// WordOf says whether s is 1 to longest letters, digits, _ and -, as most protocols
// want ids and names.
func WordOf(s string, longest int) bool {
	return s != "" && len(s) <= longest && strings.Trim(s, alphanumeric+"_-") == ""
}
