package main

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/clients/doctor"
)

// diagnose runs sluice doctor and returns its report.
func diagnose(t *testing.T, base string, args ...string) (report doctor.Report) {
	t.Helper()
	code, stdout, stderr := runCommand(t, nil, append([]string{"doctor", "--json", "--url", base}, args...)...)
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || stderr != "" {
		t.Errorf("%v: exit code %d, stdout %q, stderr %q", err, code, stdout, stderr)
	}
	if report.Healthy != (code == exitOK) || report.URL != base {
		t.Errorf("exit code %d for %+v", code, report)
	}
	return report
}

// startConnected starts a gateway in which there is nothing to find fault with.
func startConnected(t *testing.T) *gatewaytest.Running {
	t.Helper()
	g := start(t, nil)
	g.Log.Await(t, "mcp_connected", nil)
	return g
}

// What a server says does not steer the terminal, nor what reads the report.
func TestDoctorShowsWhatServersSayWithoutControls(t *testing.T) {
	t.Parallel()
	base := gatewaytest.ServeHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/readyz" {
			_, _ = io.WriteString(w, `{"status":"degraded","model":"\u001b[31m","breakers":[],"mcp":[{"server":"\u001b]0;","connected":false}]}`)
		}
	}))
	seen := "the MCP server ]0; is not connected"
	if d := diagnose(t, base); !slices.ContainsFunc(d.Findings, func(f doctor.Finding) bool { return f.Seen == seen }) {
		t.Errorf("want %q: %+v", seen, d)
	}
	if _, stdout, _ := runCommand(t, nil, "doctor", "--url", base); !strings.Contains(stdout, seen) || strings.Contains(stdout, "\x1b") {
		t.Errorf("want %q: %q", seen, stdout)
	}
}

// Every request carries the headers that were given, but for the one that asks who may ask
// without a credential.
func TestDoctorHeaders(t *testing.T) {
	t.Parallel()
	base := gatewaytest.ServeHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown := r.Header.Get("Authorization")
		if shown != "Bearer a:b" && (shown != "" || r.URL.Path != "/me") || r.Header.Get("X-Two") != "2" || r.Host != "chat.example.com" {
			t.Errorf("%s %s: host %s, headers %v", r.Method, r.URL.Path, r.Host, r.Header)
		}
	}))
	diagnose(t, base, "--header", "Authorization: Bearer a:b", "--header=X-Two:2", "--header", "Host: chat.example.com")
}

func TestDoctorFlags(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t-CaNaRy"
	code, stdout, stderr := runCommand(t, nil, "doctor", "--url", "https://user:"+secret+"@host", "--header", secret, "--idle", "6m", "--timeout", "0s")
	for _, flag := range []string{"--url: must not hold a user name", "--header: must be", "--idle: must not be more than 5m", "--timeout: must be more than 0"} {
		if !strings.Contains(stderr, "\n  "+flag) {
			t.Errorf("%s is not listed:\n%s", flag, stderr)
		}
	}
	if code != exitUsage || stdout != "" || strings.Contains(stderr, secret) {
		t.Errorf("exit code %d, stdout %q, stderr:\n%s", code, stdout, stderr)
	}
	for _, url := range []string{"", "host", "ftp://host", "http://", "http://host/?a=b", "http://host/#a", "http://[::1"} {
		if code, _, stderr := runCommand(t, nil, "doctor", "--url", url); code != exitUsage || !strings.Contains(stderr, "--url: ") {
			t.Errorf("%q: exit code %d, stderr %q", url, code, stderr)
		}
	}
}

// A person sees each finding on a line, and what it means below.
func TestDoctorText(t *testing.T) {
	t.Parallel()
	g := startConnected(t)
	code, stdout, stderr := runCommand(t, nil, "doctor", "--url", g.Base+"/")
	for _, want := range []string{
		"sluice doctor: " + g.Base + "\n\n", "\n  ok      stream      live: 10 ticks", "\n  note    connect     TCP ",
		"\n                      Over HTTP/1.1 a browser", "\n                      → Offer HTTP/2", "\n  ok      long URL    60,000 bytes", "\n\nNo problems found.\n",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is not there:\n%s", want, stdout)
		}
	}
	if code != exitOK || stderr != "" {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
	gone := "http://" + gatewaytest.UnusedAddr(t)
	if code, stdout, _ := runCommand(t, nil, "doctor", "--url", gone); code != exitFailed || !strings.HasSuffix(stdout, "\n\n1 problem found.\n") {
		t.Errorf("exit code %d:\n%s", code, stdout)
	}
}
