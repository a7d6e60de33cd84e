// Package process is the care for the process that a gateway runs in: its ports, its end, its log,
// its limits, and the pace of its garbage collector. It does not know the contents of requests and
// answers.
package process
