// Package stack saves goroutines that call deep from growing their stacks on the way.
package stack

// reserved is the stack that Reserve makes room for, in bytes. With the stack in use and the
// runtime's part this makes 8 KB.
const reserved = 5 << 10

// Reserve makes room for deep calls on the calling goroutine's stack. It is for the beginning of
// short goroutines that are known to go deep. A stack that grows is copied, and the runtime
// searches each frame on it for pointers into the stack. At the beginning there are one or two
// frames, and thirty in the middle of an encoder (BenchmarkReserve).
func Reserve() { reserveFrame(0) }

// reserveFrame has a frame of the size that is wanted.
//
//go:noinline
func reserveFrame(at int) byte {
	var frame [reserved]byte
	return frame[at]
}
