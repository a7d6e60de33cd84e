package loadtest

import (
	"errors"
	"io/fs"
	"net"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// machine is a /proc of one server, 7, that listens at 127.0.0.1:8080 and [::]:9090,
// and two that share 127.0.0.1:8081.
func machine(t *testing.T) procfs {
	t.Helper()
	root := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	link := func(pid, fd, target string) {
		folder := filepath.Join(root, pid, "fd")
		if err := errors.Join(os.MkdirAll(folder, 0o755), os.Symlink(target, filepath.Join(folder, fd))); err != nil {
			t.Fatal(err)
		}
	}
	const rest = " 00000000:00000000 00:00000000 00000000     0        0 "
	write("net/tcp", "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"+
		"   0: 0100007F:1F90 00000000:0000 0A"+rest+"111 1 0 100 0 0 10 0\n"+
		"   1: 0100007F:1F91 00000000:0000 0A"+rest+"222 1 0 100 0 0 10 0\n"+
		"   2: 0100007F:1F92 0100007F:1F90 01"+rest+"333 1 0 100 0 0 10 0\n"+ // connected, not listening
		"   3: 0200007F:1F93 00000000:0000 0A"+rest+"444 1 0 100 0 0 10 0\n") // 127.0.0.2
	write("net/tcp6", "header\n   0: 00000000000000000000000000000000:2382 00000000000000000000000000000000:0000 0A"+rest+"555 1 0 100 0 0 10 0\n")
	link("7", "3", "socket:[111]")
	link("7", "4", "socket:[555]")
	link("7", "5", "/dev/null")
	link("8", "3", "socket:[222]")
	link("9", "3", "socket:[222]")
	link("10", "3", "socket:[333]")
	write("7/comm", "sluice\n")
	write("7/stat", "7 (a) (name) S 1 7 7 0 -1 4194560 5000 0 0 0 250 50 9 9 20 0 12 0 123456 1300000000 2048 18446744073709551615 1 1\n")
	write("8/stat", "8 (short) S 1")
	write("self/limits", "Limit                     Soft Limit           Hard Limit           Units     \n"+
		"Max processes             1                    2                    processes \n"+
		"Max open files            20000                524288               files     \n")
	return procfs(root)
}

func TestListener(t *testing.T) {
	t.Parallel()
	p := machine(t)
	for _, tt := range []struct {
		url  string
		pid  int
		want error
	}{
		{"http://127.0.0.1:8080", 7, nil},
		{"http://127.0.0.1:9090/path", 7, nil}, // it listens everywhere
		{"http://[::1]:9090", 7, nil},
		{"http://127.0.0.1:8081", 0, errAmbiguous},
		{"http://127.0.0.1:8082", 0, errNotFound},
		{"http://127.0.0.1:8083", 0, errNotFound},
		{"http://127.0.0.1", 0, errNotFound},
		{"http://192.0.2.1:8080", 0, errNotLocal},
		{"http://[2001:db8::1]:8080", 0, errNotLocal},
	} {
		if pid, err := p.serverOf(t.Context(), tt.url); pid != tt.pid || !errors.Is(err, tt.want) {
			t.Errorf("%s: process %d, %v; want %d, %v", tt.url, pid, err, tt.pid, tt.want)
		}
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	p := machine(t)
	want := usage{cpu: 3 * time.Second, rss: 2048 * int64(os.Getpagesize())}
	if got, err := p.usage("7"); got != want || err != nil {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	if _, err := p.usage("8"); !errors.Is(err, errUnreadable) {
		t.Error(err)
	}
	if _, err := p.usage("99"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if p.name(7) != "sluice" || p.name(99) != "" {
		t.Errorf("%q, %q", p.name(7), p.name(99))
	}
	if n := p.openFiles(); n != 20000 {
		t.Errorf("%d open files", n)
	}
	if n := procfs(t.TempDir()).openFiles(); n != 0 {
		t.Errorf("%d open files where nothing is known", n)
	}
}

// The same with the kernel of this machine, and this process as the server.
func TestOwnProcess(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(string(linux)); err != nil {
		t.Skip("there is no /proc on this machine")
	}
	s := httptest.NewServer(play(good()))
	t.Cleanup(s.Close)
	rep, err := Run(t.Context(), Config{URL: s.URL, Clients: 2, Turns: 20, Inputs: []string{"hi"}})
	if err != nil || !rep.OK {
		t.Fatalf("%v, %+v", err, rep.Streams)
	}
	if sv := rep.Server; sv.PID != os.Getpid() || sv.Unknown != "" || sv.RSSStart == 0 || sv.RSSPeak < sv.RSSEnd {
		t.Errorf("%+v, want process %d", sv, os.Getpid())
	}
	if rep.Seconds != rep.Measured { // looking for the process took time, and counts
		t.Errorf("%v s, of which %v s measured, without a warm-up", rep.Seconds, rep.Measured)
	}
	if linux.openFiles() == 0 {
		t.Error("the limit of open files is not known")
	}
	// By name, too; and not when it listens elsewhere.
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(s.URL, "http://"))
	if pid, err := linux.serverOf(t.Context(), "http://localhost:"+port); pid != os.Getpid() {
		t.Errorf("process %d, %v", pid, err)
	}
	if _, err := linux.listener([]netip.Addr{netip.MustParseAddr("127.0.0.9")}, 1); !errors.Is(err, errNotFound) {
		t.Error(err)
	}
	rep, err = Run(t.Context(), Config{URL: s.URL, Clients: 1, Turns: 1, Inputs: []string{"hi"}, PID: 1 << 30})
	if err != nil || rep.Server.Unknown != errGone.Error() {
		t.Errorf("%v, %+v", err, rep.Server)
	}
}
