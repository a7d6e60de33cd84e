package file_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/internal/base/config"
	"sluice/internal/base/config/file"
)

// A path in the file begins at the file's folder, and what cannot be read there is a fault at its
// place, without a word of what the file holds.
func TestFilesThatTheFileNames(t *testing.T) {
	t.Parallel()
	at := filepath.Join("etc", "sluice.yaml")
	read := func(content string, reads func(string) ([]byte, error)) (path, text string, faults []string) {
		section := file.Section{Name: "s", Schema: `{"type": "object", "properties": {"file": {"type": "string"}}}`, Read: func(n *file.Node) {
			var body []byte
			path, body, _ = n.Get("file").ReadFile()
			text = string(body)
		}}
		r := file.Table{section}.Read(at, []byte(content), config.Sources{ReadFile: reads, Lookup: func(string) (string, bool) { return "", false }})
		for _, f := range r.Faults {
			faults = append(faults, f.Message)
		}
		return path, text, faults
	}
	whole := func(path string) ([]byte, error) { return []byte("of " + filepath.ToSlash(path)), nil }
	if path, text, faults := read("s: {file: keys/a.pem}", whole); path != filepath.Join("etc", "keys", "a.pem") || text != "of etc/keys/a.pem" || faults != nil {
		t.Errorf("%q %q %q", path, text, faults)
	}
	absolute, _ := filepath.Abs("a.pem")
	if path, _, faults := read("s: {file: '"+absolute+"'}", whole); path != absolute || faults != nil {
		t.Errorf("%q %q", path, faults)
	}
	for name, err := range map[string]error{"no such file": os.ErrNotExist, "no right": os.ErrPermission, "a disk": errors.New("broken")} {
		path, text, faults := read("s: {file: a.pem}", func(string) ([]byte, error) { return []byte("half"), err })
		if len(faults) != 1 || !strings.HasPrefix(faults[0], "/s/file: ") || text != "half" && text != "" || path == "" {
			t.Errorf("%s: %q %q %q", name, path, text, faults)
		}
	}
	if path, _, faults := read("s: {}", whole); path != "" || faults != nil {
		t.Errorf("none: %q %q", path, faults)
	}
	if _, _, faults := read("s: {file: a.pem}", nil); len(faults) != 1 || !strings.Contains(faults[0], "cannot be read here") {
		t.Errorf("without a reader: %q", faults)
	}
}
