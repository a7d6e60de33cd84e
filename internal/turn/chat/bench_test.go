package chat_test

import (
	"net/url"
	"strings"
	"testing"

	"sluice/internal/turn/chat"
)

// BenchmarkDecodeRequest reads and validates a request: a short one, the longest in
// plain ASCII, and the longest in its longest form, escaped surrogate pairs.
func BenchmarkDecodeRequest(b *testing.B) {
	const rest = `","conversation_id":"conv_0123456789","user_id":"ann@example.com","accumulated":false}`
	for name, body := range map[string]string{
		"short":   `{"input":"Remind me to buy eggs tomorrow at 3pm` + rest,
		"longest": `{"input":"` + strings.Repeat("x", 5000) + rest,
		"escaped": `{"input":"` + strings.Repeat(`\ud83d\ude00`, 5000) + rest,
	} {
		b.Run(name, func(b *testing.B) {
			data := []byte(body)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := chat.DecodeRequest(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkQueryRequest(b *testing.B) {
	query := url.Values{"input": {"Remind me to buy eggs tomorrow at 3pm"}, "conversation_id": {"conv_0123456789"}}.Encode()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := chat.QueryRequest(query); err != nil {
			b.Fatal(err)
		}
	}
}
