package door

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// Range is an address, or a CIDR of them.
type Range struct{ netip.Prefix }

var errRange = errors.New("must be an address or a CIDR such as 10.0.0.0/8, of more than 0 bits")

// UnmarshalText reads a range. It refuses a range of all addresses: every peer would be a trusted
// proxy.
func (r *Range) UnmarshalText(text []byte) error {
	s := string(text)
	if !strings.Contains(s, "/") {
		return r.parseAddress(s)
	}
	p, err := netip.ParsePrefix(s)
	if err != nil || p.Bits() == 0 {
		return errRange
	}
	if p.Addr().Is4In6() {
		if p.Bits() <= 96 { // all of IPv4, or more
			return errRange
		}
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	r.Prefix = p.Masked()
	return nil
}

// parseAddress reads a range of one address.
func (r *Range) parseAddress(text string) error {
	addr, err := netip.ParseAddr(text)
	if err != nil || addr.Zone() != "" {
		return errRange
	}
	addr = addr.Unmap()
	r.Prefix = netip.PrefixFrom(addr, addr.BitLen())
	return nil
}

// parseRanges reads a list with commas.
func parseRanges(text string) (list []netip.Prefix, err error) {
	for i, entry := range strings.Split(text, ",") {
		var r Range
		if err := r.UnmarshalText([]byte(strings.TrimSpace(entry))); err != nil {
			return nil, fmt.Errorf("entry %d %w", i+1, err)
		}
		list = append(list, r.Prefix)
	}
	return list, nil
}

// prefixesOf returns the ranges alone.
func prefixesOf(ranges []Range) []netip.Prefix {
	list := make([]netip.Prefix, len(ranges))
	for i, r := range ranges {
		list[i] = r.Prefix
	}
	return list
}
