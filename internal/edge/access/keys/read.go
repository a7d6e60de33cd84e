package keys

import (
	"bytes"
	_ "embed"
	"strings"

	"github.com/go-json-experiment/json"

	"sluice/internal/base/config"
	"sluice/internal/base/config/file"
)

// A key file is YAML. A file of 100,000 keys is read at each change, and a parser of YAML needs
// many seconds for that. So JSON is read as JSON: lines with an entry, as Add writes them, and a
// file that is all JSON. Only entries without any flaw count then; the reader of configuration
// files gets all others, and it alone reports faults.

// Bounds of a file.
const (
	maxSize = 64 << 20
	maxKeys = 100_000
	// batch is the number of entries that the general reader gets at a time. It bounds the keys and
	// the size of its input.
	batch = 500
	// enoughFaults ends the search for more: nobody reads them all.
	enoughFaults = 100
)

//go:embed file.json
var fileSchema string

// reader is a file that is being read.
type reader struct {
	name    string
	entries []Entry
	seen    map[string]bool // ids
	faults  []config.Fault
}

// readEntries returns the entries of a file, or a *config.Error with the faults and their places.
// name appears in messages only.
func readEntries(name string, content []byte) ([]Entry, error) {
	r := &reader{name: name, seen: map[string]bool{}}
	content = bytes.TrimPrefix(content, []byte("\ufeff"))
	switch {
	case len(content) > maxSize:
		r.addFault("the file has more than 64 MiB")
	case bytes.HasPrefix(bytes.TrimSpace(content), []byte("{")):
		if !r.readDocument(content) {
			r.readYAML(content)
		}
	default:
		r.readLines(content)
	}
	if len(r.faults) > 0 {
		return nil, &config.Error{Faults: r.faults}
	}
	return r.entries, nil
}

func (r *reader) addFault(text string) {
	r.faults = append(r.faults, config.Fault{Name: r.name, Message: text})
}

// readDocument reads a file that is JSON as a whole. ok is false if the general reader has to look
// at it.
func (r *reader) readDocument(content []byte) (ok bool) {
	var whole struct {
		Keys *[]Entry `json:"keys"`
	}
	if !decodeJSON(content, &whole) || whole.Keys == nil || len(*whole.Keys) > maxKeys {
		return false
	}
	for _, e := range *whole.Keys {
		if !r.addEntry(e) {
			r.entries, r.seen = nil, map[string]bool{}
			return false
		}
	}
	return true
}

// decodeJSON reads JSON that YAML reads alike. It refuses text with variables or null: the general
// reader handles them.
func decodeJSON(text []byte, into any) bool {
	return !bytes.ContainsRune(text, '$') && !bytes.Contains(text, []byte("null")) &&
		json.Unmarshal(text, into, json.RejectUnknownMembers(true)) == nil
}

// addEntry takes in an entry without flaws, and reports whether it is one.
func (r *reader) addEntry(e Entry) bool {
	if len(e.findFlaws()) > 0 || r.seen[e.ID] {
		return false
	}
	r.seen[e.ID] = true
	r.entries = append(r.entries, e)
	return true
}

// listing is a file whose entries begin with a dash each in the same column.
type listing struct {
	lines []string
	head  int // the line of keys:
	items []item
}

// item is the lines of an entry.
type item struct{ from, to int }

// findItems finds the entries of a file. ok is false if it has another form.
func findItems(content []byte) (l listing, ok bool) {
	l.lines, l.head = strings.SplitAfter(string(content), "\n"), -1
	dash := ""
	for i, line := range l.lines {
		rest := strings.TrimRight(line, " \r\n")
		indented := strings.TrimLeft(rest, " ")
		switch {
		case l.head < 0:
			if isHead(rest) {
				l.head = i
			} else if rest != "---" && !isRemark(indented) {
				return l, false
			}
		case rest == "...":
			return l, false // the end of a document
		case dash == "" && isRemark(indented):
		case dash == "" && !strings.HasPrefix(indented, "- "):
			return l, false
		case dash == "" || strings.HasPrefix(rest, dash):
			dash = rest[:len(rest)-len(indented)] + "- "
			l.items = append(l.items, item{i, i + 1})
		default: // a fault of the last entry, unless it belongs to it
			l.items[len(l.items)-1].to = i + 1
		}
	}
	return l, len(l.items) > 0
}

// isHead reports whether a line begins the list of keys.
func isHead(line string) bool {
	rest, ok := strings.CutPrefix(line, "keys:")
	return ok && isRemark(strings.TrimLeft(rest, " ")) && (rest == "" || rest[0] == ' ')
}

// isRemark reports whether a line without its indentation is empty or a comment.
func isRemark(text string) bool { return text == "" || text[0] == '#' }

// readLines reads a file of YAML.
func (r *reader) readLines(content []byte) {
	l, ok := findItems(content)
	if !ok {
		r.readYAML(content)
		return
	}
	var rest []item
	for _, it := range l.items {
		if !r.readLine(l, it) {
			rest = append(rest, it)
		}
		if len(rest) == batch {
			r.readYAML(l.onlyItems(rest))
			rest = rest[:0]
		}
		if len(r.faults) >= enoughFaults {
			return
		}
	}
	if len(rest) > 0 {
		r.readYAML(l.onlyItems(rest))
	}
}

// readLine reads an entry that is JSON on one line. Remarks may follow it.
func (r *reader) readLine(l listing, it item) bool {
	for _, line := range l.lines[it.from+1 : it.to] {
		if !isRemark(strings.TrimSpace(line)) {
			return false
		}
	}
	_, text, _ := strings.Cut(l.lines[it.from], "- ")
	var e Entry
	return decodeJSON([]byte(text), &e) && len(r.entries) < maxKeys && r.addEntry(e)
}

// onlyItems returns the file with no entries but these, each on its line.
func (l listing) onlyItems(items []item) []byte {
	var b bytes.Buffer
	for i, line := range l.lines {
		if len(items) > 0 && i >= items[0].to {
			items = items[1:]
		}
		if i == l.head || len(items) > 0 && i >= items[0].from {
			b.WriteString(line)
		} else {
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}

// readYAML reads any YAML, and reports its faults.
func (r *reader) readYAML(content []byte) {
	given := false
	section := file.Section{Name: "keys", Schema: fileSchema, Read: func(n *file.Node) {
		given = true
		for m := range n.Members() {
			r.readNode(m)
		}
	}}
	result := file.Table{section}.Read(r.name, content, config.Sources{
		Lookup: func(string) (string, bool) { return "", false },
	})
	r.faults = append(r.faults, result.Faults...)
	if !given && len(result.Faults) == 0 {
		r.addFault("must have the list keys")
	}
}

// readNode reads an entry, and reports its flaws at their places.
func (r *reader) readNode(n *file.Node) {
	var e Entry
	n.Decode(&e)
	if n.Has("scopes") && e.Scopes == nil {
		e.Scopes = []string{} // an empty list differs from a missing one
	}
	for _, f := range e.findFlaws() {
		if at := n.Get(f.field); at.Sound() && at != nil {
			at.Fault(f.text)
		}
	}
	if n.Sound() {
		r.admitEntry(n, e)
	}
}

// admitEntry adds a sound entry, unless it is one too many.
func (r *reader) admitEntry(n *file.Node, e Entry) {
	switch {
	case r.seen[e.ID]:
		n.Get("id").Fault("is given twice")
	case len(r.entries) >= maxKeys:
		n.Fault("there are more than 100,000 keys")
	default:
		r.addEntry(e)
	}
}

// Line returns an entry as Add writes it: a line of a file.
func (e Entry) Line() string {
	text, _ := json.Marshal(e) // texts and times: it cannot fail
	return "- " + strings.ReplaceAll(string(text), "$", "$$") + "\n"
}

// isJSON reports whether a text is an entry as Add writes it.
func isJSON(text string) bool {
	var e Entry
	return json.Unmarshal([]byte(text), &e) == nil
}
