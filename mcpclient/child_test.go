package mcpclient

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/mark3labs/mcp-go/server"

	"sluice/internal/turn/tool"
	"sluice/mcpclient/internal/wire"
)

// childVariable makes the test binary a stdio server, of the kind that it names.
const childVariable = "MCPCLIENT_TEST_CHILD"

// untilKilled is how long a child stays that waits to be killed. It sleeps for real: a
// process of its own has no part in a test's fake time, and it must be alive, idle,
// when the signal comes.
const untilKilled = time.Hour

// runChild is a stdio server, good or bad.
func runChild(mode string) {
	switch mode {
	case "exit":
		return
	case "complain":
		fmt.Fprintln(os.Stderr, "Traceback:\n  no certificate for s3cret-token\n\n  ")
		return
	case "garbage":
		go func() {
			for {
				fmt.Println("hello, this is not an MCP server")
				time.Sleep(10 * time.Millisecond) // or the test reads nothing else
			}
		}()
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	case "silent":
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	case "mcp-go":
		if err := server.ServeStdio(goServer()); err != nil {
			os.Exit(1)
		}
		return
	case "mcp-go-slow":
		if err := server.ServeStdio(slowServer()); err != nil {
			os.Exit(1)
		}
		return
	case "parent":
		parentMain()
		return
	case "short":
		shortMain()
		return
	}
	if mode == "stubborn" {
		signal.Ignore(syscall.SIGTERM)
		defer time.Sleep(untilKilled)
	}
	c := &child{mode: mode}
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		var req fakeRequest
		if json.Unmarshal([]byte(line), &req) == nil && c.handle(req) {
			time.Sleep(untilKilled) // it reads no more
		}
	}
}

type child struct {
	mode   string
	mu     sync.Mutex // guards stdout
	extra  bool
	marker string
}

func (c *child) say(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Printf(format+"\n", args...)
}

// handle answers one message. It returns true if the child shall not read on.
func (c *child) handle(req fakeRequest) (deaf bool) {
	switch req.Method {
	case "initialize":
		c.say(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"child","version":"1"}}}`, req.ID)
	case "tools/list":
		c.list(req)
		return c.mode == "deaf"
	case "tools/call":
		c.call(req)
	case "notifications/cancelled":
		_ = os.WriteFile(c.marker+".cancelled", nil, 0o600)
	}
	return false
}

func (c *child) list(req fakeRequest) {
	var tools []string
	for _, name := range []string{"env", "pid", "hang", "die", "big", "line", "grandchild", "echo", "change", "listening", "notes", "ask"} {
		tools = append(tools, `{"name":"`+name+`","inputSchema":{"type":"object"}}`)
	}
	if c.extra {
		tools = append(tools, `{"name":"extra","inputSchema":{"type":"object"}}`)
	}
	c.say(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s]}}`, req.ID, strings.Join(tools, ","))
}

func (c *child) call(req fakeRequest) {
	switch req.Params.Name {
	case "env":
		c.text(req, strings.Join(os.Environ(), "\n"))
	case "pid":
		c.text(req, fmt.Sprint(os.Getpid()))
	case "hang":
		var args struct{ Marker string }
		_ = json.Unmarshal(req.Params.Arguments, &args)
		c.marker = args.Marker
		_ = os.WriteFile(args.Marker, nil, 0o600)
	case "die":
		os.Exit(3)
	case "big":
		c.text(req, strings.Repeat("x", wire.MaxReply))
	case "line":
		c.say("%s", strings.Repeat("x", wire.MaxListReply+1))
	case "grandchild":
		cmd := exec.Command("sleep", "1000")
		if err := cmd.Start(); err != nil {
			c.text(req, err.Error())
			return
		}
		c.text(req, fmt.Sprint(cmd.Process.Pid))
	case "change":
		c.extra = true
		c.say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		c.text(req, "ok")
	case "listening": // the list has changed before it was announced
		c.extra = true
		c.say(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true}}}`)
		c.text(req, "ok")
	case "notes":
		fmt.Fprintln(os.Stderr, "a note with s3cret-value in it "+strings.Repeat("y", 8<<10))
		fmt.Fprintln(os.Stderr, "the next note")
		c.text(req, "ok")
	case "ask":
		c.say(`{"jsonrpc":"2.0","id":"q","method":"ping"}`)
		c.text(req, "ok")
	default:
		c.text(req, string(req.Params.Arguments))
	}
}

func (c *child) text(req fakeRequest, text string) {
	quoted, _ := json.Marshal(text)
	c.say(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%s}]}}`, req.ID, quoted)
}

// childConfig is the configuration of one stdio server, named s: this binary.
func childConfig(mode string) Config {
	env := map[string]string{
		childVariable: mode,
		"GORACE":      "atexit_sleep_ms=0", // or a child built with -race takes a second to end
	}
	return Config{
		BaseEnv: os.Environ(), ConnectWait: 10 * time.Second,
		Servers: []Server{{Name: "s", Transport: Stdio, Command: os.Args[0], Env: env}},
	}
}

// parentMain is a process with a stubborn child, whose id it prints.
func parentMain() {
	c, err := New(childConfig("stubborn"))
	if err != nil {
		panic(err)
	}
	c.Tools(context.Background())
	r, err := c.Call(context.Background(), tool.Call{Name: "pid"})
	if err != nil {
		panic(err)
	}
	// Threads come and go in a busy process; the child must not go with them. Each
	// of these goroutines takes a thread, the one that forked too if it is free, and
	// ends it.
	const threads = 200
	var all, ended sync.WaitGroup
	all.Add(threads)
	for range threads {
		ended.Go(func() {
			runtime.LockOSThread()
			all.Done()
			all.Wait() // all of them at the same time
		})
	}
	ended.Wait()
	fmt.Println(r.Text)
	time.Sleep(untilKilled)
}
