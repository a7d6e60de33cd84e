// Package a2a holds what the configuration file says of the A2A protocol.
package a2a

import (
	_ "embed"
	"net/url"
	"strings"

	"sluice/config/file"
)

// Spec is the section a2a of the configuration file.
type Spec struct {
	Enabled bool `key:"enabled"`
	// PublicURL is where clients reach the gateway, without a slash at the end; empty: as
	// they say themselves.
	PublicURL string
	// NoV03 leaves version 0.3 of the protocol out.
	NoV03 bool `key:"v03" is:"false"`
}

//go:embed a2a.json
var schema string

// Section is the section a2a of the configuration file.
func Section(s *Spec) file.Section {
	return file.Section{Name: "a2a", Schema: schema, Into: s, Read: func(n *file.Node) {
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
