// Package records stores workflows for several gateways: runs with their checkpoints, the
// definitions that runs are pinned to, and the sessions of agents that work for other agents. Any
// process can continue with a run, and one at a time does. All of it can be shown.
package records
