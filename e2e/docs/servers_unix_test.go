//go:build unix

package docs

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"sluice/e2e/process"
)

// start is what a shell asks to be started, as it stands in its command line.
type start struct {
	Args, Env []string
	Dir       string
}

// started is the reply: what was printed until the server listened, or until it ended.
type started struct {
	Output string
	Code   int
}

// serve starts the servers that the shells ask for.
func (term *terminal) serve() {
	for {
		conn, err := term.socket.Accept()
		if err != nil {
			return // closed
		}
		var asked start
		if err := json.NewDecoder(conn).Decode(&asked); err == nil {
			_ = json.NewEncoder(conn).Encode(term.start(asked))
		}
		_ = conn.Close()
	}
}

// address returns where a server will listen.
func (a start) address() string {
	for i, arg := range a.Args {
		if value, ok := strings.CutPrefix(arg, "--addr="); ok {
			return value
		} else if arg == "--addr" && i+1 < len(a.Args) {
			return a.Args[i+1]
		}
	}
	for _, v := range a.Env {
		if value, ok := strings.CutPrefix(v, "SLUICE_ADDR="); ok {
			return value
		}
	}
	return ""
}

func (term *terminal) start(asked start) started {
	term.mu.Lock()
	defer term.mu.Unlock()
	if former := term.servers[asked.address()]; former != nil {
		former.stop()
		delete(term.servers, asked.address())
	}
	s := &server{cmd: exec.Command(term.program, asked.Args...), ended: make(chan struct{})}
	s.cmd.Env, s.cmd.Dir = asked.Env, asked.Dir
	listens, err := s.begin()
	if err != nil {
		return started{err.Error(), 1}
	}
	timeout := time.After(process.Patience)
	select {
	case <-listens:
		term.servers[asked.address()] = s
		return started{Output: s.output()}
	case <-s.ended:
		return started{s.output(), s.cmd.ProcessState.ExitCode()}
	case <-timeout:
		s.stop()
		return started{"it does not listen\n" + s.output(), 1}
	}
}

// server is a process that a reader would leave running in another terminal.
type server struct {
	cmd   *exec.Cmd
	ended chan struct{}

	mu   sync.Mutex // guards text
	text strings.Builder
}

// up is what each of our servers prints once it listens.
var up = regexp.MustCompile(`"event":"listening"| on http://`)

// begin starts the server. The channel is closed when it listens.
func (s *server) begin() (<-chan struct{}, error) {
	out, in := io.Pipe()
	s.cmd.Stdout, s.cmd.Stderr = in, in
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = s.cmd.Wait()
		_ = in.Close()
	}()
	listens := make(chan struct{})
	go func() {
		defer close(s.ended)
		lines, once := bufio.NewScanner(out), sync.OnceFunc(func() { close(listens) })
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			s.mu.Lock()
			s.text.WriteString(lines.Text() + "\n")
			s.mu.Unlock()
			if up.MatchString(lines.Text()) {
				once()
			}
		}
	}()
	return listens, nil
}

func (s *server) output() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// stop ends a server as Ctrl-C does, twice.
func (s *server) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGINT)
	_ = s.cmd.Process.Signal(syscall.SIGINT)
	select {
	case <-s.ended:
	case <-time.After(process.Patience):
		_ = s.cmd.Process.Kill()
		<-s.ended
	}
}

// standIn is the program, or the go command, in the shells of a page: a link to this test. Commands
// that end are run by the program itself, servers are left to the test.
func standIn(name string, args []string) int {
	if name == "go" {
		line := strings.Join(args, " ")
		switch own, ok := strings.CutPrefix(line, "run ./cmd/sluice"); {
		case ok && (own == "" || own[0] == ' '):
			args = args[2:]
		case line == "test ./..." || line == "-C e2e test ./...":
			// The command of all tests, of which this is one. TestCommandOfAllTests compares it.
			return 0
		default:
			fmt.Fprintln(os.Stderr, "the documents run go for the gateway alone: go", line)
			return 1
		}
	}
	if !serves(args) {
		err := syscall.Exec(os.Getenv("DOCS_PROGRAM"), append([]string{"sluice"}, args...), os.Environ())
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	var reply started
	dir, err := os.Getwd()
	conn, dialErr := net.Dial("unix", os.Getenv("DOCS_SOCKET"))
	if err = errors.Join(err, dialErr); err == nil {
		err = errors.Join(json.NewEncoder(conn).Encode(start{Args: args, Env: os.Environ(), Dir: dir}), json.NewDecoder(conn).Decode(&reply))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Print(reply.Output)
	return reply.Code
}

// serves says whether a command stays in the foreground until it is stopped.
func serves(args []string) bool {
	if len(args) == 0 {
		return true
	}
	rest := " " + strings.Join(args, " ") + " "
	for _, ends := range []string{" --help ", " -h ", " --version ", " -v ", " --stdio "} {
		if strings.Contains(rest, ends) {
			return false
		}
	}
	return strings.HasPrefix(args[0], "-") || args[0] == "todo-server" || args[0] == "gemini-sim"
}
