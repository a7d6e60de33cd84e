package wire

import (
	"context"
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// maxServerRequests is how many requests of a server's own are answered at once.
const maxServerRequests = 4

// lines is MCP over two pipes, one JSON message a line: the stdio transport.
//
// mcp-go has such a transport, but a child that stops reading blocks all its calls, whatever their
// contexts are. It also reads lines of any length, and logs to slog.Default.
type lines struct {
	in    io.ReadCloser
	out   io.WriteCloser
	group *Group
	// stuck is how long one write may take before the other side is given up.
	stuck time.Duration
	// stop ends the other side; Close calls it once.
	stop func()
	// explain adds the last words of the other side to the error of its end. It may be nil.
	explain func(error) error

	// frames passes messages to writeLoop. It has no buffer, so that handOver knows whether
	// writeLoop has got one.
	frames    chan *frame
	dead      chan struct{} // closed when the connection is dead
	serverAsk chan struct{} // a place for each server request that is being answered
	closeOnce sync.Once

	mu        sync.Mutex // guards the fields below
	err       error      // why gone is closed
	pending   map[string]chan answer
	notify    func(mcp.JSONRPCNotification)
	onRequest transport.RequestHandler
}

// answer is a response. A cut one is a list of tools without its end.
type answer struct {
	resp *transport.JSONRPCResponse
	cut  bool
}

// frame is a message on its way out, from the goroutine of its sender to the one that
// writes.
type frame struct {
	data []byte
	x    *Exchange
	// done is closed when the write is over; consumed is then how many bytes the pipe has accepted.
	done     chan struct{}
	consumed int
}

// writeFrame writes the frame, unless its caller has left.
func (f *frame) writeFrame(w io.Writer) (err error) {
	defer close(f.done)
	if f.x.claim() {
		f.consumed, err = w.Write(f.data)
	}
	return err
}

// newLines returns a transport that is not started. It reads from in and closes it at the
// end of its reading; it writes to out and closes it when the connection fails. g owns its
// goroutines. See the fields for stuck and stop.
func newLines(in io.ReadCloser, out io.WriteCloser, c *Group, stuck time.Duration, stop func()) *lines {
	return &lines{
		in: in, out: out, group: c, stuck: stuck, stop: stop,
		frames:    make(chan *frame),
		dead:      make(chan struct{}),
		serverAsk: make(chan struct{}, maxServerRequests),
		pending:   map[string]chan answer{},
	}
}

// Start begins to read and to write. The connection lives until Close, not until
// ctx ends.
func (l *lines) Start(context.Context) error {
	// Goroutine (readLoop, one for each pipe): reads messages and hands them to those who wait
	// (`mcpclient/internal/wire/receive.go`).
	// Ends: the other side ends.
	// Waits: the group.
	if !l.group.Run(l.readLoop) {
		return ErrClosed
	}
	// Goroutine (writeLoop, one for each pipe): writes messages: **the only one that can hang in a
	// full pipe**.
	// Ends: the connection is dead; a timer ends a write that lasts too long and closes the
	// pipe.
	// Waits: the group.
	if !l.group.Run(l.writeLoop) {
		return ErrClosed
	}
	return nil
}

// Close ends the connection and the other side.
func (l *lines) Close() error {
	l.closeOnce.Do(func() {
		l.failConnection(ErrClosed)
		l.stop()
	})
	return nil
}

// GetSessionId returns "": a pipe is a session of its own.
func (l *lines) GetSessionId() string { return "" }

// SetNotificationHandler sets the function that the reading goroutine calls with each notification.
// h must not block.
func (l *lines) SetNotificationHandler(h func(mcp.JSONRPCNotification)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notify = h
}

// SetRequestHandler sets the handler of the server's own requests.
func (l *lines) SetRequestHandler(h transport.RequestHandler) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.onRequest = h
}

// SendRequest sends a request and waits for its answer, for the end of ctx, or
// for the end of the connection.
func (l *lines) SendRequest(ctx context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	data, err := json.Marshal(req)
	if err != nil {
		return nil, &NotSentError{err}
	}
	id := req.ID.String()
	answered := make(chan answer, 1)
	l.expectAnswer(id, answered)
	defer l.forgetAnswer(id)
	f, err := l.handOver(ctx, data)
	if err != nil {
		return nil, err
	}
	select {
	case a := <-answered:
		return a.recordIn(ctx), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-l.dead:
	}
	select {
	case a := <-answered: // it was read before the end
		return a.recordIn(ctx), nil
	default:
	}
	<-f.done // soon: the pipe is closed
	if f.consumed == 0 {
		return nil, &NotSentError{l.failReason()}
	}
	return nil, &cutError{l.failReason()}
}

// SendNotification sends a notification. It returns when the message is taken
// over, not when it is written.
func (l *lines) SendNotification(ctx context.Context, n mcp.JSONRPCNotification) error {
	data, err := json.Marshal(n)
	if err != nil {
		return err
	}
	_, err = l.handOver(ctx, data)
	return err
}

// handOver gives a message to the writing goroutine. If it returns an error, nothing
// was or will be written.
func (l *lines) handOver(ctx context.Context, data []byte) (*frame, error) {
	f := &frame{data: append(data, '\n'), x: exchangeOf(ctx), done: make(chan struct{})}
	select {
	case <-l.dead:
		return nil, &NotSentError{l.failReason()}
	case <-ctx.Done():
		return nil, &NotSentError{ctx.Err()}
	default:
	}
	select {
	case l.frames <- f:
		return f, nil
	case <-ctx.Done():
		return nil, &NotSentError{ctx.Err()}
	case <-l.dead:
		return nil, &NotSentError{l.failReason()}
	}
}

// writeLoop is the only goroutine that writes, so that nothing else waits for a pipe
// that is full. A write that does not come back in time ends the connection: the
// child has stopped reading, and every call behind it would wait too.
func (l *lines) writeLoop() {
	// Timer (stuck, one for each pipe): ends a write that lasts too long, and closes the pipe.
	// Ends: writeLoop ends.
	// Waits: nobody: it only fails the connection.
	watchdog := time.AfterFunc(l.stuck, func() { l.failConnection(ErrStuck) })
	watchdog.Stop()
	defer watchdog.Stop()
	for {
		select {
		case f := <-l.frames:
			watchdog.Reset(l.stuck)
			err := f.writeFrame(l.out)
			watchdog.Stop()
			if err != nil {
				l.failConnection(err)
				return
			}
		case <-l.dead:
			return
		}
	}
}

// failConnection ends the connection. Closing the pipe frees a write that hangs in it; the
// read ends with the other side.
func (l *lines) failConnection(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return
	}
	l.err = err
	close(l.dead)
	l.out.Close()
}

// failReason returns why the connection is dead; nil while it lives.
func (l *lines) failReason() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// recordIn records a cut answer in ctx's exchange, and returns the response.
func (a answer) recordIn(ctx context.Context) *transport.JSONRPCResponse {
	if x := exchangeOf(ctx); a.cut && x.List != nil {
		x.List.more = true
	}
	return a.resp
}

// expectAnswer sends the answer with this id to the channel answer, which has room for one, until
// forgetAnswer.
func (l *lines) expectAnswer(id string, answer chan answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending[id] = answer
}

// forgetAnswer ends expect. An answer that comes later is dropped.
func (l *lines) forgetAnswer(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pending, id)
}
