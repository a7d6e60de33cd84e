package file

import (
	"net/textproto"
	"strings"

	"sluice/internal/base/check"
	"sluice/internal/base/config"
	"sluice/internal/base/redact"
)

// Hide keeps a member's value out of the log. name is the member's name. If it is a name for
// secrets, people learn by it that the value is too short to be hidden.
func (n *Node) Hide(name string, value config.Secret) {
	if n.document.Hide == nil {
		return
	}
	setting := ""
	if redact.SecretName(name) {
		setting = "SLUICE_CONFIG: " + n.jsonPointer() + "/" + name
	}
	n.document.Hide("", value)
	n.document.Hide(setting, config.Secret(value.Credentials()))
}

// HideVariables hides what variables have put into the strings of the value: it is often a
// token. It works on nil.
func (n *Node) HideVariables() { n.hideWithin(n) }

// hideWithin hides those of n as a part of whole.
func (n *Node) hideWithin(whole *Node) {
	for name, value := range n.Variables() {
		whole.parent.Hide(whole.name+" (${"+name+"})", value)
	}
	for m := range n.Members() {
		m.hideWithin(whole)
	}
}

// maxHeader bounds the value of a header, in bytes.
const maxHeader = 4 << 10

// Headers reads the headers of requests, by their canonical names, in which they are sent. refused
// lists the names that cannot be set, each between blanks. Each value is hidden. nil without
// headers.
func (n *Node) Headers(refused string) map[string]config.Secret {
	var all map[string]config.Secret
	seen := map[string]bool{}
	for h := range n.Members() {
		name := textproto.CanonicalMIMEHeaderKey(h.name)
		value, ok := h.Text()
		switch {
		case !check.HeaderName(h.name):
			h.FaultKey("is not a header's name")
		case strings.Contains(refused, " "+name+" "):
			h.FaultKey("is a header that cannot be set")
		case seen[name]:
			h.FaultKey("is given twice: names that differ only in upper and lower case are the same")
		case !ok:
		case len(value) > maxHeader:
			h.Fault("must not be longer than 4 KiB")
		case !check.HeaderValue(value):
			h.Fault("must not hold line ends or other control characters")
		default:
			if all == nil {
				all = map[string]config.Secret{}
			}
			all[name] = config.Secret(value)
			n.Hide(h.name, config.Secret(value))
		}
		seen[name] = true
	}
	return all
}
