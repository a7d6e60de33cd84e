package gateway

import (
	"net"
	"syscall"
)

const (
	// userTimeout is TCP_USER_TIMEOUT in milliseconds: a client that vanished
	// without a FIN is noticed when what was sent to it stays unacknowledged for
	// this long. Without it the kernel tries for a quarter of an hour.
	userTimeout = 30_000
	// sendBuffer bounds what the kernel buffers for a client that does not read;
	// left to itself it grows to megabytes, and outlives the connection.
	sendBuffer = 64 << 10

	tcpUserTimeout = 18 // TCP_USER_TIMEOUT, linux/tcp.h
)

// listenConfig sets options on the listening socket, which the kernel passes on
// to each connection: nothing per connection is left to do.
//
// The listener for operators has none of them.
func listenConfig() *net.ListenConfig {
	return &net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) {
			// Best effort: the gateway works without them.
			_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, userTimeout)
			_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_SNDBUF, sendBuffer)
		})
	}}
}

// lastCall lets no further connection into the queue of those that wait to be
// accepted, so that it empties. A socket that is closed resets what is in its queue,
// and a load balancer takes that for a request that may have run: it gives up.
// Clients that come meanwhile get no answer to their SYN and try again after a
// second; by then the port is closed, which tells them to go elsewhere.
//
// A listener that is no socket, such as a test's, is left alone.
func lastCall(ln net.Listener) {
	socket, ok := ln.(syscall.Conn)
	if !ok {
		return
	}
	if raw, err := socket.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _ = syscall.Listen(int(fd), 0) })
	}
}
