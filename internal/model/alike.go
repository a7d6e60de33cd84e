package model

import (
	"bytes"
	"math"
)

// Bounds of what Alike remembers. An answer that thinks, or ends, has a few events of another form.
const (
	mostAlike  = 2 << 10 // bytes of an event but for its text
	mostMisses = 8       // in a row; after them Alike compares nothing until Reset
	mostDigits = 15      // of a number: a time in microseconds has 16
)

// Alike is the form of the latest event of an answer. Nearly all events are like the one before
// them but for a text and some numbers; such a one need not be decoded, which takes several times
// as long as to compare it.
//
// It is exact: the compared bytes were once read as JSON. Integers outside of texts are checked
// here, and the caller checks the text. An integer may differ only if nobody reads it, or if it is
// a figure. Any other difference, even a space, makes an event unlike. The zero value remembers no
// event. Alike is for one goroutine.
type Alike struct {
	// Sums are the integers of the event that was read last, by the figure that they are part of.
	Sums [figures]int

	head    []byte   // all before the text, with its quote
	tail    []byte   // all behind it
	numbers []Number // in tail, in order
	misses  int
}

// figures is the size of Sums: a form has the figures 1 to 4. Figure 0 is an integer that nobody
// reads.
const figures = 5

// Number is an integer of an event, by its offsets.
type Number struct{ Begin, End, Figure int }

// Fixed is the Figure of a number that the decoder read for something else than a figure. An event
// with another number there is not alike.
const Fixed = -1

// Reset forgets the form, for the next answer.
func (a *Alike) Reset() { a.head, a.misses = a.head[:0], 0 }

// Read returns the text of an event that is like the one before it, with its quotes, or nil. The
// caller must check that the text is valid JSON and UTF-8.
func (a *Alike) Read(data []byte) (text []byte) {
	if len(a.head) == 0 || !bytes.HasPrefix(data, a.head) {
		return nil
	}
	begin := len(a.head) - 1
	end := textEnd(data, begin)
	if end < 0 || !a.readTail(data[end:]) {
		return nil
	}
	a.misses = 0
	return data[begin:end]
}

// readTail compares the bytes behind the text and adds up their figures. It returns false if they
// differ.
func (a *Alike) readTail(rest []byte) bool {
	from := 0
	a.Sums = [figures]int{}
	for _, n := range a.numbers {
		same := a.tail[from:n.Begin]
		if !bytes.HasPrefix(rest, same) {
			return false
		}
		rest, from = rest[len(same):], n.End
		value, size := leadingNumber(rest)
		if size == 0 || n.Figure > 0 && value > math.MaxInt32 { // too large for a figure
			return false
		}
		rest = rest[size:]
		a.Sums[n.Figure] += value
	}
	return bytes.Equal(rest, a.tail[from:])
}

// Forget drops the form, so that the next event counts as unlike.
func (a *Alike) Forget() {
	a.head = a.head[:0]
	a.misses++
}

// Learn makes data the form of the events to come, unless a figure stands before the text. data was
// decoded; text is the place of its only text, with its quotes. read holds the numbers that the
// decoder has read, ordered by their ends.
func (a *Alike) Learn(data []byte, text Number, read []Number) {
	a.Forget()
	if a.misses > mostMisses || text.End <= text.Begin || len(data)-(text.End-text.Begin) > mostAlike {
		return
	}
	a.tail, a.numbers = append(a.tail[:0], data[text.End:]...), a.numbers[:0]
	for len(read) > 0 && read[0].Figure == Fixed && read[0].End <= text.Begin { // compared, as all before the text
		read = read[1:]
	}
	if a.findNumbers(read, text.End) {
		a.head = append(a.head, data[:text.Begin+1]...)
	}
}

// findNumbers finds the integers of the tail that may differ. The tail begins at offset in its
// event. It returns false unless all that were read are among its integers.
func (a *Alike) findNumbers(read []Number, offset int) bool {
	for i := 0; i < len(a.tail); {
		if a.tail[i] == '"' {
			i = textEnd(a.tail, i)
			continue
		}
		_, size := leadingNumber(a.tail[i:])
		if size == 0 || isNumeric(a.tail, i-1) { // the digits before the point of a fraction may differ
			i += max(1, size)
			continue
		}
		n := Number{Begin: i, End: i + size}
		if i = n.End; len(read) > 0 && read[0].End == offset+n.End {
			n.Figure, read = read[0].Figure, read[1:]
		}
		if n.Figure != Fixed {
			a.numbers = append(a.numbers, n)
		}
	}
	return len(read) == 0
}

// isNumeric reports whether the byte at i may belong to a number.
func isNumeric(data []byte, i int) bool {
	return i >= 0 && i < len(data) && bytes.IndexByte([]byte("+-.0123456789Ee"), data[i]) >= 0
}

// textEnd returns the offset behind the closing quote of the string that begins at quote, or -1.
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

// leadingNumber reads the integer at the beginning of data. A size of 0 means that data does not
// begin with an integer of at most mostDigits digits in JSON's form.
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
