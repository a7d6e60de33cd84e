package handlers

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"sluice/internal/base/fault"
)

// hostPolicy decides under which names the gateway may be asked. A page can have its
// own name resolve to the gateway's address (DNS rebinding): to the browser, and to
// originPolicy, it is then a page of the gateway's own. Its zero value takes any name.
type hostPolicy map[string]bool

// newHostPolicy returns the policy that serves these names, and loopback. Without names
// it takes any.
func newHostPolicy(names []string) hostPolicy {
	p := hostPolicy{}
	for _, name := range names {
		p[bareHost(name)] = true
	}
	return p
}

// checkHost refuses a request for a name that is not served. Probes and scrapers ask by address,
// and their replies are not secret.
func (p hostPolicy) checkHost(r *http.Request) error {
	if len(p) == 0 {
		return nil
	}
	switch r.URL.Path {
	case "/healthz", "/readyz", "/metrics":
		return nil
	}
	if host := bareHost(r.Host); p[host] || isLoopback(host) {
		return nil
	}
	return &fault.Error{Type: fault.OriginRefused,
		Message: "The host name of this request is not served; the gateway's operator can add it to SLUICE_HOSTS"}
}

// bareHost returns a host in one spelling, without port, brackets and final dot.
func bareHost(host string) string {
	if name, port, err := net.SplitHostPort(host); err == nil && hasOnlyDigits(port) {
		host = name
	} else if inner, ok := strings.CutPrefix(host, "["); ok && strings.HasSuffix(inner, "]") {
		host = strings.TrimSuffix(inner, "]")
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap().String()
	}
	return host
}

// hasOnlyDigits reports whether s has digits only; also true of "".
func hasOnlyDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }

// isLoopback goes by the name alone. Browsers resolve localhost and the names below
// it to loopback, whatever a name server says.
func isLoopback(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.IsLoopback()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}
