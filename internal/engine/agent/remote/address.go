package remote

import (
	"errors"
	"net"
	"net/netip"
	"time"
)

const dialTime = 5 * time.Second

// errNotPublic refuses a connection that a card of a public host asked for.
var errNotPublic = errors.New("the card's interface is at an address that is not public")

// reserved are the blocks that netip does not know as loopback, private, link-local or
// multicast, and that lead to no public host, or to a block that does not
// (IANA's registries of special-purpose addresses, RFC 6890).
var reserved = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),      // this network
	netip.MustParsePrefix("100.64.0.0/10"),  // shared by carriers (RFC 6598); metadata services live there too
	netip.MustParsePrefix("192.0.0.0/24"),   // protocol assignments
	netip.MustParsePrefix("198.18.0.0/15"),  // benchmarks
	netip.MustParsePrefix("240.0.0.0/4"),    // reserved, broadcast among it
	netip.MustParsePrefix("64:ff9b::/96"),   // IPv4 behind a translator (RFC 6052)
	netip.MustParsePrefix("64:ff9b:1::/48"), // the same, local (RFC 8215)
	netip.MustParsePrefix("2002::/16"),      // 6to4 (RFC 3056)
	netip.MustParsePrefix("2001::/32"),      // Teredo (RFC 4380)
}

// isPublic reports whether an address belongs to a host of the public network.
func isPublic(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if !a.IsGlobalUnicast() || a.IsPrivate() {
		return false
	}
	for _, block := range reserved {
		if block.Contains(a) {
			return false
		}
	}
	return true
}

// isNear reports whether the other end of a connection is known not to be public.
func isNear(at net.Addr) bool {
	tcp, ok := at.(*net.TCPAddr)
	return ok && !isPublic(tcp.AddrPort().Addr())
}
