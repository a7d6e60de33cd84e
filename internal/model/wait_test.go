package model

import (
	"net/http"
	"testing"
	"time"
)

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]time.Duration{
		"7": 7 * time.Second, "": 0, "-1": 0, "soon": 0, "99999999": maxWait, "Wed, 21 Oct 2015 07:28:00 GMT": 0,
	} {
		if got := retryAfter(http.Header{"Retry-After": {in}}); got != want {
			t.Errorf("Retry-After: %s: %v, want %v", in, got, want)
		}
	}
	in := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	if got := retryAfter(http.Header{"Retry-After": {in}}); got < 59*time.Minute || got > time.Hour {
		t.Errorf("a date in an hour: %v", got)
	}
}
