//go:build unix

package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/rs/zerolog"

	"sluice/internal/base/redact"
)

// environment is that of a child which finds its commands.
func environment() []string { return []string{"PATH=" + os.Getenv("PATH"), "TOKEN=s3cret-token"} }

// child starts a script of the shell as a server, and returns its transport, its group, and
// what the loss of the connection is reported to.
func child(t *testing.T, script string, env []string) (transport.Interface, *Group, <-chan error) {
	g, lost := NewGroup(zerolog.Nop()), make(chan error, 1)
	closed := make(chan struct{})
	conn, err := Child(Session{Group: g, Closed: closed, Lost: func(err error) { lost <- err }}, Command{
		Name: "/bin/sh", Args: []string{"-c", script}, Env: env, Log: zerolog.Nop(), Hide: redact.New(nil),
	}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		if !g.Stop(time.Minute) {
			t.Error("a goroutine is left over")
		}
	})
	return conn, g, lost
}

// ping sends a request to a child.
func ping(ctx context.Context, conn transport.Interface) (*transport.JSONRPCResponse, error) {
	return conn.SendRequest(ctx, transport.JSONRPCRequest{JSONRPC: "2.0", ID: mcp.NewRequestId(int64(1)), Method: "ping"})
}

// A child has the environment that its server was given and nothing of ours.
func TestChildHasItsOwnEnvironment(t *testing.T) {
	t.Setenv("SLUICE_OF_OURS", "ours")
	for want, env := range map[string][]string{
		`{"token":"s3cret-token","ours":""}`: environment(),
		`{"token":"","ours":""}`:             nil,
	} {
		conn, _, _ := child(t, `read line; echo "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"token\":\"$TOKEN\",\"ours\":\"$SLUICE_OF_OURS\"}}"; read line`, env)
		if resp, err := ping(t.Context(), conn); err != nil || string(resp.Result) != want {
			t.Errorf("got %v, %v, want %s", resp, err, want)
		}
	}
}

// What a child wrote last is read to its end, although it is dead by then, and the loss is
// reported.
func TestLastWordsOfAChild(t *testing.T) {
	t.Parallel()
	conn, _, lost := child(t, `read line; echo '{"jsonrpc":"2.0","id":1,"result":{}}'; exit 1`, environment())
	if resp, err := ping(t.Context(), conn); err != nil || string(resp.Result) != `{}` {
		t.Errorf("got %v, %v", resp, err)
	}
	if err := <-lost; !errors.Is(err, errEnded) {
		t.Errorf("lost: %v", err)
	}
	if _, err := ping(t.Context(), conn); !NotSent(err) {
		t.Errorf("a request to a dead child: %v", err)
	}
}

// A child that ends with a call under way may have carried it out.
func TestChildThatEndsWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	conn, _, _ := child(t, `read line`, environment())
	if _, err := ping(t.Context(), conn); !BrokeOff(err) || !errors.Is(err, errEnded) {
		t.Errorf("got %v", err)
	}
}

// Its own stderr is logged line by line: without secrets and control characters, and no more of
// a line than the bound.
func TestStderrOfAChild(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	c := Command{Server: "files", Log: zerolog.New(&log), Hide: redact.New([]string{"s3cret-token"})}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		w.WriteString("one s3cret-token \x1b[31mred\n\n" + strings.Repeat("x", 3*maxStderrLine) + "\ntwo\nlast")
		w.Close()
	}()
	last := lastLine{done: make(chan struct{})}
	c.logStderr(r, &last)
	if err := last.withLastWords(errEnded); err.Error() != "the server has ended its output; its last words: last" || !errors.Is(err, errEnded) {
		t.Errorf("the end is explained by %v", err)
	}
	type line struct {
		Level, Message string
		Details        struct {
			Server, Line string
			Truncated    bool
		}
	}
	var got []string
	for text := range strings.Lines(log.String()) {
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil || l.Level != "debug" || l.Message != "mcp_stderr" || l.Details.Server != "files" {
			t.Errorf("%v: %.100s", err, text)
		}
		if l.Details.Truncated != (len(l.Details.Line) == maxStderrLine) {
			t.Errorf("truncated: %v, of %d bytes", l.Details.Truncated, len(l.Details.Line))
		}
		got = append(got, strings.TrimRight(l.Details.Line, "x"))
	}
	if len(got) != 4 || strings.Contains(got[0], "s3cret") || strings.Contains(got[0], "\x1b") {
		t.Fatalf("the lines are %q", got)
	}
	if diff := cmp.Diff([]string{"", "two", "last"}, got[1:]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A child that heeds neither the end of its input nor SIGTERM is killed, with all that it
// started; once the group is forced it gets no time at all.
func TestForcedChildDies(t *testing.T) {
	t.Parallel()
	conn, g, _ := child(t, `trap "" TERM; echo '{"jsonrpc":"2.0","method":"up"}'; while :; do sleep 600; done`, environment())
	began := time.Now()
	g.Force()
	g.Force() // it may come twice
	conn.Close()
	if elapsed := time.Since(began); elapsed >= TermGrace {
		t.Errorf("it lasted %v", elapsed)
	}
	if !g.Stop(time.Minute) { // the pipes are closed too: nobody holds them
		t.Error("a goroutine is left over")
	}
}

// What cannot be started says why, and leaves nothing open.
func TestCommandThatCannotStart(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		command Command
		stopped bool
		want    string
	}{
		"no such file":   {Command{Name: "/no/such"}, false, "starting the server's command: "},
		"no such folder": {Command{Name: "/bin/sh", Dir: "/no/such"}, false, "starting the server's command: "},
		"not in PATH":    {Command{Name: "sh"}, false, "the server's command is not in its PATH"},
		"while stopping": {Command{Name: "/bin/sh"}, true, "starting the server's command: the MCP session is closed"},
	} {
		g := NewGroup(zerolog.Nop())
		if tt.stopped {
			g.Stop(0)
		}
		if _, err := Child(Session{Group: g, Lost: func(error) {}}, tt.command, time.Second); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", name, err, tt.want)
		}
		g.Stop(time.Minute)
	}
}

// A name is looked up in the child's PATH, the last that it is given, and never in a relative
// folder; a path is used as it is.
func TestLookUp(t *testing.T) {
	t.Parallel()
	one, two := t.TempDir(), t.TempDir()
	for path, mode := range map[string]os.FileMode{
		filepath.Join(one, "plain"): 0o600, filepath.Join(two, "plain"): 0o700,
		filepath.Join(one, "both"): 0o700, filepath.Join(two, "both"): 0o700,
	} {
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	relative, err := filepath.Rel(mustGetwd(t), one)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		env  []string
		want string
	}{
		{"both", []string{"PATH=" + one + ":" + two}, filepath.Join(one, "both")},
		{"both", []string{"PATH=" + two + ":" + one}, filepath.Join(two, "both")},
		{"plain", []string{"PATH=" + one + ":" + two}, filepath.Join(two, "plain")}, // one's cannot be run
		{"both", []string{"PATH=" + one, "A=b", "PATH=" + two}, filepath.Join(two, "both")},
		{"both", []string{"PATH=:" + relative}, ""},
		{"both", []string{"path=" + one, "PATHS=" + one}, ""},
		{"both", nil, ""},
		{"./both", []string{"PATH=" + one}, "./both"},
		{"/no/such", nil, "/no/such"},
	} {
		got, err := lookUp(tt.name, tt.env)
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s in %q: got %q, %v, want %q", tt.name, tt.env, got, err, tt.want)
		}
	}
}

func mustGetwd(t *testing.T) string {
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return wd
}
