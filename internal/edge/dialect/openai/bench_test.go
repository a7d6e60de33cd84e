package openai

import (
	stdjson "encoding/json"
	"strings"
	"testing"
	"time"

	"sluice/internal/edge/dialect"
)

// fiftyMessages is a body with 50 messages before the input, of 64,000 code points in all.
func fiftyMessages(letter string) string {
	line := strings.Repeat(letter, 79) + `\n`
	said := `{"role":"user","content":"` + strings.Repeat(line, 16) + `"},{"role":"assistant","content":"` + strings.Repeat(line, 16) + `"},`
	return `{"model":"sluice","messages":[` + strings.Repeat(said, 25) + `{"role":"user","content":"now"}]}`
}

// skipping is what the standard library takes to read a body into nothing.
func skipping(b *testing.B, body []byte) time.Duration {
	b.Helper()
	const rounds = 50
	began := time.Now()
	for range rounds {
		var nothing struct{}
		if err := stdjson.Unmarshal(body, &nothing); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(began) / rounds
}

// BenchmarkHistory reads the body of a request with a history. The measure is x-json, the standard
// library reading it into nothing: three times that is too slow.
func BenchmarkHistory(b *testing.B) {
	s := served(dialect.Rules{})
	for name, letter := range map[string]string{"ascii": "x", "wide": "ж"} {
		body := fiftyMessages(letter)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				x, err := openBody(s, body)
				if err != nil || x.Request.Pruning.Kept != 50 {
					b.Fatal(err, x)
				}
			}
			b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(skipping(b, []byte(body))), "x-json")
		})
	}
}

// BenchmarkRefused refuses bodies of 1 MiB, whose fault is at their end.
func BenchmarkRefused(b *testing.B) {
	s := served(dialect.Rules{})
	for name, letter := range map[string]string{"ascii": "x", "wide": "ж"} {
		text := strings.Repeat(letter, (1<<20-200)/len(letter))
		for fault, body := range map[string]string{
			"too long":  `{"model":"sluice","messages":[{"role":"user","content":"` + text + `"}]}`,
			"broken":    `{"model":"sluice","messages":[{"role":"user","content":"` + text + `"}`,
			"surrogate": `{"model":"sluice","messages":[{"role":"user","content":"` + text + `\ud83d"}]}`,
			"twice":     `{"model":"sluice","messages":[{"role":"user","content":"` + text + `","role":"user"}]}`,
			"many":      `{"model":"sluice","messages":[` + strings.Repeat(`{"role":"user","content":"`+letter+`"},`, 20_000) + `{"role":"user","content":"x"}]}`,
		} {
			b.Run(name+"/"+fault, func(b *testing.B) {
				b.SetBytes(int64(len(body)))
				for b.Loop() {
					if _, err := openBody(s, body); err == nil {
						b.Fatal("it was not refused")
					}
				}
			})
		}
	}
}
