// This file reads what a remote agent has in place of a prompt, a model and tools: where
// its card is and which headers go with requests. Header values, and variables in the URL,
// are treated as secrets: they are kept out of the log and sent to the card's origin alone.

package router

import (
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
	"time"

	"sluice/config"
	"sluice/config/file"
	"sluice/internal/check"
)

// Remote is an agent that answers over A2A, somewhere else.
type Remote struct {
	Card string // URL of its card
	// Headers go with each request to the card's origin, and to no other.
	Headers map[string]config.Secret
	// NoStreaming asks for whole answers.
	NoStreaming bool
	Refresh     time.Duration // between two readings of the card
}

// Bounds of a Remote.
const (
	defaultRefresh  = 5 * time.Minute
	maxHeaderLength = 4 << 10
	maxCardURL      = 2048
)

// cardPath is where a card is if its URL says no more than the host (RFC 8615).
const cardPath = "/.well-known/agent-card.json"

// localKeys are those of an agent that runs here.
func localKeys() []string {
	return []string{"role", "prompt", "prompt_file", "model", "temperature", "tools", "max_steps", "max_output_tokens"}
}

// remoteKeys are those of an agent that does not.
func remoteKeys() []string { return []string{"headers", "streaming", "refresh"} }

// remote reads what a remote agent has in place of prompt, model and tools.
func (r *agentReader) remote() {
	card := r.node.Get("card")
	if card == nil {
		for _, key := range remoteKeys() {
			if n := r.node.Get(key); n != nil {
				n.FaultKey("belongs to a remote agent, which has a card")
			}
		}
		return
	}
	for _, key := range localKeys() {
		if n := r.node.Get(key); n != nil {
			n.FaultKey("is not taken beside card: a remote agent has its own")
		}
	}
	remote := &Remote{Refresh: defaultRefresh, Headers: r.headers()}
	remote.Card = readCard(card)
	for name, value := range card.Variables() {
		r.hide("card (${"+name+"})", value.Reveal())
	}
	streaming, given := r.node.Get("streaming").Bool()
	remote.NoStreaming = given && !streaming
	takeDuration(&remote.Refresh, r.node.Get("refresh"), 10*time.Second, 24*time.Hour)
	r.spec.Remote = remote
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
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.Fragment != "" || len(text) > maxCardURL {
		n.Fault("must be a URL with http or https and a host, without a user and a fragment")
		return ""
	}
	if strings.Trim(u.Path, "/") == "" {
		u.Path = cardPath
	}
	return u.String()
}

// refusedHeaders are set by the connection or by us (RFC 9110, section 7.6.1).
const refusedHeaders = " Connection Keep-Alive Proxy-Authenticate Proxy-Authorization Proxy-Connection Te Trailer Transfer-Encoding Upgrade Host " +
	"Accept Accept-Encoding Content-Type Content-Length A2a-Version A2a-Extensions "

// headers reads headers of requests. Each value is treated as a secret.
func (r *agentReader) headers() map[string]config.Secret {
	all := map[string]config.Secret{}
	for h := range r.node.Get("headers").Members() {
		name := textproto.CanonicalMIMEHeaderKey(h.Name())
		value, ok := h.Text()
		_, twice := all[name]
		switch {
		case !check.HeaderName(h.Name()):
			h.FaultKey("is not a header's name")
		case strings.Contains(refusedHeaders, " "+name+" "):
			h.FaultKey("is a header that cannot be set")
		case twice:
			h.FaultKey("is given twice: names that differ only in upper and lower case are the same")
		case !ok:
		case len(value) > maxHeaderLength:
			h.Fault("must not be longer than 4 KiB")
		case !check.HeaderValue(value):
			h.Fault("must not hold line ends or other control characters")
		default:
			all[name] = config.Secret(value)
			r.hide("headers/"+h.Name(), value)
		}
	}
	return all
}

// hide keeps a value out of the log.
func (r *agentReader) hide(field, value string) {
	if value == "" {
		return
	}
	if r.cfg.FileSecrets == nil {
		r.cfg.FileSecrets = map[string]config.Secret{}
	}
	r.cfg.FileSecrets["/agents/"+r.spec.ID+"/"+field] = config.Secret(value)
}

// Header returns the headers as they are sent.
func (r *Remote) Header() http.Header {
	h := http.Header{}
	for name, value := range r.Headers {
		h.Set(name, value.Reveal())
	}
	return h
}
