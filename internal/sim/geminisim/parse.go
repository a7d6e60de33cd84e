package geminisim

import (
	"errors"
	"fmt"
	"strings"
)

// ParseScript reads a script. It is made to be written by hand, one directive a line; a line that
// starts with a blank continues the directive before it; empty lines and lines that start with #
// say nothing. A line "---" separates the responses. A block without directives does not count.
//
// Content (each directive sends a chunk of its own, with usage, model and id):
//
//	text hello            a piece of the answer; Go-quoted too: text "a\n"
//	thought **Hm**        a thought summary
//	call add {"a":1}      a function call, optionally with id=… and sig=…
//	                      (without: made up, the first call of a response signed;
//	                      id=none, sig=none: left out)
//	parts [{"text":"x"}]  a chunk with just these parts
//	fill 1000             a text of so many bytes
//	finish STOP           the last chunk, optionally with a finishMessage
//	data {"x":1}          one event, as it is
//	raw "data: {\r\n"     bytes, as they are
//
// How it is sent:
//
//	usage 12 34 5         tokens from here on: prompt, candidates, thoughts;
//	                      "usage none" leaves them out; at first 10 5 0
//	delay 20ms            a pause
//	split 3               from here on write pieces of 3 bytes, flushed one by one
//	repeat 100 text x     a directive so many times
//
// Replies that are not a stream:
//
//	error 429 retry=27s Slow down    an error in the API's shape
//	status 503, header Retry-After: 3, body {"any":"text"}
//	redirect 307 http://…
//
// Endings (a response ends cleanly by itself):
//
//	end     right here, cleanly
//	cut     close the connection in the middle: unexpected EOF
//	reset   the same with a TCP reset
//	stall   send the headers and what was said, then nothing until the client leaves
//	hang    not even headers
//
// Expectations of the request (checked before anything is sent; a breach answers 400 and is in
// Server.Failures); in a pointer "-" is the last element:
//
//	expect /contents/-/role user          JSON, or else a bare string
//	expect-absent /contents/3
//	expect-contains /systemInstruction/parts/0/text UTC
//	expect-count /contents 3
//	expect-header X-Request-ID req_1
//
// For the whole script, wherever they stand: "loop" gives the last response
// again when all are used up; "lenient" turns the API's own checks off.
func ParseScript(text string) (*Script, error) {
	s := new(Script)
	current := response{line: 1}
	empty := true
	var errs []error
	for _, l := range logicalLines(text) {
		if l.text == "---" {
			if !empty { // also after the last response a separator may stand
				s.responses = append(s.responses, current)
			}
			current, empty = response{line: l.number + 1}, true
			continue
		}
		used, err := s.readDirective(&current, l)
		if err != nil {
			errs = append(errs, fmt.Errorf("script line %d: %w", l.number, err))
		}
		empty = empty && !used
	}
	if !empty {
		s.responses = append(s.responses, current)
	}
	if len(s.responses) == 0 && errs == nil {
		errs = append(errs, errors.New("script: no response in it"))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return s, nil
}

// readDirective reads one directive into the script or the response. used says
// whether it belongs to the response.
func (s *Script) readDirective(r *response, l logicalLine) (used bool, err error) {
	name, arg := cutWord(l.text)
	switch l.text {
	case "loop":
		s.loop = true
		return false, nil
	case "lenient":
		s.lenient = true
		return false, nil
	}
	if check, ok, err := parseExpect(name, arg); ok {
		r.expects = append(r.expects, expectation{line: l.number, check: check})
		return true, err
	}
	parse := directiveParser(name)
	if parse == nil {
		return true, fmt.Errorf("unknown directive %q", name)
	}
	do, err := parse(arg)
	r.steps = append(r.steps, do)
	return true, err
}

// logicalLine is a directive with its continuation lines.
type logicalLine struct {
	number int // of its first line, from 1
	text   string
}

// logicalLines joins lines that begin with white space to the ones before, and
// drops comments and empty lines. Numbers are those of the file, for messages.
func logicalLines(text string) []logicalLine {
	var lines []logicalLine
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimRight(line, " \t\r")
		switch {
		case line == "" || line[0] == '#':
		case (line[0] == ' ' || line[0] == '\t') && len(lines) > 0:
			last := &lines[len(lines)-1]
			last.text += "\n" + strings.TrimLeft(line, " \t")
		default:
			lines = append(lines, logicalLine{number: i + 1, text: strings.TrimLeft(line, " \t")})
		}
	}
	return lines
}

// cutWord splits s after its first word.
func cutWord(s string) (word, rest string) {
	i := strings.IndexAny(s, " \t\n")
	if i < 0 {
		return s, ""
	}
	return s[:i], strings.TrimSpace(s[i:])
}
