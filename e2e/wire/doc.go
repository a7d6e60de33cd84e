// Package wire has tests of the gateway's transport, by clients that misbehave below HTTP and
// by the field's own judges of TLS and HTTP/2. The gateway runs as a process of its own, and
// nothing of it is imported.
package wire
