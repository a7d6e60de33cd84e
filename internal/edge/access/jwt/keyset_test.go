package jwt

import (
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"
)

// rsaText is a key of any length: nobody has the other half.
func rsaText(bits, e int) string {
	n := new(big.Int).SetBit(big.NewInt(1), bits-1, 1)
	return fmt.Sprintf(`{"kty":"RSA","kid":"n","n":%q,"e":%q}`,
		base64.RawURLEncoding.EncodeToString(n.Bytes()), base64.RawURLEncoding.EncodeToString(big.NewInt(int64(e)).Bytes()))
}

func TestKeySets(t *testing.T) {
	t.Parallel()
	text := func(v any) string { return string(must(json.Marshal(v))) }
	ed := text(jwk("ed", "", ed25519Key()))
	with := func(key, member string) string { return strings.Replace(key, "{", "{"+member+",", 1) }
	private := text(jose.JSONWebKey{Key: rsaKey(), KeyID: "private"})
	x25519 := base64.RawURLEncoding.EncodeToString(must(ecdh.X25519().GenerateKey(rand.Reader)).PublicKey().Bytes())
	off := strings.Replace(text(jwk("off", "", p256Key())), `"y":"`, `"y":"AA`, 1)
	tests := []struct {
		name, keys string
		want       []string // the ids; nil: the set is refused
	}{
		{"one of each", text(jwk("rsa", "", rsaKey())) + "," + text(jwk("256", "", p256Key())) + "," + text(jwk("384", "", p384Key())) + "," + text(jwk("521", "", p521Key())) + "," + ed,
			[]string{"rsa", "256", "384", "521", "ed"}},
		{"an unknown type", `{"kty":"AKP","alg":"ML-DSA-44","pub":"AA"},` + ed, []string{"ed"}},
		{"no type", `{"kid":"x"},` + ed, []string{"ed"}},
		{"no object", `7,null,"x",[],` + ed, []string{"ed"}},
		{"private", private + "," + ed, []string{"ed"}},
		{"symmetric", `{"kty":"oct","k":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","kid":"o"},` + ed, []string{"ed"}},
		{"for encryption", strings.Replace(ed, `"use":"sig"`, `"use":"enc"`, 1) + "," + text(jwk("b", "", p256Key())), []string{"b"}},
		{"use is a number", strings.Replace(ed, `"use":"sig"`, `"use":1`, 1) + "," + text(jwk("b", "", p256Key())), []string{"b"}},
		{"no use", strings.Replace(ed, `"use":"sig",`, ``, 1), []string{"ed"}},
		{"kid is a number", with(strings.Replace(ed, `"kid":"ed",`, ``, 1), `"kid":1`) + "," + text(jwk("b", "", p256Key())), []string{"b"}},
		{"X25519", `{"kty":"OKP","crv":"X25519","kid":"x","x":"` + x25519 + `"},` + ed, []string{"ed"}},
		{"off the curve", off + "," + ed, []string{"ed"}},
		{"1024 bits", rsaText(1024, 65537) + "," + ed, []string{"ed"}},
		{"2047 bits", rsaText(2047, 65537) + "," + ed, []string{"ed"}},
		{"2048 bits", rsaText(2048, 65537) + "," + ed, []string{"n", "ed"}},
		{"8192 bits", rsaText(8192, 65537) + "," + ed, []string{"n", "ed"}},
		{"8193 bits", rsaText(8193, 65537) + "," + ed, []string{"ed"}},
		{"16384 bits", rsaText(16384, 65537) + "," + ed, []string{"ed"}},
		{"a modulus that breaks off", strings.Replace(rsaText(2048, 65537), `","e"`, `!","e"`, 1) + "," + ed, []string{"ed"}},
		{"no modulus", `{"kty":"RSA","e":"AQAB"},` + ed, []string{"ed"}},
		{"a huge exponent", strings.Replace(rsaText(2048, 65537), `AQAB`, `AgAAAAE`, 1) + "," + ed, []string{"ed"}},
		{"exponent 1", rsaText(2048, 1) + "," + ed, []string{"ed"}},
		{"even exponent", rsaText(2048, 65536) + "," + ed, []string{"ed"}},
		{"a certificate that is none", with(ed, `"x5c":["AA"]`), []string{"ed"}},
		{"a member twice", with(ed, `"alg":"EdDSA","alg":"EdDSA"`) + "," + text(jwk("b", "", p256Key())), nil},
		{"the same twice", ed + "," + ed, []string{"ed"}},
		{"one id for two", ed + "," + text(jwk("ed", "", p256Key())), []string{"ed", "ed"}},
		{"100 keys", ed + strings.Repeat(`,{"kty":"x"}`, 99), []string{"ed"}},
		{"101 keys", ed + strings.Repeat(`,{"kty":"x"}`, 100), nil},
		{"10,000 keys", ed + strings.Repeat(`,{"kty":"x"}`, 9999), nil},
		{"none", ``, nil},
		{"none that can be used", private, nil},
	}
	for _, tt := range tests {
		set, err := parseKeySet([]byte(`{"keys":[` + tt.keys + `]}`))
		if err != nil && tt.want == nil {
			continue
		}
		var ids []string
		if err == nil {
			for _, k := range set.keys {
				ids = append(ids, k.id)
			}
		}
		if diff := cmp.Diff(tt.want, ids); diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", tt.name, err, diff)
		}
	}
	for name, set := range map[string]string{
		"empty": "", "a list": "[" + ed + "]", "null": "null", "keys are no list": `{"keys":` + ed + `}`, "half": `{"keys":[` + ed, "no keys": "{}",
		"too large": `{"keys":[` + ed + `],"x":"` + strings.Repeat("x", maxSet) + `"}`,
	} {
		if _, err := parseKeySet([]byte(set)); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// Of several keys with one id the one that fits counts, and of several that fit none.
func TestFind(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, id, algorithm string
		keys                []jose.JSONWebKey
		found, unknown      bool
	}{
		{"one", "a", "ES256", []jose.JSONWebKey{jwk("a", "", p256Key())}, true, false},
		{"its own algorithm", "a", "RS256", []jose.JSONWebKey{jwk("a", "RS256", rsaKey())}, true, false},
		{"not its own", "a", "PS256", []jose.JSONWebKey{jwk("a", "RS256", rsaKey())}, false, false},
		{"one id, two types", "a", "ES256", []jose.JSONWebKey{jwk("a", "", rsaKey()), jwk("a", "", p256Key())}, true, false},
		{"one id, two that fit", "a", "RS256", []jose.JSONWebKey{jwk("a", "", rsaKey()), jwk("a", "", otherRSA())}, false, false},
		{"one id, two algorithms", "a", "RS256", []jose.JSONWebKey{jwk("a", "RS256", rsaKey()), jwk("a", "RS512", otherRSA())}, true, false},
		{"another id", "b", "ES256", []jose.JSONWebKey{jwk("a", "", p256Key())}, false, true},
		{"an id where keys have none", "b", "ES256", []jose.JSONWebKey{jwk("", "", p256Key())}, false, true},
		{"no id", "", "ES256", []jose.JSONWebKey{jwk("a", "", rsaKey()), jwk("b", "", p256Key())}, true, false},
		{"no id, two that fit", "", "RS256", []jose.JSONWebKey{jwk("a", "", rsaKey()), jwk("b", "", otherRSA())}, false, false},
		{"no id, none fits", "", "EdDSA", []jose.JSONWebKey{jwk("a", "", rsaKey())}, false, false},
	} {
		set := must(parseKeySet([]byte(setOf(tt.keys...))))
		public, unknown := set.findKey(tt.id, tt.algorithm)
		if (public != nil) != tt.found || unknown != tt.unknown {
			t.Errorf("%s: found %v, unknown %v", tt.name, public != nil, unknown)
		}
	}
}

// Sets are equal by what is in them that counts, however it is written.
func TestEqualSets(t *testing.T) {
	t.Parallel()
	a, b := jwk("a", "", rsaKey()), jwk("b", "", p256Key())
	one := must(parseKeySet([]byte(setOf(a, b))))
	same := must(parseKeySet([]byte(strings.Replace(setOf(b, a), "{", "{ \"x\": 1,", 1))))
	if one.text != same.text {
		t.Error("the order makes another set")
	}
	a.KeyID = "c"
	if other := must(parseKeySet([]byte(setOf(a, b)))); other.text == one.text {
		t.Error("another id makes no other set")
	}
	if other := must(parseKeySet([]byte(setOf(jwk("a", "", otherRSA()), b)))); other.text == one.text {
		t.Error("another key makes no other set")
	}
}
