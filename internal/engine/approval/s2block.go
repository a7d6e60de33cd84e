package approval

import (
	"encoding/binary"
	"errors"
)

// repeats is what a repeated copy's length is counted from, by how many bytes it has.
var repeats = [...]int{4, 1 << 8, 1 << 16}

// errBlock is the error of a block that is not one of S2, or holds another length than was named.
var errBlock = errors.New("the block is damaged")

// fromS2 unpacks a block of S2, in which the version before packed records. A block is its length,
// which must be size, then literals and copies of what came before: Snappy's format, in which
// a copy from offset 0 repeats the offset of the copy before it.
func fromS2(in []byte, size int) ([]byte, error) {
	n, skip := binary.Uvarint(in)
	if skip <= 0 || n != uint64(size) {
		return nil, errBlock
	}
	r := &s2Reader{in: in[skip:]}
	out, offset := make([]byte, 0, size), 0
	for len(r.in) > 0 {
		tag := r.number(1)
		kind, length := tag&3, tag>>2
		switch kind {
		case 0:
			if length >= 60 { // in that many bytes behind the tag
				length = r.number(length - 59)
			}
			out = append(out, r.bytes(min(length+1, size-len(out)+1))...)
		case 1:
			length, offset = r.near(length, offset)
		default:
			offset = r.number(2 * (kind - 1))
			length++
		}
		switch {
		case r.short || len(out) > size:
			return nil, errBlock
		case kind == 0:
			continue
		case offset < 1 || offset > len(out) || length > size-len(out):
			return nil, errBlock
		}
		for range length { // it may reach into what it writes
			out = append(out, out[len(out)-offset])
		}
	}
	if len(out) != size {
		return nil, errBlock
	}
	return out, nil
}

// near reads the rest of a copy with a short offset, or with that of the copy before it.
func (r *s2Reader) near(tag, before int) (length, offset int) {
	length, offset = tag&7, tag>>3<<8|r.number(1)
	if offset != 0 {
		return length + 4, offset
	}
	if length > 4 {
		length = r.number(length-4) + repeats[length-5]
	}
	return length + 4, before
}

// s2Reader reads a block from its beginning.
type s2Reader struct {
	in    []byte
	short bool // more was read than there is
}

// bytes returns the next n bytes, or none.
func (r *s2Reader) bytes(n int) (b []byte) {
	if n < 0 || n > len(r.in) {
		r.short, r.in = true, nil
		return nil
	}
	b, r.in = r.in[:n], r.in[n:]
	return b
}

// number returns a number of n bytes, the lowest first.
func (r *s2Reader) number(n int) (v int) {
	for i, b := range r.bytes(n) {
		v |= int(b) << (8 * i)
	}
	return v
}
