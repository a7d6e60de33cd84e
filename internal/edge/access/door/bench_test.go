package door

import (
	"testing"

	"sluice/internal/base/telemetry/metrics"
)

// BenchmarkAuthenticate is what the door adds to a turn: off, and with a credential of each kind. Tokens and keys are
// stand-ins: internal/edge/access/jwt and internal/edge/access/keys measure their own part.
func BenchmarkAuthenticate(b *testing.B) {
	d, _ := doorOf(b, Spec{Proxy: proxySpec(nil), Anonymous: &Anonymous{}}, Config{Metrics: metrics.New(), Audit: new(records).write})
	for name, h := range map[string][3]string{
		"key": {"203.0.113.9:1", "X-Api-Key", goodKey}, "token": {"203.0.113.9:1", "Authorization", "Bearer cached"},
		"proxy": {"10.0.0.1:1", "X-Forwarded-User", "ann"}, "anonymous": {"203.0.113.9:1", "Accept", "*/*"}, "refused": {"203.0.113.9:1", "X-Api-Key", "slk_x"},
	} {
		b.Run(name, func(b *testing.B) {
			r := request(h[0])
			r.Header.Set(h[1], h[2])
			b.ReportAllocs()
			for b.Loop() {
				_, _ = d.Authenticate(r)
			}
		})
	}
	b.Run("off", func(b *testing.B) {
		r := request("203.0.113.9:1")
		b.ReportAllocs()
		for b.Loop() {
			_, _ = (*Door)(nil).Authenticate(r)
		}
	})
}

func BenchmarkClient(b *testing.B) {
	p := NewPeers(must(parseRanges("10.0.0.0/8")))
	r := request("10.0.0.1:1", "1.1.1.1, 198.51.100.1, 10.0.0.2")
	b.ReportAllocs()
	for b.Loop() {
		p.Client(r)
	}
}
