package release

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"sluice/e2e/process"
)

// nobody is the user that the gateway runs as here; on a machine with systemd it is one that
// DynamicUser makes.
const nobody = 65534

// root is an empty machine: a shell for the package's scripts, a systemctl that writes down
// what it is asked for, and nothing else. It has no C library but the shell's.
type root string

// newRoot makes one, or ends the test.
func newRoot(t *testing.T) root {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("installs a package into a root of its own, which only root may")
	}
	r := root(t.TempDir())
	for _, dir := range []string{"bin", "run/systemd/system", "tmp", "var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/sluice"} {
		if err := os.MkdirAll(r.path(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"status", "available"} {
		r.write(t, "var/lib/dpkg/"+file, "")
	}
	for _, program := range []string{"sh", "rm", "kill"} {
		r.program(t, process.Tool(t, program))
	}
	r.write(t, "bin/systemctl", "#!/bin/sh\necho \"$@\" >>/systemctl\n")
	if err := errors.Join(os.Chmod(r.path("bin/systemctl"), 0o755), os.Chown(r.path("var/lib/sluice"), nobody, nobody), os.Chmod(string(r), 0o755)); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r root) path(name string) string { return filepath.Join(string(r), name) }

func (r root) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(r.path(name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (r root) read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(r.path(name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return string(data)
}

// program copies a program, and the libraries that it is linked to.
func (r root) program(t *testing.T, path string) {
	t.Helper()
	r.copy(t, path, filepath.Join("bin", filepath.Base(path)))
	for _, m := range regexp.MustCompile(`(/\S+) \(0x`).FindAllStringSubmatch(said(t, "ldd", path), -1) {
		r.copy(t, m[1], m[1])
	}
}

func (r root) copy(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(r.path(to)), 0o755)
	}
	if err == nil {
		err = os.WriteFile(r.path(to), data, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// dpkg installs or removes, as apt would.
func (r root) dpkg(t *testing.T, args ...string) {
	t.Helper()
	said(t, process.Tool(t, "dpkg"), append([]string{"--root=" + string(r), "--force-not-root", "--log=/dev/null"}, args...)...)
}

// asked returns what systemctl was asked for since the last time.
func (r root) asked(t *testing.T) string {
	t.Helper()
	got := r.read(t, "systemctl")
	r.write(t, "systemctl", "")
	return strings.ReplaceAll(strings.TrimSpace(got), "\n", "; ")
}

// The package installs into an empty root, upgrades without touching what its operator wrote,
// and leaves when it is purged.
func TestDebianPackage(t *testing.T) {
	t.Parallel()
	r, deb := newRoot(t), only(t, built(t), "*.deb")
	r.dpkg(t, "--install", deb)
	if got := r.asked(t); got != "daemon-reload; try-restart sluice.service" {
		t.Errorf("the installation asked for %q", got)
	}
	for name, mode := range map[string]fs.FileMode{
		"usr/bin/sluice": 0o755, "etc/sluice/credentials": 0o700, "etc/sluice/sluice.env": 0o640, "etc/sluice/config.yaml": 0o644,
		"usr/share/bash-completion/completions/sluice": 0o644, "usr/share/zsh/vendor-completions/_sluice": 0o644,
		"usr/share/fish/vendor_completions.d/sluice.fish": 0o644, "usr/share/doc/sluice/copyright": 0o644,
	} {
		if info, err := os.Stat(r.path(name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v; want %v", name, info, err, mode)
		}
	}
	const mine = "SLUICE_ADDR=127.0.0.1:9090\n"
	r.write(t, "etc/sluice/sluice.env", mine)
	r.dpkg(t, "--install", deb)
	if got := r.read(t, "etc/sluice/sluice.env"); got != mine {
		t.Errorf("the upgrade wrote %q", got)
	}
	if got := r.asked(t); strings.Contains(got, "disable") || !strings.Contains(got, "try-restart sluice.service") {
		t.Errorf("the upgrade asked for %q", got)
	}
	r.dpkg(t, "--remove", "sluice")
	if got := r.asked(t); !strings.HasPrefix(got, "disable --now sluice.service") || r.read(t, "etc/sluice/sluice.env") != mine {
		t.Errorf("the removal asked for %q, and left %q", got, r.read(t, "etc/sluice/sluice.env"))
	}
	r.dpkg(t, "--purge", "sluice")
	for _, name := range []string{"etc/sluice/sluice.env", "var/lib/sluice", "usr/bin/sluice"} {
		if _, err := os.Stat(r.path(name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", name, err)
		}
	}
}

// Where systemd does not run, as in an image that is being made, it is not asked.
func TestDebianPackageWithoutSystemd(t *testing.T) {
	t.Parallel()
	r, deb := newRoot(t), only(t, built(t), "*.deb")
	if err := os.Remove(r.path("run/systemd/system")); err != nil {
		t.Fatal(err)
	}
	r.dpkg(t, "--install", deb)
	r.dpkg(t, "--purge", "sluice")
	if got := r.asked(t); got != "" {
		t.Errorf("systemctl was asked for %q", got)
	}
}

// What is installed starts in its root as the unit says: it reports that it serves, answers, has
// the key that its credentials hold, reports that it stops, and ends.
func TestInstalledGatewayStarts(t *testing.T) {
	t.Parallel()
	r, deb := newRoot(t), only(t, built(t), "*.deb")
	r.dpkg(t, "--install", deb)
	for name, key := range map[string]string{"offline": "", "with a key": "test-key-0123456789"} {
		t.Run(name, func(t *testing.T) {
			g := r.start(t, key)
			if got := g.receive(t); got != "READY=1" {
				t.Errorf("at the start it reported %q", got)
			}
			addr := g.printed(t, `http://(127\.0\.0\.1:\d+)`)
			client := &http.Client{Timeout: process.Patience}
			resp, err := client.Get("http://" + addr + "/healthz")
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				t.Errorf("/healthz is %s", resp.Status)
			}
			if isOffline := !strings.Contains(g.printed(t, `(?m)^\s*Model\s+(.*)$`), "gemini-"); isOffline != (key == "") {
				t.Errorf("offline is %v", isOffline)
			}
			if err := g.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if got := g.receive(t); got != "STOPPING=1" {
				t.Errorf("at the end it reported %q", got)
			}
			if err := g.cmd.Wait(); err != nil {
				t.Errorf("%v\n%s", err, g.output(t))
			}
		})
	}
}

// started is the gateway of a root.
type started struct {
	cmd     *exec.Cmd
	log     string // its file
	manager *net.UnixConn
}

// start does what systemd would: the environment is that of the unit and of the file that it
// names, with the line of the key in force if there is one.
func (r root) start(t *testing.T, key string) *started {
	t.Helper()
	socket := filepath.Join("run", fmt.Sprintf("notify-%d", len(key)))
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: r.path(socket), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = manager.Close() })
	if err := os.Chmod(r.path(socket), 0o666); err != nil {
		t.Fatal(err)
	}
	unit, settings := r.read(t, "lib/systemd/system/sluice.service"), r.read(t, "etc/sluice/sluice.env")
	env := []string{"NOTIFY_SOCKET=/" + socket, "SLUICE_ADDR=127.0.0.1:0"}
	for _, m := range regexp.MustCompile(`(?m)^Environment=(.+)$`).FindAllStringSubmatch(unit, -1) {
		env = append(env, strings.ReplaceAll(m[1], "%S", "/var/lib"))
	}
	if key != "" {
		m := regexp.MustCompile(`(?m)^#(GEMINI_API_KEY_FILE=(\S+))$`).FindStringSubmatch(settings)
		if m == nil {
			t.Fatalf("sluice.env has no line for a key:\n%s", settings)
		}
		if err := os.MkdirAll(filepath.Dir(r.path(m[2])), 0o755); err != nil {
			t.Fatal(err)
		}
		r.write(t, m[2], key+"\n")
		env = append(env, m[1])
	}
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	program := regexp.MustCompile(`(?m)^ExecStart=(\S+)$`).FindStringSubmatch(unit)
	if program == nil {
		t.Fatalf("the unit starts nothing:\n%s", unit)
	}
	cmd := exec.CommandContext(t.Context(), program[1])
	cmd.Path, cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = program[1], "/", env, log, log
	cmd.Err = nil // the program is looked for in the root, not here
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: string(r), Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _, _ = cmd.Process.Wait() })
	return &started{cmd, log.Name(), manager}
}

// receive returns the next report to the service manager.
func (g *started) receive(t *testing.T) string {
	t.Helper()
	if err := g.manager.SetReadDeadline(time.Now().Add(process.Patience)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 256)
	n, err := g.manager.Read(buf)
	if err != nil {
		t.Fatalf("no report: %v\n%s", err, g.output(t))
	}
	return string(buf[:n])
}

func (g *started) output(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(g.log)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// printed returns what a pattern finds in what is printed for people, all of it before the gateway
// reports that it serves. The log may come later.
func (g *started) printed(t *testing.T, pattern string) string {
	t.Helper()
	text := g.output(t)
	m := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("%s is not printed:\n%s", pattern, text)
	}
	return m[1]
}

// systemd reads the unit without a complaint, and counts it among those that are closed well.
func TestUnit(t *testing.T) {
	t.Parallel()
	r, deb := newRoot(t), only(t, built(t), "*.deb")
	analyze := process.Tool(t, "systemd-analyze")
	r.dpkg(t, "--install", deb)
	unit := r.path("lib/systemd/system/sluice.service")
	// The programs that it names are in the root, and the manual is too.
	here := strings.NewReplacer("=/usr/bin/sluice", "="+r.path("usr/bin/sluice")).Replace(r.read(t, "lib/systemd/system/sluice.service"))
	checked := filepath.Join(t.TempDir(), "sluice.service")
	if err := os.WriteFile(checked, []byte(here), 0o644); err != nil {
		t.Fatal(err)
	}
	if out := said(t, analyze, "verify", "--man=no", checked); strings.Contains(out, "sluice.service") {
		t.Errorf("systemd complains: %s", out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), process.Patience)
	defer cancel()
	// 0 is closed, 100 is open.
	out, err := exec.CommandContext(ctx, analyze, "security", "--offline=true", "--threshold=20", "--no-pager", unit).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
