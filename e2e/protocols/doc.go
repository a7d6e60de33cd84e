// Package protocols holds tests and benchmarks and nothing else: they put the protocols of language
// models side by side, over real HTTP and against the strict simulators. A conversation goes from
// each model to each other one, a turn gives the same events with every model, and a delta costs
// about the same.
package protocols
