package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"sluice/e2e/credential"
)

// wardrobe writes the key file. The file has the current entries and the previous ones, for users
// that change late. Only one goroutine uses it.
type wardrobe struct {
	path     string
	operator credential.Entry   // never changes
	last     []credential.Entry // that were new the last time
}

// writeKeys replaces the file by one with the operator's key, the last ones and new ones, as one
// step: the gateway may look at any moment.
func (w *wardrobe) writeKeys(fresh []credential.Entry) error {
	all := append(append([]credential.Entry{w.operator}, w.last...), fresh...)
	text, err := json.Marshal(map[string]any{"keys": all})
	if err != nil {
		return err
	}
	w.last = fresh
	return replaceFile(w.path, text)
}

// replaceFile writes a file that is there whole or as it was before.
func replaceFile(path string, content []byte) error {
	next := path + ".next"
	if err := os.WriteFile(next, content, 0o600); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return os.Rename(next, path)
}
