package task

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/config"
	"sluice/internal/base/config/file"
)

// sectioned reads a section of a file.
func sectioned(content string) (s Spec, faults []string) {
	r := file.Table{Section(&s, func() bool { return true })}.Read("f", []byte(content), config.Sources{Lookup: func(string) (string, bool) { return "", false }})
	for _, f := range r.Faults {
		faults = append(faults, f.Message)
	}
	return s, faults
}

func TestSection(t *testing.T) {
	t.Parallel()
	got, faults := sectioned("tasks: {ttl: 30d, event_ttl: 90m, lease: 3s, max_history: 2, on_disconnect: cancel}")
	want := Spec{TTL: 720 * time.Hour, EventTTL: 90 * time.Minute, Lease: 3 * time.Second, MaxHistory: 2, OnDisconnect: "cancel"}
	if diff := cmp.Diff(want, got); diff != "" || faults != nil {
		t.Errorf("%v (-want +got):\n%s", faults, diff)
	}
	for content, want := range map[string]string{
		"ttl: 59s":              "/tasks/ttl: must be a duration from 1m to 30d",
		"ttl: 31d":              "/tasks/ttl: must be a duration from 1m to 30d",
		"ttl: 99999999999999d":  "/tasks/ttl: must be a duration from 1m to 30d",
		"ttl: 60":               "/tasks/ttl: must be a string",
		"event_ttl: 24h1s":      "/tasks/event_ttl: must be a duration from 1m to 24h",
		"lease: 61s":            "/tasks/lease: must be a duration from 3s to 1m",
		"max_history: 1":        "/tasks/max_history: must be",
		"max_history: 501":      "/tasks/max_history: must be",
		"on_disconnect: linger": "/tasks/on_disconnect: must be",
		"max: 3":                "/tasks/max: there is no such key",
	} {
		if _, faults := sectioned("tasks: {" + content + "}"); len(faults) != 1 || !strings.HasPrefix(faults[0], want) {
			t.Errorf("%s: %q", content, faults)
		}
	}
}
