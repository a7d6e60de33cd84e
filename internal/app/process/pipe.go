// This file is about one signal. A gateway's log goes to stdout, and its reader may restart; the
// gateway must not end with it.

package process

import (
	"os"
	"os/signal"
	"syscall"
)

// OutliveReaders keeps the process alive when the reader of its stdout or stderr leaves, such as a
// log shipper that restarts. Otherwise the Go runtime ends a process that writes to such a pipe.
// The write then fails like any other. The function that it returns undoes it.
//
// The signal is caught, not ignored. A child process would inherit an ignored signal, but stdio MCP
// servers must end as usual when their reader leaves. The channel is not read either: signals
// beyond its room are dropped.
func OutliveReaders() (undo func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGPIPE)
	return func() { signal.Stop(c) }
}
