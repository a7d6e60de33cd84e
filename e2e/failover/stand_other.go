//go:build !unix

package main

import "os"

// standStill and goOn are nil, as no signal stops a process here: the row that wants them cannot
// run, as Redis cannot.
var standStill, goOn os.Signal
