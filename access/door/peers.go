package door

import (
	"net/http"
	"net/netip"
	"strings"
)

// maxForwarded is how many entries of X-Forwarded-For are read, from the right.
const maxForwarded = 32

// Peers knows whose X-Forwarded-For is believed. nil, and one without trusted peers, believes
// nobody.
type Peers struct{ trusted []netip.Prefix }

// NewPeers returns Peers that believe those of the list.
func NewPeers(trusted []netip.Prefix) *Peers { return &Peers{trusted} }

// Client returns the address that a request came from. That is the peer of the connection; if
// it is trusted, the first address from the right of X-Forwarded-For that is not. Whatever a
// client sends stands to the left of what a trusted peer has added. The zero Addr: the peer
// has no address.
func (p *Peers) Client(r *http.Request) netip.Addr {
	client := peerOf(r)
	if p == nil || !contains(p.trusted, client) {
		return client
	}
	lines, left := r.Header["X-Forwarded-For"], maxForwarded
	for n := len(lines) - 1; n >= 0; n-- {
		for rest, more := lines[n], true; more; {
			var entry string
			if at := strings.LastIndexByte(rest, ','); at >= 0 {
				rest, entry = rest[:at], rest[at+1:]
			} else {
				entry, more = rest, false
			}
			if left--; left < 0 {
				return client
			}
			if entry = strings.Trim(entry, " \t"); entry == "" {
				continue
			}
			addr, ok := addressOf(entry)
			if !ok {
				return client // the walk ends at the last good one
			}
			if client = addr; !contains(p.trusted, addr) {
				return addr
			}
		}
	}
	return client
}

// Limited returns what limits by address count a request of: its client's address, or the /64
// of IPv6, as a client has all of it. The zero Prefix: it is a trusted peer's, which many may
// stand behind, or unknown, and no such limit holds.
func (p *Peers) Limited(r *http.Request) netip.Prefix {
	client := p.Client(r)
	if !client.IsValid() || p != nil && contains(p.trusted, client) {
		return netip.Prefix{}
	}
	bits := 32
	if client.Is6() {
		bits = 64
	}
	prefix, _ := client.Prefix(bits)
	return prefix
}

// contains says whether an address is in one of the ranges.
func contains(ranges []netip.Prefix, addr netip.Addr) bool {
	for _, p := range ranges {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// peerOf returns the address of the other end of the connection.
func peerOf(r *http.Request) netip.Addr {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return normal(at.Addr())
}

// normal returns an address in one spelling: without its zone, and one of IPv4 as that.
func normal(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

// addressOf reads an entry of X-Forwarded-For: an address, which may have a port, and one of
// IPv6 brackets.
func addressOf(entry string) (netip.Addr, bool) {
	text := entry
	switch {
	case len(entry) > 64:
		return netip.Addr{}, false
	case entry[0] == '[':
		inner, port, ok := strings.Cut(entry[1:], "]")
		if !ok || port != "" && !isPort(port[1:], port[0]) || !strings.Contains(inner, ":") {
			return netip.Addr{}, false
		}
		text = inner
	case strings.Count(entry, ":") == 1:
		host, port, _ := strings.Cut(entry, ":")
		if !isPort(port, ':') {
			return netip.Addr{}, false
		}
		text = host
	}
	addr, err := netip.ParseAddr(text)
	return normal(addr), err == nil
}

// isPort says whether text is a port that a colon stands before.
func isPort(text string, before byte) bool {
	return before == ':' && text != "" && len(text) <= 5 && strings.Trim(text, "0123456789") == ""
}
