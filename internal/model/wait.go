package model

import (
	"net/http"
	"regexp"
	"strconv"
	"time"
)

// maxWait bounds the wait that a service may ask for: a daily quota is the longest known.
const maxWait = 24 * time.Hour

// retryAfter reads a Retry-After header, seconds or a date (RFC 9110,
// section 10.2.3); anything else is 0.
func retryAfter(h http.Header) time.Duration {
	v := h.Get("Retry-After")
	if n, err := strconv.ParseUint(v, 10, 31); err == nil {
		return min(time.Duration(n)*time.Second, maxWait)
	}
	if t, err := http.ParseTime(v); err == nil {
		return min(max(time.Until(t), 0), maxWait)
	}
	return 0
}

// retryAfterMS reads the header that OpenAI and Azure send besides Retry-After.
func retryAfterMS(h http.Header) time.Duration {
	ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64)
	if err != nil {
		return 0
	}
	return boundedWait(ms * float64(time.Millisecond))
}

// boundedWait returns ns as a duration, at most maxWait. It returns 0 for negative numbers and NaN.
func boundedWait(ns float64) time.Duration {
	if !(ns > 0) {
		return 0
	}
	return time.Duration(min(ns, float64(maxWait)))
}

// tryAgain finds the wait in "Please try again in 6.2s.", "try again in 1m2.5s" and
// "Please retry in 48.9s."
var tryAgain = regexp.MustCompile(`(?i)(?:try again|retry) in ([0-9hms.]*[hms])`)

// WaitIn returns the wait that a provider's message reports in words; 0: none. Providers ask
// for it where no header says it: OpenAI's own limits, Groq and Gemini do.
func WaitIn(message string) time.Duration {
	m := tryAgain.FindStringSubmatch(message)
	if m == nil {
		return 0
	}
	return ParseWait(m[1])
}

// ParseWait reads a duration such as "34.4s"; anything else is 0.
func ParseWait(s string) time.Duration {
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0
	}
	return min(max(d, 0), maxWait)
}
