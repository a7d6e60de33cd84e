package remote

import (
	"net/netip"
	"testing"
)

func TestPublicAddresses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"93.184.215.14": true, "2606:2800:21f:cb07:6820:80da:af6b:8b2c": true, "::ffff:93.184.215.14": true,
		"127.0.0.1": false, "127.9.9.9": false, "::1": false, "::ffff:127.0.0.1": false, "0.0.0.0": false, "0.1.2.3": false, "::": false,
		"169.254.169.254": false, "fe80::1": false, "fe80::1%eth0": false, "::ffff:169.254.169.254": false,
		"10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false, "fd00:ec2::254": false, "100.100.100.200": false,
		"192.0.0.192": false, "198.18.0.1": false, "224.0.0.1": false, "ff02::1": false, "255.255.255.255": false, "240.0.0.1": false,
		"64:ff9b::a9fe:a9fe": false, "2002:a9fe:a9fe::1": false, "2001::1": false,
	} {
		if got := isPublic(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: public %v, want %v", text, got, want)
		}
	}
}
