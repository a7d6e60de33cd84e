package main

import (
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/clients/doctor"
)

// SLUICE_HOSTS reaches the server, loopback stays, and the doctor says what is wrong.
func TestNamesThatAreServed(t *testing.T) {
	t.Parallel()
	r := start(t, map[string]string{"SLUICE_HOSTS": "chat.example.com"})
	if resp, body := r.Get("/tools"); resp.StatusCode != http.StatusOK {
		t.Errorf("by its loopback address: status %d: %s", resp.StatusCode, body)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.Base+"/tools", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "evil.example"
	gatewaytest.WantProblem(t, r, req, http.StatusForbidden, "origin_refused")
	if d := diagnose(t, r.Base, "--header", "Host: chat.example.com"); !slices.ContainsFunc(d.Findings, func(f doctor.Finding) bool {
		return f.Check == "stream" && f.Verdict == doctor.Good && strings.HasPrefix(f.Seen, "live")
	}) {
		t.Errorf("by a name that is served: %+v", d)
	}
	d := diagnose(t, r.Base, "--header", "Host: evil.example")
	if !slices.ContainsFunc(d.Findings, func(f doctor.Finding) bool {
		return f.Check == "stream" && f.Verdict == doctor.Problem && strings.Contains(strings.Join(f.Change, " "), "SLUICE_HOSTS")
	}) {
		t.Errorf("by another name: %+v", d)
	}
}

// A client that watches ticks does not keep the process from stopping.
func TestProbeDoesNotHoldUpTheEnd(t *testing.T) {
	t.Parallel()
	r := start(t, map[string]string{"SLUICE_DRAIN_TIMEOUT": "10m"})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.Base+"/diag/sse?ticks=2&interval_ms=300000", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := r.Client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	r.Signals <- syscall.SIGTERM
	if code := r.Wait(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
}
