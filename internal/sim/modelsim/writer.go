// This file sends an answer and misbehaves on the way, as directives ask: pauses, cuts,
// resets, stalls, errors within the stream, odd line ends, bytes in small pieces.

package modelsim

import (
	"context"
	"net"
	"net/http"
	"strings"
	"time"
	"unicode"
)

// answer is a whole answer in a protocol, before any of it is sent.
type answer struct {
	frames   []frame
	document any // where no stream is asked for
}

// frame is one event of a stream.
type frame struct {
	event string // "": none
	data  []byte
}

// add appends an event.
func (a *answer) add(event string, data any) {
	a.frames = append(a.frames, frame{event, encodeJSON(data)})
}

// writer sends one answer. Its methods return an error when the client has left.
type writer struct {
	w   http.ResponseWriter
	ctx context.Context
	*turn
}

// play sends the answer, with the faults of the directives.
func (w *writer) play(a answer) {
	if w.hang {
		<-w.ctx.Done()
		return
	}
	if w.sleep(w.first) != nil {
		return
	}
	if !w.stream || w.directives.isDocument {
		w.w.Header().Set("Content-Type", "application/json")
		_ = w.write(string(encodeJSON(a.document)))
		return
	}
	w.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.w.Header().Set("Cache-Control", "no-cache")
	_ = w.playStream(a)
}

// playStream writes the frames with the script's pauses and faults between
// them. An error means that the connection is over, on purpose or because the
// client left.
func (w *writer) playStream(a answer) error {
	for _, raw := range w.raw {
		if err := w.write(raw); err != nil {
			return err
		}
	}
	if w.raw != nil {
		return nil
	}
	for i, f := range a.frames {
		if i > 0 {
			if err := w.sleep(w.pace); err != nil {
				return err
			}
		}
		if err := w.misbehave(i + 1); err != nil {
			return err
		}
		if w.inband != "" && w.inbandAt == i+1 {
			break
		}
		if err := w.frame(f); err != nil {
			return err
		}
	}
	if w.inband != "" {
		if err := w.write(w.forms[w.inband]); err != nil {
			return err
		}
	}
	if w.done != "" && !w.noDone {
		return w.frame(frame{data: []byte(w.done)})
	}
	return nil
}

// misbehave sends the fault of a directive in place of event n, if any.
//
// It panics with http.ErrAbortHandler to cut, so that net/http closes the connection without the
// end of the body.
func (w *writer) misbehave(n int) error {
	switch n {
	case w.cutAt:
		_ = w.flush()
		panic(http.ErrAbortHandler)
	case w.resetAt:
		_ = w.flush()
		return w.reset()
	case w.stallAt:
		_ = w.flush()
		<-w.ctx.Done()
		return w.ctx.Err()
	}
	return nil
}

// frame writes one event, with comments and line ends as the script wants them.
func (w *writer) frame(f frame) error {
	text := "data: " + string(f.data) + "\n\n"
	if f.event != "" {
		text = "event: " + f.event + "\n" + text
	}
	if w.comments {
		text = ": MODELSIM PROCESSING\n\n" + text
	}
	if w.crlf {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	return w.write(text)
}

// write sends bytes and flushes them.
//
// split is a number of bytes, so that characters and line ends are cut as well.
func (w *writer) write(s string) error {
	for len(s) > 0 {
		n := len(s)
		if w.split > 0 {
			n = min(n, w.split)
		}
		if _, err := w.w.Write([]byte(s[:n])); err != nil {
			return err
		}
		if err := w.flush(); err != nil {
			return err
		}
		s = s[n:]
	}
	return w.ctx.Err()
}

// flush sends the written bytes.
func (w *writer) flush() error { return http.NewResponseController(w.w).Flush() }

// sleep waits for d, or until the client leaves.
func (w *writer) sleep(d time.Duration) error {
	if d <= 0 {
		return w.ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-w.ctx.Done():
		return w.ctx.Err()
	}
}

// reset closes the connection so that the client reads "connection reset by peer".
func (w *writer) reset() error {
	conn, _, err := http.NewResponseController(w.w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
	return context.Canceled
}

// pieces cuts a text into words with the blanks behind them. Joined they are the text.
func pieces(text string) []string {
	var all []string
	start, blank := 0, false
	for i, r := range text {
		if space := unicode.IsSpace(r); space || !blank {
			blank = space
			continue
		}
		all = append(all, text[start:i])
		start, blank = i, false
	}
	if start < len(text) {
		all = append(all, text[start:])
	}
	return all
}

// textPieces returns the deltas of the text, and of a refusal.
func (t *turn) textPieces() []string { return append(t.reply.Deltas(pieces), pieces(t.refusal)...) }

// argumentPieces cuts the arguments of a call into pieces of six bytes, between
// characters, or leaves them whole.
func (t *turn) argumentPieces(args string) []string {
	if t.calls == "whole" {
		return []string{args}
	}
	var all []string
	start := 0
	for i := range args {
		if i-start >= 6 {
			all = append(all, args[start:i])
			start = i
		}
	}
	return append(all, args[start:])
}

// figures are the tokens of an answer.
type figures struct{ input, output, thinking, cached int }

// tokens estimates the figures, four bytes a token, unless the script reports them.
func (t *turn) tokens() figures {
	if n := t.directives.figures; n != nil {
		return figures{n[0], n[1], n[2], n[3]}
	}
	f := figures{input: len(t.body)/4 + 1, output: (len(t.reply.Text) + len(t.refusal) + 3) / 4}
	for _, c := range t.reply.Calls {
		f.output += (len(c.Name) + len(c.Args) + 3) / 4
	}
	for _, s := range t.reply.Thoughts {
		f.thinking += (len(s) + 3) / 4
	}
	return f
}

// thoughts are all summaries as one text; they end with blank lines of their own.
func (t *turn) thoughts() string { return strings.Join(t.reply.Thoughts, "") }
