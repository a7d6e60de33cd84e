// Package records keeps what workflows leave behind in a store that several gateways share: runs
// with their checkpoints, the definitions to which they are pinned, and what agents did for
// other agents. Any process can continue with a run, and one at a time does. What it keeps can
// be shown.
package records
