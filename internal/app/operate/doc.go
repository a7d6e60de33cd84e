// Package operate has the commands of an operator that work on parts of a gateway, without a
// running one. They export a task, sweep a store, judge a router, examine and ask models, and run a
// recorded turn again. It does not know the gateway: a caller passes one if a command needs it.
//
// The verbs: ask and examine (a model), count (a decision), write (an exported file), import (a
// document), print (YAML).
package operate
