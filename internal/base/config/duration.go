package config

import (
	"strconv"
	"strings"
	"time"
)

// ParseDuration reads a length of time as time.ParseDuration does, or a whole number of
// days, such as 30d. All settings and keys that hold one use it.
func ParseDuration(text string) (time.Duration, error) {
	days, ok := strings.CutSuffix(text, "d")
	if !ok {
		return time.ParseDuration(text)
	}
	n, err := strconv.ParseUint(days, 10, 16) // so far from what overflows
	return time.Duration(n) * 24 * time.Hour, err
}

// DurationText writes d as a person would: 60s, not 1m0s.
func DurationText(d time.Duration) string {
	if d%time.Second == 0 && d < 2*time.Minute {
		return strconv.FormatInt(int64(d/time.Second), 10) + "s"
	}
	return d.String()
}
