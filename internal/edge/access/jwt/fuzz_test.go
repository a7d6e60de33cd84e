package jwt

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
	josejwt "github.com/go-jose/go-jose/v4/jwt"

	"sluice/internal/edge/access"
)

// Whatever bytes arrive as a token: it is refused with a reason, or the library's own reader
// of claims, which shares nothing with ours, finds the same user in it.
func FuzzToken(f *testing.F) {
	v := open(f, Config{Issuers: []Spec{spec(func(s *Spec) { s.JWKSFile, s.SecretFile = "", "secret" })}, ReadFile: files{"secret": testSecret}.read})
	good := sign(`{"alg":"HS256","typ":"JWT"}`, claims(), "HS256", []byte(testSecret))
	for _, seed := range []string{
		good, "", "..", "a.b.c", edToken("x"), good + ".", strings.ToLower(good), `{"payload":""}`,
		sign(`{"alg":"HS256","crit":["b64"],"b64":false}`, claims(), "HS256", []byte(testSecret)),
		sign(`{"alg":"HS256"}`, claims(object{"exp": nil}), "HS256", []byte(testSecret)),
		sign(`{"alg":"HS256"}`, claims(object{"aud": []string{}}), "HS256", []byte(testSecret)),
	} {
		f.Add(seed, "", "")
	}
	f.Add("", `{"alg":"HS256"}`, claims())
	f.Add("", `{"alg":"HS256","kid":"\u0000"}`, claims(object{"sub": "a\x00", "exp": 1e300}))
	f.Fuzz(func(t *testing.T, token, header, claims string) {
		if token == "" { // so that what is signed is reached
			token = sign(header, claims, "HS256", []byte(testSecret))
		}
		id, err := v.Verify(t.Context(), token, true)
		if _, isRefused := errors.AsType[*access.Refused](err); err != nil && !isRefused {
			t.Fatalf("another error: %v", err)
		}
		if err != nil {
			return
		}
		parsed, err := josejwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.HS256})
		if err != nil {
			t.Fatalf("the library does not read it: %v", err)
		}
		var read josejwt.Claims
		if err := parsed.Claims([]byte(testSecret), &read); err != nil {
			t.Fatalf("the library does not verify it: %v", err)
		}
		if err := read.Validate(josejwt.Expected{Issuer: testIssuer, AnyAudience: []string{testAudience}}); err != nil || read.Expiry == nil || read.Subject != id.ID {
			t.Fatalf("the library reads %q, ours %q: %v", read.Subject, id.ID, err)
		}
	})
}

// Whatever an issuer shows: no panic, and never a key that is private, symmetric or of
// another length than is allowed.
func FuzzKeySet(f *testing.F) {
	good := setOf(jwk("rsa", "RS256", rsaKey()), jwk("p", "", p256Key()), jwk("ed", "", ed25519Key()))
	for _, seed := range []string{
		good, "", "{}", `{"keys":[]}`, `{"keys":[{"kty":"oct","k":"AA"}]}`, strings.Replace(good, "sig", "enc", 1), setOf(jose.JSONWebKey{Key: rsaKey()}),
		`{"keys":[` + rsaText(4096, 65537) + `,` + rsaText(16384, 3) + `]}`, strings.Repeat(`{"keys":[`, 100),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		set, err := parseKeySet(text)
		if err != nil {
			return
		}
		if len(set.keys) == 0 || len(set.keys) > maxKeys {
			t.Fatalf("%d keys", len(set.keys))
		}
		for _, k := range set.keys {
			if !(&jose.JSONWebKey{Key: k.public}).IsPublic() || families[k.family] == nil || k.family == "secret" {
				t.Fatalf("a key of type %T", k.public)
			}
		}
		again, err := parseKeySet(text)
		if err != nil || again.text != set.text {
			t.Fatal("read again it is another set")
		}
	})
}
