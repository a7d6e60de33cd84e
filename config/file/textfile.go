package file

import (
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"sluice/config"
)

// TextFile returns what the file holds that the value names; a relative path begins at
// the folder of the configuration file. What cannot be read, is longer than most bytes,
// is blank or no UTF-8 is reported.
func (n *Node) TextFile(most int) (string, bool) {
	path, ok := n.Text()
	if !ok {
		return "", false
	}
	if n.document.readFile == nil {
		n.Fault("cannot be read here")
		return "", false
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(n.document.name), path)
	}
	content, err := n.document.readFile(path)
	switch {
	case err != nil:
		n.Fault(config.Unreadable(err))
	case len(content) > most:
		n.Fault(fmt.Sprintf("the file has more than %d KiB", most>>10))
	case !utf8.Valid(content):
		n.Fault("the file is not UTF-8 text")
	case strings.TrimSpace(string(content)) == "":
		n.Fault("the file is empty")
	default:
		return string(content), true
	}
	return "", false
}

// Bool returns a boolean.
func (n *Node) Bool() (value, ok bool) {
	if !n.is(boolKind) {
		return false, false
	}
	return n.text == "true", true
}

// Section returns the value of a key at the top of the file, or nil.
func (n *Node) Section(name string) *Node {
	root := n
	for root.parent != nil {
		root = root.parent
	}
	return root.Get(name)
}
