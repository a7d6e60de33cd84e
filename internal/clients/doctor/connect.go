package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
)

// stages is when the parts of a connection were there, since the request began; 0 for a
// part that was not needed.
type stages struct {
	began                   time.Time
	addresses               int
	resolved, reached, safe time.Duration
	peer                    string
}

// clientTrace returns a trace that makes net/http fill in s.
func (s *stages) clientTrace() *httptrace.ClientTrace {
	since := func() time.Duration { return time.Since(s.began) }
	return &httptrace.ClientTrace{
		DNSDone:          func(i httptrace.DNSDoneInfo) { s.addresses, s.resolved = len(i.Addrs), since() },
		ConnectDone:      func(_, addr string, err error) { s.recordConnect(addr, err, since()) },
		TLSHandshakeDone: func(tls.ConnectionState, error) { s.safe = since() },
	}
}

// recordConnect ignores the addresses that were tried without success.
func (s *stages) recordConnect(addr string, err error, at time.Duration) {
	if err == nil {
		s.peer, s.reached = addr, at
	}
}

// String writes how long each part took, not when it ended. Without a name to resolve
// or without TLS that part is left out.
func (s *stages) String() string {
	var dns, secure string
	if s.addresses > 0 {
		dns = fmt.Sprintf("DNS %s (%s)", formatTime(s.resolved), formatCount(s.addresses, "address"))
	}
	if s.safe > 0 {
		secure = "TLS " + formatTime(s.safe-s.reached)
	}
	return joinParts(dns, fmt.Sprintf("TCP %s to %s", formatTime(s.reached-s.resolved), s.peer), secure)
}

// checkConnection asks /healthz. It returns false when nothing more can be asked.
func (d *examination) checkConnection(ctx context.Context) bool {
	d.reportProxy()
	s := stages{began: time.Now()}
	resp, body, err := d.fetchReply(httptrace.WithClientTrace(ctx, s.clientTrace()), http.MethodGet, "/healthz", "")
	if err != nil {
		d.addFinding(connectFinding(err, d.cfg.Timeout))
		return false
	}
	seen := joinParts(s.String(), resp.Proto)
	if resp.TLS != nil {
		seen = joinParts(seen, tls.VersionName(resp.TLS.Version))
	}
	if resp.ProtoMajor == 1 {
		d.addFinding(Finding{"connect", Notice, seen,
			"Over HTTP/1.1 a browser opens six connections to a host; a seventh stream waits until one of them ends.",
			[]string{"Offer HTTP/2 to browsers, which they use over TLS only (nginx: listen 443 ssl http2; HAProxy: alpn h2,http/1.1)"}})
	} else {
		d.addGood("connect", "%s", seen)
	}
	d.checkCertificate(resp.TLS)
	d.measureTrip(ctx)
	d.checkHealth(resp, body)
	return !isRedirect(resp)
}

// isRedirect reports whether a reply sends the client elsewhere.
func isRedirect(resp *http.Response) bool {
	return resp.StatusCode >= 300 && resp.StatusCode < 400
}

// reportProxy reports the proxy that this machine itself uses.
func (d *examination) reportProxy() {
	u, err := http.ProxyFromEnvironment(&http.Request{URL: d.cfg.URL})
	if err == nil && u != nil {
		d.addFinding(Finding{Check: "proxy", Verdict: Notice, Seen: "requests go through " + u.Host + ", as the environment of this process says",
			Means: "The findings below may come from that proxy."})
	}
}

// measureTrip keeps the shortest of three: it is to be the network's time alone.
func (d *examination) measureTrip(ctx context.Context) {
	for range 3 {
		began := time.Now()
		if _, _, err := d.fetchReply(ctx, http.MethodGet, "/healthz", ""); err != nil {
			return
		}
		if elapsed := time.Since(began); d.trip == 0 || elapsed < d.trip {
			d.trip = elapsed
		}
	}
}

// connectFinding returns the finding of a request without a reply. If it cannot explain the error,
// it reports the error alone.
func connectFinding(err error, timeout time.Duration) Finding {
	f := Finding{Check: "connect", Verdict: Problem, Seen: err.Error()}
	var (
		unknown *net.DNSError
		bad     *tls.CertificateVerificationError
		plain   tls.RecordHeaderError
		expired x509.CertificateInvalidError
	)
	switch {
	case errors.As(err, &unknown):
		f.Means, f.Change = "The name leads nowhere.", []string{"Correct --url, or the DNS record"}
	case errors.As(err, &expired) && expired.Reason == x509.Expired:
		f.Means, f.Change = "Clients refuse the certificate.", []string{"Renew the certificate"}
	case errors.As(err, &bad):
		f.Means = "Clients refuse the certificate."
		f.Change = []string{"Serve the whole chain of a certificate for this name; SSL_CERT_FILE names a CA of your own to this program"}
	case errors.As(err, &plain), strings.Contains(err.Error(), "gave HTTP response to HTTPS client"):
		f.Means, f.Change = "The program that listens there does not speak TLS.", []string{"Use http:// in --url, or switch TLS on at that port"}
	case errors.Is(err, syscall.ECONNREFUSED):
		f.Means, f.Change = "Nobody listens there.", []string{"Correct the port, or start what should listen"}
	case errors.Is(err, context.DeadlineExceeded):
		f.Seen = "no answer within " + formatTime(timeout)
		f.Means, f.Change = "Something drops the packets, or the server behind the proxy hangs.", []string{"Look at firewalls and security groups, then at the proxy's log"}
	}
	return f
}

// checkHealth judges the reply of /healthz.
func (d *examination) checkHealth(resp *http.Response, body []byte) {
	var reply struct {
		Status string `json:"status"`
	}
	if resp.StatusCode == http.StatusOK && json.Unmarshal(body, &reply) == nil && reply.Status == "ok" {
		d.addGood("healthz", "ok, in %s%s", formatTime(d.trip), signatureOf(resp))
		return
	}
	d.addFinding(strangerFinding("healthz", resp))
}

// signatureOf returns the headers that name the server of the reply.
func signatureOf(resp *http.Response) string {
	var parts []string
	for _, name := range []string{"Server", "Via", "X-Cache", "CF-Ray"} {
		if v := resp.Header.Get(name); v != "" {
			parts = append(parts, name+": "+v)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// strangerFinding is the finding that something other than the gateway has answered.
func strangerFinding(check string, resp *http.Response) Finding {
	kind := resp.Header.Get("Content-Type")
	if kind == "" {
		kind = "no content type"
	}
	f := Finding{Check: check, Verdict: Problem, Seen: fmt.Sprintf("%s with %s%s", resp.Status, kind, signatureOf(resp)),
		Means: "Something other than the gateway has answered.", Change: []string{"Correct --url, or let the proxy hand this path on to the gateway"}}
	if isRedirect(resp) {
		f.Seen = resp.Status + " to " + resp.Header.Get("Location")
		f.Means, f.Change = "A redirect loses the body of a POST in many clients.", []string{"Use the address that it leads to"}
	}
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		f.Means, f.Change = "A proxy in between asks for a credential.", []string{"Give the credential with SLUICE_KEY or --header"}
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		f.Means, f.Change = "A proxy answers, but it does not reach a gateway.", []string{"Start the gateway, or correct its address or health check at the proxy"}
	}
	return f
}

// readiness is the reply of GET /readyz.
type readiness struct {
	Status, Model string
	Streams       int
	Breakers      []struct{ Service, State string }
	MCP           []struct {
		Server    string
		Connected bool
	}
}

// checkReadiness judges the gateway's report about itself.
func (d *examination) checkReadiness(ctx context.Context) {
	resp, body, err := d.fetchReply(ctx, http.MethodGet, "/readyz", "")
	if err != nil {
		d.addFinding(Finding{Check: "readyz", Verdict: Problem, Seen: err.Error()})
		return
	}
	var reply readiness
	if json.Unmarshal(body, &reply, json.MatchCaseInsensitiveNames(true)) != nil || reply.Status == "" {
		d.addFinding(strangerFinding("readyz", resp))
		return
	}
	f := Finding{Check: "readyz", Verdict: Good, Seen: fmt.Sprintf("%s, model %s, %s open", reply.Status, reply.Model, formatCount(reply.Streams, "stream"))}
	if reply.Model == "" { // only operators may see it
		f.Seen = reply.Status
	}
	if reply.Status == "draining" {
		f.Verdict, f.Means = Problem, "This gateway stops and refuses new streams."
		f.Change = []string{"Let the load balancer ask /readyz, so that it sends new streams elsewhere"}
	}
	d.addFinding(f)
	d.checkClocks(resp)
	d.reportServices(&reply)
}

// reportServices reports the services that the gateway does without.
func (d *examination) reportServices(reply *readiness) {
	for _, b := range reply.Breakers {
		if b.State != "closed" {
			d.addFinding(Finding{"readyz", Problem, "the circuit breaker of " + b.Service + " is " + b.State,
				"The service failed several times in a row; turns run without it for now.", []string{"Look at circuit_breaker_opened in the gateway's log"}})
		}
	}
	for _, m := range reply.MCP {
		if !m.Connected {
			d.addFinding(Finding{"readyz", Problem, "the MCP server " + m.Server + " is not connected",
				"The model cannot use its tools.", []string{"Look at mcp_connect_failed in the gateway's log"}})
		}
	}
}

// clocksDiffer is a difference of two clocks that breaks something: tokens hold within a minute,
// and a Date counts whole seconds.
const clocksDiffer = 30 * time.Second

// checkClocks reports a clock of the gateway that differs from that of this machine.
func (d *examination) checkClocks(resp *http.Response) {
	at, err := http.ParseTime(resp.Header.Get("Date"))
	ahead := time.Until(at).Round(time.Second)
	if err != nil || ahead.Abs() < clocksDiffer {
		return
	}
	way := "ahead of"
	if ahead < 0 {
		way = "behind"
	}
	d.addFinding(Finding{"clock", Problem, fmt.Sprintf("the gateway's clock is %s %s that of this machine", ahead.Abs(), way),
		"Tokens are refused as expired or as not valid yet, and what an agent takes for tomorrow is another day.",
		[]string{"Set both clocks by NTP (timedatectl says whether it is on)"}})
}
