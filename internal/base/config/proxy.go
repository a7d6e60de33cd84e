package config

import (
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpproxy"
)

// Proxy is where requests to models go through. The zero value uses no proxy.
type Proxy struct {
	HTTP, HTTPS Secret // URLs, for requests over http and over https; a password may be in them
	Except      string // NO_PROXY
}

// proxyOf reads the variables that other programs read, too: in lower case, they count
// if those in upper case are not set. A CGI program gets HTTP_PROXY from its client
// (httpoxy.org), so that it does not count there.
func proxyOf(r *reader) Proxy {
	p := Proxy{HTTPS: r.readProxy("HTTPS_PROXY"), Except: r.inAnyCase("NO_PROXY")}
	if _, cgi := r.lookup("REQUEST_METHOD"); !cgi {
		p.HTTP = r.readProxy("HTTP_PROXY")
	}
	return p
}

// inAnyCase returns the value of a variable, or of the one in lower case; empty: neither is set.
func (r *reader) inAnyCase(name string) string {
	for _, name := range []string{name, strings.ToLower(name)} {
		if v, _ := r.lookup(name); strings.TrimSpace(v) != "" {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// readProxy reads the URL of one from a variable, and hides its credentials.
func (r *reader) readProxy(name string) Secret {
	v := r.inAnyCase(name)
	if v != "" && hostOf(v) == "" {
		r.addFault(name, "must be the URL of a proxy")
		return ""
	}
	if u := proxyURL(v); u != nil && u.User != nil {
		password, _ := u.User.Password()
		r.hide("", Secret(password), Secret(u.User.String()))
	}
	return Secret(v)
}

// None reports whether no request uses a proxy.
func (p Proxy) None() bool { return p.HTTP == "" && p.HTTPS == "" }

// Func returns a function for http.Transport.Proxy, or nil without a proxy. Loopback addresses
// never go through a proxy.
func (p Proxy) Func() func(*http.Request) (*url.URL, error) {
	if p.None() {
		return nil
	}
	choose := (&httpproxy.Config{HTTPProxy: p.HTTP.Reveal(), HTTPSProxy: p.HTTPS.Reveal(), NoProxy: p.Except}).ProxyFunc()
	return func(r *http.Request) (*url.URL, error) { return choose(r.URL) }
}

// Hosts returns the proxies for http and for https as host:port, or "" without a proxy.
func (p Proxy) Hosts() (overHTTP, overHTTPS string) {
	return hostOf(p.HTTP.Reveal()), hostOf(p.HTTPS.Reveal())
}

// hostOf returns the host of a proxy, or "" for a value that is not a proxy's URL.
func hostOf(proxy string) string {
	if u := proxyURL(proxy); u != nil {
		return u.Host
	}
	return ""
}

// proxyURL reads a URL, perhaps without a scheme, as httpproxy does.
func proxyURL(proxy string) *url.URL {
	u, err := url.Parse(proxy)
	if err != nil || u.Scheme == "" || u.Host == "" {
		u, err = url.Parse("http://" + proxy)
	}
	if err != nil {
		return nil
	}
	return u
}
