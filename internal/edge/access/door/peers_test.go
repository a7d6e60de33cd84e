package door

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

func request(remote string, forwarded ...string) *http.Request {
	r := &http.Request{RemoteAddr: remote, Header: http.Header{}, Method: "POST"}
	for _, line := range forwarded {
		r.Header.Add("X-Forwarded-For", line)
	}
	return r
}

func TestClient(t *testing.T) {
	t.Parallel()
	trusted := must(parseRanges("10.0.0.0/8, 2001:db8::/32, ::ffff:192.0.2.0/120"))
	many := func(n int, entry string) string { return strings.TrimSuffix(strings.Repeat(entry+",", n), ",") }
	for _, tt := range []struct {
		name, peer string
		forwarded  []string
		want       string
	}{
		{"no header", "10.0.0.1:80", nil, "10.0.0.1"},
		{"a stranger's header", "203.0.113.9:80", []string{"198.51.100.1"}, "203.0.113.9"},
		{"of a trusted peer", "10.0.0.1:80", []string{"198.51.100.1"}, "198.51.100.1"},
		{"from the right", "10.0.0.1:80", []string{"1.1.1.1, 198.51.100.1"}, "198.51.100.1"},
		{"trusted ones are skipped", "10.0.0.1:80", []string{"1.1.1.1, 198.51.100.1, 10.9.9.9,192.0.2.7"}, "198.51.100.1"},
		{"lines are joined", "10.0.0.1:80", []string{"1.1.1.1", "198.51.100.1", "10.9.9.9"}, "198.51.100.1"},
		{"all trusted: the leftmost", "10.0.0.1:80", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		{"empty entries", "10.0.0.1:80", []string{", ,198.51.100.1, ,", ""}, "198.51.100.1"},
		{"empty", "10.0.0.1:80", []string{""}, "10.0.0.1"},
		{"unknown", "10.0.0.1:80", []string{"198.51.100.1, unknown"}, "10.0.0.1"},
		{"hidden", "10.0.0.1:80", []string{"198.51.100.1, _hidden, 10.0.0.2"}, "10.0.0.2"},
		{"a name", "10.0.0.1:80", []string{"localhost"}, "10.0.0.1"},
		{"a port", "10.0.0.1:80", []string{"198.51.100.1:4711"}, "198.51.100.1"},
		{"no port", "10.0.0.1:80", []string{"198.51.100.1:"}, "10.0.0.1"},
		{"a bad port", "10.0.0.1:80", []string{"198.51.100.1:x"}, "10.0.0.1"},
		{"a long port", "10.0.0.1:80", []string{"198.51.100.1:123456"}, "10.0.0.1"},
		{"IPv6", "10.0.0.1:80", []string{"2001:DB9::0:1"}, "2001:db9::1"},
		{"IPv6 trusted", "[2001:db8::1]:80", []string{"2001:db9::1, 2001:db8::2"}, "2001:db9::1"},
		{"brackets", "10.0.0.1:80", []string{"[2001:db9::1]"}, "2001:db9::1"},
		{"brackets and a port", "10.0.0.1:80", []string{"[2001:db9::1]:443"}, "2001:db9::1"},
		{"half a bracket", "10.0.0.1:80", []string{"[2001:db9::1"}, "10.0.0.1"},
		{"behind a bracket", "10.0.0.1:80", []string{"[2001:db9::1]x443"}, "10.0.0.1"},
		{"IPv4 in brackets", "10.0.0.1:80", []string{"[198.51.100.1]:1"}, "10.0.0.1"},
		{"a bracket alone", "10.0.0.1:80", []string{"["}, "10.0.0.1"},
		{"brackets alone", "10.0.0.1:80", []string{"[]:"}, "10.0.0.1"},
		{"zone", "10.0.0.1:80", []string{"fe80::1%eth0"}, "fe80::1"},
		{"zone in brackets", "10.0.0.1:80", []string{"[fe80::1%eth0]:1"}, "fe80::1"},
		{"a long zone", "10.0.0.1:80", []string{"fe80::1%" + strings.Repeat("e", 100)}, "10.0.0.1"},
		{"IPv4 in IPv6", "10.0.0.1:80", []string{"::ffff:198.51.100.1"}, "198.51.100.1"},
		{"a trusted peer in IPv6", "[::ffff:10.0.0.1]:80", []string{"198.51.100.1, ::ffff:10.0.0.7"}, "198.51.100.1"},
		{"a trusted one with a zone", "[2001:db8::1%eth0]:80", []string{"198.51.100.1"}, "198.51.100.1"},
		{"octal", "10.0.0.1:80", []string{"010.0.0.2"}, "10.0.0.1"},
		{"31 trusted", "10.0.0.1:80", []string{"198.51.100.1," + many(31, "10.0.0.2")}, "198.51.100.1"},
		{"32 trusted", "10.0.0.1:80", []string{"198.51.100.1," + many(32, "10.0.0.2")}, "10.0.0.2"},
		{"10,000 of a client", "10.0.0.1:80", []string{many(10_000, "1.1.1.1") + ",198.51.100.1"}, "198.51.100.1"},
		{"a socket", "@", []string{"198.51.100.1"}, "invalid IP"},
	} {
		if got := NewPeers(trusted).Client(request(tt.peer, tt.forwarded...)).String(); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	if got := (*Peers)(nil).Client(request("10.0.0.1:80", "1.1.1.1")).String(); got != "10.0.0.1" {
		t.Errorf("nil believes %s", got)
	}
	r := request("10.0.0.1:80")
	r.Header.Set("X-Real-Ip", "1.1.1.1")
	r.Header.Set("Forwarded", "for=1.1.1.1")
	r.Header["X_Forwarded_For"] = []string{"1.1.1.1"}
	if got := NewPeers(trusted).Client(r).String(); got != "10.0.0.1" {
		t.Errorf("another header is believed: %s", got)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Whatever a client sends, the answer is what a trusted peer wrote, or the peer.
func TestClientCannotChoose(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	peers := NewPeers(must(parseRanges("10.0.0.0/8")))
	junk := []string{"", "unknown", "_x", "10.0.0.9", "1.1.1.1", "::1", "[::1]:1", "10.0.0.9:1", ",", "[", "]", ":", "%", "::ffff:10.0.0.1", "\x00", strings.Repeat("9", 300), strings.Repeat("10.0.0.2,", 40)}
	for n := range 20_000 {
		client := netip.AddrFrom4([4]byte{203, 0, byte(random.IntN(256)), byte(random.IntN(256))})
		var lines []string
		for range random.IntN(5) { // what the client sends
			var parts []string
			for range random.IntN(6) {
				parts = append(parts, junk[random.IntN(len(junk))])
			}
			lines = append(lines, strings.Join(parts, []string{",", ", ", " , "}[random.IntN(3)]))
		}
		if direct := client.String() + ":5"; peers.Client(request(direct, lines...)) != client {
			t.Fatalf("%d: a stranger is believed: %q", n, lines)
		}
		next := client
		hops := 1 + random.IntN(8)
		for range hops { // each proxy adds whom it sees, in its way
			text := []string{"%s", "%s:99", " %s", "::ffff:%s", "[::ffff:%s]:7"}[random.IntN(5)]
			entry := fmt.Sprintf(text, next)
			if len(lines) > 0 && random.IntN(2) == 0 {
				lines[len(lines)-1] += "," + entry
			} else {
				lines = append(lines, entry)
			}
			next = netip.AddrFrom4([4]byte{10, 1, 1, byte(random.IntN(256))})
		}
		if got := peers.Client(request(next.String()+":1", lines...)); got != client {
			t.Fatalf("%d: %s, want %s: %q", n, got, client, lines)
		}
	}
}

func TestRanges(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"10.1.2.3/8": "[10.0.0.0/8]", "10.1.2.3, ::1": "[10.1.2.3/32 ::1/128]", "::ffff:10.1.2.3/104": "[10.0.0.0/8]", "2001:DB8::1/32": "[2001:db8::/32]", "0.0.0.0/1": "[0.0.0.0/1]",
		"": "", "0.0.0.0/0": "", "::/0": "", "::ffff:0.0.0.0/96": "", "::ffff:0.0.0.0/90": "", "fe80::1%e": "", "10.0.0.1:80": "", "10.0.0.0/-1": "", "10.0.0.1,": "", "x": "",
	} {
		list, err := parseRanges(text)
		if got := fmt.Sprint(list); (err != nil) != (want == "") || err == nil && got != want {
			t.Errorf("%q: %s, %v", text, got, err)
		}
	}
}

func TestLimited(t *testing.T) {
	t.Parallel()
	p := NewPeers(must(parseRanges("10.0.0.0/8")))
	for remote, want := range map[string]string{
		"203.0.113.9:1": "203.0.113.9/32", "[2001:db9:1:2:3::4]:1": "2001:db9:1:2::/64", "[::ffff:203.0.113.9]:1": "203.0.113.9/32",
		"10.0.0.1:1": "invalid Prefix", "@": "invalid Prefix", "[fe80::1%eth0]:1": "fe80::/64",
	} {
		if got := p.Limited(request(remote)).String(); got != want {
			t.Errorf("%s: %s, want %s", remote, got, want)
		}
	}
	if got := (*Peers)(nil).Limited(request("10.0.0.1:1")).String(); got != "10.0.0.1/32" {
		t.Error(got)
	}
}

func FuzzForwarded(f *testing.F) {
	for _, seed := range []string{"", "1.1.1.1", "[::1]:1, 10.0.0.1", "unknown", "a,b,,", "[", "10.0.0.1:1,", "::ffff:10.0.0.1%x"} {
		f.Add(seed, "203.0.113.9")
	}
	peers := NewPeers(must(parseRanges("10.0.0.0/8")))
	f.Fuzz(func(t *testing.T, sent, client string) {
		addr, err := netip.ParseAddr(client)
		if err != nil || isInRanges(peers.trusted, normalAddr(addr)) {
			return
		}
		if got := peers.Client(request("10.0.0.1:1", sent, client)); got != normalAddr(addr) {
			t.Fatalf("%q, %q: %s", sent, client, got)
		}
		if got := peers.Client(request("203.0.113.9:1", sent)); got.String() != "203.0.113.9" {
			t.Fatalf("%q: a stranger is believed: %s", sent, got)
		}
	})
}
