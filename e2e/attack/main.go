// Attack starts a built gateway as a process, repeats the attacks that have once broken it, and
// prints its measurements as a table. scripts/attack.sh builds and runs it.
//
//	attack BINARY [ROW...]
//
// The exit code is 0 if every row is ok, 1 if one is broken, 2 if it was called wrongly. Figures
// that this machine cannot show are printed as skipped. It imports nothing of the gateway and knows
// its wire only, so that it can judge any build of it.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"sluice/e2e/scenario"
)

// patience bounds a scenario: a gateway that hangs is killed, and its row is broken.
const patience = 120 * time.Second

// named is an attack with its name.
type named = scenario.Named[*run]

// scenarios returns all rows, in running order.
func scenarios() []named {
	return []named{
		{Name: "unread body", Do: unreadBody},
		{Name: "half bodies", Do: halfBodies},
		{Name: "own shortage", Do: ownShortage},
		{Name: "half-close", Do: halfClose},
		{Name: "refusals", Do: refusals},
		{Name: "slow readers", Do: slowReaders},
		{Name: "overload", Do: overload},
		{Name: "overload, guarded", Do: guardedOverload},
		{Name: "bad credentials", Do: badCredentials},
		{Name: "greedy tenant", Do: greedyTenant},
		{Name: "one address", Do: oneAddress},
		{Name: "diag", Do: diagStream},
		{Name: "head", Do: headRequests},
		{Name: "foreign page", Do: foreignPage},
		{Name: "markdown", Do: markdownBombs},
		{Name: "markdown in a turn", Do: markdownInATurn},
		{Name: "foreign text", Do: foreignText},
		{Name: "pattern bomb", Do: patternBomb},
		{Name: "slow pattern", Do: slowPattern},
		{Name: "tools surplus", Do: toolsSurplus},
		{Name: "many calls", Do: manyCalls},
		{Name: "odd usage", Do: oddUsage},
		{Name: "goaway", Do: goAway},
		{Name: "log reader gone", Do: logReaderGone},
		{Name: "long log lines", Do: longLogLines},
		{Name: "bidi", Do: bidi},
		{Name: "short key", Do: shortKey},
		{Name: "no home", Do: noHome},
	}
}

// main runs the program; an interrupt ends it in order.
func main() {
	if len(os.Args) == 2 && os.Args[1] == floorFlag {
		serveFloor()
		return
	}
	scenario.Main(attack)
}

// attack runs the scenarios that args name, all if they name none.
func attack(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	wanted, err := parseArgs(args)
	if err != nil {
		return scenario.Misused(stderr, "attack BINARY [ROW...]", err)
	}
	binary, err := filepath.Abs(args[0])
	if err != nil {
		fmt.Fprintln(stderr, "attack:", err)
		return 2
	}
	return scenario.Table(ctx, stdout, wanted, func(ctx context.Context, s named) scenario.Row { return performRow(ctx, binary, s) })
}

// parseArgs reads the command line: a binary, and the names of rows.
func parseArgs(args []string) ([]named, error) {
	if len(args) == 0 {
		return nil, fmt.Errorf("which binary?")
	}
	return scenario.Choose(scenarios(), args[1:])
}

// performRow runs one scenario and ends whatever it has started.
//
// If a scenario panics for another reason than a failure, its processes are ended before the panic
// continues.
func performRow(ctx context.Context, binary string, s named) scenario.Row {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r := &run{Run: scenario.Run{Ctx: ctx, Binary: binary, Row: scenario.Row{Name: s.Name}}, slow: slowness()}
	return r.Perform(func() { s.Do(r) })
}
