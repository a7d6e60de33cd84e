package tool

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Bounds of the patterns of one tool. Go's own are far higher: it compiles
// (100 letters){1000}, 108 characters, into 5 MB.
const (
	// maxPattern is how long one pattern may be, in bytes.
	maxPattern = 4 << 10
	// maxProgram is how many instructions all of them may have together. Compiling
	// them takes some 5 ms and at most 3 MB, of which 0.8 MB stay (BenchmarkPatterns).
	// The patterns of usual tools have some hundreds.
	maxProgram = 16_384
)

// Work of parsing, in addition to the instructions that it makes. The unit is the time for one
// instruction (0.5 µs).
const (
	// classWork is for a class of Unicode (\p{L}): a thousand ranges, 80 µs at most.
	classWork = 150
	// foldWork is for a range without an upper bound in ASCII, when case does not count. The parser
	// goes through it letter by letter, at most 125,000 letters.
	foldWork = 5_000
)

var (
	errLongPattern = fmt.Errorf("a pattern of the schema is longer than %d KiB", maxPattern>>10)
	errPatterns    = errors.New("the patterns of the schema are too large")
)

// pattern is a compiled pattern with its size.
type pattern struct {
	re *regexp.Regexp
	// size is at least the number of the program's instructions: a match takes time
	// in proportion to size times the length of the text.
	size int
}

// String is required by the schema library.
func (p *pattern) String() string { return p.re.String() }

// MatchString reports whether s matches. It takes time in proportion to s: Go's expressions do not
// backtrack.
func (p *pattern) MatchString(s string) bool { return p.re.MatchString(s) }

// patterns compiles the patterns of one schema, each text once.
type patterns struct {
	compiled map[string]jsonschema.Regexp
	// size is how many instructions were compiled so far, room how many there may be.
	size, room int
	// err is why a pattern was not compiled.
	err error
}

// compilePattern is a jsonschema.RegexpEngine. It lets everything match a pattern that
// Go's engine does not know.
func (p *patterns) compilePattern(text string) (jsonschema.Regexp, error) {
	if re, ok := p.compiled[text]; ok {
		return re, nil
	}
	re, err := p.readPattern(text)
	if err != nil {
		p.err = err
		return nil, err
	}
	p.compiled[text] = re
	return re, nil
}

// failureCause returns why a pattern was not compiled, nil if all were. If other schemas have used
// part of the room, the error is ErrNoRoom.
func (p *patterns) failureCause() error {
	if errors.Is(p.err, errPatterns) && p.room < maxProgram {
		return ErrNoRoom
	}
	return p.err
}

// readPattern compiles a pattern if there is room for it: it is measured before it grows.
func (p *patterns) readPattern(text string) (jsonschema.Regexp, error) {
	if len(text) > maxPattern {
		return nil, errLongPattern
	}
	if err := p.reserveRoom(1 + parseWork(text)); err != nil {
		return nil, err
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return unknownPattern(text), nil
	}
	size := programSize(tree)
	if err := p.reserveRoom(size + classSize(tree)); err != nil {
		return nil, err
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return unknownPattern(text), nil
	}
	return &pattern{re, size}, nil
}

// reserveRoom claims room for n instructions, if there is as much.
func (p *patterns) reserveRoom(n int) error {
	if p.size+n > p.room {
		return errPatterns
	}
	p.size += n
	return nil
}

// parseWork is what parsing text costs, in instructions.
func parseWork(text string) int {
	work := classWork * (strings.Count(text, `\p`) + strings.Count(text, `\P`))
	if !foldsCase(text) {
		return work
	}
	for i := 1; i < len(text); i++ {
		if text[i-1] == '-' && (text[i] >= utf8.RuneSelf || strings.HasPrefix(text[i:], `\x`)) {
			work += foldWork
		}
	}
	return work
}

// foldsCase reports whether a flag in text says that case does not count: (?i), (?si:…).
func foldsCase(text string) bool {
	for rest := text; ; {
		_, flags, found := strings.Cut(rest, "(?")
		if !found {
			return false
		}
		end := strings.IndexFunc(flags, func(r rune) bool { return r < 'A' || r > 'z' })
		if end < 0 {
			end = len(flags)
		}
		if strings.Contains(flags[:end], "i") {
			return true
		}
		rest = flags
	}
}

// programSize returns an upper bound of how many instructions re compiles to. It
// does not unroll repetitions, which multiply; syntax.Parse admits a product of
// 1,000.
func programSize(re *syntax.Regexp) int {
	subs := 0
	for _, sub := range re.Sub {
		subs += programSize(sub)
	}
	switch re.Op {
	case syntax.OpLiteral:
		return max(len(re.Rune), 1)
	case syntax.OpRepeat:
		return repeatSize(re, subs)
	case syntax.OpAlternate:
		return subs + len(re.Sub)
	case syntax.OpConcat:
		return max(subs, 1)
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpCapture:
		return subs + 2
	}
	return 1
}

func repeatSize(re *syntax.Regexp, subs int) int {
	if re.Max < 0 {
		return max(re.Min, 1)*subs + 2
	}
	return max(re.Max*(subs+1), 1)
}

// classSize returns the room that the classes of re take, in instructions (47
// bytes each). All repetitions of a class share it.
func classSize(re *syntax.Regexp) int {
	size := len(re.Rune) / 10
	for _, sub := range re.Sub {
		size += classSize(sub)
	}
	return size
}

// unknownPattern is an expression that Go cannot compile, such as one with a lookahead. It is not
// checked: the server does it again.
type unknownPattern string

// String returns the expression as the schema has it.
func (p unknownPattern) String() string { return string(p) }

// MatchString accepts every text.
func (unknownPattern) MatchString(string) bool { return true }
