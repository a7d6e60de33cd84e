package doctor

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// credentials are the headers in which somebody shows who they are.
func credentials() []string { return []string{"Authorization", "X-API-Key"} }

// soon is how long before its end a certificate should be another one.
const soon = 14 * 24 * time.Hour

// certificate judges how long the certificate of a connection is good.
func (d *examination) certificate(state *tls.ConnectionState) {
	if state == nil || len(state.PeerCertificates) == 0 {
		return
	}
	end := state.PeerCertificates[0].NotAfter
	left := time.Until(end)
	f := Finding{Check: "certificate", Verdict: Good, Seen: fmt.Sprintf("good until %s, for %s", end.UTC().Format("2006-01-02 15:04 MST"), count(int(left/(24*time.Hour)), "day"))}
	if left < soon {
		f.Verdict, f.Means = Note, "Clients refuse it after that."
		f.Change = []string{"Renew the certificate: the gateway reads the files of SLUICE_TLS_CERT and SLUICE_TLS_KEY again by itself"}
	}
	d.found(f)
}

// me is what GET /me says of who asks.
type me struct {
	User, Tenant, Method string
	Scopes               []string
}

// access finds out who may ask: anybody, or who shows a credential, and whether the one that
// there is counts. It returns false if nothing more can be asked without one.
func (d *examination) access(ctx context.Context) bool {
	bare := *d
	bare.cfg.Header = d.cfg.Header.Clone()
	for _, name := range credentials() {
		bare.cfg.Header.Del(name)
	}
	resp, body, err := bare.ask(ctx, http.MethodGet, "/me", "")
	if err != nil {
		d.found(Finding{Check: "access", Verdict: Problem, Seen: err.Error()})
		return true
	}
	switch who, ok := readMe(resp, body); {
	case resp.StatusCode == http.StatusNotFound && ours(resp), ok && (who.Method == "" || who.Method == "none"):
		d.open()
		return true
	case ok:
		d.ok("access", "without a credential: %s", who)
	case resp.StatusCode == http.StatusUnauthorized && ours(resp):
		d.ok("access", "only who shows a credential may ask%s", challenge(resp))
	default:
		f := stranger("access", resp)
		f.Verdict = Note
		d.found(f)
		return true
	}
	return d.credential(ctx) || resp.StatusCode == http.StatusOK
}

// open reports a gateway that asks nobody who they are.
func (d *examination) open() {
	if isLoopback(d.cfg.URL.Hostname()) {
		d.ok("access", "anybody on this machine may ask, as anybody")
		return
	}
	d.found(Finding{"access", Note, "anybody who reaches this address may ask, as anybody",
		"No credential is asked for.", []string{"If others reach it, give out keys: sluice keys add, and SLUICE_API_KEYS"}})
}

// credential judges the credential that is sent. It returns false if it does not count.
func (d *examination) credential(ctx context.Context) bool {
	if !slices.ContainsFunc(credentials(), func(name string) bool { return d.cfg.Header.Get(name) != "" }) {
		d.found(Finding{"access", Problem, "no credential is there to go on with",
			"What is behind the door cannot be looked at.", []string{"Set SLUICE_KEY to a key or token"}})
		return false
	}
	if d.cfg.URL.Scheme == "http" && !isLoopback(d.cfg.URL.Hostname()) {
		d.found(Finding{"access", Problem, "the credential is sent in the clear",
			"Anyone on the way can use it.", []string{"Serve TLS (SLUICE_TLS_CERT, SLUICE_TLS_KEY), or put a proxy with TLS in front"}})
	}
	resp, body, err := d.ask(ctx, http.MethodGet, "/me", "")
	if err != nil {
		d.found(Finding{Check: "access", Verdict: Problem, Seen: err.Error()})
		return false
	}
	who, ok := readMe(resp, body)
	if ok {
		d.ok("access", "with the credential: %s", who)
		return true
	}
	f := Finding{"access", Problem, resp.Status + " with the credential", "It does not count.",
		[]string{"Look at auth_failed in the gateway's log, which says why", "Show another one in SLUICE_KEY"}}
	if resp.StatusCode == http.StatusForbidden {
		f.Means, f.Change = "It counts, but its tenant may not ask.", []string{"Look at auth_denied in the gateway's log, which says why"}
	}
	d.found(f)
	return false
}

// readMe reads a reply of GET /me.
func readMe(resp *http.Response, body []byte) (who me, ok bool) {
	ok = resp.StatusCode == http.StatusOK && json.Unmarshal(body, &who, json.MatchCaseInsensitiveNames(true)) == nil
	return who, ok
}

// String says who it is and what they may.
func (m me) String() string {
	who := "user " + m.User
	if m.User == "" {
		who = "nobody in particular"
	}
	if m.Tenant != "" {
		who += " of the tenant " + m.Tenant
	}
	scopes := "nothing"
	if len(m.Scopes) > 0 {
		scopes = strings.Join(m.Scopes, ", ")
	}
	return join(who, "by "+m.Method, "allowed: "+scopes)
}

// challenge returns what the reply wants, for people.
func challenge(resp *http.Response) string {
	if wanted := resp.Header.Get("WWW-Authenticate"); wanted != "" {
		return " (" + wanted + ")"
	}
	return ""
}

// isLoopback says whether a host is this machine itself.
func isLoopback(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(net.ParseIP(host).String())
	return err == nil && ip.Unmap().IsLoopback()
}
