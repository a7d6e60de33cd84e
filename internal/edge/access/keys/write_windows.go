package keys

import (
	"os"

	"golang.org/x/sys/windows"
)

// lockForChange waits until nobody else changes the file at path. A file next to it has the lock: the
// file itself is another one after each change.
func lockForChange(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, new(windows.Overlapped)); err != nil {
		f.Close()
		return nil, &os.PathError{Op: "lock", Path: f.Name(), Err: err}
	}
	return func() { f.Close() }, nil // which gives the lock back
}

// inheritMode does nothing: modes and owners are of another kind here.
func inheritMode(*os.File, os.FileInfo) error { return nil }

// syncFolder does nothing: folders cannot be synced here.
func syncFolder(string) error { return nil }
