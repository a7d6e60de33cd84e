//go:build !linux

package process

import "net"

// listenConfig leaves the sockets as they are: the options that linux gets are
// not passed on to connections elsewhere.
func listenConfig() *net.ListenConfig { return new(net.ListenConfig) }
