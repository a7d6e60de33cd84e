// This file finds thoughts between <think> and </think> in the content, as servers of open models
// leave them there. It decides as early as it can: text goes out with each delta, and only a
// possible part of a tag is held back.

package openai

import "bytes"

const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
	blanks     = " \t\r\n"
)

// thinkTags distinguishes thoughts from text where a server leaves them both in the content: an
// answer that begins with <think> is thought up to </think>, with the blanks behind it.
//
// held has the bytes that are not decided; at most a tag's length and the blanks before it. Once
// done is set, its methods are not called any more.
type thinkTags struct {
	done   bool // the remaining content is text
	inside bool // <think> was read, or is taken for read
	closed bool // </think> was read, but no text yet
	open   bool // the answer begins inside
	held   []byte
}

// reset begins an answer. mode is auto, open or off.
func (t *thinkTags) reset(mode string) {
	*t = thinkTags{done: mode == "off", open: mode == "open", held: t.held[:0]}
}

// splitPiece reads a piece of content and passes on the decided part of it. A tag may be split
// anywhere.
func (t *thinkTags) splitPiece(b []byte, say func(b []byte, thought bool)) {
	t.held = append(t.held, b...)
	if !t.inside && !t.closed && !t.readOpening(say) {
		return
	}
	if t.inside && !t.closed {
		t.readThoughts(say)
	}
	if t.closed {
		rest := bytes.TrimLeft(t.held, blanks)
		say(t.held[:len(t.held)-len(rest)], true)
		say(rest, false)
		t.done = len(rest) > 0
		t.held = t.held[:0]
	}
}

// readOpening reads the beginning of the answer. It returns false if the piece is used up.
//
// Blanks before the tag are dropped with it; without a tag they are text. With open the
// answer begins inside, with or without the tag.
func (t *thinkTags) readOpening(say func(b []byte, thought bool)) bool {
	b := bytes.TrimLeft(t.held, blanks)
	if len(b) < len(thinkOpen) && string(b) == thinkOpen[:len(b)] {
		return false
	}
	if rest, ok := bytes.CutPrefix(b, []byte(thinkOpen)); ok {
		t.inside = true
		t.held = t.held[:copy(t.held, rest)]
		return true
	}
	if t.open {
		t.inside = true
		return true
	}
	t.done = true
	say(t.held, false)
	t.held = t.held[:0]
	return false
}

// readThoughts passes on the thoughts up to the end tag, or up to a possible beginning of it.
func (t *thinkTags) readThoughts(say func(b []byte, thought bool)) {
	if i := bytes.Index(t.held, []byte(thinkClose)); i >= 0 {
		say(t.held[:i], true)
		t.held = t.held[:copy(t.held, t.held[i+len(thinkClose):])]
		t.closed = true
		return
	}
	n := len(t.held) - partOfClose(t.held)
	say(t.held[:n], true)
	t.held = t.held[:copy(t.held, t.held[n:])]
}

// partOfClose returns how many bytes at the end of b may begin the end tag.
func partOfClose(b []byte) int {
	for n := min(len(b), len(thinkClose)-1); n > 0; n-- {
		if string(b[len(b)-n:]) == thinkClose[:n] {
			return n
		}
	}
	return 0
}

// flushHeld passes on the held bytes at the end of the answer.
//
// An answer that ends before </think> was thought to its end.
func (t *thinkTags) flushHeld(say func(b []byte, thought bool)) {
	say(t.held, t.inside || t.closed)
	t.held = t.held[:0]
}
