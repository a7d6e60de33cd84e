// This file reads the lines of a person or a script: messages and answers, from one reader.

package ask

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"sluice/internal/clients/terminal"
)

// longestLine bounds a line of stdin, in bytes.
const longestLine = 1 << 20

// LineReader returns a function that reads the lines of in one after the other. It reads only when
// a line is wanted, so that at a terminal another reader can have the next one.
//
// Messages and answers come from the same reader, so that neither takes the other's line.
// The error is io.EOF at the end, or the cause of ctx.
func LineReader(ctx context.Context, in io.Reader) func() (string, error) {
	var lines <-chan line
	want := make(chan struct{})
	return func() (string, error) {
		if lines == nil {
			lines = readLines(ctx, in, want)
		}
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case <-lines: // closed: a line is sent only if it is wanted
			return "", io.EOF
		case want <- struct{}{}:
		}
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case l, ok := <-lines:
			if !ok {
				return "", io.EOF
			}
			return l.text, l.err
		}
	}
}

// messageLines yields first, if it is not empty, and then the lines of stdin that are not
// blank. A person at a terminal is shown a prompt, on stderr.
func (s *session) messageLines(first string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if first != "" && !yield(first, nil) {
			return
		}
		prompt := ""
		if terminal.IsTerminal(s.Stdin) {
			prompt = "\n> "
		}
		for {
			fmt.Fprint(s.Stderr, prompt)
			text, err := s.line()
			if err == io.EOF {
				return
			}
			if err == nil && strings.TrimSpace(text) == "" {
				continue
			}
			if !yield(text, err) || err != nil {
				return
			}
		}
	}
}

// line is a typed line, or the error that ends the input.
type line struct {
	text string
	err  error
}

// readLines reads a line each time that one is wanted, in a goroutine, because a signal must not
// wait for the next one. A read of stdin cannot be ended: the goroutine lives until that returns
// and ctx ends, or with the process.
//
// A line longer than longestLine ends the reading with an error. The channel is closed at
// the end of the input.
func readLines(ctx context.Context, in io.Reader, want <-chan struct{}) <-chan line {
	lines := make(chan line)
	go func() {
		defer close(lines)
		s := bufio.NewScanner(in)
		s.Buffer(nil, longestLine)
		for {
			select {
			case <-want:
			case <-ctx.Done():
				return
			}
			l, ok := nextLine(s)
			if !ok {
				return
			}
			select {
			case lines <- l:
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines
}

// nextLine reads a line; false at the end.
func nextLine(s *bufio.Scanner) (line, bool) {
	switch {
	case s.Scan():
		return line{text: s.Text()}, true
	case errors.Is(s.Err(), bufio.ErrTooLong):
		return line{err: errors.New("a line of stdin is longer than 1 MiB")}, true
	case s.Err() != nil:
		return line{err: s.Err()}, true
	}
	return line{}, false
}
