// This file is the command loadtest around package loadtest: flags, signals, a line of
// progress and the report. The first signal ends the load and lets open streams finish,
// since their audit is the result; the second one cuts them.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/clients/loadtest"
	"sluice/internal/clients/terminal"
)

// runLoadtest makes load on a gateway and audits every stream. Exit code 0 only when
// every turn ended as it was asked to.
func (p program) runLoadtest(ctx context.Context, args []string) int {
	f := newLoadFlags(p.readFile)
	cfg, code, ok := p.loadConfig(f.loader, args)
	if !ok {
		return code
	}
	f.cfg.Header = withCredential(cfg, f.cfg.Header)
	save, err := p.reportTo(*f.json)
	if err != nil {
		fmt.Fprintf(p.stderr, "sluice loadtest: --json: %v\n", err)
		return exitFailed
	}
	report, err := p.runLoad(ctx, f.cfg)
	if err != nil {
		fmt.Fprintf(p.stderr, "sluice loadtest: %v\n", err)
		return exitFailed
	}
	if err := save(&report); err != nil {
		fmt.Fprintf(p.stderr, "sluice loadtest: --json: %v\n", err)
		return exitFailed
	}
	if !report.OK {
		return exitFailed
	}
	return exitOK
}

// runLoad runs until the load is made. The first signal ends it early, the second
// one cuts what still runs.
//
// The goroutine that listens for signals has ended when it returns.
func (p program) runLoad(ctx context.Context, cfg loadtest.Config) (loadtest.Report, error) {
	ctx, cancel := context.WithCancel(ctx)
	stop := make(chan struct{})
	var listening sync.WaitGroup
	defer listening.Wait()
	defer cancel()
	listening.Go(func() {
		for _, act := range []func(){func() { close(stop) }, cancel} {
			select {
			case <-p.signals:
				act()
			case <-ctx.Done():
				return
			}
		}
	})
	cfg.Stop = stop
	cfg.Progress, cfg.ProgressEvery = p.showProgress()
	return loadtest.Run(ctx, cfg)
}

const eraseLine = "\r\x1b[K"

// showProgress shows how the run goes: on one line that changes if stderr is a
// terminal.
//
// A file or a pipe gets a line every ten seconds in place of one that changes.
func (p program) showProgress() (show func(loadtest.Progress), every time.Duration) {
	begin, end, every := "", "\n", 10*time.Second
	if terminal.IsTerminal(p.stderr) {
		begin, end, every = eraseLine, "", time.Second
	}
	return func(at loadtest.Progress) {
		phase := ""
		if !at.Warm {
			phase = ", warming up"
		}
		fmt.Fprintf(p.stderr, "%s%3.0f s%s: %d open, %d ended, %d of them not well; %.0f turns/s, %.0f events/s%s",
			begin, at.Elapsed.Seconds(), phase, at.Open, at.Ended, at.Wrong, at.Turns, at.Events, end)
	}, every
}

// reportTo opens the place for the JSON report before the run, so that a long one is not
// lost to a name that cannot be written. The text goes to stdout, or to stderr if the JSON
// takes that.
//
// save is called once. Without a call nothing is written to the file.
func (p program) reportTo(path string) (save func(*loadtest.Report) error, err error) {
	text := func(w io.Writer, r *loadtest.Report) error {
		if terminal.IsTerminal(p.stderr) {
			fmt.Fprint(p.stderr, eraseLine) // of progress
		}
		return r.Print(w)
	}
	switch path {
	case "":
		return func(r *loadtest.Report) error { return text(p.stdout, r) }, nil
	case "-":
		return func(r *loadtest.Report) error {
			return errors.Join(text(p.stderr, r), writeReport(p.stdout, r))
		}, nil
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return func(r *loadtest.Report) error {
		return errors.Join(text(p.stdout, r), writeReport(file, r), file.Close())
	}, nil
}

// writeReport prints the report as JSON with a line end behind it.
func writeReport(w io.Writer, r *loadtest.Report) error {
	if err := json.MarshalWrite(w, r, jsontext.WithIndent("  ")); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
