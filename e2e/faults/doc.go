// Package faults holds, row by row, what must happen when clients, networks, the process or its
// machine misbehave: tests named after their rows run against the gateway as a process.
// docs/reliability.md has the table.
package faults
