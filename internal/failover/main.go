// Failover starts two built gateways with one Redis, as processes of their own, kills
// them and the Redis while they work, and checks that nothing is lost and nothing runs
// twice. scripts/failover.sh builds and runs it.
//
//	failover [flags] BINARY [ROW...]
//
// The exit code is 0 if every row is ok, 1 if one is broken, 2 if it was called wrongly.
// What this machine has no program for is printed as skipped. Redis and HAProxy are real
// ones; the model is a simulator, the tools count their calls. It imports nothing of the
// gateway and knows its wire only, so that it can judge any build of it.
package main

import (
	"context"
	"flag"
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

// sizes say how much of everything there is.
type sizes struct {
	turns   int // of a gateway that is killed
	load    int // turns that are reconciled
	clients int // at the same time, of those
	runs    int // of a workflow
	kills   int // of each gateway, while they run
	redis   int // kills of Redis, while they run
	// least is between two kills of a gateway.
	least   time.Duration
	readers int // of another gateway's turns, for their connections to Redis
	tries   int // of what is timed
	// haproxy is the configuration file whose backend has gateways at ports 8081 to 8083.
	haproxy string
	// refund is the file of the workflow, with a payment server of its own.
	refund string
	// lease is how long a gateway counts as alive that is not.
	lease time.Duration
	// patience bounds a row.
	patience time.Duration
	keep     bool // the logs of what was started
}

// named is one row, named after what it is about.
type named struct {
	name string
	run  func(r *run)
}

// scenarios are all rows, in the order in which they run.
func scenarios() []named {
	return []named{
		{"killed in turns", killedInTurns},
		{"killed in runs", killedInRuns},
		{"shared key", sharedKey},
		{"times", times},
		{"reconciled", reconciled},
	}
}

// main stops what runs when it is interrupted.
func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(failover(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// failover runs the scenarios that args name, all if they name none.
func failover(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s, binary, wanted, err := choose(args, stderr)
	if err != nil {
		fmt.Fprintf(stderr, "failover: %v\nusage: failover [flags] BINARY [ROW...]\n", err)
		return 2
	}
	scenario.PrintHead(stdout)
	var broken []string
	for _, row := range wanted {
		if ctx.Err() != nil {
			return 1
		}
		result := perform(ctx, binary, s, row, stderr)
		result.Print(stdout)
		if result.Verdict() == scenario.Broke {
			broken = append(broken, result.Name)
		}
	}
	scenario.PrintSum(stdout, len(wanted), broken)
	if len(broken) > 0 {
		return 1
	}
	return 0
}

// choose reads the command line.
func choose(args []string, stderr io.Writer) (s sizes, binary string, wanted []named, err error) {
	f := flag.NewFlagSet("failover", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.IntVar(&s.turns, "turns", 200, "turns of a gateway that is killed")
	f.IntVar(&s.load, "load", 2000, "turns that are reconciled")
	f.IntVar(&s.clients, "clients", 48, "clients of those")
	f.IntVar(&s.runs, "runs", 200, "runs of a workflow")
	f.IntVar(&s.kills, "kills", 10, "kills of each gateway during those")
	f.IntVar(&s.redis, "redis", 2, "kills of Redis during those")
	f.DurationVar(&s.least, "least", 3*time.Second, "least time between two kills of a gateway; the most is three times that")
	f.IntVar(&s.readers, "readers", 1000, "readers of another gateway's turns")
	f.IntVar(&s.tries, "tries", 200, "how often something is timed")
	f.StringVar(&s.haproxy, "haproxy", "deploy/haproxy.cfg", "configuration of HAProxy")
	f.StringVar(&s.refund, "refund", "examples/workflows/refund.yaml", "configuration with the workflow refund")
	f.DurationVar(&s.patience, "patience", 30*time.Minute, "longest time of a row")
	f.DurationVar(&s.lease, "lease", 15*time.Second, "tasks.lease of the gateways")
	f.BoolVar(&s.keep, "keep", false, "keep the logs, and say where they are")
	if err := f.Parse(args); err != nil {
		return s, "", nil, err
	}
	if f.NArg() == 0 {
		return s, "", nil, fmt.Errorf("which binary?")
	}
	if binary, err = filepath.Abs(f.Arg(0)); err != nil {
		return s, "", nil, err
	}
	all := scenarios()
	if f.NArg() == 1 {
		return s, binary, all, nil
	}
	for _, name := range f.Args()[1:] {
		i := slices.IndexFunc(all, func(s named) bool { return s.name == name })
		if i < 0 {
			return s, "", nil, fmt.Errorf("there is no row %q", name)
		}
		wanted = append(wanted, all[i])
	}
	return s, binary, wanted, nil
}

// perform runs one scenario and ends all that it has started.
func perform(ctx context.Context, binary string, size sizes, s named, progress io.Writer) scenario.Row {
	ctx, cancel := context.WithTimeout(ctx, size.patience)
	defer cancel()
	r := &run{Run: scenario.Run{Ctx: ctx, Binary: binary, Row: scenario.Row{Name: s.name}}, sizes: size, progress: progress}
	defer r.End()
	r.Try(func() { s.run(r) })
	return r.Row
}
