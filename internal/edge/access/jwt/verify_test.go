package jwt

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"sluice/internal/edge/access"
	"sluice/internal/turn/chat"
)

type object = map[string]any

// Tokens that are not accepted, each with the reason that the audit gets, and some that are.
func TestTokens(t *testing.T) {
	t.Parallel()
	good := edToken("ed")
	hour := func(n float64) float64 { return float64(time.Now().Unix()) + n*3600 }
	ed := func(header string, changes ...object) string {
		return sign(header, claims(changes...), "EdDSA", ed25519Key())
	}
	raw := func(claims string) string { return sign(header("EdDSA", "ed"), claims, "EdDSA", ed25519Key()) }
	publicRSA := setOf(jwk("rsa", "", rsaKey()))
	parts := strings.Split(good, ".")
	tests := []struct{ name, token, want string }{
		{"good", good, "as ann"},
		{"RS256", sign(header("RS256", "rsa"), claims(), "RS256", rsaKey()), "as ann"},
		{"PS256", sign(header("PS256", "rsa"), claims(), "PS256", rsaKey()), "as ann"},
		{"ES256", sign(header("ES256", "p256"), claims(), "ES256", p256Key()), "as ann"},
		{"access token", ed(`{"alg":"EdDSA","kid":"ed","typ":"at+jwt"}`), "as ann"},
		{"media type", ed(`{"alg":"EdDSA","kid":"ed","typ":"application/AT+JWT"}`), "as ann"},
		{"no type", ed(`{"alg":"EdDSA","kid":"ed"}`), "as ann"},
		{"foreign keys in the header", ed(`{"alg":"EdDSA","kid":"ed","jku":"http://127.0.0.1/x","x5u":"http://127.0.0.1/y"}`), "as ann"},
		{"a broken chain of certificates", sign(`{"alg":"RS256","kid":"rsa","x5c":["AAAA"]}`, claims(), "RS256", rsaKey()), "as ann"},
		{"a chain that is a text", sign(`{"alg":"RS256","kid":"rsa","x5c":"x"}`, claims(), "RS256", rsaKey()), "as ann"},
		{"a key that is a text", sign(`{"alg":"RS256","kid":"rsa","jwk":"x"}`, claims(), "RS256", rsaKey()), "as ann"},
		{"places of keys that are no texts", ed(`{"alg":"EdDSA","kid":"ed","jku":5,"x5u":[{}],"x5t":null,"x5t#S256":{}}`), "as ann"},
		{"a foreign key that signed", sign(`{"alg":"EdDSA","kid":"ed","jwk":{"kty":"oct","k":"AAAA"}}`, claims(), "HS256", []byte("\x00\x00\x00")), "signature"},
		{"ES256 in DER", sign(header("ES256", "p256"), claims(), "ES256", p256Key()) + "AAAA", "signature"},
		{"audiences", edToken("ed", object{"aud": []string{"else", testAudience}}), "as ann"},
		{"exp with a fraction", edToken("ed", object{"exp": hour(1) + 0.9}), "as ann"},
		{"within the leeway", edToken("ed", object{"exp": hour(0) - 30, "nbf": hour(0) + 30}), "as ann"},

		{"empty", "", "malformed"},
		{"words", "not a token", "malformed"},
		{"two parts", parts[0] + "." + parts[1], "malformed"},
		{"four parts", good + "." + parts[2], "malformed"},
		{"encrypted", "a.b.c.d.e", "malformed"},
		{"no signature", parts[0] + "." + parts[1] + ".", "malformed"},
		{"detached", parts[0] + ".." + parts[2], "malformed"},
		{"a line end", parts[0] + "." + parts[1] + "\n." + parts[2], "malformed"},
		{"a NUL", good + "\x00", "malformed"},
		{"padding", parts[0] + "==." + parts[1] + "." + parts[2], "malformed"},
		{"JSON form", `{"payload":"` + parts[1] + `","protected":"` + parts[0] + `","signature":"` + parts[2] + `"}`, "malformed"},
		{"17 KiB", good + strings.Repeat("A", 17<<10), "too_long"},
		{"1 MiB of header", strings.Repeat("A", 1<<20) + good, "too_long"},
		{"header is a list", ed(`[{"alg":"EdDSA"}]`), "malformed"},
		{"header is null", ed(`null`), "algorithm"},
		{"header with a member twice", ed(`{"alg":"EdDSA","kid":"ed","alg":"EdDSA"}`), "malformed"},
		{"claims twice", raw(`{"sub":"a",` + claims()[1:]), "malformed"},
		{"claims twice within", raw(`{"x":{"a":1,"a":2},` + claims()[1:]), "malformed"},
		{"claims are a list", raw(`[]`), "malformed"},
		{"claims are null", raw(`null`), "malformed"},
		{"claims are no UTF-8", raw("{\"x\":\"\xff\"," + claims()[1:]), "malformed"},
		{"claims are deep", raw(`{"x":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `,` + claims()[1:]), "as ann"},

		{"none", base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + parts[1] + ".AA", "algorithm"},
		{"none, in other case", base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"nOnE","kid":"ed"}`)) + "." + parts[1] + "." + parts[2], "algorithm"},
		{"HS256 with the public key", sign(header("HS256", "rsa"), claims(), "HS256", []byte(publicRSA)), "algorithm"},
		{"RS512 is not in the list", sign(header("RS512", "rsa"), claims(), "RS512", rsaKey()), "algorithm"},
		{"alg is a list", ed(`{"alg":["EdDSA"],"kid":"ed"}`), "malformed"},
		{"alg is null", ed(`{"alg":null,"kid":"ed"}`), "malformed"},
		{"no alg", ed(`{"kid":"ed"}`), "algorithm"},
		{"crit", ed(`{"alg":"EdDSA","kid":"ed","crit":["exp"],"exp":1}`), "critical"},
		{"crit b64", ed(`{"alg":"EdDSA","kid":"ed","crit":["b64"],"b64":true}`), "critical"},
		{"b64", ed(`{"alg":"EdDSA","kid":"ed","b64":true}`), "critical"},
		{"crit is empty", ed(`{"alg":"EdDSA","kid":"ed","crit":[]}`), "critical"},
		{"typ of another kind", ed(`{"alg":"EdDSA","kid":"ed","typ":"dpop+jwt"}`), "type"},
		{"typ is empty", ed(`{"alg":"EdDSA","kid":"ed","typ":""}`), "type"},
		{"typ is a number", ed(`{"alg":"EdDSA","kid":"ed","typ":1}`), "malformed"},

		{"kid of nobody", edToken("other"), "key_unknown"},
		{"kid is a path", edToken("../../etc/passwd"), "key_unknown"},
		{"kid of 8 KiB", edToken(strings.Repeat("k", 8<<10)), "key_unknown"},
		{"kid is a number", ed(`{"alg":"EdDSA","kid":7}`), "malformed"},
		{"kid of a key of another type", edToken("rsa"), "key"},
		{"kid of a key of another curve", edToken("p256"), "key"},
		{"key of another algorithm", sign(header("PS256", "rs256"), claims(), "PS256", otherRSA()), "key"},
		{"key for encryption", sign(header("RS256", "enc"), claims(), "RS256", otherRSA()), "key_unknown"},
		{"no kid, one fits", sign(`{"alg":"EdDSA"}`, claims(), "EdDSA", ed25519Key()), "as ann"},
		{"no kid, two fit", sign(`{"alg":"RS256"}`, claims(), "RS256", rsaKey()), "key"},
		{"another key", sign(header("RS256", "rsa"), claims(), "RS256", otherRSA()), "signature"},
		{"embedded key", sign(`{"alg":"RS256","kid":"rsa","jwk":`+string(must(json.Marshal(jwk("", "", otherRSA()))))+`}`, claims(), "RS256", otherRSA()), "signature"},
		{"claims of another token", parts[0] + "." + strings.Split(edToken("ed", object{"sub": "bob"}), ".")[1] + "." + parts[2], "signature"},

		{"another issuer", edToken("ed", object{"iss": "https://else"}), "issuer"},
		{"no issuer", edToken("ed", object{"iss": nil}), "issuer"},
		{"issuer with a slash", edToken("ed", object{"iss": testIssuer + "/"}), "issuer"},
		{"issuer is a list", edToken("ed", object{"iss": []string{testIssuer}}), "issuer"},
		{"no audience", edToken("ed", object{"aud": nil}), "audience"},
		{"empty audience", edToken("ed", object{"aud": ""}), "audience"},
		{"no audiences", edToken("ed", object{"aud": []string{}}), "audience"},
		{"other audiences", edToken("ed", object{"aud": []string{"sluice2", "Sluice"}}), "audience"},
		{"audience within a list", edToken("ed", object{"aud": []any{[]string{testAudience}}}), "audience"},
		{"audience beside a number", edToken("ed", object{"aud": []any{testAudience, 1}}), "audience"},
		{"audience is an object", edToken("ed", object{"aud": object{testAudience: true}}), "audience"},
		{"audience is null", raw(strings.Replace(claims(), `"aud":"sluice"`, `"aud":null`, 1)), "audience"},
		{"audience null in a list", raw(strings.Replace(claims(), `"aud":"sluice"`, `"aud":[null]`, 1)), "audience"},

		{"no exp", edToken("ed", object{"exp": nil}), "times"},
		{"exp is null", raw(strings.Replace(claims(object{"exp": 7}), `:7`, `:null`, 1)), "times"},
		{"exp is a text", edToken("ed", object{"exp": fmt.Sprint(int64(hour(1)))}), "times"},
		{"exp is a list", edToken("ed", object{"exp": []float64{hour(1)}}), "times"},
		{"exp 1e300", raw(strings.Replace(claims(object{"exp": 7}), `:7`, `:1e300`, 1)), "times"},
		{"exp 1e999", raw(strings.Replace(claims(object{"exp": 7}), `:7`, `:1e999`, 1)), "times"},
		{"exp in milliseconds", edToken("ed", object{"exp": 1000 * hour(1)}), "times"},
		{"exp -1e300", raw(strings.Replace(claims(object{"exp": 7}), `:7`, `:-1e300`, 1)), "times"},
		{"exp 0", edToken("ed", object{"exp": 0}), "expired"},
		{"an hour late", edToken("ed", object{"exp": hour(-1)}), "expired"},
		{"nbf in an hour", edToken("ed", object{"nbf": hour(1)}), "not_yet"},
		{"iat in an hour", edToken("ed", object{"iat": hour(1)}), "not_yet"},
		{"nbf is a text", edToken("ed", object{"nbf": "1"}), "times"},
		{"iat is null", raw(strings.Replace(claims(object{"iat": 7}), `:7`, `:null`, 1)), "times"},
		{"nbf 1e300", raw(strings.Replace(claims(object{"nbf": 7}), `:7`, `:1e300`, 1)), "times"},

		{"no user", edToken("ed", object{"sub": nil}), "user"},
		{"empty user", edToken("ed", object{"sub": ""}), "user"},
		{"user is a number", edToken("ed", object{"sub": 7}), "user"},
		{"user with a NUL", edToken("ed", object{"sub": "a\x00"}), "user"},
		{"user with a line end", edToken("ed", object{"sub": "a\nb"}), "user"},
		{"user of 257", edToken("ed", object{"sub": strings.Repeat("😀", 257)}), "user"},
		{"user of 256", edToken("ed", object{"sub": strings.Repeat("é", 256)}), "as " + strings.Repeat("é", 256)},
		{"user with signs", edToken("ed", object{"sub": "a:b/../"}), "as a:b/.."},
	}
	set := setOf(jwk("ed", "", ed25519Key()), jwk("rsa", "", rsaKey()), jwk("p256", "", p256Key()), jwk("rs256", "RS256", otherRSA()))
	set = strings.Replace(set, `{"keys":[`, `{"keys":[`+strings.Replace(string(must(json.Marshal(jwk("enc", "", otherRSA())))), `"use":"sig"`, `"use":"enc"`, 1)+",", 1)
	v := open(t, Config{Issuers: []Spec{spec(nil)}, ReadFile: files{"set": set}.read})
	for _, tt := range tests {
		if got := strings.Trim(reason(v.Verify(t.Context(), tt.token, true)), "/"); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
		if got := strings.Trim(reason(v.Verify(t.Context(), tt.token, true)), "/"); got != tt.want { // from the cache, perhaps
			t.Errorf("%s, again: %s, want %s", tt.name, got, tt.want)
		}
	}
	// Nor is there a second way to write the last byte: 86 characters have 4 bits to spare.
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := strings.IndexByte(digits, good[len(good)-1])
	if id, err := v.Verify(t.Context(), good[:len(good)-1]+digits[last+1:last+2], true); err == nil {
		t.Errorf("bits behind the last byte: %v", id)
	}
	// A changed byte anywhere is noticed.
	for i := range good {
		if i == len(parts[0]) || i == len(parts[0])+1+len(parts[1]) {
			continue
		}
		other := byte('A')
		if good[i] == 'A' {
			other = 'B'
		}
		if id, err := v.Verify(t.Context(), good[:i]+string(other)+good[i+1:], true); err == nil {
			t.Errorf("byte %d: %v", i, id)
		}
	}
}

// Each algorithm is accepted from the list alone.
func TestAlgorithms(t *testing.T) {
	t.Parallel()
	keys := map[string]any{"RS": rsaKey(), "PS": rsaKey(), "ES256": p256Key(), "ES384": p384Key(), "ES512": p521Key(), "EdDSA": ed25519Key(), "HS": []byte(testSecret + testSecret)}
	keyOf := func(algorithm string) any {
		if k, ok := keys[algorithm]; ok {
			return k
		}
		return keys[algorithm[:2]]
	}
	set := setOf(jwk("rsa", "", rsaKey()), jwk("p256", "", p256Key()), jwk("p384", "", p384Key()), jwk("p521", "", p521Key()), jwk("ed", "", ed25519Key()))
	f := files{"set": set, "secret": testSecret + testSecret + "\n"}
	all := append([]string{"HS256", "HS384", "HS512"}, asymmetric...)
	for _, allowed := range all {
		v := open(t, Config{ReadFile: f.read, Issuers: []Spec{spec(func(s *Spec) {
			s.Algorithms = []string{allowed}
			if allowed[0] == 'H' {
				s.JWKSFile, s.SecretFile = "", "secret"
			}
		})}})
		for _, used := range all {
			token := sign(fmt.Sprintf(`{"alg":%q}`, used), claims(), used, keyOf(used))
			want := "algorithm"
			if used == allowed {
				want = "as ann"
			}
			if got := reason(v.Verify(t.Context(), token, true)); got != want {
				t.Errorf("%s where %s is allowed: %s", used, allowed, got)
			}
		}
	}
}

// A secret has no id, whatever the tokens call it.
func TestSecretByAnyID(t *testing.T) {
	t.Parallel()
	v := open(t, Config{Issuers: []Spec{spec(func(s *Spec) { s.JWKSFile, s.SecretFile = "", "secret" })}, ReadFile: files{"secret": testSecret}.read})
	for _, kid := range []string{"", "a", "b"} {
		if got := reason(v.Verify(t.Context(), sign(header("HS256", kid), claims(), "HS256", []byte(testSecret)), true)); got != "as ann" {
			t.Errorf("%q: %s", kid, got)
		}
	}
}

// A key belongs to its issuer, by whatever id; and so does what was verified.
func TestKeysBelongToTheirIssuer(t *testing.T) {
	t.Parallel()
	const second = "https://second"
	f := files{"set": setOf(jwk("k", "", ed25519Key())), "set2": setOf(jwk("k", "", p256Key()), jwk("only2", "", rsaKey()))}
	v := open(t, Config{ReadFile: f.read, Issuers: []Spec{
		spec(nil), spec(func(s *Spec) { s.Issuer, s.JWKSFile, s.Prefix, s.Tenant = second, "set2", new("2:"), "two" }),
	}})
	for _, tt := range []struct{ name, token, want string }{
		{"first", edToken("k"), "as ann"},
		{"second", sign(header("ES256", "k"), claims(object{"iss": second}), "ES256", p256Key()), "as two/2:ann"},
		{"first signs for second", edToken("k", object{"iss": second}), "key"},
		{"second signs for first", sign(header("ES256", "k"), claims(), "ES256", p256Key()), "key"},
		{"second's key for first", sign(header("RS256", "only2"), claims(), "RS256", rsaKey()), "key_unknown"},
	} {
		if got := reason(v.Verify(t.Context(), tt.token, true)); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// What becomes of claims: tenant, scopes, class of limits, requirements.
func TestClaims(t *testing.T) {
	t.Parallel()
	type principal = chat.Principal
	tests := []struct {
		name   string
		spec   func(*Spec)
		claims object
		want   principal
		reason string
	}{
		{"nothing is set", func(*Spec) {}, nil, principal{ID: "ann", Scopes: chat.ScopeChat}, ""},
		{"claims that are not asked for", func(*Spec) {}, object{"scope": "admin", "tenant": "t", "limits": "gold"}, principal{ID: "ann", Scopes: chat.ScopeChat}, ""},
		{"fixed", func(s *Spec) { s.Tenant, s.Scopes, s.Limits = "acme", []string{"chat", "act_as"}, "gold" }, nil,
			principal{Tenant: "acme", ID: "ann", Scopes: chat.ScopeChat | chat.ScopeActAs, Class: "gold"}, ""},
		{"no scopes", func(s *Spec) { s.Scopes = []string{} }, nil, principal{ID: "ann"}, ""},
		{"by name", func(s *Spec) { s.Claims = Claims{"email", "org", "scope", "https://x/plan"} },
			object{"email": "a@x", "org": "acme", "scope": "chat openid ops", "https://x/plan": "gold"},
			principal{Tenant: "acme", ID: "a@x", Scopes: chat.ScopeChat | chat.ScopeOps, Class: "gold"}, ""},
		{"by pointer", func(s *Spec) { s.Claims = Claims{"/who/name", "/who/orgs/1", "/who/~1r/roles", "/who/limits"} },
			object{"who": object{"name": "bo", "orgs": []string{"a", "b"}, "/r": object{"roles": []string{"approve", "x"}}, "limits": "c"}},
			principal{Tenant: "b", ID: "bo", Scopes: chat.ScopeApprove, Class: "c"}, ""},
		{"absent ones are none", func(s *Spec) {
			s.Claims, s.Tenant, s.Scopes, s.Limits = Claims{"", "org", "scope", "plan"}, "acme", []string{"admin"}, "gold"
		}, nil, principal{ID: "ann"}, ""},
		{"null is none", func(s *Spec) { s.Claims.Scopes = "scope" }, object{"scope": json.RawMessage("null")}, principal{ID: "ann"}, ""},
		{"scope map", func(s *Spec) {
			s.Claims.Scopes, s.ScopeMap = "groups", map[string]string{"staff": "chat", "sre": "ops"}
		},
			object{"groups": []string{"sre", "admin", "chat"}}, principal{ID: "ann", Scopes: chat.ScopeOps}, ""},
		{"empty scopes", func(s *Spec) { s.Claims.Scopes = "scope" }, object{"scope": ""}, principal{ID: "ann"}, ""},
		{"prefix", func(s *Spec) { s.Prefix = new("x|") }, nil, principal{ID: "x|ann", Scopes: chat.ScopeChat}, ""},
		{"prefix alone is nobody", func(s *Spec) { s.Prefix = new("x|") }, object{"sub": ""}, principal{}, "user"},
		{"prefix makes it too long", func(s *Spec) { s.Prefix = new("xx") }, object{"sub": strings.Repeat("a", 255)}, principal{}, "user"},
		{"scopes are a number", func(s *Spec) { s.Claims.Scopes = "scope" }, object{"scope": 7}, principal{}, "scopes"},
		{"scopes with a number", func(s *Spec) { s.Claims.Scopes = "scope" }, object{"scope": []any{"chat", 7}}, principal{}, "scopes"},
		{"tenant of another form", func(s *Spec) { s.Claims.Tenant = "org" }, object{"org": "Acme"}, principal{}, "tenant"},
		{"tenant is a list", func(s *Spec) { s.Claims.Tenant = "org" }, object{"org": []string{"acme"}}, principal{}, "tenant"},
		{"class of another form", func(s *Spec) { s.Claims.Limits = "plan" }, object{"plan": "Gold!"}, principal{}, "limits"},
		{"pointer into a text", func(s *Spec) { s.Claims.User = "/sub/x" }, nil, principal{}, "user"},
		{"pointer past a list", func(s *Spec) { s.Claims.User = "/l/1" }, object{"l": []string{"x"}}, principal{}, "user"},
		{"pointer with a zero", func(s *Spec) { s.Claims.User = "/l/00" }, object{"l": []string{"x"}}, principal{}, "user"},
		{"pointer below zero", func(s *Spec) { s.Claims.User = "/l/-1" }, object{"l": []string{"x"}}, principal{}, "user"},
		{"required", func(s *Spec) {
			s.Require = map[string]jsontext.Value{"azp": jsontext.Value(`"app"`), "email_verified": jsontext.Value("true"), "/o/n": jsontext.Value("7")}
		}, object{"azp": "app", "email_verified": true, "o": object{"n": 7.0}}, principal{ID: "ann", Scopes: chat.ScopeChat}, ""},
		{"required, absent", requires("azp", `"app"`), nil, principal{}, "require"},
		{"required, of another case", requires("azp", `"app"`), object{"azp": "App"}, principal{}, "require"},
		{"required, within a list", requires("azp", `"app"`), object{"azp": []string{"app"}}, principal{}, "require"},
		{"required, a text of true", requires("email_verified", `true`), object{"email_verified": "true"}, principal{}, "require"},
		{"required, false", requires("email_verified", `true`), object{"email_verified": false}, principal{}, "require"},
		{"required, another number", requires("n", `7`), object{"n": 8}, principal{}, "require"},
	}
	f := files{"set": setOf(jwk("ed", "", ed25519Key()))}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v := open(t, Config{ReadFile: f.read, Issuers: []Spec{spec(tt.spec)}})
			id, err := v.Verify(t.Context(), edToken("ed", tt.claims), true)
			if tt.reason != "" {
				if got := reason(id, err); got != tt.reason {
					t.Errorf("%s, want %s", got, tt.reason)
				}
				return
			}
			if err != nil {
				t.Fatal(reason(id, err))
			}
			if diff := cmp.Diff(tt.want, id.Principal); diff != "" || id.Method != access.ByToken {
				t.Errorf("%s (-want +got):\n%s", id.Method, diff)
			}
		})
	}
}

func requires(claim, value string) func(*Spec) {
	return func(s *Spec) { s.Require = map[string]jsontext.Value{claim: jsontext.Value(value)} }
}

func TestTypesOfTheFile(t *testing.T) {
	t.Parallel()
	f := files{"set": setOf(jwk("ed", "", ed25519Key()))}
	v := open(t, Config{ReadFile: f.read, Issuers: []Spec{spec(func(s *Spec) { s.Types = []string{"application/x+jwt"} })}})
	for typ, want := range map[string]string{"x+jwt": "as ann", "application/X+JWT": "as ann", "JWT": "type", "application/": "type"} {
		token := sign(fmt.Sprintf(`{"alg":"EdDSA","kid":"ed","typ":%q}`, typ), claims(), "EdDSA", ed25519Key())
		if got := reason(v.Verify(t.Context(), token, true)); got != want {
			t.Errorf("%s: %s", typ, got)
		}
	}
}
