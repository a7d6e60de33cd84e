//go:build unix

package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"sluice/internal/base/config"
)

// What has no end is not read, whatever names it: a device, a pipe, a folder, a file of any
// size.
func TestReadFileIsBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe, large, link, small := filepath.Join(dir, "pipe"), filepath.Join(dir, "large"), filepath.Join(dir, "link"), filepath.Join(dir, "small")
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.WriteFile(large, nil, 0o600), os.Truncate(large, 1<<40), os.WriteFile(small, []byte("a: 1\n"), 0o600), os.Symlink(small, link)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{pipe: config.ErrNoFile, "/dev/zero": config.ErrNoFile, dir: config.ErrNoFile, large: config.ErrTooLarge, filepath.Join(dir, "none"): os.ErrNotExist} {
		if _, err := config.ReadFile(path); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
	for _, path := range []string{small, link} {
		if got, err := config.ReadFile(path); err != nil || string(got) != "a: 1\n" {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
}

// A setting that names such a file is at fault, in words without its path.
func TestUnreadableSaysWhy(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{"/dev/zero": "is no regular file", "/none/such": "there is no such file"} {
		if _, err := config.ReadFile(path); config.Unreadable(err) != want {
			t.Errorf("%s: %q", path, config.Unreadable(err))
		}
	}
}
