// This file is about one signal. A gateway's log goes to stdout, and its reader may restart; the
// gateway must not end with it.

package process

import (
	"os"
	"os/signal"
	"syscall"
)

// OutliveReaders keeps the process alive when the reader of its stdout or stderr leaves, as a log
// shipper does that restarts: otherwise the Go runtime ends a process whose write to one of
// them meets a pipe without a reader. The write then fails like any other. The function that it
// returns undoes it.
//
// The signal is caught, not ignored: a child process inherits that a signal is ignored, and the
// stdio MCP servers shall end as they always do when nobody reads them. The channel is not read
// either: signals beyond its room are dropped.
func OutliveReaders() (undo func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGPIPE)
	return func() { signal.Stop(c) }
}
