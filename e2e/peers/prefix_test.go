package peers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/internal/sim/geminisim"
)

// What docs/dialects.md says of nginx holds: below a prefix that it takes away streams come as
// they are sent, each protocol is found, and a client has its conversations.
func TestNginxStripsAPrefix(t *testing.T) {
	t.Parallel()
	program := balancers()[0].program(t)
	g := startGateway(t, byMarkerAs(t, geminisim.Config{Foreign: true}, aguiScripts).env("SLUICE_CONFIRM", "writes"))
	text, err := os.ReadFile(filepath.Join(root, "docs/dialects.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, location, _ := strings.Cut(string(text), "```nginx\n")
	location, _, found := strings.Cut(location, "```")
	if !found {
		t.Fatal("docs/dialects.md has no location of nginx")
	}
	dir, addr := t.TempDir(), ownAddr(t)
	config := strings.NewReplacer("DIR", dir, "GATEWAY", strings.TrimPrefix(g.base, "http://"), "ADDRESS", addr, "LOCATION", location).Replace(`pid DIR/nginx.pid;
error_log stderr;
events {}
http {
    client_body_temp_path DIR/body; proxy_temp_path DIR/proxy; fastcgi_temp_path DIR/fastcgi;
    uwsgi_temp_path DIR/uwsgi; scgi_temp_path DIR/scgi;
    access_log off;
    upstream sluice { server GATEWAY; }
    server {
        listen ADDRESS;
        LOCATION
    }
}
`)
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	startServer(t, command{name: program, args: []string{"-c", file, "-g", "daemon off;"}, env: baseEnv()}, addr)
	base := "http://" + addr + "/assistant"

	seen := doctor(t, base).of("ok")
	if !strings.HasPrefix(seen["stream"], "live: ") || seen["post"] == "" || strings.Count(seen["dialects"], " at /") != 5 {
		t.Errorf("sluice doctor finds %q", seen)
	}
	var talks struct{ Talks map[string][]aguiRun }
	runDialect(t, "agui", "play.mjs", map[string]any{"package": aguiClients[2], "tape": "", "runs": map[string]int{}, "gateway": base}, &talks)
	wantTalks(t, talks.Talks)
	g.awaitLog(t, "request_completed", "finish_reason", "cancelled")
}
