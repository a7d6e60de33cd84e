package peers

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// balancer is a load balancer in front of three gateways, as deploy/ sets it up.
type balancer struct {
	name   string
	config string   // the file in deploy/
	args   []string // DIR and CONFIG stand for what they say
	edits  []string // beyond addresses: from, to, ...
}

func balancers() []balancer {
	return []balancer{
		{
			name: "nginx", config: "nginx.conf",
			args: []string{"-c", "CONFIG", "-g", "daemon off; pid DIR/nginx.pid;"},
			// Debian's folders for temporary files belong to root.
			edits: []string{"http {", `http {
    client_body_temp_path DIR/body; proxy_temp_path DIR/proxy; fastcgi_temp_path DIR/fastcgi;
    uwsgi_temp_path DIR/uwsgi; scgi_temp_path DIR/scgi;`},
		},
		{name: "haproxy", config: "haproxy.cfg", args: []string{"-db", "-f", "CONFIG"}},
	}
}

// behindEach runs a test with each balancer.
func behindEach(t *testing.T, test func(t *testing.T, b balancer)) {
	t.Parallel()
	for _, b := range balancers() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			test(t, b)
		})
	}
}

// program finds the balancer, also where only root has it in PATH, or ends the test.
func (b balancer) program(t testing.TB) string {
	t.Helper()
	needPeers(t)
	for _, name := range []string{b.name, "/usr/sbin/" + b.name} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	missing(t, b.name)
	return ""
}

// start starts the balancer with the file that is shipped, in which only the
// addresses are others, and returns its base URL.
func (b balancer) start(t testing.TB, servers []string, edits ...string) string {
	t.Helper()
	program, dir, addr := b.program(t), t.TempDir(), ownAddr(t)
	shipped, err := os.ReadFile(filepath.Join(root, "deploy", b.config))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(edits); i += 2 {
		if !strings.Contains(string(shipped), edits[i]) {
			t.Errorf("%s does not hold %q, which is to be edited", b.config, edits[i])
		}
	}
	edits = append(edits, b.edits...)
	edits = append(edits, "listen 8080;", "listen "+addr+";", "bind :8080\n", "bind "+addr+"\n")
	for i, shipped := range []string{"127.0.0.1:8081", "127.0.0.1:8082", "127.0.0.1:8083"} {
		edits = append(edits, shipped, servers[i])
	}
	text := strings.NewReplacer(edits...).Replace(string(shipped))
	file := filepath.Join(dir, b.config)
	fill := strings.NewReplacer("DIR", dir, "CONFIG", file)
	if err := os.WriteFile(file, []byte(fill.Replace(text)), 0o600); err != nil {
		t.Fatal(err)
	}
	var args []string
	for _, a := range b.args {
		args = append(args, fill.Replace(a))
	}
	startServer(t, command{name: program, args: args, env: baseEnv()}, addr)
	return "http://" + addr
}

// ownAddr returns an address that stays free while nobody listens on it, so that a
// server may come back to it: its port is held on another address of loopback.
func ownAddr(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Skipf("needs a second loopback address: %v", err)
	}
	t.Cleanup(func() { l.Close() })
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return "127.0.0.3:" + port
}
