package file

import (
	"path/filepath"

	"sluice/internal/base/config"
)

// TextFile returns the content of the file that the value names. A relative path begins at the
// folder of the configuration file. It reports a file that cannot be read, is longer than most
// bytes, is blank or is not UTF-8.
func (n *Node) TextFile(most int) (string, bool) {
	_, content, err, ok := n.readFile()
	if !ok {
		return "", false
	}
	if fault := config.TextFault(content, err, most); fault != "" {
		n.Fault(fault)
		return "", false
	}
	return string(content), true
}

// ReadFile is TextFile for any file, for a part that reads the file by itself later on. So it
// returns the path as well, relative to the working folder. It is as long as the file that all
// settings are read by may be.
func (n *Node) ReadFile() (path string, content []byte, ok bool) {
	path, content, err, ok := n.readFile()
	if ok && err != nil {
		n.Fault(config.Unreadable(err))
	}
	return path, content, ok && err == nil
}

// readFile reads the file that the value names. ok is false if it names none.
func (n *Node) readFile() (path string, content []byte, err error, ok bool) {
	if _, ok = n.Text(); !ok {
		return "", nil, nil, false
	}
	if n.document.ReadFile == nil {
		n.Fault("cannot be read here")
		return "", nil, nil, false
	}
	path = n.Path()
	content, err = n.document.ReadFile(path)
	return path, content, err, true
}

// Path returns the path in the value, as it is seen from the working folder: a relative one begins
// at the folder of the configuration file. Empty if the value is not a path.
func (n *Node) Path() string {
	path, ok := n.Text()
	if !ok || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(n.document.name), path)
}
