package keys

import (
	"crypto/sha256"
	"errors"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"sluice/internal/edge/access"
	"sluice/internal/turn/chat"
)

// Entry is the entry of a key in the file.
type Entry struct {
	ID     string `json:"id" key:"id"`
	Hash   string `json:"hash" key:"hash"`
	User   string `json:"user" key:"user"`
	Tenant string `json:"tenant,omitzero" key:"tenant"`
	// Scopes are names; nil: chat alone.
	Scopes []string `json:"scopes,omitzero" key:"scopes"`
	// Limits is the class of the key's limits; empty: those of its user.
	Limits string `json:"limits,omitzero" key:"limits"`
	// Expires is when the key ends; zero: it does not end by itself.
	Expires  Moment `json:"expires,omitzero" key:"expires"`
	Disabled bool   `json:"disabled,omitzero" key:"disabled"`
	Created  Moment `json:"created" key:"created"`
	NoteText string `json:"note,omitzero" key:"note"`
}

// Moment is a time of the file. Its text is in RFC 3339, and is never the zero time. The zero value
// stands for a missing time.
type Moment time.Time

var errNoTime = errors.New("must be a time such as 2026-01-31T12:00:00Z")

// UnmarshalText reads a time. Its error does not repeat the text.
func (m *Moment) UnmarshalText(text []byte) error {
	t, err := time.Parse(time.RFC3339, string(text))
	if err != nil || t.IsZero() {
		return errNoTime
	}
	*m = Moment(t)
	return nil
}

// MarshalText writes a time in UTC, in whole seconds.
func (m Moment) MarshalText() ([]byte, error) {
	return time.Time(m).UTC().AppendFormat(nil, time.RFC3339), nil
}

// IsZero reports whether the time is missing.
func (m Moment) IsZero() bool { return time.Time(m).IsZero() }

// Bounds of an entry, in code points.
const (
	maxUser = 256
	maxNote = 256
)

// flaw is a fault in a field of an entry.
type flaw struct{ field, text string }

// findFlaws returns all that is wrong with an entry.
func (e *Entry) findFlaws() (all []flaw) {
	wants := func(ok bool, field, text string) {
		if !ok {
			all = append(all, flaw{field, text})
		}
	}
	_, isHash := parseHash(e.Hash)
	_, unknown := chat.ParseScopes(e.Scopes)
	wants(isID(e.ID), "id", "must be 10 of 0-9 and a-z")
	wants(isHash, "hash", "must be sha256: and 64 hexadecimal digits in lower case")
	wants(e.User != "" && isPlain(e.User, maxUser), "user", "must have 1 to 256 characters, without controls")
	wants(e.Tenant == "" || access.IsID(e.Tenant), "tenant", "must be up to 64 of a-z, 0-9, _ and -, beginning with a letter or digit")
	wants(len(unknown) == 0, "scopes", "must be of "+strings.Join(chat.ScopeNames(), ", "))
	wants(e.Limits == "" || access.IsID(e.Limits), "limits", "must be up to 64 of a-z, 0-9, _ and -, beginning with a letter or digit")
	wants(!e.Created.IsZero(), "created", errNoTime.Error())
	wants(isPlain(e.NoteText, maxNote), "note", "must have at most 256 characters, without controls")
	return all
}

// isPlain reports whether a text is UTF-8 of at most so many code points, without controls.
func isPlain(text string, most int) bool {
	return utf8.ValidString(text) && utf8.RuneCountInString(text) <= most && strings.IndexFunc(text, unicode.IsControl) < 0
}

// key is an entry as it is asked for.
type key struct {
	hash     [sha256.Size]byte
	disabled bool
	identity access.Identity
}

// newKey returns the key of an entry without flaws.
func (e *Entry) newKey() *key {
	k := &key{disabled: e.Disabled}
	k.hash, _ = parseHash(e.Hash)
	scopes := chat.ScopeChat
	if e.Scopes != nil {
		scopes, _ = chat.ParseScopes(e.Scopes)
	}
	k.identity = access.Identity{
		Principal: chat.Principal{Tenant: e.Tenant, ID: e.User, Scopes: scopes, Class: e.Limits, KeyID: e.ID},
		Method:    access.ByKey,
		Expires:   time.Time(e.Expires),
		Ends:      time.Time(e.Expires),
	}
	return k
}

// hasExpired reports whether the time of the key is over.
func (k *key) hasExpired() bool {
	return !k.identity.Expires.IsZero() && !time.Now().Before(k.identity.Expires)
}

// isSame reports whether two keys are one and prove the same, whatever their time is.
func (k *key) isSame(other *key) bool {
	return k.hash == other.hash && k.disabled == other.disabled && k.identity.Principal == other.identity.Principal
}
