// This file has the simulated model with its tool server, as a process of its own. So their cost
// does not count for a measured program.

package main

import (
	"bytes"
	"context"
	"encoding/pem"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"

	"sluice/e2e/toolserver"
)

// upstreamFlag has this program be an upstream.
const upstreamFlag = "-upstream"

// Parts of the model's answers. Each chunk of text has one mark. A client counts the marks, even if
// chunks were merged on the way.
const (
	mark = "~"

	chunkBegin = `data: {"candidates": [{"content": {"parts": [`
	chunkEnd   = `],"role": "model"},"index": 0%s}],"usageMetadata": {"promptTokenCount": 161,"candidatesTokenCount": %d,"totalTokenCount": %d,` +
		`"promptTokensDetails": [{"modality": "TEXT","tokenCount": 161}],"thoughtsTokenCount": 45},"modelVersion": "gemini-3-flash-preview","responseId": "simulated"}` + "\r\n\r\n"
	text = `{"text": "` + mark + `the next few words go on"}`
	call = `{"functionCall": {"name": "create_todo","args": {"title": "Review the report","priority": "high"}},"thoughtSignature": "c2ltdWxhdGVkIHNpZ25hdHVyZQ=="}`
)

// simulated is an upstream.
type simulated struct {
	chunks     int
	first      atomic.Int64 // nanoseconds before an answer begins
	pause      atomic.Int64 // nanoseconds between chunks
	textChunks [][]byte     // by how many tokens there are so far, as the API counts on
	last       []byte
	called     []byte
}

// serveUpstream serves until its standard input ends, together with the process that started it. It
// prints where the model and the tool server are.
func serveUpstream(args []string) {
	flags := flag.NewFlagSet(upstreamFlag, flag.ExitOnError)
	chunks := flags.Int("chunks", 40, "in an answer")
	roots := flags.String("roots", "", "serve the model by HTTP/2 over TLS, and write the certificate to this `file`")
	_ = flags.Parse(args)
	chunk := func(part, finish string, tokens int) []byte {
		return []byte(chunkBegin + part + fmt.Sprintf(chunkEnd, finish, tokens, 206+tokens))
	}
	const stop = `,"finishReason": "STOP"`
	u := &simulated{chunks: *chunks, last: chunk(text, stop, 8000), called: chunk(call, stop, 32)}
	for i := range 1000 {
		u.textChunks = append(u.textChunks, chunk(text, "", 8*(i+1)))
	}
	model := httptest.NewUnstartedServer(u)
	if *roots == "" {
		model.Start()
	} else {
		model.EnableHTTP2 = true
		model.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: 100}
		model.StartTLS()
		block := &pem.Block{Type: "CERTIFICATE", Bytes: model.Certificate().Raw}
		if err := os.WriteFile(*roots, pem.EncodeToMemory(block), 0o600); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	pace := httptest.NewServer(http.HandlerFunc(u.setPace))
	tools := httptest.NewServer(toolServer())
	fmt.Println(model.URL, tools.URL, pace.URL)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// setPace sets the times that a request names: first and pause.
func (u *simulated) setPace(w http.ResponseWriter, r *http.Request) {
	for name, of := range map[string]*atomic.Int64{"first": &u.first, "pause": &u.pause} {
		if r.FormValue(name) == "" {
			continue
		}
		d, err := time.ParseDuration(r.FormValue(name))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		of.Store(int64(d))
	}
}

// waitPause returns false if the client is gone before the time is over.
func waitPause(r *http.Request, of *atomic.Int64) bool {
	d := time.Duration(of.Load())
	if d <= 0 {
		return true
	}
	select {
	case <-time.After(d):
		return true
	case <-r.Context().Done():
		return false
	}
}

// ServeHTTP calls the tool once, and then answers.
func (u *simulated) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	asked, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if !waitPause(r, &u.first) {
		return
	}
	if !bytes.Contains(asked, []byte(`"functionResponse"`)) {
		_, _ = w.Write(u.called)
		return
	}
	flush := http.NewResponseController(w).Flush
	for i := range u.chunks {
		if !waitPause(r, &u.pause) {
			return
		}
		chunk := u.textChunks[i%len(u.textChunks)]
		if i == u.chunks-1 {
			chunk = u.last
		}
		if _, err := w.Write(chunk); err != nil || flush() != nil {
			return
		}
	}
}

// toolServer has the tools of a todo list, without their effects.
func toolServer() http.Handler {
	const title = `{"type":"object","required":["title"],"properties":{"title":{"type":"string","description":"Title of the todo"},"description":{"type":"string","description":"Longer description"},` +
		`"due_date":{"type":"string","description":"Due date, YYYY-MM-DD"},"priority":{"type":"string","enum":["low","medium","high"],"description":"Priority of the todo"},` +
		`"tags":{"type":"array","items":{"type":"string"},"description":"Tags"}}}`
	list := []string{
		toolserver.Tool("create_todo", "Create a new todo item.", title, ""),
		toolserver.Tool("list_todos", "List todo items, optionally filtered.", toolserver.Argument("status", "string"), ""),
		toolserver.Tool("update_todo", "Update fields of a todo item.", title, ""),
		toolserver.Tool("delete_todo", "Delete a todo item.", toolserver.Argument("todo_id", "string"), ""),
	}
	made := toolserver.Text(`{"id":"todo_1","title":"Review the report","status":"pending","priority":"high"}`)
	return &toolserver.Server{Name: "todo", List: strings.Join(list, ","), Call: func(http.ResponseWriter, *http.Request, toolserver.Call) toolserver.Reply { return made }}
}

// upstream is the process that serves a simulated model and tools.
type upstream struct {
	model, tools, pace string // URLs
	roots              string // file of the model's certificate; empty: it speaks HTTP/1.1 in the clear
	cmd                *exec.Cmd
	in                 io.Closer
}

// startUpstream starts one. The caller must call close.
func startUpstream(ctx context.Context, chunks int, roots string) (*upstream, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	u := &upstream{roots: roots, cmd: exec.CommandContext(ctx, self, upstreamFlag, "-chunks", fmt.Sprint(chunks), "-roots", roots)}
	u.cmd.Stderr = os.Stderr
	in, err := u.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := u.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := u.cmd.Start(); err != nil {
		return nil, err
	}
	u.in = in
	if _, err := fmt.Fscan(out, &u.model, &u.tools, &u.pace); err != nil {
		u.close()
		return nil, fmt.Errorf("the upstream did not start: %w", err)
	}
	return u, nil
}

// setPause sets the pause between chunks of answers that begin from now on.
func (u *upstream) setPause(pause time.Duration) error {
	resp, err := http.Get(u.pace + "/?pause=" + pause.String())
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the upstream refuses a pause of %s: %s", pause, resp.Status)
	}
	return nil
}

// close ends the process and waits for it.
func (u *upstream) close() {
	_ = u.in.Close()
	_ = u.cmd.Wait()
}
