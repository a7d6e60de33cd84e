package door

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sluice/internal/base/config"
	"sluice/internal/base/config/file"
	"sluice/internal/edge/access"
	"sluice/internal/edge/access/jwt"
)

const (
	testSet = `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"k","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`
	word    = "0123456789abcdef0123456789abcdef"
)

// read reads a file with the section, and with the names of others.
func read(content string, a Around) (s Spec, hidden []string, faults []string) {
	others := func(name string) file.Section {
		return file.Section{Name: name, Schema: `{"type":"object"}`}
	}
	files := map[string]string{"etc/set.json": testSet, "etc/secret": word + "\n", "etc/short": "short", "etc/two": "two words", "etc/bad.json": "{"}
	from := config.Sources{
		Lookup: func(string) (string, bool) { return "", false },
		ReadFile: func(path string) ([]byte, error) {
			if text, ok := files[path]; ok {
				return []byte(text), nil
			}
			return nil, fs.ErrNotExist
		},
		Hide: func(_ string, values ...config.Secret) {
			for _, v := range values {
				hidden = append(hidden, v.Reveal())
			}
		},
	}
	for _, f := range (file.Table{others("tenants"), others("limits"), Section(&s, a)}).Read("etc/s.yaml", []byte(content), from).Faults {
		faults = append(faults, f.Message)
	}
	return s, hidden, faults
}

func always() bool { return true }
func never() bool  { return false }

func TestSection(t *testing.T) {
	t.Parallel()
	s, _, faults := read(`
auth:
  keys: keys.yaml
  jwt:
    - {issuer: "https://id.example", audiences: [sluice], discovery: true, prefix: "", claims: {tenant: org, scopes: /a/b}, scope_map: {staff: chat}}
    - {issuer: b, audiences: [x, y], jwks_file: set.json, prefix: "b:", leeway: 0s, types: [JWT], algorithms: [ES256], require: {azp: app, n: 7, email_verified: true}}
    - {issuer: c, audiences: [x], secret_file: secret, prefix: "c:", tenant: acme, scopes: [chat, act_as], limits: gold}
  proxy: {from: [10.0.0.0/8, "::1"], headers: {user: remote-user, scopes: Remote-Groups}, secret_header: x-secret, secret_file: secret, tenant: acme, scopes: [chat], limits: gold}
  failures: 5/h
  four_eyes: true
  card: private
tenants: {acme: {}}
limits: {classes: {gold: {}}}
`, Around{Stored: always, AnyOrigin: never})
	want := Spec{
		Keys: "etc/keys.yaml",
		Tokens: []jwt.Spec{
			{Issuer: "https://id.example", Audiences: []string{"sluice"}, Discovery: true, Prefix: new(""), Claims: jwt.Claims{Tenant: "org", Scopes: "/a/b"}, ScopeMap: map[string]string{"staff": "chat"}},
			{Issuer: "b", Audiences: []string{"x", "y"}, JWKSFile: "etc/set.json", Prefix: new("b:"), Leeway: new(time.Duration(0)), Types: []string{"JWT"}, Algorithms: []string{"ES256"},
				Require: map[string]jsontext.Value{"azp": jsontext.Value(`"app"`), "n": jsontext.Value("7"), "email_verified": jsontext.Value("true")}},
			{Issuer: "c", Audiences: []string{"x"}, SecretFile: "etc/secret", Prefix: new("c:"), Tenant: "acme", Scopes: []string{"chat", "act_as"}, Limits: "gold"},
		},
		Proxy: &Proxy{From: []Range{{must(parseRanges("10.0.0.0/8"))[0]}, {must(parseRanges("::1"))[0]}}, Headers: Headers{User: "Remote-User", Scopes: "Remote-Groups"},
			SecretHeader: "X-Secret", SecretFile: "etc/secret", Secret: word, Tenant: "acme", Scopes: []string{"chat"}, Limits: "gold"},
		Failures: access.Quota{N: 5, Unit: 'h'}, FourEyes: true, PrivateCard: true,
	}
	if diff := cmp.Diff(want, s, cmpopts.EquateComparable(Range{}), cmp.Comparer(func(a, b config.Secret) bool { return a == b })); diff != "" || faults != nil {
		t.Errorf("%v (-want +got):\n%s", faults, diff)
	}
	for _, section := range []string{`jwt: [{issuer: c, audiences: [x], secret_file: secret}]`, `proxy: {from: [10.0.0.1], secret_header: x, secret_file: secret}`} {
		if _, hidden, _ := read("auth: {"+section+"}", Around{Stored: always, AnyOrigin: never}); !slices.Contains(hidden, word) {
			t.Errorf("%s: hidden is %q", section, hidden)
		}
	}
	s, _, faults = read(`auth: {anonymous: {}, proxy: {from: [192.0.2.1]}}`, Around{Stored: never, AnyOrigin: never})
	if faults != nil || s.Anonymous == nil || s.Proxy.Headers.User != "X-Forwarded-User" || !s.IsOn() {
		t.Errorf("%v, %+v", faults, s)
	}
}

// Every fault is listed, each with its place and without a value.
func TestSectionFaults(t *testing.T) {
	t.Parallel()
	issuer := func(rest string) string { return `jwt: [{issuer: i, audiences: [a], ` + rest + `}]` }
	proxy := func(rest string) string { return `proxy: {from: [10.0.0.1], ` + rest + `}` }
	for content, want := range map[string]string{
		`jwt: []`:                            "/auth/jwt: must have 1 or more items",
		`jwt: [{issuer: i, audiences: [a]}]`: "/auth/jwt/0: must have exactly one of discovery, jwks, jwks_file and secret_file",
		issuer(`jwks_file: set.json, jwks: "https://x"`):                  "/auth/jwt/0: must have exactly one",
		issuer(`discovery: false`):                                        "/auth/jwt/0/discovery: must be true",
		issuer(`discovery: true`):                                         "/auth/jwt/0/issuer: must be an https URL",
		issuer(`jwks: "http://id.example"`):                               "/auth/jwt/0/jwks: must be an https URL",
		issuer(`jwks_file: none.json`):                                    "/auth/jwt/0/jwks_file: there is no such file",
		issuer(`jwks_file: bad.json`):                                     "/auth/jwt/0/jwks_file: the key set is malformed",
		issuer(`secret_file: short`):                                      "/auth/jwt/0/secret_file: must hold 32 bytes or more",
		issuer(`secret_file: secret, algorithms: [HS512]`):                "/auth/jwt/0/secret_file: must hold 64 bytes or more",
		issuer(`secret_file: secret, algorithms: [RS256]`):                "/auth/jwt/0/algorithms: must be HS256",
		issuer(`jwks_file: set.json, algorithms: [none]`):                 "/auth/jwt/0/algorithms: must be some of",
		issuer(`jwks_file: set.json, algorithms: [HS256]`):                "/auth/jwt/0/algorithms: must be some of",
		issuer(`jwks_file: set.json, algorithms: []`):                     "/auth/jwt/0/algorithms: must have 1 or more items",
		issuer(`jwks_file: set.json, leeway: 301s`):                       "/auth/jwt/0/leeway: must be a duration from 0s to 5m",
		issuer(`jwks_file: set.json, scopes: []`):                         "/auth/jwt/0/scopes: must have 1 or more items",
		issuer(`jwks_file: set.json, scopes: [root]`):                     "/auth/jwt/0/scopes/0: must be one of chat",
		issuer(`jwks_file: set.json, scope_map: {a: root}`):               "/auth/jwt/0/scope_map: must lead to scopes",
		issuer(`jwks_file: set.json, require: {a: [b]}`):                  "/auth/jwt/0/require/a: must be true or false or a number or a string",
		issuer(`jwks_file: set.json, claims: {user: /a~}`):                "/auth/jwt/0/claims/user: is no JSON pointer",
		issuer(`jwks_file: set.json, tenant: A`):                          "/auth/jwt/0/tenant: must be 1 to 64 of a-z 0-9 _ -",
		issuer(`jwks_file: set.json, limits: gold`):                       "/auth/jwt/0/limits: there is no such class of limits",
		issuer(`jwks_file: set.json, tenant: t`) + "\ntenants":            "/auth/jwt/0/tenant: there is no such tenant",
		issuer(`jwks_file: set.json, prefix: ` + strings.Repeat("x", 33)): "/auth/jwt/0/prefix: must not be longer than 32 characters",
		`jwt: [{issuer: i, audiences: []}]`:                               "/auth/jwt/0/audiences: must have 1 or more items",
		`jwt: [{audiences: [a], jwks_file: set.json}]`:                    "/auth/jwt/0/issuer: is required",
		`jwt: [{issuer: i, audiences: [a], jwks_file: set.json}, {issuer: j, audiences: [a], jwks_file: set.json, prefix: ""}]`:            "/auth/jwt/0/prefix: is required with several issuers",
		`jwt: [{issuer: i, audiences: [a], jwks_file: set.json, prefix: a}, {issuer: i, audiences: [b], jwks_file: set.json, prefix: ""}]`: "/auth/jwt/1/issuer: is named twice",
		`proxy: {}`:                                       "/auth/proxy/from: is required",
		`proxy: {from: [0.0.0.0/0]}`:                      "/auth/proxy/from/0: must be an address or a CIDR",
		`proxy: {from: ["::/0"]}`:                         "/auth/proxy/from/0: must be an address or a CIDR",
		proxy(`headers: {user: Authorization}`):           "/auth/proxy/headers/user: is a header of clients",
		proxy(`headers: {user: X_User}`):                  "/auth/proxy/headers/user: must be a header's name",
		proxy(`headers: {user: x-a, tenant: X-A}`):        "/auth/proxy/headers/tenant: is named twice",
		proxy(`headers: {tenant: x-forwarded-user}`):      "/auth/proxy/headers/tenant: is named twice",
		proxy(`secret_header: X-Secret`):                  "/auth/proxy: must have both or none of secret_header and secret_file",
		proxy(`secret_header: X-S, secret_file: two`):     "/auth/proxy/secret_file: the file must hold 1 to 4096 printable characters",
		proxy(`secret_header: X-S, secret_file: nowhere`): "/auth/proxy/secret_file: there is no such file",
		proxy(`tenant: ""`):                               "/auth/proxy/tenant: must be 1 to 64",
		"anonymous: {}\ntenants":                          "/auth/anonymous: must not be there beside tenants",
		`anonymous: {limits: gold}`:                       "/auth/anonymous/limits: there is no such class",
		`failures: 60`:                                    "/auth/failures: must be a string",
		`failures: 0/m`:                                   "/auth/failures: must be a rate",
		`failures: 5/w`:                                   "/auth/failures: must be a rate",
		`four_eyes: true`:                                 "/auth/four_eyes: needs SLUICE_STORE",
		`card: secret`:                                    "/auth/card: must be one of public, private",
		`key: x`:                                          "/auth/key: there is no such key",
	} {
		text := "auth:\n  " + strings.TrimSuffix(content, "\ntenants") + "\n"
		if strings.HasSuffix(content, "\ntenants") {
			text += "tenants: {acme: {}}\n"
		}
		if _, _, faults := read(text, Around{Stored: never, AnyOrigin: never}); len(faults) != 1 || !strings.HasPrefix(faults[0], want) {
			t.Errorf("%s: %q, want %q", content, faults, want)
		}
	}
	if _, _, faults := read("auth: {four_eyes: true, anonymous: {}}", Around{Stored: always, AnyOrigin: never}); len(faults) != 1 || !strings.HasPrefix(faults[0], "/auth/four_eyes: must not be true beside anonymous") {
		t.Errorf("four eyes for the anonymous: %q", faults)
	}
	if _, _, faults := read("auth: {proxy: {from: [10.0.0.1]}}", Around{Stored: never, AnyOrigin: always}); len(faults) != 1 || !strings.Contains(faults[0], "SLUICE_CORS_ORIGINS") {
		t.Errorf("any origin: %q", faults)
	}
}

// What SLUICE_AUTH, SLUICE_API_KEYS and the file say must go together.
func TestSettings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, mode, keys, inFile, want, fault string }{
		{"nothing", "", "", "", "", ""},
		{"keys", "", "a/k", "", "a/k", ""},
		{"keys of the file", "", "", "k", "k", ""},
		{"the same", "", "./a/k", "a/k", "./a/k", ""},
		{"two files", "", "a/k", "k", "k", "SLUICE_API_KEYS: auth.keys of the configuration file names another file"},
		{"required", "required", "", "", "", "SLUICE_AUTH: needs a method: SLUICE_API_KEYS, or the section auth of the configuration file"},
		{"required, with keys", "required", "k", "", "k", ""},
		{"required, with keys of the file", "required", "", "k", "k", ""},
	} {
		s := Spec{Keys: tt.inFile}
		loader := config.NewLoader(func(c *config.Config) config.Table { return config.Table{Settings(c, &s)} })
		env := map[string]string{"SLUICE_AUTH": tt.mode, "SLUICE_API_KEYS": tt.keys}
		_, err := loader.Load(nil, func(name string) (string, bool) { v, ok := env[name]; return v, ok }, nil)
		got := ""
		if e, ok := errors.AsType[*config.Error](err); ok {
			got = e.Error()
		}
		if got != tt.fault || s.Keys != tt.want {
			t.Errorf("%s: %q, %q", tt.name, s.Keys, got)
		}
	}
}
