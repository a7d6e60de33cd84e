package main

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/rs/zerolog"
)

// maxBacklog is how many bytes of log wait for a reader of stdout that does not
// read. What comes on top is dropped and counted: a full pipe must not stop turns.
const maxBacklog = 4 << 20

// logWriter takes lines without waiting, blots out secrets, and writes in a
// goroutine of its own, many lines at a time when many come.
type logWriter struct {
	out     io.Writer
	secrets [][]byte

	mu      sync.Mutex // guards the fields below
	backlog []byte
	dropped int

	wake  chan struct{} // holds one token while the backlog may not be empty
	stop  chan struct{}
	ended chan struct{}
}

func newLogWriter(out io.Writer, secrets []string) *logWriter {
	w := &logWriter{out: out, wake: make(chan struct{}, 1), stop: make(chan struct{}), ended: make(chan struct{})}
	for _, s := range secrets {
		w.secrets = append(w.secrets, []byte(s))
		if quoted, _ := jsontext.AppendQuote(nil, s); len(quoted) != len(s)+2 { // it looks different in a line
			w.secrets = append(w.secrets, quoted[1:len(quoted)-1])
		}
	}
	go w.loop()
	return w
}

var redacted = []byte("[REDACTED]")

// Write takes one line. It never fails.
func (w *logWriter) Write(line []byte) (int, error) {
	n := len(line)
	for _, s := range w.secrets {
		if bytes.Contains(line, s) {
			line = bytes.ReplaceAll(line, s, redacted)
		}
	}
	w.mu.Lock()
	if len(w.backlog)+len(line) > maxBacklog {
		w.dropped++
	} else {
		w.backlog = append(w.backlog, line...)
	}
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
	return n, nil
}

func (w *logWriter) loop() {
	defer close(w.ended)
	var spare []byte
	for {
		select {
		case <-w.wake:
			spare = w.drain(spare)
		case <-w.stop:
			w.drain(spare)
			return
		}
	}
}

// drain writes the backlog, which spare replaces, and returns the old one as the
// next spare.
func (w *logWriter) drain(spare []byte) []byte {
	w.mu.Lock()
	lines, dropped := w.backlog, w.dropped
	w.backlog, w.dropped = spare[:0], 0
	w.mu.Unlock()
	_, _ = w.out.Write(lines)
	if dropped > 0 {
		fmt.Fprintf(w.out, `{"timestamp":%q,"level":"WARNING","request_id":"","event":"log_lines_dropped","details":{"count":%d}}`+"\n",
			time.Now().UTC().Format(timeFormat), dropped)
	}
	return lines
}

// Close writes the rest. It gives up after a second, as the reader may be stuck.
func (w *logWriter) Close() {
	close(w.stop)
	select {
	case <-w.ended:
	case <-time.After(time.Second):
	}
}

const timeFormat = "2006-01-02T15:04:05.000Z07:00"

// keyLike matches what a Gemini key looks like, and a key in a URL's query: an
// error may hold one that is none of ours.
var keyLike = regexp.MustCompile(`AIza[0-9A-Za-z_-]{20,}|([?&]key=)[^&\s"]+`)

// logFormat sets zerolog's package-wide format, once in a process.
var logFormat = sync.OnceFunc(func() {
	zerolog.TimestampFieldName = "timestamp"
	zerolog.MessageFieldName = "event"
	zerolog.TimeFieldFormat = timeFormat
	zerolog.TimestampFunc = func() time.Time { return time.Now().UTC() }
	zerolog.LevelFieldMarshalFunc = levelName
	zerolog.ErrorMarshalFunc = func(err error) any { return keyLike.ReplaceAllString(err.Error(), "${1}[REDACTED]") }
})

func levelName(l zerolog.Level) string {
	switch l {
	case zerolog.DebugLevel, zerolog.TraceLevel:
		return "DEBUG"
	case zerolog.InfoLevel:
		return "INFO"
	case zerolog.WarnLevel:
		return "WARNING"
	}
	return "ERROR"
}

// newLogger returns the logger for requests, which add their id themselves.
func newLogger(w io.Writer, level string) zerolog.Logger {
	logFormat()
	return zerolog.New(w).Level(levelOf(level)).With().Timestamp().Logger()
}

// processLogger returns the logger for what no request caused.
func processLogger(l zerolog.Logger) zerolog.Logger {
	return l.With().Str("request_id", "").Logger()
}

func levelOf(name string) zerolog.Level {
	switch name {
	case "debug":
		return zerolog.DebugLevel
	case "warning":
		return zerolog.WarnLevel
	case "error":
		return zerolog.ErrorLevel
	}
	return zerolog.InfoLevel
}

// serverErrors passes what net/http has to say into the log.
type serverErrors struct{ log zerolog.Logger }

func (e serverErrors) Write(p []byte) (int, error) {
	e.log.Debug().Dict("details", zerolog.Dict().Bytes("message", bytes.TrimSpace(p))).Msg("http_server")
	return len(p), nil
}
