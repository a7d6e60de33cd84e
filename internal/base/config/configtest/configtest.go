// Package configtest is a machine for tests of settings: its environment and its files.
package configtest

import "io/fs"

// World is the machine that a config.Loader sees. Its zero value is an empty one.
type World struct {
	Env   map[string]string
	Files map[string]string // content by path
}

// Lookup is os.LookupEnv of the world.
func (w World) Lookup(name string) (string, bool) {
	value, ok := w.Env[name]
	return value, ok
}

// ReadFile is os.ReadFile of the world.
func (w World) ReadFile(path string) ([]byte, error) {
	content, ok := w.Files[path]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return []byte(content), nil
}
