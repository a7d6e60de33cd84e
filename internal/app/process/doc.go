// Package process is the care for the process that a gateway runs in: its ports, its end,
// its log, its limits, and the pace of its garbage collector. It knows neither what a
// request asks for nor what answers it.
package process
