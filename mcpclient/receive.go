package mcpclient

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// read is the only goroutine that reads.
func (l *lines) read() {
	defer l.in.Close()
	r := bufio.NewReader(&limiter{r: l.in, limit: maxListReply})
	for {
		line, err := r.ReadBytes('\n')
		if err == io.EOF {
			err = errEnded
		}
		if err != nil {
			l.fail(err)
			return
		}
		l.receive(line)
	}
}

var errEnded = errors.New("the server has ended its output")

// receive handles one line. What is no JSON-RPC message is skipped: a stray
// print of the server must not end its session.
func (l *lines) receive(line []byte) {
	var m struct {
		transport.JSONRPCResponse
		Method string `json:"method"`
	}
	if json.Unmarshal(line, &m) != nil {
		return
	}
	switch {
	case m.Method == "":
		l.mu.Lock()
		answer := l.pending[m.ID.String()]
		delete(l.pending, m.ID.String()) // a second answer has no place to go
		l.mu.Unlock()
		if answer != nil {
			answer <- &m.JSONRPCResponse
		}
	case m.ID.IsNil():
		var n mcp.JSONRPCNotification
		l.mu.Lock()
		notify := l.notify
		l.mu.Unlock()
		if notify != nil && json.Unmarshal(line, &n) == nil {
			notify(n)
		}
	default:
		l.answer(line)
	}
}

// answer answers a request of the server, such as a ping. A server that asks
// faster than it reads the answers is not answered.
func (l *lines) answer(line []byte) {
	var req transport.JSONRPCRequest
	l.mu.Lock()
	handle := l.onRequest
	l.mu.Unlock()
	if handle == nil || json.Unmarshal(line, &req) != nil {
		return
	}
	select {
	case l.serverAsk <- struct{}{}:
	default:
		return
	}
	l.crew.run(func() {
		defer func() { <-l.serverAsk }()
		resp, err := handle(context.Background(), req)
		if err != nil || resp == nil {
			resp = transport.NewJSONRPCErrorResponse(req.ID, mcp.METHOD_NOT_FOUND, "not supported", nil)
		}
		if data, err := json.Marshal(resp); err == nil {
			_, _ = l.hand(context.Background(), data)
		}
	})
}
