// This file is the log of a gateway: JSON lines in zerolog's writer, secrets blotted out, written
// by one goroutine that nobody waits for. A stopped reader of stdout must not stop turns: lines
// wait up to a bound, and further lines are dropped and counted.

package process

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/base/redact"
	"sluice/internal/turn/chat"
)

const (
	// maxBacklog is how many bytes of log wait for a reader of stdout that does not read. Further
	// lines are dropped and counted: a full pipe must not stop turns.
	maxBacklog = 4 << 20
	// logRetry is the pause after a write that failed: nobody may read the pipe now,
	// but somebody may open it again, if it has a name, or make room on the disk.
	logRetry = time.Second
)

// LogWriter takes lines without waiting, blots out secrets, and writes in a goroutine of its own,
// many lines at a time when many come. Unwritten lines are kept: a reader that comes back misses
// only the lines beyond maxBacklog, and reads their number.
//
// Write may be called at the same time by many. taken, rest and out belong to the goroutine
// alone. Two buffers change places, so that a steady log allocates nothing.
type LogWriter struct {
	out     io.Writer
	secrets *redact.Scrubber

	mu      sync.Mutex // guards the fields below
	backlog []byte
	dropped int

	// Of the writing goroutine: the lines that it has taken from the backlog, and their unwritten
	// part.
	draining, unwritten []byte

	wake  chan struct{} // holds one token while the backlog may not be empty
	stop  chan struct{}
	ended chan struct{}
}

// NewLogWriter returns a writer to out that hides secrets and never makes its callers wait.
// It has a goroutine, which Close ends.
func NewLogWriter(out io.Writer, secrets []string) *LogWriter {
	w := &LogWriter{
		out: out, secrets: redact.New(secrets),
		wake: make(chan struct{}, 1), stop: make(chan struct{}), ended: make(chan struct{}),
	}
	// Goroutine (log writer): writes lines; those who log never wait for it.
	// Ends: `Close`.
	// Waits: `Close`, for a second: a reader of the log that is stuck does not hold up the end.
	go w.writeLines()
	return w
}

// Write takes one line. It never fails.
//
// line is not kept: it is zerolog's. The number is always its whole length, as io.Writer
// asks for.
func (w *LogWriter) Write(line []byte) (int, error) {
	n := len(line)
	line = chat.EscapeHidden(w.secrets.JSON(line))
	if len(line) > maxLine {
		line = shortenLine(line)
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

// writeLines writes the lines as they come, and tries again after a failed write, until Close.
func (w *LogWriter) writeLines() {
	defer close(w.ended)
	for {
		select {
		case <-w.wake:
		case <-w.stop:
			w.writeBacklog()
			return
		}
		for !w.writeBacklog() {
			retry := time.NewTimer(logRetry)
			select {
			case <-retry.C:
			case <-w.stop:
				retry.Stop()
				w.writeBacklog()
				return
			}
		}
	}
}

// writeBacklog writes the unwritten part of the last write, then the backlog. It says whether it
// could write all. A write that was cut within a line continues there: the pipe's next reader finds
// the first part in the pipe.
func (w *LogWriter) writeBacklog() bool {
	for {
		if len(w.unwritten) == 0 && !w.swapBacklog() {
			return true
		}
		n, err := w.out.Write(w.unwritten)
		w.unwritten = w.unwritten[n:]
		if err != nil && len(w.unwritten) > 0 {
			return false
		}
	}
}

// swapBacklog takes the backlog and says whether there was any. The buffer of the previous lines holds the
// next backlog.
func (w *LogWriter) swapBacklog() bool {
	w.mu.Lock()
	lines, dropped := w.backlog, w.dropped
	w.backlog, w.dropped = w.draining[:0], 0
	w.mu.Unlock()
	if dropped > 0 {
		lines = fmt.Appendf(lines, `{"timestamp":%q,"level":"WARNING","request_id":"","event":"log_lines_dropped","details":{"count":%d}}`+"\n",
			time.Now().UTC().Format(timeFormat), dropped)
	}
	w.draining, w.unwritten = lines, lines
	return len(lines) > 0
}

// Close writes the rest. It gives up after a second, as the reader may be stuck.
//
// It is called once, and nothing may be written after it.
func (w *LogWriter) Close() {
	close(w.stop)
	select {
	case <-w.ended:
	case <-time.After(time.Second):
	}
}

const timeFormat = "2006-01-02T15:04:05.000Z07:00"

// maxLoggedError is the most bytes of an error in the log: enough for the stack of a panic. Other
// errors are shorter.
const maxLoggedError = 8 << 10

// logFormat sets zerolog's package-wide format, once in a process.
//
// zerolog has these settings for a whole process only. They are the same for every gateway
// in it, so that tests with several do not disturb each other.
var logFormat = sync.OnceFunc(func() {
	zerolog.TimestampFieldName = "timestamp"
	zerolog.MessageFieldName = "event"
	zerolog.TimeFieldFormat = timeFormat
	zerolog.TimestampFunc = func() time.Time { return time.Now().UTC() }
	zerolog.LevelFieldMarshalFunc = levelName
	zerolog.ErrorMarshalFunc = func(err error) any {
		return chat.Clip(redact.Keys(err.Error()), maxLoggedError)
	}
})

// levelName is a level in the log's own words.
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

// NewLogger returns the logger for requests, which add their id themselves.
//
// level is one of the setting's words.
func NewLogger(w io.Writer, level string) zerolog.Logger {
	logFormat()
	return zerolog.New(w).Level(levelOf(level)).With().Timestamp().Logger()
}

// OwnLogger returns the logger for lines without a request.
func OwnLogger(l zerolog.Logger) zerolog.Logger {
	return l.With().Str("request_id", "").Logger()
}

// levelOf returns the level of SLUICE_LOG_LEVEL. The word was checked before.
//
// levelOf is not asked about words that it does not know; they would be info.
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

// address is one of TCP: its port, and an IPv6 address in brackets.
var address = regexp.MustCompile(`(\d{1,3}(\.\d{1,3}){3}|\[[[:xdigit:]:.]+(%\w+)?\]):\d+`)

// serverErrors passes what net/http has to say into the log.
type serverErrors struct{ log zerolog.Logger }

// Write implements io.Writer. net/http has one line a call. Most are about clients that
// break off, so the level is debug. Their addresses are left out.
func (e serverErrors) Write(p []byte) (int, error) {
	line := address.ReplaceAllLiteral(bytes.TrimSpace(p), []byte("[address]"))
	e.log.Debug().Dict("details", zerolog.Dict().Bytes("message", line)).Msg("http_server")
	return len(p), nil
}
