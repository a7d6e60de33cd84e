package loadtest

import (
	"errors"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// machine is a /proc of one server, 7, and of 8, whose figures are cut off.
func machine(t *testing.T) procfs {
	t.Helper()
	root := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write("7/comm", "sluice\n")
	write("7/stat", "7 (a) (name) S 1 7 7 0 -1 4194560 5000 0 0 0 250 50 9 9 20 0 12 0 123456 1300000000 2048 18446744073709551615 1 1\n")
	write("8/stat", "8 (short) S 1")
	write("self/limits", "Limit                     Soft Limit           Hard Limit           Units     \n"+
		"Max processes             1                    2                    processes \n"+
		"Max open files            20000                524288               files     \n")
	return procfs(root)
}

func TestUsage(t *testing.T) {
	t.Parallel()
	p := machine(t)
	want := usage{cpu: 3 * time.Second, rss: 2048 * int64(os.Getpagesize())}
	if got, err := p.processUsage("7"); got != want || err != nil {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	if _, err := p.processUsage("8"); !errors.Is(err, errUnreadable) {
		t.Error(err)
	}
	if _, err := p.processUsage("99"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if p.processName(7) != "sluice" || p.processName(99) != "" {
		t.Errorf("%q, %q", p.processName(7), p.processName(99))
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
	rep, err := Run(t.Context(), Config{URL: s.URL, Clients: 2, Turns: 20, Inputs: []string{"hi"}, PID: os.Getpid()})
	if err != nil || !rep.OK {
		t.Fatalf("%v, %+v", err, rep.Streams)
	}
	if sv := rep.Server; sv.PID != os.Getpid() || sv.Unknown != "" || sv.RSSStart == 0 || sv.RSSPeak < sv.RSSEnd {
		t.Errorf("%+v, want process %d", sv, os.Getpid())
	}
	if rep.Seconds != rep.Measured {
		t.Errorf("%v s, of which %v s measured, without a warm-up", rep.Seconds, rep.Measured)
	}
	if linux.openFiles() == 0 {
		t.Error("the limit of open files is not known")
	}
	rep, err = Run(t.Context(), Config{URL: s.URL, Clients: 1, Turns: 1, Inputs: []string{"hi"}})
	if err != nil || rep.Server.Unknown != errNoPID.Error() || rep.Server.PID != 0 {
		t.Errorf("%v, %+v", err, rep.Server)
	}
	rep, err = Run(t.Context(), Config{URL: s.URL, Clients: 1, Turns: 1, Inputs: []string{"hi"}, PID: 1 << 30})
	if err != nil || rep.Server.Unknown != errGone.Error() {
		t.Errorf("%v, %+v", err, rep.Server)
	}
}
