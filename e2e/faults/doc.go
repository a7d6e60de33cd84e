// Package faults has a test for each row of the fault matrix: acts of a client, by mistake or on
// purpose, and faults of the gateway, its process and its machine. The gateway runs as a process of
// its own, in front of a model that the test scripts; clients are bytes on a socket, or the field's
// own programs.
//
// The number in a test's name is that of the row. The table is in docs/reliability.md, which also
// says where the rows are that e2e/wire has.
package faults
