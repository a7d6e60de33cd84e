//go:build !linux

package markdowntest

import "time"

// Timed returns the time that f takes.
func Timed(f func()) time.Duration {
	began := time.Now()
	f()
	return time.Since(began)
}
