// This file is the command replay: it plays a recording as its client got it. Or it runs the
// recorded turn again, with the recorded answers of models and tools, and reports the first event
// that differs. In both cases it asks nothing outside of the process.

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

// runReplay prints the stream of a recorded turn, or runs the turn again with the recorded answers
// of its upstreams, and compares.
//
// speed is a factor; 0 leaves out all waits.
func (p program) runReplay(ctx context.Context, args []string) int {
	var f settings.File
	l := settings.LoaderWith(&f)
	l.MaxArgs = 1
	rerun := l.Bool("rerun", "run the turn again with the recorded answers of models and tools, and compare")
	pace := l.String("speed", "0", "1 for the pace of the recording, 10 for ten times that; 0: at once")
	if !slices.ContainsFunc(args, asksForRerun) { // playing works without a configuration
		p.lookup = func(string) (string, bool) { return "", false }
		p.readFile = func(string) ([]byte, error) { return []byte("{}"), nil }
	}
	cfg, code, ok := p.loadConfig(l, flagsFirst(args))
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
		return p.rerunTurn(ctx, gatewayConfig(cfg, f), r, speed)
	}
	if err := r.Play(ctx, p.stdout, speed); err != nil && ctx.Err() == nil {
		return p.refuseStart(err)
	}
	return exitOK
}

// asksForRerun says whether an argument is the flag.
func asksForRerun(arg string) bool {
	name, _, _ := strings.Cut(arg, "=")
	return name == "-rerun" || name == "--rerun"
}

// readRecording reads a regular file. The error does not repeat the name.
//
// The name is left out because the caller prints it in front.
func readRecording(name string) (*recording.Recording, error) {
	// Opening a pipe waits for its writer, and a device may be endless.
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

// rerunTurn reports the first difference, if there is one. Questions that the recording lacks mostly
// explain it.
//
// Only the same events count as the same; another order of parallel branches is allowed, and
// reported. It returns exitFailed for a difference, so that it can stand in a test.
func (p program) rerunTurn(ctx context.Context, cfg settings.Config, r *recording.Recording, speed float64) int {
	if r.Continues != "" {
		fmt.Fprintf(p.stderr, "sluice replay: the turn went on with %s, which is not in the recording: it can be played, and not run again\n", r.Continues)
		return exitFailed
	}
	got, err := operate.Rerun(ctx, cfg, r, speed, startRerun)
	if err != nil {
		return p.refuseStart(err)
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
	for _, what := range got.Unanswered {
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

// flagsFirst puts flags that stand behind an argument before it.
//
// The flag package stops at the first argument that is not a flag, and people write the name
// first.
func flagsFirst(args []string) []string {
	if len(args) > 1 && args[0] != "" && args[0][0] != '-' {
		return append(append([]string{}, args[1:]...), args[0])
	}
	return args
}
