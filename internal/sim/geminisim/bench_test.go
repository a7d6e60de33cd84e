package geminisim

import (
	"testing"

	"sluice/internal/sim/geminisim/simtest"
)

// A load test pays for the simulator too, so its cost must be known.

func BenchmarkAccept(b *testing.B) {
	s := New(Config{})
	body := []byte(simtest.UserSays("remind me to buy eggs tomorrow at 3pm"))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.acceptRequest("m", body); err != nil {
			b.Fatal(err)
		}
	}
}
