package markdowntest

import (
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

// threadClock is CLOCK_THREAD_CPUTIME_ID (clock_gettime(2)).
const threadClock = 3

// Timed returns the processor time that f takes on its thread: what else the machine does
// does not count.
func Timed(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := threadTime()
	f()
	return threadTime() - began
}

// threadTime is the processor time of this thread. The time of getrusage(2) may come in ticks.
func threadTime() time.Duration {
	var t syscall.Timespec
	_, _, _ = syscall.Syscall(syscall.SYS_CLOCK_GETTIME, threadClock, uintptr(unsafe.Pointer(&t)), 0)
	return time.Duration(t.Nano())
}
