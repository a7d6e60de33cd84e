//go:build unix

package keys

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// lockForChange waits until nobody else changes files of the folder of path. The folder has the lock:
// the file is another one after each change.
func lockForChange(path string) (unlock func(), err error) {
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	for {
		err = unix.Flock(int(folder.Fd()), unix.LOCK_EX)
		if err == nil {
			return func() { folder.Close() }, nil // which gives the lock back
		}
		if !errors.Is(err, unix.EINTR) {
			folder.Close()
			return nil, &os.PathError{Op: "lock", Path: folder.Name(), Err: err}
		}
	}
}

// inheritMode gives f the mode and the owner of the file before it: an operator's command must not
// lock the gateway out.
func inheritMode(f *os.File, before os.FileInfo) error {
	if was, ok := before.Sys().(*syscall.Stat_t); ok {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		if is, ok := info.Sys().(*syscall.Stat_t); ok && (is.Uid != was.Uid || is.Gid != was.Gid) {
			if err := f.Chown(int(was.Uid), int(was.Gid)); err != nil {
				return err
			}
		}
	}
	return f.Chmod(before.Mode().Perm())
}

// syncFolder makes sure that a rename outlives a crash of the machine.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
