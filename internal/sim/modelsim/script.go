// This file has the language of scripts: the answer to a request, and the way in which one of many
// real servers would send it. A directive is a function on the directives of one request, so that a
// script is parsed once and applied often.

package modelsim

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/sim/geminisim"
)

// Script holds the directives of one block for each request. It is immutable, so
// servers may share it.
type Script struct {
	blocks [][]setting
	loop   bool // the last block holds for all that follow
}

// setting is one directive at work.
type setting func(*directives)

// directives describe the answer to one request. The zero value answers as the real endpoints do.
//
// Strings that are empty, and numbers that are 0, ask for the usual form. Positions of
// events count from 1.
type directives struct {
	answer      *geminisim.Answer // nil: the model says what
	refusal     string
	first, pace time.Duration
	usage       string
	figures     []int // of tokens: input, output, thinking, cached
	finish      string
	framing
	index, ids string
	calls      string
	reasoned
	acceptsIDs string // "nine": ids of nine letters and digits alone
	alternate  bool
	prompted   bool
	failing
	unknown int // status for members that are not known; 0: as the protocol does
	refuse  []string
}

// reasoned is how an answer shows its thoughts.
type reasoned struct {
	reasoning     string
	redacted      bool
	signed        bool
	needReasoning bool
}

// framing is how the bytes of an answer are laid out.
type framing struct {
	isDocument bool
	crlf       bool
	comments   bool
	split      int
	raw        []string
	noDone     bool
	noFinish   bool
}

// failing describes how an answer breaks off, or which error replaces it.
type failing struct {
	inband       string
	inbandAt     int
	cutAt        int
	resetAt      int
	stallAt      int
	hang         bool
	fault        *refusal
	faultHeaders map[string]string
}

// ParseScript reads directives, one a line; "---" begins the block of the next
// request. Empty lines and lines that start with # say nothing.
//
// Content, in place of the model's (a text may be Go-quoted):
//
//	text hello           call add {"a":1}        thought **Hm**
//	refusal I can't.     redacted                (Messages: a redacted_thinking block, too)
//	finish length        the finish reason; "finish none" leaves it out
//	tokens 12 34 5 6     input, output, thinking, cached
//	prompted             a value of the schema that stands in the prompt
//	raw "data: {}\n\n"   bytes in place of the whole stream; may be repeated
//
// How it is said in Chat Completions:
//
//	usage none|last|own|every|groq   in no chunk, with the finish reason, in a chunk of its
//	                                 own with empty choices, in every chunk, in x_groq too
//	index zero|none                  of all calls
//	calls whole|split                arguments in one piece or in several
//	reasoning content|plain|details|both|parts|tags|open
//	                                 in reasoning_content, reasoning, reasoning_details, in
//	                                 two of them, in thinking parts, in <think> tags, without
//	                                 the opening tag
//	signed                           the first call has a signature that must come back
//	no-done                          no [DONE]
//
// and in all protocols:
//
//	ids none|repeated|nine|long|odd|late   of calls
//	whole                a 200 of application/json, though a stream was asked for
//	first 1s, pace 10ms  before the first event, between two
//	crlf, comments, split 3
//	inband FORM [N]      an error in place of event N, or behind the last: object, string,
//	                     array, event, field, bare, finish (Chat Completions); error, failed,
//	                     incomplete (Responses); event (Messages)
//	cut N, reset N, stall N, hang   in place of event N; not even headers
//
// What is refused:
//
//	error 429 [retry-after=3] [retry-after-ms=644] [x-should-retry=false] [type=T] [code=C] [MESSAGE]
//	strict 400|422       members that the protocol does not know
//	refuse A B=V …       members, or values of them, that the model does not take
//	take-ids nine        ids of other than nine letters and digits
//	alternate            two messages of one role in a row, a user behind a tool
//	need-reasoning       calls since the last user message without reasoning_content
//
// "loop", wherever it stands, gives the last block again when all are used up.
func ParseScript(text string) (*Script, error) {
	s := &Script{blocks: [][]setting{nil}}
	var errs []error
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
			continue
		case line == "---":
			s.blocks = append(s.blocks, nil)
			continue
		case line == "loop":
			s.loop = true
			continue
		}
		name, arg, _ := strings.Cut(line, " ")
		parse := directiveParser(name)
		if parse == nil {
			errs = append(errs, fmt.Errorf("script line %d: unknown directive %q", i+1, name))
			continue
		}
		set, err := parse(strings.TrimSpace(arg))
		if err != nil {
			errs = append(errs, fmt.Errorf("script line %d: %s: %w", i+1, name, err))
		}
		last := &s.blocks[len(s.blocks)-1]
		*last = append(*last, set)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return s, nil
}

// block returns the directives for request n, from 1.
//
// A used-up script is an error that the client sees, since a test has then sent more
// requests than it meant to.
func (s *Script) block(n int) ([]setting, error) {
	if n > len(s.blocks) && !s.loop {
		return nil, fmt.Errorf("the script is used up: this is request %d, and it holds %d blocks", n, len(s.blocks))
	}
	return s.blocks[min(n, len(s.blocks))-1], nil
}

// directiveParser returns the reader of a directive's argument, or nil for an unknown directive.
//
// The table is made for each line: scripts are short, and nothing of the package is kept in
// a variable.
func directiveParser(name string) func(arg string) (setting, error) {
	return map[string]func(string) (setting, error){
		"text":           parseWords(func(d *directives, s string) { d.scriptAnswer().Text += s }),
		"thought":        parseWords(func(d *directives, s string) { a := d.scriptAnswer(); a.Thoughts = append(a.Thoughts, s) }),
		"refusal":        parseWords(func(d *directives, s string) { d.scriptAnswer(); d.refusal = s }),
		"call":           parseCall,
		"prompted":       parseFlag(func(d *directives) { d.prompted = true }),
		"redacted":       parseFlag(func(d *directives) { d.redacted = true }),
		"finish":         parseWords(func(d *directives, s string) { d.finish, d.noFinish = s, s == "none" }),
		"tokens":         parseTokens,
		"raw":            parseWords(func(d *directives, s string) { d.raw = append(d.raw, s) }),
		"usage":          parseWord(func(d *directives, s string) { d.usage = s }, "none", "last", "own", "every", "groq"),
		"index":          parseWord(func(d *directives, s string) { d.index = s }, "zero", "none"),
		"calls":          parseWord(func(d *directives, s string) { d.calls = s }, "whole", "split"),
		"reasoning":      parseWord(func(d *directives, s string) { d.reasoning = s }, "content", "plain", "details", "both", "parts", "tags", "open"),
		"signed":         parseFlag(func(d *directives) { d.signed = true }),
		"no-done":        parseFlag(func(d *directives) { d.noDone = true }),
		"ids":            parseWord(func(d *directives, s string) { d.ids = s }, "none", "repeated", "nine", "long", "odd", "late"),
		"whole":          parseFlag(func(d *directives) { d.isDocument = true }),
		"first":          parsePause(func(d *directives, p time.Duration) { d.first = p }),
		"pace":           parsePause(func(d *directives, p time.Duration) { d.pace = p }),
		"crlf":           parseFlag(func(d *directives) { d.crlf = true }),
		"comments":       parseFlag(func(d *directives) { d.comments = true }),
		"split":          parseCount(func(d *directives, n int) { d.split = n }),
		"inband":         parseInband,
		"cut":            parseCount(func(d *directives, n int) { d.cutAt = n }),
		"reset":          parseCount(func(d *directives, n int) { d.resetAt = n }),
		"stall":          parseCount(func(d *directives, n int) { d.stallAt = n }),
		"hang":           parseFlag(func(d *directives) { d.hang = true }),
		"error":          parseError,
		"strict":         parseCount(func(d *directives, n int) { d.unknown = n }),
		"refuse":         parseWords(func(d *directives, s string) { d.refuse = append(slices.Clip(d.refuse), strings.Fields(s)...) }),
		"take-ids":       parseWord(func(d *directives, s string) { d.acceptsIDs = s }, "nine"),
		"alternate":      parseFlag(func(d *directives) { d.alternate = true }),
		"need-reasoning": parseFlag(func(d *directives) { d.needReasoning = true }),
	}[name]
}

// scriptAnswer returns the answer that the script makes up.
func (d *directives) scriptAnswer() *geminisim.Answer {
	if d.answer == nil {
		d.answer = new(geminisim.Answer)
	}
	return d.answer
}

// parseWords parses a text, plain or as a Go-quoted string.
func parseWords(set func(*directives, string)) func(string) (setting, error) {
	return func(arg string) (setting, error) {
		text := arg
		if strings.HasPrefix(arg, `"`) {
			var err error
			if text, err = strconv.Unquote(arg); err != nil {
				return nil, errors.New("a text that starts with a quote must be a whole Go-quoted string")
			}
		}
		return func(d *directives) { set(d, text) }, nil
	}
}

// parseFlag parses a directive without an argument.
func parseFlag(set func(*directives)) func(string) (setting, error) {
	return func(arg string) (setting, error) {
		if arg != "" {
			return nil, errors.New("takes no argument")
		}
		return set, nil
	}
}

// parseWord parses one of the words that are known.
func parseWord(set func(*directives, string), known ...string) func(string) (setting, error) {
	return func(arg string) (setting, error) {
		if !slices.Contains(known, arg) {
			return nil, fmt.Errorf("want one of %s", strings.Join(known, ", "))
		}
		return func(d *directives) { set(d, arg) }, nil
	}
}

// parsePause parses a duration.
func parsePause(set func(*directives, time.Duration)) func(string) (setting, error) {
	return func(arg string) (setting, error) {
		p, err := time.ParseDuration(arg)
		return func(d *directives) { set(d, p) }, err
	}
}

// parseCount parses a number from 1.
//
// 0 would mean "not set".
func parseCount(set func(*directives, int)) func(string) (setting, error) {
	return func(arg string) (setting, error) {
		n, err := strconv.Atoi(arg)
		if err == nil && n < 1 {
			err = errors.New("want a number from 1")
		}
		return func(d *directives) { set(d, n) }, err
	}
}

// parseCall parses a call that the model makes.
func parseCall(arg string) (setting, error) {
	name, args, _ := strings.Cut(arg, " ")
	if args == "" {
		args = "{}"
	}
	if name == "" {
		return nil, errors.New("want: call NAME [ARGUMENTS]")
	}
	call := geminisim.Call{Name: name, Args: jsontext.Value(args)} // faulty arguments are for the reader to find
	return func(d *directives) {
		a := d.scriptAnswer()
		a.Calls = append(a.Calls, call)
	}, nil
}

// parseTokens parses the four figures of usage.
func parseTokens(arg string) (setting, error) {
	var n []int
	for _, field := range strings.Fields(arg) {
		i, err := strconv.Atoi(field)
		if err != nil {
			return nil, err
		}
		n = append(n, i)
	}
	if len(n) != 4 {
		return nil, errors.New("want: tokens INPUT OUTPUT THINKING CACHED")
	}
	return func(d *directives) { d.figures = n }, nil
}

// parseInband parses an error that comes within a stream, and at which event.
func parseInband(arg string) (setting, error) {
	form, at, found := strings.Cut(arg, " ")
	n := 0
	if found {
		var err error
		if n, err = strconv.Atoi(at); err != nil || n < 1 {
			return nil, errors.New("want: inband FORM [EVENT]")
		}
	}
	return func(d *directives) { d.inband, d.inbandAt = form, n }, nil
}

// parseFields reads all leading NAME=VALUE pairs: the type, the code, and headers. rest is the text
// behind them.
func (e *refusal) parseFields(text string) (headers map[string]string, rest string) {
	headers = map[string]string{}
	for {
		field, more, _ := strings.Cut(text, " ")
		name, value, found := strings.Cut(field, "=")
		if !found {
			return headers, text
		}
		switch name {
		case "type":
			e.Type = value
		case "code":
			e.Code = value
		default:
			headers[name] = value
		}
		text = more
	}
}

// parseError: a whole error reply.
func parseError(arg string) (setting, error) {
	number, rest, _ := strings.Cut(arg, " ")
	status, err := strconv.Atoi(number)
	if err != nil || status < 400 || status > 599 {
		return nil, errors.New("want: error STATUS [NAME=VALUE …] [MESSAGE]")
	}
	e := &refusal{Status: status, Message: http.StatusText(status), isRequested: true}
	headers, message := e.parseFields(rest)
	if message != "" {
		e.Message = message
	}
	return func(d *directives) { d.fault, d.faultHeaders = e, headers }, nil
}
