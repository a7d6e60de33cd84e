package file

import (
	"path/filepath"

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
	if n.document.ReadFile == nil {
		n.Fault("cannot be read here")
		return "", false
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(n.document.name), path)
	}
	content, err := n.document.ReadFile(path)
	if fault := config.TextFault(content, err, most); fault != "" {
		n.Fault(fault)
		return "", false
	}
	return string(content), true
}
