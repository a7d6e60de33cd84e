//go:build !linux

package process

import "net"

// listenConfig leaves the sockets as they are: the options that linux gets are
// not passed on to connections elsewhere.
func listenConfig() *net.ListenConfig { return new(net.ListenConfig) }

// lastCall does nothing: what listening again means differs between systems.
func lastCall(net.Listener) {}

// queued returns 0: it is not known.
func queued(net.Listener) int { return 0 }
