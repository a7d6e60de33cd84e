package peers

import (
	"bytes"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"sluice/internal/base/testnet"
)

// command says what to start.
type command struct {
	name string
	args []string
	env  map[string]string // all of it
	dir  string            // "" is this folder
}

// process is a program that a test has started, with its process group.
type process struct {
	name   string
	cmd    *exec.Cmd
	out    *output
	wanted atomic.Bool   // the test itself has ended it
	ended  chan struct{} // closed when the program has ended; then err says how
	err    error
}

// start starts a program in a process group of its own. With the test ends the
// whole group, and if the test has failed its output is shown.
func start(t testing.TB, c command) *process {
	t.Helper()
	p, err := c.start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("output of %s:\n%s", p.name, p.out.tail())
		}
	})
	return p
}

// start is for what outlives a test. The caller kills it.
func (c command) start() (*process, error) {
	p := &process{name: c.name, cmd: exec.Command(c.name, c.args...), out: &output{}, ended: make(chan struct{})}
	p.cmd.Dir = c.dir
	for _, name := range slices.Sorted(maps.Keys(c.env)) {
		p.cmd.Env = append(p.cmd.Env, name+"="+c.env[name])
	}
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
	p.cmd.SysProcAttr = ownGroup()
	p.cmd.WaitDelay = time.Second // a process that left the group may hold the pipes
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// signal sends a signal to the whole group.
func (p *process) signal(s syscall.Signal) { signalGroup(p.cmd.Process, s) }

// stop sends a signal and waits for the end; one that takes too long is killed.
func (p *process) stop(s syscall.Signal) {
	p.wanted.Store(true)
	p.signal(s)
	select {
	case <-p.ended:
	case <-time.After(patience):
	}
	p.signal(syscall.SIGKILL)
	<-p.ended
}

// kill ends the group without warning.
func (p *process) kill() { p.stop(syscall.SIGKILL) }

// killProcess ends a process that we did not start ourselves, such as a child of the
// gateway.
func killProcess(t testing.TB, pid int) {
	t.Helper()
	p, err := os.FindProcess(pid)
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// freeAddr returns an address of loopback that nobody listens on: for servers that
// cannot say which port the kernel has picked for them.
func freeAddr(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// startServer starts a server and waits until it listens on addr.
func startServer(t testing.TB, c command, addr string) *process {
	t.Helper()
	p := start(t, c)
	p.awaitPort(t, addr)
	return p
}

func (p *process) awaitPort(t testing.TB, addr string) {
	t.Helper()
	testnet.Eventually(t, p.name+" listens on "+addr, func() bool {
		conn, err := net.DialTimeout("tcp", addr, time.Second)
		if err == nil {
			conn.Close()
			return true
		}
		select {
		case <-p.ended:
			t.Fatalf("%s ended (%v) before it listened on %s", p.name, p.err, addr)
		default:
		}
		return false
	})
}

// output is what a program has written so far.
type output struct {
	mu      sync.Mutex // guards the fields below
	buf     bytes.Buffer
	changed chan struct{} // closed by the next write; nil: nobody waits
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.changed != nil {
		close(o.changed)
		o.changed = nil
	}
	return o.buf.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// tail returns the end of it, enough to see what went wrong.
func (o *output) tail() string {
	const enough = 8 << 10
	text := o.String()
	if len(text) <= enough {
		return text
	}
	return "…" + text[len(text)-enough:]
}

// next returns what there is, and a channel that is closed when there is more.
func (o *output) next() (string, <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.changed == nil {
		o.changed = make(chan struct{})
	}
	return o.buf.String(), o.changed
}

// await waits until found is content with the output.
func (p *process) await(what string, found func(text string) bool) error {
	timeout := time.After(patience)
	for ended := p.ended; ; {
		text, changed := p.out.next()
		if found(text) {
			return nil
		}
		select {
		case <-changed:
		case <-ended:
			ended = nil // look once more at what it wrote last
			if !found(p.out.String()) {
				return fmt.Errorf("%s ended (%v) without %s:\n%s", p.name, p.err, what, p.out.tail())
			}
		case <-timeout:
			return fmt.Errorf("%s: no %s within %v", p.name, what, patience)
		}
	}
}
