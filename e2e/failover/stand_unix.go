//go:build unix

package main

import (
	"os"
	"syscall"
)

// standStill and goOn are signals that stop a process where it is, and let it continue.
var standStill, goOn os.Signal = syscall.SIGSTOP, syscall.SIGCONT
