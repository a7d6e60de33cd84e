package model

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/turn/chat"
)

// idLength is the length of ids that every provider takes: Mistral takes only this length.
const idLength = 9

// maxID is the longest id of a call that we accept from a model, in bytes. A longer id counts as
// missing. It stands in events and goes back with each request. The longest seen have some 120.
const maxID = 256

// newID returns an id of nine letters and digits, which fits every protocol.
func newID() string { return rand.Text()[:idLength] }

// IDs distinguishes the calls of one answer, from each other and from those of the
// conversation. Its zero value is ready.
type IDs struct {
	before []chat.Message    // of the request; not looked through before there is a call
	used   map[string]*claim // by id; nil: it is not that of a call of this answer
	calls  map[calledAs]bool // those whose id another one has as well
}

// claim is the first call that came with an id. Its arguments are hashed only when another call
// comes with the same id, because hardly any does.
type claim struct {
	name string
	args jsontext.Value
}

// calledAs identifies a call that a service may send again.
type calledAs struct {
	id  string
	sum [sha256.Size]byte // of name and arguments
}

// ResetFor makes s ready for the answer to a request with these messages.
func (s *IDs) ResetFor(messages []chat.Message) {
	s.Reset()
	s.before = messages
}

// Claim returns id, or one of ours if it is missing, too long, or taken by another call. again is
// true if a call with the same id, name and arguments came before. Some services send a call twice.
// Such a call must not run again.
//
// It retains args. The caller must not change them before Reset.
func (s *IDs) Claim(id, name string, args jsontext.Value) (used string, again bool) {
	s.loadUsed()
	if id != "" && len(id) <= maxID && !s.has(id) {
		s.used[id] = &claim{name, args}
		return id, false
	}
	if id != "" && s.isRepeat(id, name, args) {
		return id, true
	}
	for id = newID(); s.has(id); {
		id = newID()
	}
	s.used[id] = nil
	return id, false
}

// has reports whether an id is taken.
func (s *IDs) has(id string) bool {
	_, ok := s.used[id]
	return ok
}

// isRepeat reports whether an equal call with this id, which is taken, came before.
func (s *IDs) isRepeat(id, name string, args jsontext.Value) bool {
	if s.calls == nil {
		s.calls = map[calledAs]bool{}
	}
	if first := s.used[id]; first != nil {
		s.calls[calledAs{id, sumOf(first.name, first.args)}] = true
	}
	as := calledAs{id, sumOf(name, args)}
	again := s.calls[as]
	s.calls[as] = true
	return again
}

// loadUsed prepares for the first call and loads the ids of the conversation.
func (s *IDs) loadUsed() {
	if s.used != nil {
		return
	}
	s.used = map[string]*claim{}
	for i := range s.before {
		for _, p := range s.before[i].Parts {
			if p.Call != nil && p.Call.ID != "" {
				s.used[p.Call.ID] = nil
			}
		}
	}
	s.before = nil
}

// sumOf returns a sum that is equal for equal calls, whatever the white space in their arguments.
func sumOf(name string, args jsontext.Value) [sha256.Size]byte {
	b := append(append([]byte(name), 0), args...)
	if v := args.Clone(); v.Compact() == nil {
		b = append(b[:len(name)+1], v...)
	}
	return sha256.Sum256(b)
}

// Any reports whether a call was taken.
func (s *IDs) Any() bool { return s.used != nil }

// Reset makes s ready for another answer.
func (s *IDs) Reset() { *s = IDs{} }

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

// has reports whether an id was given before. Few are looked for one by one, which
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

// NineLetters reports whether id is nine letters and digits, the only ids that Mistral's
// API takes.
func NineLetters(id string) bool { return len(id) == idLength && strings.Trim(id, alphanumeric) == "" }

// alphanumeric are the characters that all protocols take in ids and names.
const alphanumeric = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// WordOf reports whether s is 1 to longest letters, digits, _ and -, as most protocols
// want ids and names.
func WordOf(s string, longest int) bool {
	return s != "" && len(s) <= longest && strings.Trim(s, alphanumeric+"_-") == ""
}
