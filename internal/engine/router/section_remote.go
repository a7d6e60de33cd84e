// This file reads the keys of a remote agent that replace prompt, model and tools: the URL of its
// card, and the headers for its requests. Header values, and variables in the URL, are treated as
// secrets: they are kept out of the log and sent to the card's origin alone.

package router

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"sluice/internal/base/check"
	"sluice/internal/base/config"
	"sluice/internal/base/config/file"
)

// Remote is an agent that answers over A2A, somewhere else.
type Remote struct {
	Card string // URL of its card
	// Headers go with each request to the card's origin, and to no other.
	Headers map[string]config.Secret
	// Interfaces are origins, besides the card's own, that the card may lead to.
	Interfaces []string `key:"interfaces"`
	// NoStreaming asks for whole answers.
	NoStreaming bool          `key:"streaming" is:"false"`
	Refresh     time.Duration `key:"refresh" from:"10s" to:"24h"` // between two readings of the card
}

// Bounds of a Remote.
const (
	defaultRefresh = 5 * time.Minute
	maxCardURL     = 2048
)

// cardPath is where a card is if its URL says no more than the host (RFC 8615).
const cardPath = "/.well-known/agent-card.json"

// localKeys are those of an agent that runs here.
func localKeys() []string {
	return []string{"role", "prompt", "prompt_file", "model", "temperature", "tools", "max_steps", "max_output_tokens"}
}

// remoteKeys are those of an agent that does not.
func remoteKeys() []string { return []string{"headers", "interfaces", "streaming", "refresh"} }

// readRemote reads the keys of a remote agent that replace prompt, model and tools.
func (r *agentReader) readRemote() {
	card := r.node.Get("card")
	if card == nil {
		r.refuseKeys(remoteKeys(), "belongs to a remote agent, which has a card")
		return
	}
	r.refuseKeys(localKeys(), "is not taken beside card: a remote agent has its own")
	remote := &Remote{Refresh: defaultRefresh, Headers: r.node.Get("headers").Headers(refusedHeaders)}
	r.node.Decode(remote)
	remote.Card = readCard(card)
	card.HideVariables()
	for origin := range r.node.Get("interfaces").Members() {
		if text, ok := origin.Text(); ok {
			if err := checkInterface(text); err != nil {
				origin.Fault(err.Error())
			}
		}
	}
	r.spec.Remote = remote
}

// refuseKeys reports those of the keys that are there.
func (r *agentReader) refuseKeys(keys []string, why string) {
	for _, key := range keys {
		if n := r.node.Get(key); n != nil {
			n.FaultKey(why)
		}
	}
}

// readCard reads the URL of a card.
//
// The result is a URL with a path. "" where it has a fault.
func readCard(n *file.Node) string {
	text, ok := n.Text()
	if !ok {
		return ""
	}
	u, err := url.Parse(text)
	if err != nil || len(text) > maxCardURL || !isPlain(u) {
		n.Fault("must be a URL with http or https and a host, without a user and a fragment")
		return ""
	}
	if strings.Trim(u.Path, "/") == "" {
		u.Path = cardPath
	}
	return u.String()
}

// isPlain reports whether a URL has http or https and a host, without a user and a fragment.
func isPlain(u *url.URL) bool {
	return u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") && u.User == nil && u.Fragment == ""
}

// checkInterface accepts an origin that requests can be sent to.
func checkInterface(text string) error {
	if !strings.HasPrefix(text, "http://") && !strings.HasPrefix(text, "https://") {
		return errors.New("must begin with http:// or https://")
	}
	return check.Origin(text)
}

// refusedHeaders are set by the connection or by us (RFC 9110, section 7.6.1).
const refusedHeaders = " Connection Keep-Alive Proxy-Authenticate Proxy-Authorization Proxy-Connection Te Trailer Transfer-Encoding Upgrade Host " +
	"Accept Accept-Encoding Content-Type Content-Length A2a-Version A2a-Extensions "

// Header returns the headers as they are sent.
func (r *Remote) Header() http.Header {
	h := http.Header{}
	for name, value := range r.Headers {
		h.Set(name, value.Reveal())
	}
	return h
}
