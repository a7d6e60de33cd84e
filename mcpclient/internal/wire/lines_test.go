package wire

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// peer is the other side of a lines transport, in memory. Its pipes hold nothing:
// a write waits until it is read.
type peer struct {
	l   *lines
	in  *bufio.Reader
	out *io.PipeWriter
}

func newPeer(t *testing.T) *peer {
	toUs, out := io.Pipe()
	in, fromUs := io.Pipe()
	c := &Group{}
	l := newLines(toUs, fromUs, c, 10*time.Second, func() {
		in.Close()
		out.Close()
	})
	if err := l.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		l.Close()
		if !c.Stop(time.Minute) {
			t.Error("a goroutine is left over")
		}
	})
	return &peer{l: l, in: bufio.NewReader(in), out: out}
}

func (p *peer) read(t *testing.T) string {
	line, err := p.in.ReadString('\n')
	if err != nil {
		t.Error(err)
	}
	return line
}

// ask sends a request with the given id.
func (p *peer) ask(ctx context.Context, id int64) (*Exchange, *transport.JSONRPCResponse, error) {
	x := NewList()
	resp, err := p.l.SendRequest(WithExchange(ctx, x), transport.JSONRPCRequest{
		JSONRPC: "2.0", ID: mcp.NewRequestId(id), Method: "tools/call",
	})
	return x, resp, err
}

func TestLinesAnswersOutOfOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t)
		go func() {
			p.read(t)
			p.read(t)
			fmt.Fprintln(p.out, "a stray print")
			fmt.Fprintln(p.out, `{"jsonrpc":"2.0","id":99,"result":"of no request"}`)
			fmt.Fprintln(p.out, `{"jsonrpc":"2.0","id":2,"result":"two"}`)
			fmt.Fprintln(p.out, `{"jsonrpc":"2.0","id":2,"result":"two again"}`)
			fmt.Fprintln(p.out, `{"jsonrpc":"2.0","id":1,"result":"one"}`)
		}()
		for id, want := range map[int64]string{1: `"one"`, 2: `"two"`} {
			go func() {
				_, resp, err := p.ask(t.Context(), id)
				if err != nil || string(resp.Result) != want {
					t.Errorf("got %v, %v; want %s", resp, err, want)
				}
			}()
		}
		synctest.Wait()
	})
}

// Over pipes, too, a message without a result and an error answers nothing, and an error of any
// form does.
func TestLinesInAnyForm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t)
		go func() {
			for range 3 {
				p.read(t)
			}
			fmt.Fprintln(p.out, `{"level":"debug","id":1,"msg":"handling"}`)
			fmt.Fprintln(p.out, `[{"jsonrpc":"2.0","method":"notifications/message"},{"jsonrpc":"2.0","id":1,"result":"one"}]`)
			fmt.Fprintln(p.out, `{"jsonrpc":"2.0","id":2,"error":{"code":"E1","message":"two"}}`)
			fmt.Fprintln(p.out, `{"jsonrpc":2,"id":3,"result":null}`)
		}()
		for id, want := range map[int64]string{1: `"one"`, 2: "two", 3: "null"} {
			go func() {
				_, resp, err := p.ask(t.Context(), id)
				switch {
				case err != nil:
					t.Errorf("%d: %v", id, err)
				case resp.Error != nil && resp.Error.Message != want, resp.Error == nil && string(resp.Result) != want:
					t.Errorf("%d: got %s, %v; want %s", id, resp.Result, resp.Error, want)
				}
			}()
		}
		synctest.Wait()
	})
}

func TestLinesPeerStopsReading(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t)
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		x, _, err := p.ask(ctx, 1)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("got %v after %v, want the context's end after 1s", err, time.Since(began))
		}
		if x.Withdraw() {
			t.Error("a request in the pipe counts as not sent")
		}
		// This one waits behind the other and is never begun.
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		x, _, err = p.ask(ctx, 2)
		if _, ok := errors.AsType[*NotSentError](err); !ok || !x.Withdraw() {
			t.Errorf("got %v, want the proof that nothing was sent", err)
		}
		// So does this one, until the connection is given up.
		_, _, err = p.ask(t.Context(), 3)
		if _, ok := errors.AsType[*NotSentError](err); !ok || !errors.Is(err, ErrStuck) {
			t.Errorf("got %v, want the proof that nothing was sent", err)
		}
		if elapsed := time.Since(began); elapsed != 10*time.Second {
			t.Errorf("the connection was given up after %v, want 10s", elapsed)
		}
	})
}

func TestLinesEnd(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		end  func(*peer)
		want error
	}{
		"end of output":   {func(p *peer) { p.out.Close() }, errEnded},
		"a line too long": {func(p *peer) { fmt.Fprintln(p.out, strings.Repeat("x", MaxListReply+1)) }, ErrTooLarge},
		"our own close":   {func(p *peer) { p.l.Close() }, ErrClosed},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPeer(t)
				go func() {
					p.read(t)
					tt.end(p)
				}()
				_, _, err := p.ask(t.Context(), 1)
				if _, ok := errors.AsType[*cutError](err); !ok || !errors.Is(err, tt.want) {
					t.Errorf("got %v, want a cut because of %v", err, tt.want)
				}
				_, _, err = p.ask(t.Context(), 2)
				if _, ok := errors.AsType[*NotSentError](err); !ok {
					t.Errorf("got %v, want the proof that nothing was sent", err)
				}
			})
		})
	}
}

// A peer whose input is closed takes not one byte.
func TestLinesWriteToADeadPeer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in, fromUs := io.Pipe()
		toUs, out := io.Pipe()
		in.Close()
		c := &Group{}
		l := newLines(toUs, fromUs, c, time.Second, func() { out.Close() })
		p := &peer{l: l}
		if err := l.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, _, err := p.ask(t.Context(), 1)
		if _, ok := errors.AsType[*NotSentError](err); !ok {
			t.Errorf("got %v, want the proof that nothing was sent", err)
		}
		l.Close()
		c.Stop(time.Minute)
	})
}

// A server that asks and does not read the answers must not stop its own answers
// from being read.
func TestLinesServerAsksTooMuch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t)
		p.l.SetRequestHandler(func(_ context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
			return transport.NewJSONRPCResultResponse(req.ID, []byte(`{}`)), nil
		})
		go func() {
			p.read(t)
			for i := range 100 {
				fmt.Fprintf(p.out, `{"jsonrpc":"2.0","id":"q%d","method":"ping"}`+"\n", i)
			}
			fmt.Fprintln(p.out, `{"jsonrpc":"2.0","id":1,"result":"one"}`)
		}()
		began := time.Now()
		if _, resp, err := p.ask(t.Context(), 1); err != nil || string(resp.Result) != `"one"` {
			t.Errorf("got %v, %v", resp, err)
		}
		if elapsed := time.Since(began); elapsed != 0 {
			t.Errorf("the answer took %v", elapsed)
		}
	})
}

// A server's own requests are answered by the handler; what it cannot answer, and what nobody
// does, is not supported. Notifications go to theirs.
func TestLinesServerSpeaksFirst(t *testing.T) {
	t.Parallel()
	const refused = `{"jsonrpc":"2.0","id":"q","error":{"code":-32601,"message":"not supported"}}`
	for name, tt := range map[string]struct {
		handler transport.RequestHandler
		want    string
	}{
		"an answer": {func(_ context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
			return transport.NewJSONRPCResultResponse(req.ID, []byte(`"`+req.Method+`"`)), nil
		}, `{"jsonrpc":"2.0","id":"q","result":"ping"}`},
		"an error": {func(context.Context, transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
			return nil, errors.New("boom")
		}, refused},
		"nothing": {func(context.Context, transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) { return nil, nil }, refused},
		"nobody":  {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPeer(t)
				var methods []string
				p.l.SetNotificationHandler(func(n mcp.JSONRPCNotification) { methods = append(methods, n.Method) })
				p.l.SetRequestHandler(tt.handler)
				fmt.Fprintln(p.out, `{"jsonrpc":"2.0","method":"notifications/message"}`)
				fmt.Fprintln(p.out, `{"jsonrpc":"2.0","id":"q","method":"ping"}`)
				if tt.want != "" {
					if got := strings.TrimSpace(p.read(t)); got != tt.want {
						t.Errorf("answered %s, want %s", got, tt.want)
					}
				}
				fmt.Fprintln(p.out, `{"jsonrpc":"2.0","method":"notifications/end"}`)
				synctest.Wait()
				if got := strings.Join(methods, " "); got != "notifications/message notifications/end" {
					t.Errorf("notified of %s", got)
				}
			})
		})
	}
}

// A notification is sent when it is handed over, and one of a caller that has left is not.
func TestLinesSendNotification(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t)
		note := mcp.JSONRPCNotification{JSONRPC: "2.0", Notification: mcp.Notification{Method: "notifications/initialized"}}
		if err := p.l.SendNotification(t.Context(), note); err != nil {
			t.Error(err)
		}
		if got := p.read(t); got != `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n" {
			t.Errorf("sent %q", got)
		}
		left, leave := context.WithCancel(t.Context())
		leave()
		if err := p.l.SendNotification(left, note); !NotSent(err) || !errors.Is(err, context.Canceled) {
			t.Errorf("of one who has left: %v", err)
		}
		if _, _, err := p.ask(left, 1); !NotSent(err) || !errors.Is(err, context.Canceled) {
			t.Errorf("a request of one who has left: %v", err)
		}
		if p.l.GetSessionId() != "" {
			t.Error("a pipe names a session")
		}
	})
}

// A frame whose caller has withdrawn while it waited is left out, and the next is not.
func TestLinesWithdrawnFrameIsNotWritten(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	x := NewCall()
	x.Withdraw()
	for _, f := range []*frame{
		{data: []byte("one\n"), x: x, done: make(chan struct{})},
		{data: []byte("two\n"), x: NewCall(), done: make(chan struct{})},
	} {
		if err := f.writeFrame(&b); err != nil {
			t.Error(err)
		}
		<-f.done
	}
	if b.String() != "two\n" {
		t.Errorf("written: %q", b.String())
	}
}

// The transport of a group that has stopped does not start, and Close ends the other side once.
func TestLinesOfAStoppedGroup(t *testing.T) {
	t.Parallel()
	in, out := io.Pipe()
	g, stops := &Group{}, 0
	g.Stop(0)
	l := newLines(in, out, g, time.Second, func() { stops++ })
	if err := l.Start(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("it started: %v", err)
	}
	l.Close()
	l.Close()
	if stops != 1 {
		t.Errorf("the other side was ended %d times", stops)
	}
}

func TestLimiter(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		ok   bool
	}{
		{"12345", true},
		{"12\n345\n\n12345\n\n", true},
		{"12\r\n34\r\n\r\n12345\n\n", false},
		{"12\r\n3\n\r\n12345\n\n", true},
		{"12\n3456\n\n", false},
		{"\n\n\n\n\n\n\n\n", true},
	}
	for _, tt := range tests {
		for _, size := range []int{1, 2, 3, 100} {
			r := bufio.NewReaderSize(struct{ io.Reader }{strings.NewReader(tt.text)}, 16)
			got, err := io.ReadAll(&limiter{r: &chunked{r, size}, limit: 5})
			if (err == nil) != tt.ok || tt.ok && string(got) != tt.text {
				t.Errorf("%q in pieces of %d: got %q, %v", tt.text, size, got, err)
			}
		}
	}
}

// chunked reads at most n bytes at once.
type chunked struct {
	r io.Reader
	n int
}

func (c *chunked) Read(p []byte) (int, error) { return c.r.Read(p[:min(len(p), c.n)]) }
