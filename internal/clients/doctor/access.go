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

// credentialHeaders are the headers with a credential.
func credentialHeaders() []string { return []string{"Authorization", "X-API-Key"} }

// soon is how long before its end a certificate should be another one.
const soon = 14 * 24 * time.Hour

// checkCertificate judges how long the certificate of a connection is good.
func (d *examination) checkCertificate(state *tls.ConnectionState) {
	if state == nil || len(state.PeerCertificates) == 0 {
		return
	}
	end := state.PeerCertificates[0].NotAfter
	left := time.Until(end)
	f := Finding{Check: "certificate", Verdict: Good, Seen: fmt.Sprintf("good until %s, for %s", end.UTC().Format("2006-01-02 15:04 MST"), formatCount(int(left/(24*time.Hour)), "day"))}
	if left < soon {
		f.Verdict, f.Means = Notice, "Clients refuse it after that."
		f.Change = []string{"Renew the certificate: the gateway reads the files of SLUICE_TLS_CERT and SLUICE_TLS_KEY again by itself"}
	}
	d.addFinding(f)
}

// me is the reply of GET /me about the sender.
type me struct {
	User, Tenant, Method string
	Scopes               []string
}

// checkAccess finds out whether a credential is needed, and whether the given one is valid. It
// returns false if nothing more can be asked without one.
func (d *examination) checkAccess(ctx context.Context) bool {
	bare := *d
	bare.cfg.Header = d.cfg.Header.Clone()
	for _, name := range credentialHeaders() {
		bare.cfg.Header.Del(name)
	}
	resp, body, err := bare.fetchReply(ctx, http.MethodGet, "/me", "")
	if err != nil {
		d.addFinding(Finding{Check: "access", Verdict: Problem, Seen: err.Error()})
		return true
	}
	switch who, ok := readMe(resp, body); {
	case resp.StatusCode == http.StatusNotFound && isGateway(resp), ok && (who.Method == "" || who.Method == "none"):
		d.reportOpen()
		return true
	case ok:
		d.addGood("access", "without a credential: %s", who)
	case resp.StatusCode == http.StatusUnauthorized && isGateway(resp):
		d.addGood("access", "only who shows a credential may ask%s", challengeText(resp))
	default:
		f := strangerFinding("access", resp)
		f.Verdict = Notice
		d.addFinding(f)
		return true
	}
	return d.checkCredential(ctx) || resp.StatusCode == http.StatusOK
}

// reportOpen reports a gateway without authentication.
func (d *examination) reportOpen() {
	if isLoopback(d.cfg.URL.Hostname()) {
		d.addGood("access", "anybody on this machine may ask, as anybody")
		return
	}
	d.addFinding(Finding{"access", Notice, "anybody who reaches this address may ask, as anybody",
		"No credential is asked for.", []string{"If others reach it, give out keys: sluice keys add, and SLUICE_API_KEYS"}})
}

// checkCredential judges the credential that is sent. It returns false if it does not count.
func (d *examination) checkCredential(ctx context.Context) bool {
	if !slices.ContainsFunc(credentialHeaders(), func(name string) bool { return d.cfg.Header.Get(name) != "" }) {
		d.addFinding(Finding{"access", Problem, "no credential is there to go on with",
			"The checks behind the door cannot run.", []string{"Set SLUICE_KEY to a key or token"}})
		return false
	}
	if d.cfg.URL.Scheme == "http" && !isLoopback(d.cfg.URL.Hostname()) {
		d.addFinding(Finding{"access", Problem, "the credential is sent in the clear",
			"Anyone on the way can use it.", []string{"Serve TLS (SLUICE_TLS_CERT, SLUICE_TLS_KEY), or put a proxy with TLS in front"}})
	}
	resp, body, err := d.fetchReply(ctx, http.MethodGet, "/me", "")
	if err != nil {
		d.addFinding(Finding{Check: "access", Verdict: Problem, Seen: err.Error()})
		return false
	}
	who, ok := readMe(resp, body)
	if ok {
		d.addGood("access", "with the credential: %s", who)
		return true
	}
	f := Finding{"access", Problem, resp.Status + " with the credential", "It does not count.",
		[]string{"Look at auth_failed in the gateway's log for the reason", "Show another one in SLUICE_KEY"}}
	if resp.StatusCode == http.StatusForbidden {
		f.Means, f.Change = "It counts, but its tenant may not ask.", []string{"Look at auth_denied in the gateway's log for the reason"}
	}
	d.addFinding(f)
	return false
}

// readMe reads a reply of GET /me.
func readMe(resp *http.Response, body []byte) (who me, ok bool) {
	ok = resp.StatusCode == http.StatusOK && json.Unmarshal(body, &who, json.MatchCaseInsensitiveNames(true)) == nil
	return who, ok
}

// String returns the sender and its scopes in words.
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
	return joinParts(who, "by "+m.Method, "allowed: "+scopes)
}

// challengeText returns the challenge of a reply, for people.
func challengeText(resp *http.Response) string {
	if wanted := resp.Header.Get("WWW-Authenticate"); wanted != "" {
		return " (" + wanted + ")"
	}
	return ""
}

// isLoopback reports whether a host is this machine itself.
func isLoopback(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(net.ParseIP(host).String())
	return err == nil && ip.Unmap().IsLoopback()
}
