// Growth starts a built gateway as a process, lets one dimension after the other grow (chunks of an
// answer, tools, agents, nodes, messages, stored tasks, open streams), and measures the cost for
// the process. scripts/growth.sh builds and runs it.
//
//	growth [-rounds N] [-most SIZE] BINARY [DIMENSION...]
//
// It prints a table of each dimension as Markdown. The exit code is 0 if all was measured, 1 if
// something was not, 2 if it was called wrongly.
//
// The model and the servers of tools are simulators in this process, so that their cost does not
// count. It imports only the store packages of the gateway, to fill the stores. The clock of a
// process's CPU time is that of Linux; elsewhere nothing can be measured.
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

// patience bounds the time of a dimension.
const patience = 10 * time.Minute

// named is a dimension with its name on the command line.
type named = scenario.Named[*run]

// dimensions returns all dimensions, in measuring order.
func dimensions() []named {
	return []named{
		{Name: "chunks", Do: growChunks},
		{Name: "tools", Do: growTools},
		{Name: "agents", Do: growAgents},
		{Name: "nodes", Do: growNodes},
		{Name: "history", Do: growHistory},
		{Name: "tasks-sqlite", Do: tasksInSQLite},
		{Name: "tasks-redis", Do: tasksInRedis},
		{Name: "streams", Do: growStreams},
	}
}

// plan has the options of the command line.
type plan struct {
	rounds int // measurements of each point
	most   int // no size is larger
	slice  time.Duration
}

// run is one dimension at work.
type run struct {
	scenario.Run
	plan plan
	name string
	out  io.Writer
}

func main() { scenario.Main(growth) }

// growth measures the dimensions that args name, all if they name none.
func growth(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	const usage = "growth [-rounds N] [-most SIZE] BINARY [DIMENSION...]"
	p := plan{slice: 150 * time.Millisecond}
	flags := flag.NewFlagSet("growth", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.IntVar(&p.rounds, "rounds", 5, "")
	flags.IntVar(&p.most, "most", 1<<30, "")
	binary, wanted, err := p.parseArgs(flags, args)
	if err != nil {
		return scenario.Misused(stderr, usage, err)
	}
	code := 0
	for _, d := range wanted {
		if err := p.performDimension(ctx, binary, d, stdout); err != nil {
			fmt.Fprintf(stderr, "growth: %s: %v\n", d.Name, err)
			code = 1
		}
	}
	return code
}

// parseArgs reads the command line.
func (p *plan) parseArgs(flags *flag.FlagSet, args []string) (binary string, wanted []named, err error) {
	if err := flags.Parse(args); err != nil {
		return "", nil, err
	}
	if flags.NArg() == 0 {
		return "", nil, errors.New("which binary?")
	}
	if p.rounds < 1 || p.most < 1 {
		return "", nil, errors.New("-rounds and -most begin with 1")
	}
	if binary, err = filepath.Abs(flags.Arg(0)); err != nil {
		return "", nil, err
	}
	wanted, err = scenario.Choose(dimensions(), flags.Args()[1:])
	return binary, wanted, err
}

// performDimension measures one dimension, and ends everything that it started.
func (p plan) performDimension(ctx context.Context, binary string, d named, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r := &run{Run: scenario.Run{Ctx: ctx, Binary: binary, Row: scenario.Row{Name: d.Name}}, plan: p, name: d.Name, out: out}
	row := r.Perform(func() { d.Do(r) })
	for _, f := range row.Figures {
		if f.Verdict != scenario.Skipped {
			return errors.New(f.Measured)
		}
		fmt.Fprintf(out, "%s: %s\n\n", d.Name, f.Measured)
	}
	return nil
}

// printChart writes a chart as a table.
func (r *run) printChart(c *chart) {
	_, err := io.WriteString(r.out, c.formatTable())
	r.Must(err)
}

// allowedSizes returns those that the command line allows.
func (r *run) allowedSizes(all ...int) (few []int) {
	for _, n := range all {
		if n <= r.plan.most {
			few = append(few, n)
		}
	}
	return few
}
