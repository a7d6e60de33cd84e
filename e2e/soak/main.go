// Soak runs a built gateway under load for as long as one likes, with all that happens to one that
// serves: users of several tenants with keys and tokens, over TLS by HTTP/2 and HTTP/1.1, upstreams
// that fail, clients that leave or read slowly, keys and certificates that are replaced. Then it
// compares the clients' observations with the gateway's counts: the difference must be zero.
// scripts/soak.sh builds and runs it.
//
//	soak [flags] BINARY
//
// The exit code is 0 if all agrees, 1 if something does not, 2 if it was called wrongly. It
// imports nothing of the gateway and knows its wire only, so that it can judge any build of
// it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"sluice/e2e/scenario"
)

// plan says how much of everything there is. Shares are in percent.
type plan struct {
	length     time.Duration // turns begin for so long
	every      time.Duration // keys and certificate are replaced
	settleTime time.Duration // until memory, goroutines and descriptors must be back
	users      int
	rate       float64 // turns begun in a second; 0: as many as there is room for
	width      int     // turns of a user at a time

	faults int // of the calls of both upstreams
	leave  int // of the clients, in the middle of their turn
	slow   int // of the clients, in reading
	calls  int // of the turns that call tools

	store   string // memory, sqlite, redis or none
	plain   bool   // short turns over HTTP/1.1 without TLS, keys and upstreams' faults
	keepLog bool   // the log of the gateway
	log     string // its level
}

func main() { scenario.Main(soak) }

// soak runs what args ask for.
func soak(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	p, binary, err := parseArgs(args, stderr)
	if err != nil {
		return scenario.Misused(stderr, "soak [flags] BINARY", err)
	}
	row := scenario.Named[*run]{Name: "soak", Do: (*run).soak}
	return scenario.Table(ctx, stdout, []scenario.Named[*run]{row}, func(ctx context.Context, row scenario.Named[*run]) scenario.Row {
		r := &run{Run: scenario.Run{Ctx: ctx, Binary: binary, Row: scenario.Row{Name: row.Name}}, plan: p, progress: stderr}
		return r.Perform(func() { row.Do(r) })
	})
}

// parseArgs reads the command line.
func parseArgs(args []string, stderr io.Writer) (p plan, binary string, err error) {
	f := flag.NewFlagSet("soak", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.DurationVar(&p.length, "length", 30*time.Minute, "for how long turns are begun")
	f.DurationVar(&p.every, "every", time.Minute, "how often keys and certificate are replaced")
	f.DurationVar(&p.settleTime, "settle", 2*time.Minute, "longest time until memory, goroutines and descriptors are back")
	f.IntVar(&p.users, "users", 50, "users, of five tenants")
	f.Float64Var(&p.rate, "rate", 60, "turns begun in a second; 0: as many as there is room for")
	f.IntVar(&p.width, "width", 4, "turns of a user at a time")
	f.IntVar(&p.faults, "faults", 5, "faults in 100 calls of the model and of tools")
	f.IntVar(&p.leave, "leave", 10, "clients of 100 that leave in the middle of their turn")
	f.IntVar(&p.slow, "slow", 5, "clients of 100 that read slowly")
	f.IntVar(&p.calls, "calls", 30, "turns of 100 that call tools")
	f.StringVar(&p.store, "store", "memory", "where tasks are kept: memory, sqlite, redis or none")
	f.BoolVar(&p.plain, "plain", false, "as many short turns as possible: HTTP/1.1 without TLS, no keys, faults, tools and store; nobody leaves")
	f.BoolVar(&p.keepLog, "keep", false, "keep the gateway's log, and say where it is")
	f.StringVar(&p.log, "log", "warning", "level of the gateway's log; with info it has four lines and more for each turn")
	if err := f.Parse(args); err != nil {
		return p, "", err
	}
	if f.NArg() != 1 {
		return p, "", errors.New("which binary?")
	}
	if p.plain {
		p.rate, p.width, p.faults, p.leave, p.slow, p.calls, p.store = 0, 1, 0, 0, 0, 0, "none"
	}
	if err := p.check(); err != nil {
		return p, "", err
	}
	binary, err = filepath.Abs(f.Arg(0))
	return p, binary, err
}

// check returns the first fault of a plan.
func (p *plan) check() error {
	switch {
	case p.users < 1 || p.width < 1 || p.rate < 0 || p.length <= 0 || p.every <= 0:
		return errors.New("users, width, rate and times must be more than nothing")
	case p.store != "memory" && p.store != "sqlite" && p.store != "redis" && p.store != "none":
		return fmt.Errorf("there is no store %q", p.store)
	case p.store == "none" && p.leave > 0:
		return errors.New("without a store nobody can know how the turn of a client that left has ended: -leave 0")
	}
	for _, share := range []int{p.faults, p.leave, p.slow, p.calls} {
		if share < 0 || share > 100 {
			return errors.New("shares are 0 to 100")
		}
	}
	return nil
}
