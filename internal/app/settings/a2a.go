package settings

import (
	_ "embed"
	"net/url"
	"strings"

	"sluice/internal/base/config/file"
)

// A2A is the section a2a of the configuration file.
type A2A struct {
	Enabled bool `key:"enabled"`
	// PublicURL is where clients reach the gateway, without a slash at the end; empty: as
	// they say themselves.
	PublicURL string
	// NoV03 leaves version 0.3 of the protocol out.
	NoV03 bool `key:"v03" is:"false"`
}

//go:embed a2a.json
var a2aSchema string

// a2aSection is the section a2a of the configuration file.
func a2aSection(s *A2A) file.Section {
	return file.Section{Name: "a2a", Schema: a2aSchema, Into: s, Read: func(n *file.Node) {
		at := n.Get("public_url")
		text, given := at.Text()
		if !given {
			return
		}
		u, err := url.Parse(text)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			at.Fault("must be a URL with http or https and a host, without a query")
			return
		}
		s.PublicURL = strings.TrimRight(text, "/")
	}}
}
