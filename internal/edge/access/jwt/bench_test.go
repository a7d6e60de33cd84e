package jwt

import (
	"testing"
)

// BenchmarkFirst is the first check of a token, BenchmarkCached each later one.
func BenchmarkFirst(b *testing.B) {
	v := open(b, Config{Issuers: []Spec{spec(nil)}, ReadFile: files{"set": setOf(jwk("rsa", "", rsaKey()), jwk("p256", "", p256Key()), jwk("ed", "", ed25519Key()))}.read})
	for _, bb := range []struct {
		algorithm, kid string
		key            any
	}{{"RS256", "rsa", rsaKey()}, {"ES256", "p256", p256Key()}, {"EdDSA", "ed", ed25519Key()}} {
		b.Run(bb.algorithm, func(b *testing.B) {
			token := sign(header(bb.algorithm, bb.kid), claims(), bb.algorithm, bb.key)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := v.verifyToken(b.Context(), token); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCached(b *testing.B) {
	v := open(b, Config{Issuers: []Spec{spec(nil)}, ReadFile: files{"set": setOf(jwk("rsa", "", rsaKey()))}.read})
	token := sign(header("RS256", "rsa"), claims(), "RS256", rsaKey())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := v.Verify(b.Context(), token, true); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRefused is what a flood of bad tokens costs.
func BenchmarkRefused(b *testing.B) {
	v := open(b, Config{Issuers: []Spec{spec(nil)}, ReadFile: files{"set": setOf(jwk("rsa", "", rsaKey()))}.read})
	for name, token := range map[string]string{
		"signature": sign(header("RS256", "rsa"), claims(), "RS256", otherRSA()), "kid": sign(header("RS256", "x"), claims(), "RS256", otherRSA()),
		"no token": "x",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := v.Verify(b.Context(), token, true); err == nil {
					b.Fatal("accepted")
				}
			}
		})
	}
}
