package config

import (
	"errors"
	"io"
	"os"
)

// maxFile limits every file, in bytes. Each caller has a lower limit for its own kind.
const maxFile = 16 << 20

// Errors of ReadFile.
var (
	ErrNoFile   = errors.New("is no regular file")
	errTooLarge = errors.New("the file has more than 16 MiB")
)

// ReadFile reads a file that somebody names: a regular one of at most 16 MiB. A device may be
// endless, and a pipe may never get its other end.
func ReadFile(path string) ([]byte, error) {
	// Opening a pipe would wait for its writer, so the kind of the file is checked first.
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, &os.PathError{Op: "read", Path: path, Err: ErrNoFile}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(content) > maxFile {
		return nil, &os.PathError{Op: "read", Path: path, Err: errTooLarge}
	}
	return content, err
}
