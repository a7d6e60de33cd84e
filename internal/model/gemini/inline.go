package gemini

import "bytes"

// An image comes as base64 in one event. The event may be larger than our limit. We do not use the
// image, so it is removed while the event is read.

// PassOver implements model.PassingOver: it removes the data of inlineData from line and returns
// how many bytes remain. line may be incomplete. The same line may come again with more behind it.
//
// Texts and arguments of calls stay untouched, because the data is found by its place in the JSON.
func (c *codec) PassOver(line []byte) int {
	s := lineScan{line: line, keys: make([]string, 0, 8)}
	for s.at < len(line) {
		switch b := line[s.at]; b {
		case '"':
			s.scanString()
			continue
		case '{':
			s.open()
		case '}':
			s.close()
		}
		s.write(s.at, s.at+1)
		s.at++
	}
	return s.n
}

// lineScan goes over a line, and moves its kept bytes to the beginning.
type lineScan struct {
	line  []byte
	at, n int
	name  string   // of the member at hand
	keys  []string // of the objects that are open, as members of those around them
	deep  int      // objects that are open beyond those
}

// maxKeys is how deep the place of an image is looked for.
const maxKeys = 6

// open enters an object.
func (s *lineScan) open() {
	if len(s.keys) == maxKeys {
		s.deep++
		return
	}
	s.keys, s.name = append(s.keys, s.name), ""
}

// close leaves one. The next in the same array is of the same member.
func (s *lineScan) close() {
	switch last := len(s.keys) - 1; {
	case s.deep > 0:
		s.deep--
	case last >= 0:
		s.keys, s.name = s.keys[:last], s.keys[last]
	}
}

// write keeps line[from:to].
func (s *lineScan) write(from, to int) { s.n += copy(s.line[s.n:], s.line[from:to]) }

// scanString goes over a name or a value. It removes the value if it is an image's data.
func (s *lineScan) scanString() {
	from := s.at + 1
	to := from
	for to < len(s.line) && s.line[to] != '"' {
		if s.line[to] == '\\' {
			to++
		}
		to++
	}
	to = min(to, len(s.line))
	after := min(to+1, len(s.line)) // behind the closing quote, if it has come
	if s.name == "data" && s.ofImage() {
		s.write(s.at, from)
		s.write(to, after)
	} else {
		s.write(s.at, after)
	}
	s.at = after
	if rest := bytes.TrimLeft(s.line[after:], " \t"); len(rest) > 0 && rest[0] == ':' {
		s.name = string(s.line[s.n-(after-from) : s.n-1])
		return
	}
	s.name = ""
}

// ofImage reports whether the object at hand is a part's inlineData.
func (s *lineScan) ofImage() bool {
	k := s.keys
	return s.deep == 0 && len(k) == 5 && k[1] == "candidates" && k[2] == "content" && k[3] == "parts" && (k[4] == "inlineData" || k[4] == "inline_data")
}
