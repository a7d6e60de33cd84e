package todo

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"

	"github.com/mark3labs/mcp-go/server"
)

// maxMessage bounds one JSON-RPC message in bytes. The largest call that is worth
// answering, a description of 5000 escaped characters, is well under 100 KiB.
const maxMessage = 1 << 20

// Handler serves m as streamable HTTP, in both protocol eras, on whatever path it
// is mounted. It is stateless: no session can be lost, leak, or outlive a restart.
// Only POST is answered, because the server never speaks unasked. A body over
// 1 MiB is refused with 413, and a browser's request from another site with
// 403. Deadlines for reading and writing are those of the http.Server around it.
func Handler(m *server.MCPServer) http.Handler {
	protocol := server.NewStreamableHTTPServer(m,
		server.WithStateLess(true),
		server.WithStreamableHTTPLogger(slog.New(slog.DiscardHandler)),
	)
	bounded := func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			http.Error(w, "only POST is served here", http.StatusMethodNotAllowed)
			return
		}
		// mcp-go would read the body without a limit.
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			http.Error(w, "the message is larger than 1 MiB", http.StatusRequestEntityTooLarge)
			return
		}
		if err != nil {
			http.Error(w, "the message did not arrive whole", http.StatusBadRequest)
			return
		}
		r = r.WithContext(r.Context()) // a copy: the caller's request keeps its body
		r.Body = io.NopCloser(bytes.NewReader(body))
		protocol.ServeHTTP(w, r)
	}
	return http.NewCrossOriginProtection().Handler(http.HandlerFunc(bounded))
}

// ServeStdio serves m over in and out, one JSON-RPC message a line, until in ends or ctx does; both
// return nil. Messages are answered one after the other, in the order of their arrival, so that a
// list sees the todo of the line before. The store would not run them side by side anyway. All that
// came before the end of in is answered. A line over 1 MiB is an error.
//
// A Read of in that is under way when ctx ends cannot be stopped; the goroutine
// in it ends when in is closed, or with the process.
//
// mcp-go's own stdio server is not used, because it drops calls that are running
// when in ends, and reads lines of any length.
func ServeStdio(ctx context.Context, m *server.MCPServer, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines := make(chan []byte)
	ended := make(chan error, 1)
	go func() { ended <- readLines(ctx, in, lines) }()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-ended:
			return err
		case line := <-lines:
			if err := answerMessage(ctx, m, line, out); err != nil {
				return err
			}
		}
	}
}

// readLines sends the lines of in, without the empty ones, until in or ctx ends.
func readLines(ctx context.Context, in io.Reader, lines chan<- []byte) error {
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, maxMessage)
	for scanner.Scan() {
		line := bytes.TrimSpace(scanner.Bytes())
		if len(line) == 0 {
			continue
		}
		select {
		case lines <- bytes.Clone(line):
		case <-ctx.Done():
			return nil
		}
	}
	if err := scanner.Err(); err != nil {
		return fmt.Errorf("read a message: %w", err)
	}
	return nil
}

// answerMessage handles one message and writes the reply. A notification does not get one.
func answerMessage(ctx context.Context, m *server.MCPServer, line []byte, out io.Writer) error {
	reply := m.HandleMessage(ctx, line)
	if reply == nil {
		return nil
	}
	data, err := json.Marshal(reply)
	if err != nil {
		return fmt.Errorf("write a reply: %w", err)
	}
	if _, err := out.Write(append(data, '\n')); err != nil {
		return fmt.Errorf("write a reply: %w", err)
	}
	return nil
}
