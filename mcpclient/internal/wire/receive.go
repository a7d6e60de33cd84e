package wire

import (
	"bufio"
	"context"
	"encoding/json"
	"io"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// readLoop is the only goroutine that reads.
func (l *lines) readLoop() {
	defer l.in.Close()
	r := bufio.NewReader(l.in)
	for {
		line, whole, err := readLine(r)
		if err == io.EOF {
			if err = errEnded; l.explain != nil {
				err = l.explain(err)
			}
		}
		if err == nil && !whole && !l.receiveCut(line) {
			err = ErrTooLarge
		}
		if err != nil {
			l.failConnection(err)
			return
		}
		if whole {
			l.receiveLine(line)
		}
	}
}

// readLine reads a line. If the line is longer than MaxListReply, it returns the beginning. A line
// above maxListBytes is an error.
func readLine(r *bufio.Reader) (line []byte, whole bool, err error) {
	for size := 0; ; {
		part, err := r.ReadSlice('\n')
		size += len(part)
		line = append(line, part[:min(len(part), MaxListReply+1-len(line))]...)
		switch {
		case err == nil:
			return line, size <= MaxListReply+1, nil // with the LF
		case err != bufio.ErrBufferFull:
			return nil, false, err
		case size > maxListBytes:
			return nil, false, ErrTooLarge
		}
	}
}

// receiveCut handles the beginning of a line that is too long: the first tools of a
// list that is asked for. It returns false for anything else.
func (l *lines) receiveCut(head []byte) bool {
	rawID, page := cutMessage(head)
	var id mcp.RequestId
	if len(page.Tools) == 0 || json.Unmarshal(rawID, &id) != nil {
		return false
	}
	result, err := json.Marshal(page)
	if err != nil {
		return false
	}
	l.deliverAnswer(answer{&transport.JSONRPCResponse{JSONRPC: mcp.JSONRPC_VERSION, ID: id, Result: result}, true})
	return true
}

// deliverAnswer hands an answer to the request that waits for it. A second answer to the
// same request, or one to none, is dropped.
func (l *lines) deliverAnswer(a answer) {
	l.mu.Lock()
	waiting := l.pending[a.resp.ID.String()]
	delete(l.pending, a.resp.ID.String())
	l.mu.Unlock()
	if waiting != nil {
		waiting <- a
	}
}

// receiveLine handles one line. It skips other text: a stray print of the server must not end its
// session.
func (l *lines) receiveLine(line []byte) {
	for m := range splitMessages(line) {
		switch m.classify() {
		case answered:
			if resp := m.toResponse(); resp != nil {
				l.deliverAnswer(answer{resp: resp})
			}
		case questioned:
			l.answerServer(m.text)
		case nothing:
			if m.method {
				l.passNotification(m.text)
			}
		}
	}
}

// passNotification passes a notification on.
func (l *lines) passNotification(text []byte) {
	var n mcp.JSONRPCNotification
	l.mu.Lock()
	notify := l.notify
	l.mu.Unlock()
	if notify != nil && json.Unmarshal(text, &n) == nil {
		notify(n)
	}
}

// answerServer answers a request of the server, such as a ping. A server that asks
// faster than it reads the answers is not answered.
func (l *lines) answerServer(line []byte) {
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
	// Goroutine (answerServer, one for each request of a server, at most four): answers a ping and the
	// like.
	// Ends: the answer is handed to writeLoop.
	// Waits: the group.
	l.group.Run(func() {
		defer func() { <-l.serverAsk }()
		resp, err := handle(context.Background(), req)
		if err != nil || resp == nil {
			resp = transport.NewJSONRPCErrorResponse(req.ID, mcp.METHOD_NOT_FOUND, "not supported", nil)
		}
		if data, err := json.Marshal(resp); err == nil {
			_, _ = l.handOver(context.Background(), data)
		}
	})
}
