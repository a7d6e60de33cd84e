package jwt

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/edge/access"
	"sluice/internal/turn/chat"
)

// maxTime is the end of the year 9999 in seconds. A later time is invalid: it is in milliseconds,
// or meant to confuse.
const maxTime = 253402300799

// times are when a token counts.
type times struct {
	expires time.Time
	begins  []time.Time // nbf and iat, as far as they are there
	leeway  time.Duration
}

// readTimes reads the times of a token. The claim exp is required.
func readTimes(claims map[string]jsontext.Value, leeway time.Duration) (t times, ok bool) {
	t.leeway = leeway
	if t.expires, ok = timeOf(claims["exp"]); !ok {
		return t, false
	}
	for _, name := range []string{"nbf", "iat"} {
		if v := claims[name]; v != nil {
			begin, ok := timeOf(v)
			if !ok {
				return t, false
			}
			t.begins = append(t.begins, begin)
		}
	}
	return t, true
}

// timeOf reads seconds since 1970. A fraction is cut.
func timeOf(v jsontext.Value) (time.Time, bool) {
	if v == nil || v.Kind() != '0' {
		return time.Time{}, false
	}
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil || math.Abs(f) > maxTime {
		return time.Time{}, false
	}
	return time.Unix(int64(f), 0), true
}

// endsAt returns the moment from which on the token does not count, leeway included.
func (t *times) endsAt() time.Time { return t.expires.Add(t.leeway) }

// checkNow returns an error if the token does not count now.
func (t *times) checkNow(now time.Time) error {
	if !now.Before(t.endsAt()) {
		return refusedFor("expired")
	}
	for _, begin := range t.begins {
		if begin.After(now.Add(t.leeway)) {
			return refusedFor("not_yet")
		}
	}
	return nil
}

// proveIdentity makes of the claims of a verified token whom it proves.
func (t *token) proveIdentity(s *Spec, now time.Time) (*access.Identity, times, error) {
	when, ok := readTimes(t.claims, s.clockLeeway())
	if !ok {
		return nil, when, refusedFor("times")
	}
	if err := when.checkNow(now); err != nil {
		return nil, when, err
	}
	if !t.isFor(s.Audiences) {
		return nil, when, refusedFor("audience")
	}
	for claim, want := range s.Require {
		if !isEqual(t.claimValue(claim), want) {
			return nil, when, refusedFor("require")
		}
	}
	p, reason := t.readPrincipal(s)
	if reason != "" {
		return nil, when, refusedFor(reason)
	}
	return &access.Identity{Principal: p, Method: access.ByToken, Expires: when.expires, Ends: when.endsAt()}, when, nil
}

// isFor reports whether one of the audiences is in aud. aud may be a text or a list of texts.
func (t *token) isFor(audiences []string) bool {
	words, ok := textsOf(t.claims["aud"])
	return ok && slices.ContainsFunc(words, func(w string) bool { return slices.Contains(audiences, w) })
}

// textsOf returns a text, or the texts of a list. ok is false for anything else.
func textsOf(v jsontext.Value) (texts []string, ok bool) {
	switch {
	case v == nil:
		return nil, false
	case v.Kind() == '"':
		var text string
		ok = json.Unmarshal(v, &text) == nil
		return []string{text}, ok
	case v.Kind() != '[':
		return nil, false
	}
	var list []jsontext.Value
	if json.Unmarshal(v, &list) != nil {
		return nil, false
	}
	for _, item := range list {
		if item.Kind() != '"' { // null would become an empty text
			return nil, false
		}
		text, _ := textOf(item)
		texts = append(texts, text)
	}
	return texts, true
}

// claimValue returns a claim by its name, or by a JSON pointer; nil: it is not there. A null is
// not there either.
func (t *token) claimValue(name string) jsontext.Value {
	v := t.claims[name]
	if strings.HasPrefix(name, "/") {
		v = followPointer(t.claims, name)
	}
	if v.Kind() == 'n' {
		return nil
	}
	return v
}

// followPointer returns the value at a JSON pointer, or nil.
func followPointer(claims map[string]jsontext.Value, pointer string) (v jsontext.Value) {
	members, items := claims, []jsontext.Value(nil)
	for token := range jsontext.Pointer(pointer).Tokens() {
		if v = members[token]; members == nil {
			v = itemOf(items, token)
		}
		members, items = nil, nil
		switch v.Kind() {
		case '{':
			_ = json.Unmarshal(v, &members) // was valid as a whole
		case '[':
			_ = json.Unmarshal(v, &items)
		}
	}
	return v
}

// itemOf returns the item of an array that a token of a pointer names, nil if none.
func itemOf(items []jsontext.Value, token string) jsontext.Value {
	n, err := strconv.Atoi(token)
	if err != nil || n < 0 || n >= len(items) || strconv.Itoa(n) != token {
		return nil
	}
	return items[n]
}

// isEqual compares texts, booleans and numbers, each with its own kind alone.
func isEqual(got, want jsontext.Value) bool {
	if got == nil || got.Kind() != want.Kind() {
		return false
	}
	switch want.Kind() {
	case '"':
		a, _ := textOf(got)
		b, _ := textOf(want)
		return a == b
	case '0':
		a, _ := strconv.ParseFloat(string(got), 64)
		b, _ := strconv.ParseFloat(string(want), 64)
		return a == b
	}
	return true // true and false are kinds of their own
}

// readPrincipal reads the principal. reason names the claim that is missing or malformed.
func (t *token) readPrincipal(s *Spec) (p chat.Principal, reason string) {
	var ok bool
	if p.ID, ok = t.readUser(s); !ok {
		return p, "user"
	}
	if p.Tenant, ok = t.readID(s.Claims.Tenant, s.Tenant); !ok {
		return p, "tenant"
	}
	if p.Class, ok = t.readID(s.Claims.Limits, s.Limits); !ok {
		return p, "limits"
	}
	if p.Scopes, ok = t.readScopes(s); !ok {
		return p, "scopes"
	}
	return p, ""
}

// readUser reads the user, and puts the issuer's prefix in front.
func (t *token) readUser(s *Spec) (id string, ok bool) {
	id, ok = textOf(t.claimValue(cmp.Or(s.Claims.User, "sub")))
	if !ok || id == "" {
		return "", false
	}
	if s.Prefix != nil {
		id = *s.Prefix + id
	}
	return id, access.IsUser(id)
}

// readID reads an id from a claim, if there is one for it. Without the claim the id is empty.
func (t *token) readID(claim, otherwise string) (id string, ok bool) {
	if claim == "" {
		return otherwise, true
	}
	id, ok = textOf(t.claimValue(claim))
	return id, ok && (id == "" || access.IsID(id))
}

// readScopes reads the scopes. An absent claim allows nothing.
func (t *token) readScopes(s *Spec) (set chat.Scopes, ok bool) {
	if s.Claims.Scopes == "" {
		if s.Scopes == nil {
			return chat.ScopeChat, true
		}
		set, _ = chat.ParseScopes(s.Scopes)
		return set, true
	}
	v := t.claimValue(s.Claims.Scopes)
	if v == nil {
		return 0, true
	}
	words, ok := textsOf(v)
	if v.Kind() == '"' {
		words = strings.Fields(words[0])
	}
	if s.ScopeMap != nil {
		words = mapScopes(words, s.ScopeMap)
	}
	set, _ = chat.ParseScopes(words) // words that are not scopes are ignored
	return set, ok
}

// mapScopes returns our scopes for their words.
func mapScopes(words []string, scopes map[string]string) (ours []string) {
	for _, w := range words {
		if scope, ok := scopes[w]; ok {
			ours = append(ours, scope)
		}
	}
	return ours
}
