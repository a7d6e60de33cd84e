package process

import (
	"math"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// lastCall lets no further connection into the queue of those that wait to be
// accepted, so that it empties. A socket that is closed resets what is in its queue,
// and a load balancer takes that for a request that may have run: it gives up.
// Clients that come meanwhile get no answer to their SYN and try again after a
// second; by then the port is closed, which asks them to go elsewhere.
//
// A listener that is not a socket, such as a test's, is left alone. ADR 35 has the figures.
func lastCall(ln net.Listener) {
	control(ln, func(fd int) {
		if unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, noSYN()) != nil {
			_ = unix.Listen(fd, 0) // at least the queue holds no more than one from now on
		}
	})
}

// noSYN is a filter of packets that drops those which ask for a new connection. It lets
// the last packet of a handshake in: who sent that takes the connection for open.
func noSYN() *unix.SockFprog {
	const flags, syn, ack = 13, 0x02, 0x10 // in the header of TCP, RFC 9293, 3.1
	program := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: flags},
		{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: syn | ack},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: syn},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0},
		{Code: unix.BPF_RET | unix.BPF_K, K: math.MaxUint32},
	}
	return &unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
}

// queued returns how many connections wait to be accepted. It is 0 if that cannot be known.
func queued(ln net.Listener) (n int) {
	control(ln, func(fd int) {
		// Of a socket that listens the kernel reports the length of its queue here.
		if info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			n = int(info.Unacked)
		}
	})
	return n
}

// control calls f with the descriptor of ln, if it is a socket.
func control(ln net.Listener, f func(fd int)) {
	socket, ok := ln.(syscall.Conn)
	if !ok {
		return
	}
	if raw, err := socket.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { f(int(fd)) })
	}
}
