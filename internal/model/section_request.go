package model

import (
	"net/url"
	"strings"
	"unicode"

	"sluice/internal/base/check"
	"sluice/internal/base/config"
	"sluice/internal/base/config/file"
)

const maxExtra = 16 << 10

// readEndpoint reads where requests go, and with which key.
func (r *reader) readEndpoint(p Preset) {
	if p.Endpoint == "" {
		return
	}
	n := r.node.Get("endpoint")
	own, _ := url.Parse(p.Endpoint) // a constant
	u := own
	if n != nil {
		text, ok := n.Text()
		if !ok {
			return
		}
		given, err := endpointURL(text)
		if err != nil {
			n.Fault(err.Error())
			return
		}
		u = given
		n.HideVariables()
	}
	r.setEndpoint(*u, p.End)
	r.readKey(p, sameOrigin(own, u))
}

// endpointURL accepts URLs whose parts all reach the server.
func endpointURL(text string) (*url.URL, error) {
	if strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return nil, errText("must be a URL in ASCII without spaces")
	}
	if err := check.URL(text); err != nil {
		return nil, err
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errText("is not a URL")
	case u.User != nil:
		return nil, errText("must not hold a user name or password: a key belongs into api_key")
	case strings.Contains(text, "#"):
		return nil, errText("must not hold a fragment")
	}
	return u, nil
}

// errText is the text of an error about a value: "must be …".
type errText string

// It is fit to follow a place in the file.
func (e errText) Error() string { return string(e) }

// chooseAPI sets the API of OpenAI's protocol, and returns the end of its paths.
func (r *reader) chooseAPI(u *url.URL) (end string) {
	s := &r.spec
	if s.API == "" {
		s.API = apiOf(u)
	}
	end, other := chatEnd, responsesEnd
	if s.API == responsesAPI {
		end, other = responsesEnd, chatEnd
	}
	if strings.HasSuffix(strings.TrimRight(u.Path, "/"), other) {
		r.node.Get("api").Fault("is not the one that endpoint ends with")
	}
	if tags := r.node.Get("think_tags"); tags != nil && s.API != ChatAPI {
		tags.FaultKey("belongs to api chat")
	}
	return end
}

// setEndpoint completes the endpoint for the API, or with the end that all paths of the
// protocol have.
func (r *reader) setEndpoint(u url.URL, end string) {
	s := &r.spec
	switch s.Provider {
	case OpenAI:
		s.Endpoint = requestURL(u, r.chooseAPI(&u))
	case Gemini: // the path is that of each call
		u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), strings.TrimRight(u.RawPath, "/")
		s.Endpoint = u.String()
	default:
		s.Endpoint = requestURL(u, end)
	}
}

// readKey reads the key, or takes the preset's variable if the request goes to its host.
func (r *reader) readKey(p Preset, home bool) {
	n := r.node.Get("api_key")
	if n == nil {
		r.presetKey(p, home)
		return
	}
	text, ok := n.Text()
	switch {
	case !ok:
		return
	case !check.Key(text):
		n.Fault("must be printable ASCII without spaces and line breaks")
		return
	case text != "" && !hasVariable(n):
		n.Warn("is in the file itself; write ${NAME} and set the variable NAME")
	}
	r.setKey(text)
}

// hasVariable reports whether ${NAME} stands in the text of n.
func hasVariable(n *file.Node) bool {
	for range n.Variables() {
		return true
	}
	return false
}

// setKey keeps a key, and keeps it out of the log.
func (r *reader) setKey(text string) {
	r.spec.APIKey = config.Secret(text)
	r.node.Hide("api_key", r.spec.APIKey)
}

// presetKey takes the first variable of the preset that is set. It never sends a key to a host that
// it does not belong to: home reports whether the request goes to the preset's own. A missing key is
// only a warning, because self-hosted servers often need none.
func (r *reader) presetKey(p Preset, home bool) {
	n := r.node.Get("provider")
	for _, name := range p.Keys {
		value, _ := n.Environment(name)
		text := strings.TrimSpace(value.Reveal())
		switch {
		case text == "":
			continue
		case !home:
			n.Warn(name + " is not used, because endpoint is not the preset's host; name it as api_key if it is meant")
			return
		case !check.Key(text):
			n.Fault("the variable " + name + " must be printable ASCII without spaces and line breaks")
			return
		}
		r.setKey(text)
		return
	}
	if home && len(p.Keys) > 0 {
		r.spec.MissingKey = p.Keys[0]
		n.Warn("there is no api_key, and the variable " + p.Keys[0] + " is not set")
	}
}

// refusedHeaders are set by the connection or by us (RFC 9110, section 7.6.1).
const refusedHeaders = " Connection Keep-Alive Proxy-Authenticate Proxy-Authorization Proxy-Connection Te Trailer Transfer-Encoding Upgrade Host Content-Length X-Request-Id "

// checkExtra checks members of the request's body that we do not set.
func (r *reader) checkExtra() {
	n := r.node.Get("extra")
	if n.Kind() != '{' {
		return
	}
	for m := range n.Members() {
		if strings.Contains(ourMembers, " "+m.Name()+" ") {
			m.FaultKey("is set by the gateway and cannot be replaced")
		}
	}
	if !n.Sound() {
		return
	}
	if len(r.spec.Extra) > maxExtra {
		n.Fault("must not be longer than 16 KiB")
	}
	n.HideVariables()
}

// ourMembers carry the conversation, in any of the protocols.
const ourMembers = " messages input contents system system_instruction systemInstruction instructions tools functions stream model "

// isPrintable reports whether all characters can be printed. Spaces count as such,
// line breaks do not.
func isPrintable(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool { return !unicode.IsPrint(c) })
}
