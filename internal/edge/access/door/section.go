package door

import (
	_ "embed"
	"net/textproto"
	"strings"

	"sluice/internal/base/config"
	"sluice/internal/base/config/file"
	"sluice/internal/edge/access"
	"sluice/internal/edge/access/jwt"
	"sluice/internal/edge/access/keys"
)

//go:embed section.json
var sectionSchema string

// Spec is the configuration of authentication. The zero value turns it off.
type Spec struct {
	Keys      string       `key:"keys"` // path of the key file, as seen from the working folder
	Tokens    []jwt.Spec   `key:"jwt"`
	Proxy     *Proxy       `key:"proxy"`     // nil: no header is believed
	Anonymous *Anonymous   `key:"anonymous"` // nil: a request without a credential is refused
	Failures  access.Quota `key:"failures"`  // of an address; the zero value: the default
	FourEyes  bool         `key:"four_eyes"`
	// PrivateCard: A2A's agent card needs the scope chat.
	PrivateCard bool `key:"card" is:"private"`
}

// Proxy is a proxy in front. Its headers name the user.
type Proxy struct {
	From         []Range       `key:"from"`
	Headers      Headers       `key:"headers"`
	SecretHeader string        `key:"secret_header"`
	SecretFile   string        `key:"secret_file"`
	Secret       config.Secret // the content of the file
	// Values for members without a header.
	Tenant string   `key:"tenant"`
	Scopes []string `key:"scopes"`
	Limits string   `key:"limits"`
}

// Headers are the names of a proxy's headers, in canonical form; empty without a header.
type Headers struct {
	User   string `key:"user"`
	Tenant string `key:"tenant"`
	Scopes string `key:"scopes"`
	Limits string `key:"limits"`
}

// Anonymous is what those may do who show no credential.
type Anonymous struct {
	Scopes []string `key:"scopes"`
	Limits string   `key:"limits"`
}

// IsOn reports whether any method is configured.
func (s *Spec) IsOn() bool {
	return s.Keys != "" || len(s.Tokens) > 0 || s.Proxy != nil || s.Anonymous != nil
}

// Proves reports whether a method is configured by which somebody is known.
func (s *Spec) Proves() bool { return s.Keys != "" || len(s.Tokens) > 0 || s.Proxy != nil }

// Around is what other settings say, once they are read.
type Around struct {
	Stored    func() bool // there is a store
	AnyOrigin func() bool // pages of any origin may read replies
	ReadKeys  func() bool // the key file is read, so that its faults are listed with all others
}

// Section is the section auth of the configuration file.
func Section(s *Spec, a Around) file.Section {
	return file.Section{Name: "auth", Schema: sectionSchema, Into: s, Read: func(n *file.Node) {
		if at := n.Get("keys"); at.Sound() && s.Keys != "" {
			s.Keys = at.Path()
			s.checkKeys(at, a)
		}
		s.readTokens(n.Get("jwt"))
		if s.Proxy != nil {
			s.Proxy.readProxy(n.Get("proxy"), a)
		}
		if s.Anonymous != nil {
			checkAnonymous(n)
			if s.FourEyes {
				n.Get("four_eyes").Fault("must not be true beside anonymous: nobody can decide a question of an anonymous turn")
			}
		}
		if s.FourEyes && !a.Stored() {
			n.Get("four_eyes").Fault("needs SLUICE_STORE")
		}
	}}
}

// checkKeys lists the faults of the key file.
func (s *Spec) checkKeys(at *file.Node, a Around) {
	if a.ReadKeys == nil || !a.ReadKeys() {
		return
	}
	for _, f := range keys.Check(s.Keys) {
		at.Fault(f.Name + ": " + f.Message)
	}
}

// checkAnonymous checks what requests without a credential may do.
func checkAnonymous(n *file.Node) {
	if n.Section("tenants") != nil {
		n.Get("anonymous").FaultKey("must not be there beside tenants, which every request must name one of")
	}
	checkIDs(n.Get("anonymous"))
}

// readTokens checks the issuers, and reads their files as far as faults of them can be listed.
func (s *Spec) readTokens(list *file.Node) {
	seen := map[string]bool{}
	i := 0
	for n := range list.Members() {
		if i < len(s.Tokens) && n.Sound() {
			spec := &s.Tokens[i]
			if seen[spec.Issuer] {
				n.Get("issuer").Fault("is named twice")
			}
			seen[spec.Issuer] = true
			if spec.Prefix == nil && len(s.Tokens) > 1 {
				n.FaultMissing("prefix", "is required with several issuers, as users of two may have one name; it may be empty")
			}
			readIssuer(n, spec)
		}
		i++
	}
}

// readIssuer checks an issuer on its own, and reads its key files.
func readIssuer(n *file.Node, spec *jwt.Spec) {
	checkIDs(n)
	spec.Check(func(key, text string) {
		at := n
		for name := range strings.SplitSeq(key, "/") {
			if m := at.Get(name); m != nil {
				at = m
			}
		}
		at.Fault(text)
	})
	readKeyFile(n, "jwks_file", &spec.JWKSFile, spec)
	readKeyFile(n, "secret_file", &spec.SecretFile, spec)
}

// readKeyFile checks the file of an issuer, and leads its path from the working folder.
func readKeyFile(n *file.Node, key string, path *string, spec *jwt.Spec) {
	at := n.Get(key)
	from, content, ok := at.ReadFile()
	if !ok {
		return
	}
	*path = from
	fault, secret := spec.CheckFile(content)
	if fault != "" {
		at.Fault(fault)
	}
	if secret != nil {
		n.Hide(key, config.Secret(secret))
	}
}

// checkIDs reports a tenant or a class that is not in the file.
func checkIDs(n *file.Node) {
	if id, ok := n.Get("tenant").Text(); ok && n.Section("tenants") != nil && !n.Section("tenants").Has(id) {
		n.Get("tenant").Fault("there is no such tenant")
	}
	if id, ok := n.Get("limits").Text(); ok && !n.Section("limits").Get("classes").Has(id) {
		n.Get("limits").Fault("there is no such class of limits")
	}
}

// credentialHeaders are those that no proxy names users in.
const credentialHeaders = " Authorization X-Api-Key Cookie Host X-Forwarded-For "

// readProxy checks the headers, and reads the secret.
func (p *Proxy) readProxy(n *file.Node, a Around) {
	checkIDs(n)
	if p.Headers.User == "" {
		p.Headers.User = "X-Forwarded-User"
	}
	seen := map[string]bool{}
	headers := n.Get("headers")
	for _, h := range []struct {
		at   *file.Node
		name *string
	}{
		{headers.Get("user"), &p.Headers.User}, {headers.Get("tenant"), &p.Headers.Tenant}, {headers.Get("scopes"), &p.Headers.Scopes},
		{headers.Get("limits"), &p.Headers.Limits}, {n.Get("secret_header"), &p.SecretHeader},
	} {
		*h.name = textproto.CanonicalMIMEHeaderKey(*h.name)
		if h.at != nil {
			checkHeader(h.at, *h.name, seen)
		}
		seen[*h.name] = true
	}
	if (p.SecretHeader == "") != (p.SecretFile == "") {
		n.Fault("must have both or none of secret_header and secret_file")
	}
	p.readSecret(n)
	if a.AnyOrigin() {
		n.FaultKey("must not be there while SLUICE_CORS_ORIGINS is *: any page could ask as the user who looks at it")
	}
}

func checkHeader(at *file.Node, name string, seen map[string]bool) {
	switch {
	case strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-") != "":
		at.Fault("must be a header's name of letters, digits and -")
	case strings.Contains(credentialHeaders, " "+name+" "):
		at.Fault("is a header of clients")
	case seen[name]:
		at.Fault("is named twice")
	}
}

func (p *Proxy) readSecret(n *file.Node) {
	at := n.Get("secret_file")
	path, content, ok := at.ReadFile()
	if !ok {
		return
	}
	p.SecretFile = path
	secret := strings.TrimSuffix(strings.TrimSuffix(string(content), "\n"), "\r")
	for _, c := range []byte(secret) {
		if c <= ' ' || c > '~' {
			secret = ""
		}
	}
	if secret == "" || len(secret) > 4<<10 {
		at.Fault("the file must hold 1 to 4096 printable characters of ASCII without spaces")
		return
	}
	p.Secret = config.Secret(secret)
	n.Hide("secret_file", p.Secret)
}
