package faults

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"sluice/e2e/process"
	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/base/testnet"
)

// proxy starts nginx or HAProxy with a configuration in which LISTEN, GATEWAY and DIR stand for
// what they say, and returns where it listens. It ends with the test.
func proxy(t *testing.T, name, config, upstream string) (addr string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("needs all of 127.0.0.0/8")
	}
	program := process.Tool(t, name)
	addr = gatewaytest.UnusedAddr(t)
	dir, err := os.MkdirTemp("", "sluice-proxy-") // short: a socket's path has a bound
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	_, port, _ := net.SplitHostPort(addr)
	file := filepath.Join(dir, "proxy.conf")
	text := strings.NewReplacer("LISTEN", addr, "PORT", port, "GATEWAY", upstream, "DIR", dir).Replace(config)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"-db", "-f", file}
	if name == "nginx" {
		args = []string{"-e", filepath.Join(dir, "error.log"), "-c", file}
	}
	cmd := exec.Command(program, args...)
	var log strings.Builder
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-ended
	})
	testnet.Eventually(t, name+" listens", func() bool {
		select {
		case <-ended:
			t.Fatalf("%s has ended: %s", name, log.String())
		default:
		}
		c, err := net.Dial("tcp", addr)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	return addr
}

// nginxOf is nginx with one server.
func nginxOf(server string) string {
	return `daemon off; worker_processes 1; pid DIR/nginx.pid; error_log stderr;
events { worker_connections 256; }
http {
  access_log off;
  client_body_temp_path DIR/body; proxy_temp_path DIR/proxy; fastcgi_temp_path DIR/fastcgi; uwsgi_temp_path DIR/uwsgi; scgi_temp_path DIR/scgi;
  server { ` + server + ` }
}
`
}

// haproxyOf is HAProxy with a proxy that has these lines.
func haproxyOf(lines ...string) string {
	return "defaults\n  mode http\n  timeout connect 5s\n  timeout client 5s\n  timeout server 5s\nlisten gateway\n  " + strings.Join(lines, "\n  ") + "\n"
}

// A proxy with its defaults passes each event on at once, though it would rather collect them, and
// heartbeats keep it from ending a stream that is silent for longer than it waits. Without them it
// does end it, which shows that it would.
func TestC39ProxyBuffersAndTimeouts(t *testing.T) {
	t.Parallel()
	process.Needed(t)
	for name, config := range map[string]string{
		"nginx":   nginxOf("listen LISTEN; location / { proxy_pass http://GATEWAY; proxy_buffering on; proxy_read_timeout 5s; }"),
		"haproxy": haproxyOf("bind LISTEN", "server one GATEWAY"),
	} {
		for _, heartbeat := range []string{"500ms", "0"} {
			t.Run(name+", a heartbeat of "+heartbeat, func(t *testing.T) {
				t.Parallel()
				letGo := make(chan struct{})
				g := start(t, holding(make(chan struct{}, 1), letGo), unhurried("SLUICE_HEARTBEAT", heartbeat)...)
				addr := proxy(t, name, config, g.Addr)
				cmd := curl(t, "-i", "-H", "Content-Type: application/json", "-d", aTurn, "http://"+addr+"/chat/stream")
				out, err := cmd.StdoutPipe()
				if err == nil {
					err = cmd.Start()
				}
				if err != nil {
					t.Fatal(err)
				}
				// The model says no more until its first word is here.
				first := upTo(t, out, "word")
				if !strings.Contains(strings.ToLower(first), "\r\nx-accel-buffering: no\r\n") && name != "nginx" { // which keeps it for itself
					t.Errorf("the head is %s", first)
				}
				time.AfterFunc(7*time.Second, func() { close(letGo) })
				rest, _ := io.ReadAll(out)
				err = cmd.Wait()
				if heartbeat == "0" {
					if err == nil || strings.Contains(string(rest), "event: done") {
						t.Errorf("%s waits longer than it should: %s", name, rest)
					}
					return
				}
				_, body, _ := strings.Cut(strings.ReplaceAll(first+string(rest), ":\n\n", ""), "\r\n\r\n")
				if finished(t, body); err != nil {
					t.Errorf("curl: %v", err)
				}
			})
		}
	}
}

// via asks for a path through a proxy, from an address of our own, and returns the whole reply.
func via(t *testing.T, from, addr, path string, header ...string) string {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: process.Patience}
	c, err := d.DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(process.Patience))
	_, _ = io.WriteString(c, request("GET", path, "", append(header, "Connection: close")...))
	got, err := io.ReadAll(c)
	if err != nil {
		t.Fatalf("%v: %s", err, got)
	}
	return string(got)
}

// forged are headers by which a client claims to be somebody else. They do not hold what the real
// one would hold.
func forged() [][]string {
	const other = "203.0.113.7"
	return [][]string{
		{"X-Forwarded-For: " + other},
		{"X-Forwarded-For: " + other, "X-Forwarded-For: 203.0.113.8"},
		{"X-Forwarded-For: " + other + ", 127.0.0.1, 127.0.0.1"},
		{"X-Forwarded-For: ,,, , "},
		{"X-Forwarded-For: 127.0.0.1"},
		{"X-Forwarded-For: ::1, [2001:db8::1]:443, unknown"},
		{"X-Forwarded-For: " + strings.Repeat(other+", ", 200) + other},
		{"X_Forwarded_For: " + other, "X-Real-IP: " + other, "Forwarded: for=" + other, "True-Client-IP: " + other, "CF-Connecting-IP: " + other},
		{"PROXY: TCP4 " + other + " 127.0.0.1 1 2"},
	}
}

// Who asks is whom the trusted proxies have seen, whatever a client writes: behind HAProxy, behind
// nginx, behind nginx behind HAProxy, which says so by the PROXY protocol, and over IPv6. The audit
// line has the address, and limits count by it.
func TestAddressBehindProxies(t *testing.T) {
	t.Parallel()
	process.Needed(t)
	file, _ := newKey(t)
	const added = "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;"
	inner := func(t *testing.T, g *gateway) string {
		return proxy(t, "nginx", nginxOf("listen LISTEN proxy_protocol; location / { proxy_pass http://GATEWAY; proxy_set_header X-Forwarded-For $proxy_protocol_addr; }"), g.Addr)
	}
	listed := func(t *testing.T, g *gateway) string {
		return proxy(t, "nginx", nginxOf("listen LISTEN; location / { proxy_pass http://GATEWAY; "+added+" }"), g.Addr)
	}
	for name, front := range map[string]func(*testing.T, *gateway) string{
		"HAProxy": func(t *testing.T, g *gateway) string {
			return proxy(t, "haproxy", haproxyOf("bind LISTEN", "bind [::1]:PORT", "option forwardfor", "server one GATEWAY"), g.Addr)
		},
		"nginx": func(t *testing.T, g *gateway) string {
			return proxy(t, "nginx", nginxOf("listen LISTEN; listen [::1]:PORT; location / { proxy_pass http://GATEWAY; "+added+" }"), g.Addr)
		},
		"both": func(t *testing.T, g *gateway) string {
			return proxy(t, "haproxy", haproxyOf("bind LISTEN", "bind [::1]:PORT", "option forwardfor", "server one GATEWAY"), listed(t, g))
		},
		"the PROXY protocol": func(t *testing.T, g *gateway) string {
			return proxy(t, "haproxy", haproxyOf("bind LISTEN", "bind [::1]:PORT", "server one GATEWAY send-proxy-v2"), inner(t, g))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := write(t, "sluice.yaml", "auth:\n  anonymous: {scopes: [chat]}\nlimits:\n  address: {reads: {rate: 12/h}}\n")
			g := start(t, echo, "SLUICE_API_KEYS", file, "SLUICE_CONFIG", config, "SLUICE_TRUSTED_PROXIES", "127.0.0.1")
			addr := front(t, g)
			_, port, _ := net.SplitHostPort(addr)
			seen := 0
			asks := func(from, addr, want string) {
				t.Helper()
				for _, header := range forged() {
					got := via(t, from, addr, "/me", append(header, "Authorization: Bearer nobody")...)
					if strings.HasPrefix(got, "HTTP/1.1 400") { // the proxy refuses it
						continue
					}
					if !strings.HasPrefix(got, "HTTP/1.1 401") {
						t.Errorf("%q: %s", header, got)
					}
					l := g.AwaitAfter("auth_failed", seen)
					if seen++; l.Detail("client") != want {
						t.Errorf("%q: the audit line has %s, want %s", header, l.Raw, want)
					}
				}
			}
			asks("127.0.0.9", addr, "127.0.0.9")
			if c, err := net.Dial("tcp", "[::1]:"+port); err == nil {
				_ = c.Close()
				asks("::1", "[::1]:"+port, "::1")
			} else {
				t.Logf("no IPv6 here: %v", err)
			}
			// A limit of addresses is spent by one, whatever it claims, and left to another.
			for i := range 12 + 5 {
				got := via(t, "127.0.0.10", addr, "/me", fmt.Sprintf("X-Forwarded-For: 198.51.100.%d", i))
				if refused := strings.HasPrefix(got, "HTTP/1.1 429"); refused != (i >= 12) {
					t.Errorf("request %d: %.300s", i, got)
				}
			}
			if got := via(t, "127.0.0.11", addr, "/me"); !strings.HasPrefix(got, "HTTP/1.1 200") {
				t.Errorf("another address: %.300s", got)
			}
		})
	}
}
