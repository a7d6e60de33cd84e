// Package run is what the runs inside a turn have in common. A turn is a tree of runs: the
// agents of a team, the nodes of a workflow and the agents that agents call run within it,
// often several at once, and what they emit becomes the stream of one turn.
//
//   - Out is the turn's own sink. One goroutine alone uses it.
//   - Queue hands events and texts from the goroutines of the runs to that one.
//   - Branch is the sink of one such run. It bounds its text, says whose its events are, and
//     gives its calls ids that are unique in the stream (IDs, CallID); Step notes the calls.
//   - Voice makes one answer of the texts of several speakers, and Join decides what stands
//     between two of them.
package run
