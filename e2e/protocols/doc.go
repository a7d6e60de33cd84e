// Package protocols holds tests and benchmarks and nothing else: they put the protocols of
// language models side by side, over real HTTP and against the strict simulators. One
// conversation goes from each model to each other one, one turn gives the same events
// whichever model answers it, and a delta costs about the same.
package protocols
