// Failover starts two or three built gateways with one Redis, as processes of their own, kills
// them and the Redis while they work, and checks that nothing is lost and nothing runs
// twice. scripts/failover.sh builds and runs it.
//
//	failover [flags] BINARY [ROW...]
//
// The exit code is 0 if every row is ok, 1 if one is broken, 2 if it was called wrongly. A row is
// printed as skipped if this machine lacks its programs. Redis and HAProxy are real ones; the model
// is a simulator, the tools count their calls. It imports nothing of the gateway and knows its wire
// only, so that it can judge any build of it.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"sluice/e2e/scenario"
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
	tries   int // measurements of each time
	resumes int // within one second
	// live are the turns that run at the same time for calm without kills, and then for killing with
	// one in each of every.
	live                 int
	calm, killing, every time.Duration
	// deployed are the turns that run at the same time while the gateways are restarted, each for
	// long, and silence the most that a client may wait for an event then (p99).
	deployed      int
	long, silence time.Duration
	// haproxy is the configuration file whose backend has gateways at ports 8081 to 8083.
	haproxy string
	// refund is the file of the workflow, with a payment server of its own.
	refund string
	// lease is how long a gateway counts as alive that is not.
	lease time.Duration
	// patience bounds a row.
	patience time.Duration
	keepLogs bool // keep the logs of the started programs
}

// named is a row with its name.
type named = scenario.Named[*run]

// scenarios returns all rows, in running order.
func scenarios() []named {
	return []named{
		{Name: "killed in turns", Do: killedInTurns},
		{Name: "killed in runs", Do: killedInRuns},
		{Name: "shared key", Do: sharedKey},
		{Name: "times", Do: measureTimes},
		{Name: "resumed at once", Do: resumedAtOnce},
		{Name: "reconciled", Do: reconcileLoad},
		{Name: "kills", Do: killOneByOne},
		{Name: "stops", Do: stopOneByOne},
		{Name: "silent store", Do: silentStore},
		{Name: "deploy", Do: deploy},
	}
}

func main() { scenario.Main(failover) }

// failover runs the scenarios that args name, all if they name none.
func failover(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s, binary, wanted, err := parseArgs(args, stderr)
	if err != nil {
		return scenario.Misused(stderr, "failover [flags] BINARY [ROW...]", err)
	}
	return scenario.Table(ctx, stdout, wanted, func(ctx context.Context, row named) scenario.Row { return performRow(ctx, binary, s, row, stderr) })
}

// parseArgs reads the command line.
func parseArgs(args []string, stderr io.Writer) (s sizes, binary string, wanted []named, err error) {
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
	f.IntVar(&s.resumes, "resumes", 5000, "clients that resume within one second")
	f.IntVar(&s.tries, "tries", 200, "how often something is timed")
	f.IntVar(&s.live, "live", 200, "turns at a time while one of three gateways is killed")
	f.DurationVar(&s.calm, "calm", time.Minute, "how long those run without kills first")
	f.DurationVar(&s.killing, "for", 10*time.Minute, "how long those run with kills")
	f.DurationVar(&s.every, "every", 15*time.Second, "time between two of these kills")
	f.IntVar(&s.deployed, "deployed", 500, "turns at a time while three gateways are restarted")
	f.DurationVar(&s.long, "long", 30*time.Second, "how long each of those takes")
	f.DurationVar(&s.silence, "silence", 4*time.Second, "longest silence of their clients (p99)")
	f.StringVar(&s.haproxy, "haproxy", "deploy/haproxy.cfg", "configuration of HAProxy")
	f.StringVar(&s.refund, "refund", "examples/workflows/refund.yaml", "configuration with the workflow refund")
	f.DurationVar(&s.patience, "patience", 30*time.Minute, "longest time of a row")
	f.DurationVar(&s.lease, "lease", 15*time.Second, "tasks.lease of the gateways")
	f.BoolVar(&s.keepLogs, "keep", false, "keep the logs, and say where they are")
	if err := f.Parse(args); err != nil {
		return s, "", nil, err
	}
	if f.NArg() == 0 {
		return s, "", nil, fmt.Errorf("which binary?")
	}
	if binary, err = filepath.Abs(f.Arg(0)); err != nil {
		return s, "", nil, err
	}
	wanted, err = scenario.Choose(scenarios(), f.Args()[1:])
	return s, binary, wanted, err
}

// performRow runs one scenario and ends all that it has started.
func performRow(ctx context.Context, binary string, size sizes, s named, progress io.Writer) scenario.Row {
	ctx, cancel := context.WithTimeout(ctx, size.patience)
	defer cancel()
	r := &run{Run: scenario.Run{Ctx: ctx, Binary: binary, Row: scenario.Row{Name: s.Name}}, sizes: size, progress: progress}
	return r.Perform(func() { s.Do(r) })
}
