package door

import (
	"crypto/subtle"
	"net/http"
	"net/netip"
	"strings"

	"sluice/internal/edge/access"
	"sluice/internal/turn/chat"
)

// proxy reads the user from the headers of a proxy in front. nil reads none.
type proxy struct {
	spec   Proxy
	from   []netip.Prefix
	secret []byte
	scopes chat.Scopes // where no header is named for them
	names  []string    // of all its headers
}

func newProxy(s *Proxy) *proxy {
	if s == nil {
		return nil
	}
	p := &proxy{spec: *s, from: prefixesOf(s.From), secret: []byte(s.Secret.Reveal()), scopes: scopesOf(s.Scopes)}
	for _, name := range []string{s.Headers.User, s.Headers.Tenant, s.Headers.Scopes, s.Headers.Limits, s.SecretHeader} {
		if name != "" {
			p.names = append(p.names, name)
		}
	}
	return p
}

// isImitated reports whether a header differs from one of the proxy's in _ for - alone. Many
// programs take both for the same, so a proxy may pass on a header that it should remove.
func (p *proxy) isImitated(h http.Header) bool {
	if p == nil {
		return false
	}
	for name := range h {
		if strings.IndexByte(name, '_') < 0 {
			continue
		}
		for _, own := range p.names {
			if isAlike(name, own) {
				return true
			}
		}
	}
	return false
}

// isAlike compares names without case, with _ as -.
func isAlike(name, own string) bool {
	if len(name) != len(own) {
		return false
	}
	for i := range len(name) {
		a, b := name[i]|0x20, own[i]|0x20
		if a != b && !(name[i] == '_' && own[i] == '-') {
			return false
		}
	}
	return true
}

// namesUser reports whether a request comes from the proxy, and has a word on who sent it.
func (p *proxy) namesUser(r *http.Request) bool {
	return p != nil && len(r.Header[p.spec.Headers.User]) > 0 && isInRanges(p.from, peerOf(r))
}

// identifyUser returns whom the proxy names. shown is false if it is not the proxy's request, or
// the proxy names nobody.
func (p *proxy) identifyUser(r *http.Request) (id *access.Identity, shown bool, err error) {
	if !p.namesUser(r) {
		return nil, false, nil
	}
	users := r.Header[p.spec.Headers.User]
	if !p.isProved(r.Header) {
		return nil, true, refusedFor("secret")
	}
	if len(users) > 1 || !access.IsUser(users[0]) {
		return nil, true, refusedFor("user")
	}
	id = &access.Identity{Method: access.ByProxy, Principal: chat.Principal{ID: users[0], Scopes: p.scopes}}
	if reason := p.readUser(&id.Principal, r.Header); reason != "" {
		return nil, true, refusedFor(reason)
	}
	return id, true, nil
}

// readUser reads the headers about a user. reason names the header that is malformed.
func (p *proxy) readUser(user *chat.Principal, h http.Header) (reason string) {
	var ok bool
	if user.Tenant, ok = idOf(h, p.spec.Headers.Tenant, p.spec.Tenant); !ok {
		return "tenant"
	}
	if user.Class, ok = idOf(h, p.spec.Headers.Limits, p.spec.Limits); !ok {
		return "limits"
	}
	if p.spec.Headers.Scopes == "" {
		return ""
	}
	if user.Scopes, ok = scopesIn(h[p.spec.Headers.Scopes]); !ok {
		return "scopes"
	}
	return ""
}

// isProved reports whether the request has the secret, if there is one.
func (p *proxy) isProved(h http.Header) bool {
	if p.spec.SecretHeader == "" {
		return true
	}
	values := h[p.spec.SecretHeader]
	return len(values) == 1 && subtle.ConstantTimeCompare([]byte(values[0]), p.secret) == 1
}

// idOf returns an id from a header, if there is one for it. An absent or empty one names none.
func idOf(h http.Header, name, otherwise string) (id string, ok bool) {
	if name == "" {
		return otherwise, true
	}
	switch values := h[name]; {
	case len(values) == 0 || len(values) == 1 && values[0] == "":
		return "", true
	case len(values) > 1:
		return "", false
	default:
		return values[0], access.IsID(values[0])
	}
}

// scopesIn reads the words of a header. Words that are not scopes are ignored.
func scopesIn(values []string) (set chat.Scopes, ok bool) {
	if len(values) > 1 {
		return 0, false
	}
	for _, v := range values {
		set, _ = chat.ParseScopes(strings.FieldsFunc(v, func(r rune) bool { return r == ' ' || r == ',' || r == '\t' }))
	}
	return set, true
}
