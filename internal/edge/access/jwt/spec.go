package jwt

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/turn/chat"
)

const (
	defaultLeeway = time.Minute
	minSecret     = 32 // bytes
)

// Spec is the configuration of an issuer.
type Spec struct {
	// Issuer and Audiences are compared exactly. At least one audience must be in a token.
	Issuer    string   `key:"issuer"`
	Audiences []string `key:"audiences"`

	// Exactly one of these says where the keys are.
	Discovery  bool   `key:"discovery"`
	JWKS       string `key:"jwks"` // a URL
	JWKSFile   string `key:"jwks_file"`
	SecretFile string `key:"secret_file"` // for algorithms that begin with HS alone

	Algorithms []string                  `key:"algorithms"` // nil: the usual ones
	Leeway     *time.Duration            `key:"leeway" from:"0s" to:"5m"`
	Types      []string                  `key:"types"`   // values of typ; nil: JWT and at+jwt
	Require    map[string]jsontext.Value `key:"require"` // by claim: true, false, texts or numbers
	Claims     Claims                    `key:"claims"`

	ScopeMap map[string]string `key:"scope_map"` // nil: their words are ours
	Prefix   *string           `key:"prefix"`    // stands before the user

	// Values for members without a claim.
	Tenant string   `key:"tenant"`
	Scopes []string `key:"scopes"` // nil: chat
	Limits string   `key:"limits"`
}

// Claims are the names of claims, or JSON pointers to them, which begin with a slash. An empty name
// reads no claim. An empty User stands for sub.
type Claims struct {
	User   string `key:"user"`
	Tenant string `key:"tenant"`
	Scopes string `key:"scopes"`
	Limits string `key:"limits"`
}

// defaultAlgorithms are those of issuers with key pairs.
var defaultAlgorithms = []string{"RS256", "PS256", "ES256", "EdDSA"}

// asymmetric are all algorithms of key pairs.
var asymmetric = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}

// symmetric are the algorithms of a secret, with the least length of it in bytes (RFC 7518 §3.2).
var symmetric = map[string]int{"HS256": 32, "HS384": 48, "HS512": 64}

// Check reports faults of the issuer that a schema cannot find, each with its key. An empty key is
// the issuer itself. It reads and fetches nothing.
func (s *Spec) Check(fault func(key, text string)) {
	if s.countSources() != 1 {
		fault("", "must have exactly one of discovery, jwks, jwks_file and secret_file")
	}
	if s.Discovery {
		checkURL("issuer", s.Issuer, fault)
	}
	if s.JWKS != "" {
		checkURL("jwks", s.JWKS, fault)
	}
	s.checkAlgorithms(fault)
	for _, c := range []struct{ key, claim string }{
		{"claims/user", s.Claims.User}, {"claims/tenant", s.Claims.Tenant}, {"claims/scopes", s.Claims.Scopes}, {"claims/limits", s.Claims.Limits},
	} {
		checkPointer(c.key, c.claim, fault)
	}
	s.checkRequire(fault)
	s.checkScopeMap(fault)
}

// countSources returns how many places are named that have the keys.
func (s *Spec) countSources() (n int) {
	for _, given := range []bool{s.Discovery, s.JWKS != "", s.JWKSFile != "", s.SecretFile != ""} {
		if given {
			n++
		}
	}
	return n
}

func (s *Spec) checkRequire(fault func(key, text string)) {
	for claim, value := range s.Require {
		if k := value.Kind(); k == '{' || k == '[' || k == 'n' {
			fault("require", "must have texts, numbers, true or false as its values")
		}
		checkPointer("require", claim, fault)
	}
}

func (s *Spec) checkScopeMap(fault func(key, text string)) {
	for _, scope := range s.ScopeMap {
		if _, unknown := chat.ParseScopes([]string{scope}); unknown != nil {
			fault("scope_map", "must lead to scopes: "+strings.Join(chat.ScopeNames(), ", "))
			return
		}
	}
}

func (s *Spec) checkAlgorithms(fault func(key, text string)) {
	for _, a := range s.Algorithms {
		_, isSymmetric := symmetric[a]
		switch {
		case s.SecretFile != "" && !isSymmetric:
			fault("algorithms", "must be HS256, HS384 or HS512 with secret_file")
			return
		case s.SecretFile == "" && !slices.Contains(asymmetric, a):
			fault("algorithms", "must be some of "+strings.Join(asymmetric, ", "))
			return
		}
	}
}

func checkPointer(key, claim string, fault func(key, text string)) {
	if strings.HasPrefix(claim, "/") && !jsontext.Pointer(claim).IsValid() {
		fault(key, "is no JSON pointer: ~ must be followed by 0 or 1")
	}
}

// checkURL reports a URL that is not fetched.
func checkURL(key, text string, fault func(key, text string)) {
	if !isFetched(text) {
		fault(key, "must be an https URL without a user, or an http one of a loopback address")
	}
}

// clockLeeway returns by how much the clocks may differ.
func (s *Spec) clockLeeway() time.Duration {
	if s.Leeway == nil {
		return defaultLeeway
	}
	return *s.Leeway
}

// isFetched reports whether keys are fetched from a URL. An attacker who changes the reply could
// sign for everybody. So it is encrypted, or does not leave the machine.
func isFetched(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.User != nil || u.Fragment != "" {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Hostname())
}

func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// checkSecret returns the fault of a secret, or "".
func checkSecret(secret []byte, algorithms []jose.SignatureAlgorithm) string {
	least := minSecret
	for _, a := range algorithms {
		least = max(least, symmetric[string(a)])
	}
	if len(secret) < least {
		return fmt.Sprintf("must hold %d bytes or more", least)
	}
	return ""
}

// CheckFile returns the fault of a file's content, or "", and the secret, if the file holds one.
func (s *Spec) CheckFile(content []byte) (text string, secret []byte) {
	if s.SecretFile != "" {
		secret = withoutLineEnd(content)
		return checkSecret(secret, s.algorithmList()), secret
	}
	if _, err := parseKeySet(content); err != nil {
		return err.Error(), nil
	}
	return "", nil
}

// algorithmList are those that tokens may be signed with.
func (s *Spec) algorithmList() []jose.SignatureAlgorithm {
	names := s.Algorithms
	switch {
	case names != nil:
	case s.SecretFile != "":
		names = []string{"HS256"}
	default:
		names = defaultAlgorithms
	}
	list := make([]jose.SignatureAlgorithm, len(names))
	for i, n := range names {
		list[i] = jose.SignatureAlgorithm(n)
	}
	return list
}
