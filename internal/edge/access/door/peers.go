package door

import (
	"iter"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// maxForwarded is how many entries of X-Forwarded-For are read, from the right.
const maxForwarded = 32

// Peers knows whose X-Forwarded-For is believed. nil, and one without trusted peers, believes
// nobody.
type Peers struct{ trusted []netip.Prefix }

// NewPeers returns Peers that believe those of the list.
func NewPeers(trusted []netip.Prefix) *Peers { return &Peers{trusted} }

// Client returns the address that a request came from. It is the peer of the connection. If the
// peer is trusted, it is the first untrusted address from the right of X-Forwarded-For. A client's
// own entries stand to the left of the entry that a trusted peer has added. The zero Addr stands
// for a peer without an address.
func (p *Peers) Client(r *http.Request) netip.Addr {
	client := peerOf(r)
	if p == nil || !isInRanges(p.trusted, client) {
		return client
	}
	for entry := range forwardedEntries(r.Header["X-Forwarded-For"]) {
		addr, ok := addressOf(entry)
		if !ok {
			return client // the walk ends at the last good one
		}
		if client = addr; !isInRanges(p.trusted, addr) {
			return addr
		}
	}
	return client
}

// forwardedEntries goes through the entries of X-Forwarded-For from the right, as far as maxForwarded
// and without empty ones.
func forwardedEntries(lines []string) iter.Seq[string] {
	return func(yield func(entry string) bool) {
		left := maxForwarded
		for _, rest := range slices.Backward(lines) {
			for more := true; more; {
				var entry string
				rest, entry, more = cutLast(rest)
				if left--; left < 0 {
					return
				}
				if entry = strings.Trim(entry, " \t"); entry != "" && !yield(entry) {
					return
				}
			}
		}
	}
}

// cutLast cuts the last entry off a line. more says that there are others before it.
func cutLast(line string) (rest, entry string, more bool) {
	at := strings.LastIndexByte(line, ',')
	if at < 0 {
		return "", line, false
	}
	return line[:at], line[at+1:], true
}

// Limited returns what limits by address count a request of: its client's address, or the /64
// of IPv6, as a client has all of it. The zero Prefix: it is a trusted peer's, which many may
// stand behind, or unknown, and no such limit holds.
func (p *Peers) Limited(r *http.Request) netip.Prefix {
	client := p.Client(r)
	if !client.IsValid() || p != nil && isInRanges(p.trusted, client) {
		return netip.Prefix{}
	}
	bits := 32
	if client.Is6() {
		bits = 64
	}
	prefix, _ := client.Prefix(bits)
	return prefix
}

// isInRanges reports whether an address is in one of the ranges.
func isInRanges(ranges []netip.Prefix, addr netip.Addr) bool {
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
	return normalAddr(at.Addr())
}

// normalAddr returns an address in one spelling: without its zone, and one of IPv4 as that.
func normalAddr(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

// addressOf reads an entry of X-Forwarded-For: an address with an optional port. An IPv6 address
// may stand in brackets.
func addressOf(entry string) (netip.Addr, bool) {
	if len(entry) > 64 {
		return netip.Addr{}, false
	}
	host, ok := hostOf(entry)
	if !ok {
		return netip.Addr{}, false
	}
	addr, err := netip.ParseAddr(host)
	return normalAddr(addr), err == nil
}

// hostOf returns an entry without its port, and without brackets.
func hostOf(entry string) (host string, ok bool) {
	switch {
	case entry[0] == '[':
		inner, port, closed := strings.Cut(entry[1:], "]")
		return inner, closed && (port == "" || isPort(port[1:], port[0])) && strings.Contains(inner, ":")
	case strings.Count(entry, ":") == 1:
		name, port, _ := strings.Cut(entry, ":")
		return name, isPort(port, ':')
	}
	return entry, true
}

// isPort reports whether text is a port that a colon stands before.
func isPort(text string, before byte) bool {
	return before == ':' && text != "" && len(text) <= 5 && strings.Trim(text, "0123456789") == ""
}
