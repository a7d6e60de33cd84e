// Package scenario is the frame of programs that test a built gateway and print a table. A scenario
// starts its servers and processes, which end with it, and its measurements become figures of its
// row. It is like testing.T, but a row that is broken is a result and not a failure of the program.
//
// It shares no code with the gateway, because a judge must not share the gateway's mistakes.
package scenario

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Run is one scenario at work. It belongs to the scenario's goroutine.
type Run struct {
	Ctx    context.Context // ends with the scenario's time
	Binary string          // path of the gateway
	Row    Row             // the measurements so far
	ends   []func()        // run in reverse
}

// Named is a scenario with the name of its row. Its argument is an R, which embeds a Run.
type Named[R any] struct {
	Name string
	Do   func(R)
}

// Main runs a program of scenarios until it ends or is interrupted, and exits with its code.
func Main(program func(ctx context.Context, args []string, stdout, stderr io.Writer) int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := program(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// Misused prints a fault of the command line and the usage, whose first word is the program's name.
// It returns the exit code.
func Misused(stderr io.Writer, usage string, err error) int {
	name, _, _ := strings.Cut(usage, " ")
	fmt.Fprintf(stderr, "%s: %v\nusage: %s\n", name, err, usage)
	return 2
}

// Choose returns those of all that have the names; without names all of them.
func Choose[R any](all []Named[R], names []string) ([]Named[R], error) {
	if len(names) == 0 {
		return all, nil
	}
	var chosen []Named[R]
	for _, name := range names {
		i := slices.IndexFunc(all, func(s Named[R]) bool { return s.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no row %q", name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// Table performs scenarios one after the other, until ctx ends, and prints their rows. It
// returns the exit code of the program: 0 if every row is ok, 1 otherwise.
func Table[R any](ctx context.Context, out io.Writer, wanted []Named[R], perform func(context.Context, Named[R]) Row) int {
	printHead(out)
	var broken []string
	var totals Totals
	for _, s := range wanted {
		if ctx.Err() != nil {
			return 1
		}
		row := perform(ctx, s)
		row.Print(out)
		totals = totals.Add(row.Totals)
		if row.Verdict() == Broke {
			broken = append(broken, row.Name)
		}
	}
	printSum(out, len(wanted), broken, totals)
	if len(broken) > 0 {
		return 1
	}
	return 0
}

// failure is the panic of Must, and lack is the panic of Lack.
type (
	failure struct{ error }
	lack    struct{ missing string }
)

// Must ends the scenario if err is not nil; its row is then broken. Only the scenario's own
// goroutine may call it.
func (r *Run) Must(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// Lack ends the scenario as skipped: this machine lacks a program or a feature.
func (r *Run) Lack(what string) { panic(lack{what}) }

// Perform runs a scenario, ends everything that it started, and returns its row.
func (r *Run) Perform(scenario func()) Row {
	func() {
		defer r.End()
		r.Try(scenario)
	}()
	return r.Row
}

// Try runs a scenario up to where it ends itself. A panic that neither Must nor Lack caused
// is a bug of the scenario and continues.
func (r *Run) Try(scenario func()) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case failure:
			r.Check("the scenario", false, "runs to its end", "%v", e)
		case lack:
			r.Skip("the scenario", "needs "+e.missing)
		default:
			panic(e)
		}
	}()
	scenario()
}

// AtEnd has a function called when the row is over, last one first: later ones were started
// on top of earlier ones.
func (r *Run) AtEnd(end func()) { r.ends = append(r.ends, end) }

// End stops everything that the row started.
func (r *Run) End() {
	for _, end := range slices.Backward(r.ends) {
		end()
	}
}

// Pause waits on real time: the gateway is another process. It ends the scenario with its
// time.
func (r *Run) Pause(d time.Duration) { r.Must(Pause(r.Ctx, d)) }

// Pause returns an error if ctx ends meanwhile.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return errors.New("its time is over")
	case <-time.After(d):
		return nil
	}
}

// Serve runs a fake upstream on a port of this host until the scenario ends.
func (r *Run) Serve(h http.Handler) (url string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	r.Must(err)
	s := &http.Server{Handler: h}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Serve(l)
	}()
	r.AtEnd(func() {
		_ = s.Close()
		<-ended
	})
	return "http://" + l.Addr().String()
}

// Check adds a figure. It is fine if good is true, and broken otherwise.
func (r *Run) Check(what string, good bool, expected, format string, args ...any) {
	v := Broke
	if good {
		v = Fine
	}
	r.Row.Figures = append(r.Row.Figures, Figure{what, fmt.Sprintf(format, args...), expected, v})
}

// Report adds a figure without an expectation.
func (r *Run) Report(what, format string, args ...any) {
	r.Row.Figures = append(r.Row.Figures, Figure{what, fmt.Sprintf(format, args...), "", Reported})
}

// Skip records a figure that this machine cannot show, and the reason.
func (r *Run) Skip(what, why string) {
	r.Row.Figures = append(r.Row.Figures, Figure{what, why, "", Skipped})
}

// Exactly records a count.
func (r *Run) Exactly(what string, got, want int) {
	r.Check(what, got == want, fmt.Sprint(want), "%d", got)
}
