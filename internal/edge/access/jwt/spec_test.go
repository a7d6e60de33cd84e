package jwt

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*Spec)
		want   []string
	}{
		{"a file", func(*Spec) {}, nil},
		{"discovery", func(s *Spec) { s.JWKSFile, s.Discovery, s.Issuer = "", true, "https://id.example/realm" }, nil},
		{"discovery on loopback", func(s *Spec) { s.JWKSFile, s.Discovery, s.Issuer = "", true, "http://[::1]:8/x" }, nil},
		{"discovery of no URL", func(s *Spec) { s.JWKSFile, s.Discovery, s.Issuer = "", true, "me" }, []string{"issuer"}},
		{"discovery over http", func(s *Spec) { s.JWKSFile, s.Discovery, s.Issuer = "", true, "http://id.example" }, []string{"issuer"}},
		{"any issuer with a file", func(s *Spec) { s.Issuer = "me" }, nil},
		{"keys", func(s *Spec) { s.JWKSFile, s.JWKS = "", "https://id.example/keys?x=1" }, nil},
		{"keys over http", func(s *Spec) { s.JWKSFile, s.JWKS = "", "http://127.0.0.1.example/keys" }, []string{"jwks"}},
		{"keys on localhost", func(s *Spec) { s.JWKSFile, s.JWKS = "", "http://localhost:1/keys" }, nil},
		{"keys of a user", func(s *Spec) { s.JWKSFile, s.JWKS = "", "https://a:b@id.example/keys" }, []string{"jwks"}},
		{"keys of another kind", func(s *Spec) { s.JWKSFile, s.JWKS = "", "file:///keys" }, []string{"jwks"}},
		{"no source", func(s *Spec) { s.JWKSFile = "" }, []string{""}},
		{"two sources", func(s *Spec) { s.SecretFile = "s" }, []string{""}},
		{"HS256 with keys", func(s *Spec) { s.Algorithms = []string{"RS256", "HS256"} }, []string{"algorithms"}},
		{"none", func(s *Spec) { s.Algorithms = []string{"none"} }, []string{"algorithms"}},
		{"RS256 with a secret", func(s *Spec) { s.JWKSFile, s.SecretFile, s.Algorithms = "", "s", []string{"HS512", "RS256"} }, []string{"algorithms"}},
		{"none with a secret", func(s *Spec) { s.JWKSFile, s.SecretFile, s.Algorithms = "", "s", []string{"none"} }, []string{"algorithms"}},
		{"a pointer that is none", func(s *Spec) { s.Claims.Scopes = "/a~2" }, []string{"claims/scopes"}},
		{"a scope of others", func(s *Spec) { s.ScopeMap = map[string]string{"a": "chat", "b": "root"} }, []string{"scope_map"}},
		{"requires a list", func(s *Spec) { s.Require = map[string]jsontext.Value{"a": jsontext.Value("[]")} }, []string{"require"}},
		{"requires null", func(s *Spec) { s.Require = map[string]jsontext.Value{"a": jsontext.Value("null")} }, []string{"require"}},
	}
	for _, tt := range tests {
		var got []string
		s := spec(tt.change)
		s.Check(func(key, text string) {
			if text == "" {
				t.Errorf("%s: no text", tt.name)
			}
			got = append(got, key)
		})
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
