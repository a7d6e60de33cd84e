package access

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"sluice/internal/edge/access/door"
	"sluice/internal/edge/access/jwt"
)

const (
	refused = "unauthorized"
	secret  = "0123456789abcdef0123456789abcdef"
	python  = "https://python.example"
	shared  = "https://shared.example"
)

// Two issuers that others wrote change their keys while their tokens are used.
func TestKeysAreRotated(t *testing.T) {
	t.Parallel()
	i := startIssuers(t)
	i.do(object{"do": "mock", "alg": "ES256", "kid": "first"})
	srv := serve(t, door.Spec{Tokens: []jwt.Spec{
		{Issuer: i.Provider, Audiences: []string{"sluice"}, Discovery: true, Prefix: new("oidc:"), Tenant: "acme", Claims: jwt.Claims{Scopes: "scope"}},
		{Issuer: i.Mock, Audiences: []string{"sluice"}, Discovery: true, Prefix: new("")},
	}})
	expect := func(name, token, want string) {
		t.Helper()
		if got := ask(t, srv, token); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	old := i.do(object{"do": "provider", "alg": "RS256", "scope": "chat ops"})
	expect("oidc-provider, RS256", old, "acme/oidc:batch chat ops")
	expect("oidc-provider, ES256", i.do(object{"do": "provider", "alg": "ES256", "scope": "ops"}), "acme/oidc:batch ops")
	expect("oidc-provider, no scope", i.do(object{"do": "provider", "alg": "RS256"}), "acme/oidc:batch")
	expect("oidc-provider, for another audience", i.do(object{"do": "provider", "alg": "RS256", "resource": "urn:else"}), refused)
	late := i.do(object{"do": "provider", "alg": "ES256"})
	i.do(object{"do": "rotate", "keep": true})
	expect("oidc-provider, before the keys are known", old, "acme/oidc:batch chat ops")
	expect("oidc-provider, a new key", i.do(object{"do": "provider", "alg": "RS256", "scope": "chat"}), "acme/oidc:batch chat")
	expect("oidc-provider, the former key that is kept", late, "acme/oidc:batch")
	i.do(object{"do": "rotate"})
	expect("oidc-provider, a second new key within 30 s", i.do(object{"do": "provider", "alg": "RS256", "scope": "chat"}), refused)

	mock := func(kid, alg string, claims object) string {
		claims["aud"] = "sluice"
		return i.do(object{"do": "mock", "alg": alg, "kid": kid, "claims": claims})
	}
	expect("oauth2-mock-server, ES256", mock("first", "ES256", object{"sub": "mo"}), "/mo chat")
	expect("oauth2-mock-server, expired", mock("first", "ES256", object{"sub": "mo", "exp": 1}), refused)
	expect("oauth2-mock-server, no user", mock("first", "ES256", object{}), refused)
	expect("oauth2-mock-server, of the other's name", mock("first", "ES256", object{"sub": "batch", "iss": i.Provider}), refused)
	expect("oauth2-mock-server, a new key", mock("second", "RS256", object{"sub": "mo"}), "/mo chat")
	expect("oauth2-mock-server, the former key", mock("first", "ES256", object{"sub": "mia"}), "/mia chat")
}

// signing is how a token is signed and what it says, with what must come of it.
type signing struct {
	name, alg string
	kid       string
	header    object
	claims    object // changes; nil takes one out
	want      string
}

// signings are for each library.
func signings() []signing {
	now := time.Now().Unix()
	return []signing{
		{"RS256", "RS256", "rs", nil, nil, "/ann chat"},
		{"PS256", "PS256", "ps", nil, nil, "/ann chat"},
		{"ES256", "ES256", "es", nil, nil, "/ann chat"},
		{"EdDSA", "EdDSA", "ed", nil, nil, "/ann chat"},
		{"access token", "ES256", "es", object{"typ": "at+jwt"}, nil, "/ann chat"},
		{"audiences", "ES256", "es", nil, object{"aud": []string{"x", "sluice"}}, "/ann chat"},
		{"exp with a fraction", "ES256", "es", nil, object{"exp": float64(now) + 600.5}, "/ann chat"},
		{"a name with signs", "ES256", "es", nil, object{"sub": "ännchen|a:b/../"}, "/ännchen|a:b/../ chat"},
		{"ES384 is not in the list", "ES384", "e3", nil, nil, refused},
		{"RS512 is not in the list", "RS512", "rs", nil, nil, refused},
		{"another type", "ES256", "es", object{"typ": "dpop+jwt"}, nil, refused},
		{"expired", "ES256", "es", nil, object{"exp": now - 61}, refused},
		{"no end", "ES256", "es", nil, object{"exp": nil}, refused},
		{"in milliseconds", "ES256", "es", nil, object{"exp": now * 1000}, refused},
		{"not yet", "ES256", "es", nil, object{"nbf": now + 3600}, refused},
		{"issued later", "ES256", "es", nil, object{"iat": now + 3600}, refused},
		{"for others", "ES256", "es", nil, object{"aud": "else"}, refused},
		{"for nobody", "ES256", "es", nil, object{"aud": nil}, refused},
		{"of others", "ES256", "es", nil, object{"iss": "https://else.example"}, refused},
		{"no user", "ES256", "es", nil, object{"sub": nil}, refused},
	}
}

// claimsOf are those of a good token, with changes.
func claimsOf(issuer string, changes object) object {
	claims := object{"iss": issuer, "aud": "sluice", "sub": "ann", "iat": time.Now().Unix(), "exp": time.Now().Unix() + 600}
	for name, v := range changes {
		if claims[name] = v; v == nil {
			delete(claims, name)
		}
	}
	return claims
}

// What jose signs.
func TestJose(t *testing.T) {
	t.Parallel()
	i := startIssuers(t)
	type shown struct{ name, token, want string }
	var tokens []shown
	sign := func(s signing, more object) {
		command := object{"do": "jose", "alg": s.alg, "kid": s.kid, "header": s.header, "claims": claimsOf(i.Jose, s.claims)}
		for name, v := range more {
			command[name] = v
		}
		tokens = append(tokens, shown{s.name, i.do(command), s.want})
	}
	for _, s := range signings() {
		if s.name == "RS512 is not in the list" {
			s.kid = "r5" // jose gives each key an algorithm of its own
		}
		sign(s, nil)
	}
	sign(signing{"crit", "ES256", "es", object{"crit": []string{"urn:x"}, "urn:x": 1}, nil, refused}, nil)
	sign(signing{"b64", "ES256", "es", object{"crit": []string{"b64"}, "b64": true}, nil, refused}, nil)
	sign(signing{"its own key in the header", "ES256", "withheld", object{"jwk": true}, nil, refused}, object{"withheld": true})
	sign(signing{"a key that is not shown", "EdDSA", "withheld2", nil, nil, refused}, object{"withheld": true})
	sign(signing{"unsecured", "", "", nil, nil, refused}, object{"none": true})
	sign(signing{"the public key as a secret", "RS256", "rs", nil, nil, refused}, object{"publicAsSecret": true})
	sign(signing{"a secret where there are keys", "HS256", "", nil, nil, refused}, object{"secret": secret})
	sign(signing{"a secret", "HS256", "", nil, object{"iss": shared}, "/s:ann chat"}, object{"secret": secret})
	sign(signing{"another secret", "HS256", "", nil, object{"iss": shared}, refused}, object{"secret": secret + "x"})
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	srv := serve(t, door.Spec{Tokens: []jwt.Spec{
		{Issuer: i.Jose, Audiences: []string{"sluice"}, JWKS: i.Jose, Prefix: new("")},
		{Issuer: shared, Audiences: []string{"sluice"}, SecretFile: path, Prefix: new("s:")},
	}})
	for _, s := range tokens {
		if got := ask(t, srv, s.token); got != s.want {
			t.Errorf("%s: %s, want %s", s.name, got, s.want)
		}
	}
}

// What PyJWT and joserfc sign.
func TestPython(t *testing.T) {
	t.Parallel()
	var cases []object
	var wants []signing
	for _, library := range []string{"pyjwt", "joserfc"} {
		for _, s := range signings() {
			if s.header == nil {
				s.header = object{}
			}
			cases = append(cases, object{"with": library, "alg": s.alg, "kid": s.kid, "header": s.header, "claims": claimsOf(python, s.claims)})
			s.name = library + ": " + s.name
			wants = append(wants, s)
		}
		for word, want := range map[string]string{secret: "/s:ann chat", "another, which is just as long as it": refused} {
			cases = append(cases, object{"with": library, "alg": "HS256", "secret": word, "claims": claimsOf(shared, nil)})
			wants = append(wants, signing{name: library + ": a secret", want: want})
		}
	}
	set, tokens := signed(t, cases)
	dir := t.TempDir()
	keys, word := filepath.Join(dir, "set.json"), filepath.Join(dir, "secret")
	for path, text := range map[string][]byte{keys: set, word: []byte(secret)} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	srv := serve(t, door.Spec{Tokens: []jwt.Spec{
		{Issuer: python, Audiences: []string{"sluice"}, JWKSFile: keys, Prefix: new("")},
		{Issuer: shared, Audiences: []string{"sluice"}, SecretFile: word, Prefix: new("s:")},
	}})
	for n, token := range tokens {
		if got := ask(t, srv, token); got != wants[n].want {
			t.Errorf("%s: %s, want %s", wants[n].name, got, wants[n].want)
		}
	}
}
