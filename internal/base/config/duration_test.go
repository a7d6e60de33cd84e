package config_test

import (
	"testing"
	"time"

	"sluice/internal/base/config"
)

func TestParseDuration(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"1m30s": 90 * time.Second, "0": 0, "500ms": 500 * time.Millisecond, "-1s": -time.Second,
		"7d": 7 * 24 * time.Hour, "0d": 0, "65535d": 65535 * 24 * time.Hour,
	} {
		if got, err := config.ParseDuration(text); got != want || err != nil {
			t.Errorf("%s: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "d", "5", "1.5d", "-1d", "+1d", "65536d", "1d12h", "1d ", "7D"} {
		if got, err := config.ParseDuration(text); err == nil {
			t.Errorf("%q: %v, want a fault", text, got)
		}
	}
}
