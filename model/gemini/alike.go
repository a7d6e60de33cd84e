package gemini

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/chat"
)

// Bounds of a pattern. An answer that thinks, or ends, has a few chunks of another form.
const (
	mostAlike  = 2 << 10 // bytes of a chunk but for its text
	mostMisses = 8       // in a row, after which no chunk is looked at any more
	mostDigits = 9       // of a number, so that it fits
)

// pattern is the form of the latest chunk of an answer. Nearly all chunks are like the one before
// them but for a text and some numbers: three of four in recorded answers, and more in long ones.
// Such a chunk is read without looking at its JSON once more, in a sixth of the time
// (BenchmarkDecodeAlike). What differs in anything else, down to a space, is decoded as a whole.
// ADR 51 has the figures.
type pattern struct {
	head    []byte   // all before the text, with its quote
	tail    []byte   // all behind it
	numbers []number // in tail, in order
	thought bool
	seen    bool // the chunk had a usage
	misses  int
}

// number is an integer of a chunk, outside of its texts.
type number struct {
	begin, end int
	figure     figure
}

// figure is what an integer counts.
type figure byte

const (
	noFigure figure = iota // nothing that is read
	inputTokens
	outputTokens
	thinkingTokens
	cachedTokens
)

// of returns what the figure is of in a usage; nil: nothing.
func (f figure) of(u *chat.Usage) *int {
	switch f {
	case inputTokens:
		return &u.InputTokens
	case outputTokens:
		return &u.OutputTokens
	case thinkingTokens:
		return &u.ThinkingTokens
	case cachedTokens:
		return &u.CachedTokens
	}
	return nil
}

// read reads a chunk that is like the one before it into c. It returns false for every other one,
// and leaves c as it may be.
func (p *pattern) read(d *decoder, data []byte, c *rawChunk) bool {
	if len(p.head) == 0 || !bytes.HasPrefix(data, p.head) {
		return false
	}
	begin := len(p.head) - 1
	end := textEnd(data, begin)
	if end < 0 {
		return false
	}
	usage, ok := p.readTail(data[end:])
	if !ok {
		return false
	}
	text, err := jsontext.AppendUnquote(d.text[:0], data[begin:end])
	if d.text = text; err != nil {
		return false
	}
	c.reset()
	c.candidates, c.usage, c.hasUsage = 1, usage, p.seen
	c.parts = append(c.parts, rawPart{text: string(text), thought: p.thought})
	p.misses = 0
	return true
}

// readTail reads what stands behind the text.
func (p *pattern) readTail(rest []byte) (usage chat.Usage, ok bool) {
	from := 0
	for _, n := range p.numbers {
		same := p.tail[from:n.begin]
		if !bytes.HasPrefix(rest, same) {
			return usage, false
		}
		rest, from = rest[len(same):], n.end
		value, size := leadingNumber(rest)
		if size == 0 {
			return usage, false
		}
		rest = rest[size:]
		if count := n.figure.of(&usage); count != nil {
			*count += value
		}
	}
	return usage, bytes.Equal(rest, p.tail[from:])
}

// learn makes data, which d has read into c, the form of the chunks to come, if it is a text alone.
func (p *pattern) learn(d *decoder, data []byte, c *rawChunk) {
	p.head = p.head[:0]
	if p.misses++; p.misses > mostMisses || c.candidates != 1 || c.finish != "" || c.block != "" || len(c.parts) != 1 {
		return
	}
	part := &c.parts[0]
	begin, end := d.noted.text.begin, d.noted.text.end
	if part.foreign || part.call != nil || part.signature != "" || begin == end || len(data)-(end-begin) > mostAlike {
		return
	}
	p.tail, p.numbers = append(p.tail[:0], data[end:]...), p.numbers[:0]
	if !p.findNumbers(d.noted.figures, end) {
		return
	}
	p.head = append(p.head, data[:begin+1]...)
	p.thought, p.seen = part.thought, c.hasUsage
}

// findNumbers finds the integers of the tail, which begins at an offset of its chunk. It returns
// false unless all figures are among them.
func (p *pattern) findNumbers(figures []number, offset int) bool {
	for i := 0; i < len(p.tail); {
		if p.tail[i] == '"' {
			i = textEnd(p.tail, i)
			continue
		}
		_, size := leadingNumber(p.tail[i:])
		if size == 0 || isNumeric(p.tail, i-1) || isNumeric(p.tail, i+size) {
			i += max(1, size)
			continue
		}
		n := number{begin: i, end: i + size}
		if len(figures) > 0 && figures[0].end == offset+n.end {
			n.figure, figures = figures[0].figure, figures[1:]
		}
		p.numbers = append(p.numbers, n)
		i = n.end
	}
	return len(figures) == 0
}

// isNumeric says whether the byte at i may belong to a number.
func isNumeric(data []byte, i int) bool {
	return i >= 0 && i < len(data) && bytes.IndexByte([]byte("+-.0123456789Ee"), data[i]) >= 0
}

// textEnd returns where the string that begins at a quote ends, behind its last quote; -1: it does
// not.
func textEnd(data []byte, quote int) int {
	for at := quote + 1; ; {
		i := bytes.IndexByte(data[at:], '"')
		if i < 0 {
			return -1
		}
		at += i + 1
		last := at - 2
		for data[last] == '\\' {
			last--
		}
		if (at-last)%2 == 0 { // an even number of backslashes
			return at
		}
	}
}

// leadingNumber reads the integer at the beginning of data; size 0: there is none of up to
// mostDigits digits, as JSON has it.
func leadingNumber(data []byte) (value, size int) {
	for size < len(data) && '0' <= data[size] && data[size] <= '9' {
		if value = 10*value + int(data[size]-'0'); size >= mostDigits {
			return 0, 0
		}
		size++
	}
	if size > 1 && data[0] == '0' {
		return 0, 0
	}
	return value, size
}
