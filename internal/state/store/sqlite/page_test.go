package sqlite

import (
	"encoding/binary"
	"fmt"
	"testing"
)

// page returns one of 512 bytes with a head like SQLite's at a place in it.
func page(at int, kind byte, cells, content uint16) []byte {
	p := make([]byte, 512)
	p[at] = kind
	binary.BigEndian.PutUint16(p[at+3:], cells)
	binary.BigEndian.PutUint16(p[at+5:], content)
	return p
}

// The part of a page that nothing uses lies between its list of rows and its rows; a page that is
// none of a tree, or makes no sense, has none: to overwrite anything else would damage the file.
func TestUnusedPartOfAPage(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		n        int
		page     []byte
		from, to int
	}{
		"leaf of a table":       {2, page(0, 13, 3, 400), 8 + 6, 400},
		"leaf of an index":      {2, page(0, 10, 1, 300), 8 + 2, 300},
		"inside of a table":     {2, page(0, 5, 2, 500), 12 + 4, 500},
		"inside of an index":    {2, page(0, 2, 0, 512), 12, 512},
		"behind the file's own": {1, page(100, 13, 3, 400), 108 + 6, 400},
		"first without a head":  {1, page(0, 13, 3, 400), 0, 0},
		"another kind":          {2, page(0, 0, 3, 400), 0, 0},
		"a list of free pages":  {2, page(0, 0, 0, 512), 0, 0},
		"an unknown kind":       {2, page(0, 7, 3, 400), 0, 0},
		"full":                  {2, page(0, 13, 50, 108), 108, 108},
		"rows within the list":  {2, page(0, 13, 50, 107), 0, 0},
		"rows behind the end":   {2, page(0, 13, 3, 513), 0, 0},
		"too short":             {2, page(0, 13, 0, 9)[:11], 0, 0},
		"the first too short":   {1, page(100, 13, 0, 109)[:111], 0, 0},
		"empty":                 {2, nil, 0, 0},
	} {
		if from, to := unusedPart(tt.n, tt.page); from != tt.from || to != tt.to {
			t.Errorf("%s: %d to %d, want %d to %d", name, from, to, tt.from, tt.to)
		}
	}
}

// Whatever stands on a page: its unused part lies in it, behind its head.
func FuzzUnused(f *testing.F) {
	for _, kind := range []byte{0, 2, 5, 10, 13} {
		f.Add(1, page(100, kind, 9, 200))
		f.Add(2, page(0, kind, 9, 200))
	}
	f.Fuzz(func(t *testing.T, n int, page []byte) {
		from, to := unusedPart(n, page)
		if head := min(from, 8); from < 0 || from > to || to > len(page) || to > 0 && head < 8 {
			t.Error(fmt.Sprint(n, from, to, len(page)))
		}
	})
}
