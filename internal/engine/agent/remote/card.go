package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	sdkclient "github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"

	"sluice/internal/turn/chat"
)

// Bounds of a card.
const (
	maxCard      = 256 << 10
	cardTime     = 10 * time.Second
	maxName      = 64 // bytes, as those below
	maxSkill     = 80
	maxSkills    = 16
	maxExample   = 160
	maxExamples  = 10
	maxInterface = 2048
)

// Texts are a card's texts for people and for routers: single lines without control characters, and
// of bounded length. They are data of the other side's.
type Texts struct {
	Name         string
	Capabilities []string // names and tags of skills
	Examples     []string
}

// equal reports whether both say the same.
func (t Texts) equal(o Texts) bool {
	return t.Name == o.Name && slices.Equal(t.Capabilities, o.Capabilities) && slices.Equal(t.Examples, o.Examples)
}

// card is what we need of an agent's card.
type card struct {
	texts     Texts
	transport sdkclient.Transport
	version   string // of the protocol: 1.0 or 0.3
	tenant    string
	streaming bool
}

// document is a card as it is written, in 1.0 or 0.3.
type document struct {
	Name         string
	Capabilities struct {
		Streaming  bool
		Extensions []struct {
			URI      string
			Required bool
		}
	}
	Skills []struct {
		Name           string
		Tags, Examples []string
	}
	SupportedInterfaces []endpoint
	// Of 0.3.
	ProtocolVersion      string
	URL                  string
	PreferredTransport   string
	AdditionalInterfaces []struct{ URL, Transport string }
}

// endpoint is where an agent can be reached, and how.
type endpoint struct {
	URL, ProtocolBinding, ProtocolVersion, Tenant string
}

// fetchCard reads the card.
func (a *Agent) fetchCard(ctx context.Context) (*card, error) {
	ctx, cancel := context.WithTimeout(ctx, cardTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.cfg.Card, nil)
	if err != nil {
		return nil, errors.New("the card's URL cannot be used")
	}
	req.Header.Set("Accept", "application/json")
	near := false
	req = req.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) {
		near = isNear(c.Conn.RemoteAddr())
	}}))
	resp, err := a.newClient(a.cfg.Transport).Do(req)
	if err != nil {
		return nil, withoutURL(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the card's status is %d", resp.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxCard+1))
	if err != nil {
		return nil, fmt.Errorf("the card could not be read: %w", withoutURL(err))
	}
	if len(text) > maxCard {
		return nil, errors.New("the card has more than 256 KiB")
	}
	return a.parseCard(text, near)
}

// withoutURL returns err without the URL, as a URL may hold a secret.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// parseCard reads a card that is there; near says that it came from an address that is not
// public. Its errors hold no text of the card.
func (a *Agent) parseCard(text []byte, near bool) (*card, error) {
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, errors.New("the card is not the JSON of a card")
	}
	if d.requiresExtension() {
		return nil, errors.New("the card requires an extension, and none is supported")
	}
	c := &card{texts: d.publicTexts(), streaming: d.Capabilities.Streaming && !a.cfg.NoStreaming}
	for _, e := range d.listEndpoints() { // the order is the agent's wish
		version := versionOf(e.ProtocolVersion)
		if t := a.transportTo(e, version, near); t != nil {
			c.transport, c.version, c.tenant = t, version, e.Tenant
			return c, nil
		}
	}
	return nil, a.whyUnusable(&d)
}

func (d *document) requiresExtension() bool {
	for _, e := range d.Capabilities.Extensions {
		if e.Required {
			return true
		}
	}
	return false
}

// transportTo returns what speaks a version at an endpoint; nil: we do not, or must not.
func (a *Agent) transportTo(e endpoint, version string, near bool) sdkclient.Transport {
	if version != "1.0" && version != "0.3" || !a.isTrusted(e.URL) {
		return nil
	}
	via := a.cfg.Transport
	if !near && originOf(e.URL) != a.origin {
		via = a.cfg.Foreign
	}
	return transportFor(version, e, a.newClient(via))
}

// whyUnusable returns the reason why no endpoint of a card can be used.
func (a *Agent) whyUnusable(d *document) error {
	for _, e := range d.listEndpoints() {
		if v := versionOf(e.ProtocolVersion); (v == "1.0" || v == "0.3") && !a.isTrusted(e.URL) {
			return errors.New("the card's interface is on another origin, which interfaces does not name")
		}
	}
	return errors.New("the card has no interface of A2A 1.0 or 0.3 over JSON-RPC or HTTP+JSON")
}

// listEndpoints lists where the agent can be reached, in the card's order.
func (d *document) listEndpoints() []endpoint {
	if len(d.SupportedInterfaces) > 0 {
		return d.SupportedInterfaces
	}
	version := d.ProtocolVersion
	list := []endpoint{{URL: d.URL, ProtocolBinding: d.PreferredTransport, ProtocolVersion: version}}
	if d.PreferredTransport == "" { // 0.3: JSON-RPC
		list[0].ProtocolBinding = string(sdk.TransportProtocolJSONRPC)
	}
	for _, i := range d.AdditionalInterfaces {
		list = append(list, endpoint{URL: i.URL, ProtocolBinding: i.Transport, ProtocolVersion: version})
	}
	return list
}

// versionOf returns the first two numbers of a version, or nothing.
func versionOf(s string) string {
	parts := strings.SplitN(s, ".", 3)
	if len(parts) < 2 {
		return ""
	}
	for _, p := range parts[:2] {
		if _, err := strconv.ParseUint(p, 10, 8); err != nil {
			return ""
		}
	}
	return parts[0] + "." + parts[1]
}

// isTrusted reports whether requests may go to an endpoint: to the card's origin, and to those
// that the operator has named. A card could name a service of our own network otherwise.
func (a *Agent) isTrusted(endpoint string) bool {
	u, err := url.Parse(endpoint)
	if err != nil || len(endpoint) > maxInterface || !isEndpoint(u) {
		return false
	}
	at := originOf(endpoint)
	return at == a.origin || slices.ContainsFunc(a.cfg.Interfaces, func(named string) bool { return originOf(named) == at })
}

func isEndpoint(u *url.URL) bool {
	return u.Host != "" && u.User == nil && u.Fragment == "" && (u.Scheme == "http" || u.Scheme == "https")
}

// originOf returns scheme, host and port of a URL; empty if the text is not a URL with a host.
func originOf(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return ""
	}
	return originOfURL(u)
}

func originOfURL(u *url.URL) string {
	scheme, port := strings.ToLower(u.Scheme), u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[scheme]
	}
	return scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}

// transportFor speaks a version and binding at an endpoint; nil: we do not.
func transportFor(version string, e endpoint, client *http.Client) sdkclient.Transport {
	rpc := strings.EqualFold(e.ProtocolBinding, string(sdk.TransportProtocolJSONRPC))
	if !rpc && !strings.EqualFold(e.ProtocolBinding, string(sdk.TransportProtocolHTTPJSON)) {
		return nil
	}
	switch {
	case rpc && version == "1.0":
		return sdkclient.NewJSONRPCTransport(e.URL, client)
	case rpc:
		return a2av0.NewJSONRPCTransport(a2av0.JSONRPCTransportConfig{URL: e.URL, Client: client})
	case version == "1.0":
		u, _ := url.Parse(e.URL) // as trusts has
		return sdkclient.NewRESTTransport(u, client)
	}
	return olderREST(e.URL, client)
}

func olderREST(endpoint string, client *http.Client) sdkclient.Transport {
	t, err := a2av0.NewRESTTransport(a2av0.RESTTransportConfig{URL: endpoint, Client: client})
	if err != nil {
		return nil
	}
	return t
}

// publicTexts returns the card's texts for people.
func (d *document) publicTexts() (t Texts) {
	t.Name = singleLine(d.Name, maxName)
	for _, s := range d.Skills {
		for _, name := range append([]string{s.Name}, s.Tags...) {
			t.addCapability(singleLine(name, maxSkill))
		}
		for _, e := range s.Examples {
			if e := singleLine(e, maxExample); e != "" && len(t.Examples) < maxExamples {
				t.Examples = append(t.Examples, e)
			}
		}
	}
	return t
}

func (t *Texts) addCapability(name string) {
	if name != "" && len(t.Capabilities) < maxSkills && !slices.Contains(t.Capabilities, name) {
		t.Capabilities = append(t.Capabilities, name)
	}
}

// singleLine makes one line of a text of the card. It stands in the prompt of the router. So it
// must not look like a further line, nor hide anything from a person who reads the prompt.
func singleLine(s string, limit int) string {
	head, _ := chat.Truncate(s, 4*limit) // the rest need not be looked at
	return chat.Line(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case chat.Hidden(r):
			return -1
		}
		return r
	}, head), limit)
}
