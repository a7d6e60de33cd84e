// This file is the command replay: it plays a recording as its client got it, or runs the
// recorded turn again, with the recorded answers in place of models and tools, and reports the
// first event that differs. Nothing outside of the process is asked in either case.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"sluice/internal/app/gateway"
	"sluice/internal/app/operate"
	"sluice/internal/app/process"
	"sluice/internal/app/settings"
	"sluice/internal/base/config"
	"sluice/internal/state/store"
	"sluice/internal/state/task/recording"
)

// replay prints what the client of a recorded turn got, or runs the turn again with what was
// recorded of its upstreams, and compares.
//
// speed is a factor; 0 leaves out all waits.
func (p program) replay(ctx context.Context, args []string) int {
	var f settings.File
	l := settings.LoaderWith(&f)
	l.MaxArgs = 1
	rerun := l.Bool("rerun", "run the turn again with the recorded answers of models and tools, and compare")
	pace := l.String("speed", "0", "1 for the pace of the recording, 10 for ten times that; 0: at once")
	if !slices.ContainsFunc(args, asksForRerun) { // what is played needs no configuration
		p.lookup = func(string) (string, bool) { return "", false }
		p.readFile = func(string) ([]byte, error) { return []byte("{}"), nil }
	}
	cfg, code, ok := p.load(l, leading(args))
	if !ok {
		return code
	}
	speed, err := strconv.ParseFloat(*pace, 64)
	if len(l.Args()) == 0 || err != nil || speed < 0 || speed > 1e6 {
		fmt.Fprintln(p.stderr, "sluice replay: name a recording: sluice replay FILE [--rerun] [--speed 0 to 1000000]")
		return exitUsage
	}
	name := l.Args()[0]
	ctx, cancel := p.untilSignal(ctx)
	defer cancel()
	r, err := readRecording(name)
	if err != nil {
		fmt.Fprintf(p.stderr, "sluice replay: %s: %v\n", name, err)
		return exitFailed
	}
	if *rerun {
		return p.rerun(ctx, gatewayConfig(cfg, f), r, speed)
	}
	if err := r.Play(ctx, p.stdout, speed); err != nil && ctx.Err() == nil {
		return p.refuse(err)
	}
	return exitOK
}

// asksForRerun says whether an argument is the flag.
func asksForRerun(arg string) bool {
	name, _, _ := strings.Cut(arg, "=")
	return name == "-rerun" || name == "--rerun"
}

// readRecording reads a regular file. What may be wrong with its name the error does not repeat.
//
// The name is left out because the caller prints it in front.
func readRecording(name string) (*recording.Recording, error) {
	// Opening a pipe waits for who writes it, and a device may have no end.
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return nil, config.ErrNoFile
	}
	in, err := os.Open(name)
	if err != nil {
		var at *os.PathError
		if errors.As(err, &at) {
			err = at.Err
		}
		return nil, err
	}
	defer in.Close()
	return recording.Read(in)
}

// rerun reports the first difference, if there is one. What was asked that the recording lacks
// mostly explains it.
//
// Only the same events count as the same; the order of parallel branches may differ, which
// is reported. It returns exitFailed for a difference, so that it can stand in a test.
func (p program) rerun(ctx context.Context, cfg settings.Config, r *recording.Recording, speed float64) int {
	if r.Continues != "" {
		fmt.Fprintf(p.stderr, "sluice replay: the turn went on with %s, which is not in the recording: it can be played, and not run again\n", r.Continues)
		return exitFailed
	}
	got, err := operate.Rerun(ctx, cfg, r, speed, startRerun)
	if err != nil {
		return p.refuse(err)
	}
	d, reordered := r.Compare(got.Body)
	switch {
	case reordered:
		fmt.Fprintf(p.stdout, "the same: %d events; those of parallel branches in another order\n", r.Events())
		return exitOK
	case d == nil:
		fmt.Fprintf(p.stdout, "the same: %d events\n", r.Events())
		return exitOK
	}
	fmt.Fprintln(p.stdout, d)
	p.showRest(got, r)
	return exitFailed
}

// showRest says what else was different of a turn that ran again.
func (p program) showRest(got operate.Rerunning, r *recording.Recording) {
	for _, what := range got.Asked {
		fmt.Fprintf(p.stdout, "asked, and not in the recording: %s\n", what)
	}
	if got.Unused > 0 {
		fmt.Fprintf(p.stdout, "recorded answers that nobody asked for: %d\n", got.Unused)
	}
	if r.Version != version {
		fmt.Fprintf(p.stdout, "recorded by version %s, run by %s\n", r.Version, version)
	}
}

// startRerun starts a gateway that asks a player in place of all upstreams. Its log is for
// nobody.
func startRerun(ctx context.Context, cfg settings.Config, player *recording.Player, kept store.Store) (operate.Gateway, error) {
	g, err := gateway.New(ctx, cfg, process.NewLogger(io.Discard, "error"), gateway.Seams{Tape: player, Store: kept})
	if err != nil { // not a nil pointer in an interface
		return nil, err
	}
	return g, nil
}

// leading puts flags that stand behind an argument before it.
//
// The flag package stops at the first argument that is not a flag, and people write the name
// first.
func leading(args []string) []string {
	if len(args) > 1 && args[0] != "" && args[0][0] != '-' {
		return append(append([]string{}, args[1:]...), args[0])
	}
	return args
}
