// Package docs runs the documents: every block of a page that a reader copies into a shell, in the
// order of the page, and checks the files of configuration that stand in it.
//
// A page is one terminal in a folder of its own, with the programs of this tree on its PATH. Ports
// in its blocks are replaced by free ones. Processes that a reader would leave running (the
// gateway, the servers that stand in for others) are started, awaited and stopped with the page. A
// process that is started on an address ends the previous one, as Ctrl-C does.
//
// The language of a fence names the kind of its block:
//
//	sh        commands that must end well
//	console   commands behind "$ ", and their output, whose shape is compared
//	yaml      a file of configuration; so is json whose first member is a section
//	json      JSON, or one value a line
//
// A comment before the fence adds facts, such as `<!-- needs: docker -->`:
//
//	needs: THING  the block is skipped, visibly, without it: a program that may be there (nginx,
//	              redis-server, openssl), or a thing that never is (docker, a key, the network, …)
//	file: NAME    the block is kept under this name, for the blocks below it
//	for: PROGRAM  the file is not the gateway's
//	fails: CODE   the block ends with this exit code
//	tries: N      the block judges by the clock, as doctor does, and a busy machine may fail it: it
//	              is run up to N times
package docs
