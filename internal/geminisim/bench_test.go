package geminisim

import (
	"strings"
	"testing"
)

// A load test pays for the simulator too, so its cost must be known.

func BenchmarkAccept(b *testing.B) {
	s := New(Config{})
	body := []byte(userSays("remind me to buy eggs tomorrow at 3pm"))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.accept("m", body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkThink(b *testing.B) {
	req, err := decodeRequest([]byte(userSays("remind me to buy eggs tomorrow at 3pm")))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if out := think(readTurn(req, testNow)); len(out.calls) != 1 {
			b.Fatal("no call")
		}
	}
}

// The longest input that the gateway lets through.
func BenchmarkThinkLongText(b *testing.B) {
	req, err := decodeRequest([]byte(userSays(strings.Repeat("buy eggs and on ", 312))))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		think(readTurn(req, testNow))
	}
}
