package wire

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/base/redact"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

const (
	// StdinGrace is the time that a child has to end by itself once its input is closed. TermGrace
	// is the time that it then has for SIGTERM, before it is killed.
	StdinGrace = 2 * time.Second
	TermGrace  = time.Second
	// outputGrace is how long the output of a dead child is still read, when
	// another process holds it open.
	outputGrace = time.Second
	// maxStderrLine is how much of a line of a child's stderr is logged.
	maxStderrLine = 2 << 10
	// maxLastWords is how much of the last one is logged with the end of the child.
	maxLastWords = 300
)

// process is the child that runs a stdio server, with all processes of its group: a program that
// uvx or npx starts is a grandchild.
type process struct {
	cmd    *exec.Cmd
	stdin  *os.File // our ends
	stdout *os.File
	stderr *os.File
	exited chan struct{} // closed when the child is reaped
	force  <-chan struct{}
	last   lastLine // of stderr
}

// lastLine is the last line that a child wrote to stderr, fit for a log.
type lastLine struct {
	done chan struct{} // closed at the end of stderr
	text string        // valid once done is closed
}

// withLastWords returns err with the last line, which mostly names the reason of the child's end.
// It waits for that line, but not for a process that holds stderr open.
func (l *lastLine) withLastWords(err error) error {
	limit := time.NewTimer(outputGrace)
	defer limit.Stop()
	select {
	case <-l.done:
	case <-limit.C:
		return err
	}
	if l.text == "" {
		return err
	}
	return fmt.Errorf("%w; its last words: %s", err, l.text)
}

// Command describes a child to start.
type Command struct {
	// Name is a path, or a name that is looked up in the PATH of Env.
	Name string
	Args []string
	Env  []string // all of it, as "NAME=value"
	Dir  string   // empty means ours
	// Server is the child's name in the log. Log gets the child's stderr, line by line, at level
	// debug, without what Hide hides.
	Server string
	Log    zerolog.Logger
	Hide   *redact.Scrubber
}

// startChild starts the child. It lives until stop, or until this process dies.
func (c Command) startChild(g *Group) (*process, error) {
	path, err := lookUp(c.Name, c.Env)
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(path, c.Args...), exited: make(chan struct{}), force: g.Forced(), last: lastLine{done: make(chan struct{})}}
	p.cmd.Env = append([]string{}, c.Env...) // not nil: that would mean ours
	p.cmd.Dir = c.Dir
	p.cmd.SysProcAttr = childAttr()
	theirs, err := p.makePipes()
	if err != nil {
		closeAll(theirs)
		p.closePipes()
		return nil, err
	}
	started := make(chan error, 1)
	// Goroutine (runChild, one for each child): starts the child, keeps its thread (the parent-death
	// signal of Linux belongs to it), waits, and kills the process group.
	// Ends: the child is reaped.
	// Waits: the group.
	if !g.Run(func() { p.runChild(started, theirs) }) {
		started <- ErrClosed
	}
	if err := <-started; err != nil {
		closeAll(theirs)
		p.closePipes()
		return nil, fmt.Errorf("starting the server's command: %w", err)
	}
	// Goroutine (logStderr, one for each child): logs the child's stderr, to its end.
	// Ends: the pipe ends, at the latest a second after the child.
	// Waits: the group.
	if !g.Run(func() { c.logStderr(p.stderr, &p.last) }) {
		close(p.last.done)
	}
	return p, nil
}

// makePipes makes the three pipes. They are ours and not exec's: Wait then neither
// waits for a grandchild that holds one open nor closes one before it is read.
func (p *process) makePipes() (theirs []*os.File, err error) {
	pipe := func(name string) (r, w *os.File) {
		if err == nil {
			r, w, err = os.Pipe()
		}
		if err != nil {
			err = fmt.Errorf("making a pipe for %s: %w", name, err)
		}
		return r, w
	}
	in, stdin := pipe("stdin")
	stdout, out := pipe("stdout")
	stderr, errOut := pipe("stderr")
	p.stdin, p.stdout, p.stderr = stdin, stdout, stderr
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = in, out, errOut
	return []*os.File{in, out, errOut}, err
}

// runChild starts the child, waits for its end and clears up after it. On Linux a child gets the
// parent-death signal when the thread ends that forked it. So the thread belongs to this goroutine
// until the child has ended.
func (p *process) runChild(started chan<- error, theirs []*os.File) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	if err != nil {
		started <- err
		return
	}
	closeAll(theirs)
	started <- nil
	_ = p.cmd.Wait() // its exit status makes no difference
	killGroup(p.cmd.Process)
	close(p.exited)
	// The last output of the child is still in the pipes and is read to its end. Only a process
	// that left the group could hold them open.
	for _, f := range []*os.File{p.stdout, p.stderr} {
		if f.SetReadDeadline(time.Now().Add(outputGrace)) != nil {
			f.Close() // no deadlines for pipes on this system
		}
	}
}

// stop ends the child and returns when it is reaped: by closing its input, then with
// SIGTERM, then with SIGKILL. It leaves the first two out once the group is forced.
func (p *process) stop() {
	p.stdin.Close()
	if p.awaitExit(StdinGrace) {
		return
	}
	terminateGroup(p.cmd.Process)
	if p.awaitExit(TermGrace) {
		return
	}
	killGroup(p.cmd.Process)
	<-p.exited
}

// awaitExit waits for the end of the child, for limit at most and no longer than until the
// group is forced. It reports whether the child has ended.
func (p *process) awaitExit(limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.exited:
		return true
	case <-timer.C:
		return false
	case <-p.force:
		return false
	}
}

// closePipes closes our ends. It is for a child that was not started; live and the
// readers close those of one that was.
func (p *process) closePipes() { closeAll([]*os.File{p.stdin, p.stdout, p.stderr}) }

// closeAll closes files, of which some may be nil.
func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// logStderr reads a child's stderr to its end, so that the child never waits for
// us, and logs it line by line. It sets last at the end.
func (c Command) logStderr(r io.ReadCloser, last *lastLine) {
	defer close(last.done)
	defer r.Close()
	br := bufio.NewReaderSize(r, maxStderrLine)
	for {
		line, cut, err := br.ReadLine()
		if err != nil {
			return
		}
		if len(line) > 0 {
			text := c.Hide.Text(tool.Clean(string(line)))
			if words := strings.TrimSpace(text); words != "" {
				last.text, _ = chat.Truncate(words, maxLastWords)
			}
			c.Log.Debug().Dict("details", zerolog.Dict().Str("server", c.Server).Str("line", text).Bool("truncated", cut)).Msg("mcp_stderr")
		}
		for cut && err == nil {
			_, cut, err = br.ReadLine()
		}
	}
}
