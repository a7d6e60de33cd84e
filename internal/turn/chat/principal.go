package chat

import (
	"cmp"
	"slices"
	"strings"
)

// Principal is the sender of a request, as far as the gateway has authenticated it. The zero value stands
// for any sender: the gateway authenticates nobody.
//
// A claimed name and a proved name belong to different people even if they are equal: see Owner.
type Principal struct {
	Tenant string // empty: there is only one
	// ID is the user, 1 to 256 code points without controls; AnonymousID; or empty without
	// authentication.
	ID string
	// Scopes limit the actions of the credential. They mean nothing without an ID.
	Scopes Scopes
	// Class names the limits that the credential has; empty: those of its user and tenant.
	Class string
	// By is the user of the credential, if the request names another one. Empty: ID is.
	By string `json:",omitempty"`
	// KeyID is the id of the API key. Empty: the credential was another one.
	KeyID string `json:",omitempty"`
}

// Sender returns the user of the credential, whomever the request names.
func (p Principal) Sender() string { return cmp.Or(p.By, p.ID) }

// IsNamed reports whether ID is a name that the sender gives, and no one has proved.
func (p Principal) IsNamed() bool { return p.By != "" && p.By != p.ID }

// AnonymousID is the ID of senders without a credential, where others must show one. No user has
// it: it is a control character.
const AnonymousID = "\x00"

// Scopes are a set of permissions of a credential.
type Scopes uint8

// The scopes (docs/access.md lists their permissions).
const (
	ScopeChat     Scopes = 1 << iota
	ScopeReadOnly        // as ScopeChat, with tools that only read
	ScopeApprove
	ScopeInspect
	ScopeActAs
	ScopeOps
	ScopeAdmin
)

// scopeNames are the names of the scopes, in the order of their bits.
var scopeNames = [...]string{"chat", "chat:readonly", "approve", "inspect", "act_as", "ops", "admin"}

// ScopeNames returns the names of all scopes.
func ScopeNames() []string { return slices.Clone(scopeNames[:]) }

// ParseScopes returns the scopes of the words, and those words that name none.
func ParseScopes(words []string) (set Scopes, unknown []string) {
next:
	for _, word := range words {
		for i, name := range scopeNames {
			if word == name {
				set |= 1 << i
				continue next
			}
		}
		unknown = append(unknown, word)
	}
	return set, unknown
}

// Names returns the names of the scopes in s.
func (s Scopes) Names() []string {
	names := []string{}
	for i, name := range scopeNames {
		if s&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// String returns the names, with spaces between them, as in WWW-Authenticate.
func (s Scopes) String() string { return strings.Join(s.Names(), " ") }

// HasAny reports whether one of the scopes in wanted is in s.
func (s Scopes) HasAny(wanted Scopes) bool { return s&wanted != 0 }

// IsKnown reports whether the gateway has authenticated p. An anonymous sender is not known.
func (p Principal) IsKnown() bool { return p.ID != "" && p.ID != AnonymousID }

// IsAnonymous reports whether p is a sender without a credential, where others must show one.
func (p Principal) IsAnonymous() bool { return p.ID == AnonymousID }

// May reports whether p is allowed one of the scopes in wanted. Without authentication everything
// is allowed.
func (p Principal) May(wanted Scopes) bool { return p.ID == "" || p.Scopes.HasAny(wanted) }

// Owner returns the owner, within p's tenant, of the data of a request that names userID, which may
// be empty. A proved owner begins with a NUL, which a claimed name never has. So data from a time
// without authentication stays separate from data of authenticated users.
func (p Principal) Owner(userID string) string {
	switch {
	case p.ID == "":
		return userID
	case userID != "" && p.ActsForOthers():
		return p.Naming(userID)
	}
	return p.Naming(p.ID)
}

// Naming returns the owner text of a name. Authenticated users and claimed names get different
// texts.
func (p Principal) Naming(name string) string {
	if p.ID == "" {
		return name
	}
	return "\x00" + name
}

// Finds reports whether p may find data of an owner within p's tenant by its id. Without
// authentication the id is enough, but data of a proved owner stays hidden.
func (p Principal) Finds(owner, userID string) bool {
	if p.ID == "" {
		return !IsProved(owner)
	}
	return owner == p.Owner(userID)
}

// IsProved reports whether an owner is that of an authenticated user.
func IsProved(owner string) bool { return strings.HasPrefix(owner, "\x00") }

// For returns the principal for a request of p that names userID. That is p itself, or the user
// whom a backend that may act for others names. ok is false if p may not name that user.
func (p Principal) For(userID string) (_ Principal, ok bool) {
	switch {
	case p.ID == "", userID == "", userID == p.ID:
	case p.ActsForOthers():
		p = p.As(userID)
	default:
		return Principal{}, false
	}
	return p, true
}

// As returns p with the name of another user of its tenant. The caller must have checked the
// permission.
func (p Principal) As(userID string) Principal {
	p.By, p.ID = p.Sender(), userID
	return p
}

// ActsForOthers reports whether p may name any user of its tenant.
func (p Principal) ActsForOthers() bool { return p.IsKnown() && p.Scopes&ScopeActAs != 0 }

// Owner returns the owner of the request's data: see Principal.Owner.
func (r *Request) Owner() string { return r.Principal.Owner(r.UserID) }
