package process

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	// userTimeout is TCP_USER_TIMEOUT in milliseconds. A client that vanished without a FIN is
	// noticed when sent bytes stay unacknowledged for so long. Without it the kernel tries for a
	// quarter of an hour.
	userTimeout = 30_000
	// sendBuffer bounds the kernel's buffer for a client that does not read. Without a bound it
	// grows to megabytes, and outlives the connection.
	sendBuffer = 64 << 10
)

// listenConfig sets options on the listening socket, and the kernel passes them on to each
// connection. So no connection has to be changed, and encrypted ones have the options too.
//
// Multipath TCP, which Go listens with by default, is off: not every kernel passes these
// options on from such a socket.
func listenConfig() *net.ListenConfig {
	lc := &net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) {
			// Best effort: the gateway works without them.
			_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, userTimeout)
			_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUF, sendBuffer)
		})
	}}
	lc.SetMultipathTCP(false)
	return lc
}
