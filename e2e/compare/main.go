// Compare measures the cost of a turn in this build, as a ratio to another build of the gateway:
//
//	compare -base REVISION [-scenarios "S1 S4 S5"] [-rounds 12]
//
// Both are alive at once, each with a simulated model and a tool server of its own, and answer by
// turns in slices of about a second, so that other work of the machine slows both. The base runs
// twice: the difference of its two processes is noise. A floor and its variants, which are programs
// of another folder (-bench), are measured in the same rounds if they exist.
//
// The exit code is 1 if the interval of a ratio lies above -limit and above the noise, 2 if
// something could not be measured.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == upstreamFlag {
		serveUpstream(os.Args[2:])
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := compare(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// options has the options of the command line.
type options struct {
	base, root, bench   string
	newBinary, baseline string
	scenarios           string
	rounds              int
	limit               float64
}

// compare is the program.
func compare(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.base, "base", "", "the `revision` to compare with")
	flags.StringVar(&o.root, "root", "..", "the `folder` of the repository")
	flags.StringVar(&o.bench, "bench", "../shared/bench", "the `folder` of the floor, seen from -root; empty: it is left out")
	flags.StringVar(&o.newBinary, "new", "", "a `program` that is measured in place of a build of -root")
	flags.StringVar(&o.baseline, "old", "", "a `program` to compare with in place of a build of -base")
	flags.StringVar(&o.scenarios, "scenarios", "S1 S2 S4 S5", "`names`, out of: "+strings.Join(scenarioNames(), " "))
	flags.IntVar(&o.rounds, "rounds", 12, "each gives one ratio; at least 6")
	flags.Float64Var(&o.limit, "limit", 1.03, "a `ratio` whose interval lies above it is a failure")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	chosen, err := chooseScenarios(o.scenarios)
	if err == nil {
		err = o.check(flags.Args())
	}
	if err != nil {
		fmt.Fprintln(stderr, "compare:", err)
		return 2
	}
	failed, err := measureAll(ctx, o, chosen, stdout)
	if err != nil {
		fmt.Fprintln(stderr, "compare:", err)
		return 2
	}
	if failed {
		return 1
	}
	return 0
}

// check returns the first fault of the options and the arguments behind them.
func (o *options) check(args []string) error {
	switch {
	case len(args) > 0:
		return fmt.Errorf("%s: there is no such argument", args[0])
	case o.base == "" && o.baseline == "":
		return fmt.Errorf("-base is missing: with which revision?")
	case o.rounds < fewestRounds:
		return fmt.Errorf("-rounds must be %d at least: fewer have no interval", fewestRounds)
	}
	return nil
}

// measureAll prints a table, and returns whether a ratio lies above the limit.
func measureAll(ctx context.Context, o options, chosen []scenario, stdout io.Writer) (failed bool, err error) {
	work, err := os.MkdirTemp("", "compare")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(work)
	programs, err := buildPrograms(ctx, o, work, stdout)
	if err != nil {
		return false, err
	}
	fmt.Fprintf(stdout, "Ratios to %s, and the interval that has each by 95 %%; %d rounds.\n\n", cmp.Or(o.base, o.baseline), o.rounds)
	events := countableEvents(ctx, hardware)
	if len(events) == 0 {
		fmt.Fprintf(stdout, "SKIPPED: %s, which perf does not count here\n\n", strings.Join(hardware, " and "))
	}
	printHead(stdout)
	for _, s := range chosen {
		s.events = events
		worse, err := s.judgeScenario(ctx, work, programs, o, stdout)
		if err == nil && worse { // one process may lie worse in memory than another
			fmt.Fprintln(stdout, "| with new processes: |")
			worse, err = s.judgeScenario(ctx, work, programs, o, stdout)
		}
		if err != nil {
			return failed, fmt.Errorf("%s: %w", s.name, err)
		}
		failed = failed || worse
	}
	return failed, nil
}

// judgeScenario prints the costs of a scenario, and returns whether this build is worse.
func (s *scenario) judgeScenario(ctx context.Context, work string, programs []program, o options, stdout io.Writer) (worse bool, err error) {
	rows, err := s.measureRows(ctx, work, programs, o.rounds)
	for _, r := range rows {
		one := r.isWorse(o.limit)
		r.printRow(stdout, one)
		worse = worse || one
	}
	return worse, err
}
