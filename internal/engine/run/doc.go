// Package run has the common parts of the runs inside a turn. A turn is a tree of runs: the agents
// of a team, the nodes of a workflow and the agents that agents call, often several at once. Their
// events become the stream of one turn.
//
//   - Out is the turn's own sink. One goroutine alone uses it.
//   - Queue hands events and texts from the goroutines of the runs to that one.
//   - Branch is the sink of one such run. It bounds its text, names the agent and node of its
//     events, and gives its calls ids that are unique in the stream (IDs, CallID).
//   - Voice makes one answer of the texts of several speakers, and Join decides what stands
//     between two of them.
package run
