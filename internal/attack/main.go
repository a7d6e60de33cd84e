// Attack starts a built gateway as a process, does to it what has once broken it,
// and prints what it measured as a table. scripts/attack.sh builds and runs it.
//
//	attack BINARY [ROW...]
//
// The exit code is 0 if every row is ok, 1 if one is broken, 2 if it was called
// wrongly. What this machine cannot show is printed as skipped. It imports nothing of
// the gateway and knows its wire only, so that it can judge any build of it.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"sluice/internal/scenario"
)

// patience bounds a scenario: a gateway that hangs is killed, and its row is broken.
const patience = 60 * time.Second

// named is one attack, named after what it is about.
type named struct {
	name string
	run  func(r *run)
}

// scenarios are all rows, in the order in which they run.
func scenarios() []named {
	return []named{
		{"unread body", unreadBody},
		{"half bodies", halfBodies},
		{"own shortage", ownShortage},
		{"half-close", halfClose},
		{"refusals", refusals},
		{"slow readers", slowReaders},
		{"overload", overload},
		{"diag", diag},
		{"head", head},
		{"foreign page", foreignPage},
		{"pattern bomb", patternBomb},
		{"slow pattern", slowPattern},
		{"tools surplus", toolsSurplus},
		{"many calls", manyCalls},
		{"odd usage", oddUsage},
		{"goaway", goAway},
		{"log reader gone", logReaderGone},
		{"long log lines", longLogLines},
		{"bidi", bidi},
		{"short key", shortKey},
		{"no home", noHome},
	}
}

// main stops what runs when it is interrupted.
func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(attack(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// attack runs the scenarios that args name, all if they name none.
func attack(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	wanted, err := choose(args)
	if err != nil {
		fmt.Fprintf(stderr, "attack: %v\nusage: attack BINARY [ROW...]\n", err)
		return 2
	}
	binary, err := filepath.Abs(args[0])
	if err != nil {
		fmt.Fprintln(stderr, "attack:", err)
		return 2
	}
	scenario.PrintHead(stdout)
	var broken []string
	for _, s := range wanted {
		if ctx.Err() != nil {
			return 1
		}
		row := perform(ctx, binary, s)
		row.Print(stdout)
		if row.Verdict() == scenario.Broke {
			broken = append(broken, row.Name)
		}
	}
	scenario.PrintSum(stdout, len(wanted), broken)
	if len(broken) > 0 {
		return 1
	}
	return 0
}

// choose returns the rows that were named; without names all of them.
func choose(args []string) ([]named, error) {
	if len(args) == 0 {
		return nil, fmt.Errorf("which binary?")
	}
	all := scenarios()
	if len(args) == 1 {
		return all, nil
	}
	var chosen []named
	for _, name := range args[1:] {
		i := slices.IndexFunc(all, func(s named) bool { return s.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no row %q", name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// perform runs one scenario and ends whatever it has started.
//
// What a scenario has started is ended also if it panics with something else than failure,
// before the panic goes on.
func perform(ctx context.Context, binary string, s named) scenario.Row {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r := &run{scenario.Run{Ctx: ctx, Binary: binary, Row: scenario.Row{Name: s.name}}}
	defer r.End()
	r.Try(func() { s.run(r) })
	return r.Row
}
