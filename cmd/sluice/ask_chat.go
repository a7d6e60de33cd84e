// This file holds a conversation. The gateway is stateless in this form: each request
// carries what was said before, cut to a little more than the gateway would take.

package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"unicode/utf8"

	"sluice/clients/terminal"
)

// What ask --chat keeps of a conversation: one exchange more than the gateway shows to
// the model, so that it is the gateway that leaves something out, and says so.
const (
	keptMessages = 50
	keptChars    = 64_000
	keptMessage  = 32_001 // code points of one message: one more than is shown
	longestLine  = 1 << 20
)

// pastMessage is one message of a conversation, as the gateway takes it.
type pastMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// conversation is a body of POST /chat/stream, and grows with each turn.
type conversation struct {
	Input       string        `json:"input,omitzero"`
	ID          string        `json:"conversation_id,omitzero"`
	User        string        `json:"user_id,omitzero"`
	Workflow    string        `json:"workflow,omitzero"`
	Accumulated bool          `json:"accumulated"`
	Channel     string        `json:"channel,omitzero"`
	Drafts      bool          `json:"drafts,omitzero"`
	History     []pastMessage `json:"history,omitempty"`
	// Approval answers a question; all but Accumulated and User is empty then.
	Approval *approvalAnswer `json:"approval,omitzero"`
}

// answered adds the turn that has ended. One that was not answered at all is left out:
// the next input would be joined to it, and do what it asks for.
//
// The oldest exchange goes first, always both halves of it, because models want roles to
// take turns. The last exchange stays however long it is.
func (c *conversation) answered(text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	c.History = append(c.History, pastMessage{"user", beginning(c.Input)}, pastMessage{"assistant", beginning(text)})
	for len(c.History) > 2 && tooLong(c.History[2:]) {
		c.History = c.History[2:]
	}
}

// tooLong says whether a conversation is longer than the gateway takes. Cutting
// here keeps requests small; the gateway would cut by the same rule.
func tooLong(list []pastMessage) bool {
	chars := 0
	for _, s := range list {
		chars += min(utf8.RuneCountInString(s.Content), keptMessage-1)
	}
	return len(list) > keptMessages || chars > keptChars
}

// beginning returns what is kept of a message.
func beginning(s string) string {
	n := 0
	for at := range s {
		if n == keptMessage {
			return s[:at]
		}
		n++
	}
	return s
}

// converse sends each line of stdin, with what was said before, until stdin ends. It
// returns the exit code of the last turn.
//
// A turn that failed does not end the conversation; a signal, a broken input and an
// unanswered question do.
func (p program) converse(ctx context.Context, base string, c conversation, show viewer, lines func() (string, error), decide *decider) int {
	c.ID = "conv_" + rand.Text()
	code := exitOK
	for line, err := range p.lines(c.Input, lines) {
		if err != nil {
			fmt.Fprintf(p.stderr, "sluice ask: %v\n", err)
			return exitFailed
		}
		c.Input = line
		answer, ended, err := p.turn(ctx, base, c, show, decide)
		code = p.verdict(ended, err)
		if ctx.Err() != nil {
			return exitFailed
		}
		if code == exitAsked {
			return code
		}
		c.answered(answer)
	}
	return code
}

// lines yields first, if it is not empty, and then the lines of stdin that are not
// blank. A person at a terminal is shown a prompt, on stderr.
func (p program) lines(first string, next func() (string, error)) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if first != "" && !yield(first, nil) {
			return
		}
		prompt := ""
		if terminal.IsTerminal(p.stdin) {
			prompt = "\n> "
		}
		for {
			fmt.Fprint(p.stderr, prompt)
			text, err := next()
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

// line is what was typed, or why nothing more comes.
type line struct {
	text string
	err  error
}

// reading reads lines in a goroutine, because a signal must not wait for the next one.
// Nobody can end a read of stdin: the goroutine lives until that returns, or with the
// process.
//
// A line longer than longestLine ends the reading with an error. The channel is closed at
// the end of the input.
func reading(ctx context.Context, in io.Reader) <-chan line {
	lines := make(chan line)
	go func() {
		defer close(lines)
		s := bufio.NewScanner(in)
		s.Buffer(nil, longestLine)
		send := func(l line) bool {
			select {
			case lines <- l:
				return true
			case <-ctx.Done():
				return false
			}
		}
		for s.Scan() {
			if !send(line{text: s.Text()}) {
				return
			}
		}
		if err := s.Err(); err != nil {
			if errors.Is(err, bufio.ErrTooLong) {
				err = errors.New("a line of stdin is longer than 1 MiB")
			}
			send(line{err: err})
		}
	}()
	return lines
}
