package faults

import (
	"context"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"sluice/e2e/process"
)

// refusal is how a reply begins that refuses.
var refusal = regexp.MustCompile(`^HTTP/1\.1 (400|404|505) `)

// What is not HTTP is closed, with one reply at most, and nobody else notices: a hello of TLS, by
// nc and by openssl too, HTTP/2 in the clear, other protocols, noise.
func TestC40Garbage(t *testing.T) {
	t.Parallel()
	process.Needed(t)
	g := start(t, echo)
	t.Cleanup(func() {
		if t.Failed() {
			return
		}
		g.healthy(t)
		g.unharmed(t)
		for _, l := range g.Logged("") {
			if l.Level != "INFO" && l.Level != "DEBUG" && l.Event != "limits_lowered" {
				t.Errorf("logged: %s", l.Raw)
			}
		}
	})
	hello := "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + strings.Repeat("\x5a", 505)
	for name, say := range map[string]string{
		"a hello of TLS":  hello,
		"half a hello":    hello[:40],
		"HTTP/2":          "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00",
		"SSH":             "SSH-2.0-OpenSSH_9.2\r\n",
		"SMTP":            "EHLO example.test\r\n",
		"SOCKS":           "\x05\x01\x00",
		"PROXY":           "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
		"noise":           strings.Repeat("\x00\xff\x7f\x80", 2000) + "\r\n\r\n",
		"no version":      "GET /healthz\r\n\r\n",
		"another version": "GET /healthz HTTP/3.7\r\nHost: x\r\n\r\n",
		"two hosts":       "GET /healthz HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
		"no host":         "GET /healthz HTTP/1.1\r\n\r\n",
		"a space in it":   "GET /healthz HTTP/1.1\r\nHost: x\r\nX-A : b\r\n\r\n",
		"nothing":         "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := g.dial(t)
			_, _ = io.WriteString(c, say)
			if got := cut(t, c); got != "" && (!refusal.MatchString(got) || strings.Count(got, "HTTP/1.1") != 1) {
				t.Errorf("got %q", got)
			}
		})
	}
	t.Run("by nc", func(t *testing.T) {
		t.Parallel()
		host, port, _ := strings.Cut(g.Addr, ":")
		ctx, cancel := context.WithTimeout(t.Context(), process.Patience)
		defer cancel()
		cmd := exec.CommandContext(ctx, process.Tool(t, "nc"), host, port)
		cmd.Stdin = strings.NewReader(hello)
		if out, _ := cmd.Output(); !strings.HasPrefix(string(out), "HTTP/1.1 400 ") {
			t.Errorf("got %q", out)
		}
	})
	t.Run("by openssl", func(t *testing.T) {
		t.Parallel()
		out, err := exec.CommandContext(t.Context(), process.Tool(t, "openssl"), "s_client", "-connect", g.Addr).CombinedOutput()
		if err == nil || strings.Contains(string(out), "BEGIN CERTIFICATE") {
			t.Errorf("%v: %s", err, out)
		}
	})
}
