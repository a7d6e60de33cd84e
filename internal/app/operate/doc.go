// Package operate is what an operator does with the parts of a gateway and without one that
// runs: to export a task, to sweep a store, to judge a router, to examine models, to ask one
// of them, to run a recorded turn again. It knows no gateway: what needs one is given it.
package operate
