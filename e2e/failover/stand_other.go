//go:build !unix

package main

import "os"

// standStill and goOn are nil, because a signal cannot stop a process here. The row that needs them
// cannot run, as Redis cannot.
var standStill, goOn os.Signal
