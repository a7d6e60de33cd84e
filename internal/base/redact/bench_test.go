package redact_test

import (
	"testing"

	"sluice/internal/base/redact"
)

// BenchmarkJSON is what the secrets of a configuration cost a line of the log.
func BenchmarkJSON(b *testing.B) {
	line := []byte(`{"level":"INFO","request_id":"req_01JABCDEFGHJKMNPQRSTVWXYZ","user_id":"ann","conversation_id":"conv_7","details":{"model":"gemini-3-flash-preview","response_length":1834,"tokens_used":913,"finish_reason":"stop","step":2,"duration_ms":812},"timestamp":"2026-01-02T15:04:05.000Z","event":"gemini_api_result"}` + "\n")
	s := redact.New([]string{longer, token, "AIzaSyA1234567890_abcdefghijklmnopqrstuv", "postgres-password"})
	b.ReportAllocs()
	for b.Loop() {
		s.JSON(line)
	}
}
