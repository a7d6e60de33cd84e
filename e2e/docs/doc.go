// Package docs runs the documents: every block of a page that a reader copies into a shell, in the
// order of the page, and checks the files of configuration that stand in it.
//
// A page is one terminal in a folder of its own, with the programs of this tree on its PATH. What
// its blocks say of ports is replaced by free ones. What a reader would leave running (the gateway,
// the servers that stand in for others) is started, awaited and stopped with the page; one that is
// started on an address ends the one before it, as Ctrl-C does.
//
// The language of a fence says what a block is:
//
//	sh        commands, which must end well
//	console   commands behind "$ ", and what they print, whose shape is compared
//	yaml      a file of configuration; so is json whose first member is a section
//	json      JSON, or one value a line
//
// and a comment before the fence what else there is to know, as `<!-- needs: docker -->`:
//
//	needs: WHAT   the block is skipped, visibly, without it: a program that may be there (nginx,
//	              redis-server, openssl), or what never is (docker, a key, the network, minutes, …)
//	file: NAME    the block is kept under this name, for the blocks below it
//	for: WHAT     the file is not the gateway's
//	fails: CODE   the block ends with this exit code
//	tries: N      the block judges by the clock, as doctor does, and a busy machine may fail it: so
//	              often it is run until it is as it should be
package docs
