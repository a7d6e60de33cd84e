// This file is the command eval router: it asks the routers of configurations about the same set of
// requests. It compares their decisions with those that the set wants. The asking and the figures
// are the gateway's; here they become a table, a column a configuration.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/app/operate"
	"sluice/internal/app/providers"
	"sluice/internal/app/settings"
	"sluice/internal/clients/terminal"
)

// evalRouter asks the router of each configuration about each request of a set. Exit
// code 1 if one of them is less accurate than asked for.
//
// The configurations are asked one after the other, so that they do not share a provider's
// limits. The threshold is one for all.
func (p program) evalRouter(ctx context.Context, args []string) int {
	files, rest := configFlags(args)
	var reports []operate.RouterReport
	var asked routerFlags
	ctx, cancel := p.untilSignal(ctx)
	defer cancel()
	for _, name := range files {
		own := rest
		if name != "" {
			own = append([]string{"--config", name}, rest...)
		}
		report, flags, code, ok := p.evalOne(ctx, own)
		if !ok {
			return code
		}
		reports, asked = append(reports, report), flags
	}
	if err := p.writeReports(reports, asked.json); err != nil {
		return p.refuseStart(err)
	}
	if slices.ContainsFunc(reports, func(r operate.RouterReport) bool { return r.Accuracy < asked.least }) {
		fmt.Fprintf(p.stderr, "sluice eval router: the accuracy is below %g\n", asked.least)
		return exitFailed
	}
	return exitOK
}

// routerFlags are the flags of the command that no configuration has.
//
// A share is from 0 to 1.
type routerFlags struct {
	set   string  // path; empty: router.jsonl next to the configuration
	runs  int     // how often the whole set is asked
	least float64 // a smaller share of right decisions is a failure
	json  bool
}

// evalOne reads one configuration and its set, and asks. If it cannot, ok is false, the
// reason was printed, and code is the exit code.
func (p program) evalOne(ctx context.Context, args []string) (report operate.RouterReport, asked routerFlags, code int, ok bool) {
	var file settings.File
	l := settings.LoaderWith(&file)
	set := l.String("set", "", "the requests, one JSON object a line; router.jsonl beside the configuration file unless given")
	runs := l.Int("runs", 1, 1, 100, "how often the whole set is asked")
	least := l.Float("min-accuracy", 0, 1, "exit with code 1 below this share of right decisions")
	raw := l.Bool("json", "print JSON")
	cfg, code, ok := p.loadConfig(l, args)
	if !ok {
		return report, asked, code, false
	}
	asked = routerFlags{set: *set, runs: *runs, least: *least, json: *raw}
	cases, err := p.routerCases(file.Path, asked.set)
	if err != nil {
		fmt.Fprintf(p.stderr, "sluice eval router: %v\n", err)
		return report, asked, exitUsage, false
	}
	if report, err = operate.EvalRouter(ctx, gatewayConfig(cfg, file), cases, asked.runs); err != nil {
		return report, asked, p.refuseStart(err), false
	}
	report.Config = file.Path
	return report, asked, exitOK, true
}

// routerCases reads the set at path, or the one next to the configuration if path is empty.
func (p program) routerCases(config, path string) ([]operate.RouterCase, error) {
	if config == "" {
		return nil, errors.New("name a configuration with --config")
	}
	if path == "" {
		path = filepath.Join(filepath.Dir(config), "router.jsonl")
	}
	content, err := p.readFile(path)
	if err != nil {
		return nil, fmt.Errorf("--set: %w", err)
	}
	cases, err := operate.ReadRouterCases(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return cases, nil
}

// writeReports prints reports as a table, or as JSON.
//
// The table is for people, and its rows may change; the JSON is for programs.
func (p program) writeReports(reports []operate.RouterReport, asJSON bool) error {
	if !asJSON {
		showReports(p.stdout, reports)
		showWrong(p.stdout, reports)
		return nil
	}
	out, err := json.Marshal(reports, jsontext.WithIndent("  "))
	if err == nil {
		fmt.Fprintf(p.stdout, "%s\n", out)
	}
	return err
}

// configFlags takes each --config out of args. The flag may be given several times. Without it
// there is one empty name: the variable decides.
//
// The loader takes one --config; that is why the flag is read here. It knows the forms
// -config, --config and --config=FILE.
func configFlags(args []string) (files, rest []string) {
	for i := 0; i < len(args); i++ {
		name, value, has := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(args[i], "-"), "-"), "=")
		switch {
		case name != "config" || !strings.HasPrefix(args[i], "-"):
			rest = append(rest, args[i])
		case has:
			files = append(files, value)
		case i+1 < len(args):
			i++
			files = append(files, args[i])
		}
	}
	if len(files) == 0 {
		files = []string{""}
	}
	return files, rest
}

// showReports prints a column a configuration.
//
// Kinds are those of the first report, as all are about one set.
func showReports(out io.Writer, reports []operate.RouterReport) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name string, value func(*operate.RouterReport) string) {
		fmt.Fprint(w, name)
		for i := range reports {
			fmt.Fprint(w, "\t", value(&reports[i]))
		}
		fmt.Fprintln(w)
	}
	row("configuration", func(r *operate.RouterReport) string { return terminal.Printable(r.Config) })
	row("model", func(r *operate.RouterReport) string {
		if r.Model == providers.OfflineModel {
			return r.Model + " (a simulator)"
		}
		return terminal.Printable(r.Model)
	})
	row("cases, decisions", func(r *operate.RouterReport) string { return fmt.Sprintf("%d, %d", r.Cases, r.Decisions) })
	row("accuracy", func(r *operate.RouterReport) string { return formatPercent(r.Accuracy) })
	row("accuracy of all agents", func(r *operate.RouterReport) string { return formatPercent(r.Set) })
	row("clarification, precision / recall", func(r *operate.RouterReport) string { return formatPrecision(r.Clarify) })
	row("fallback, precision / recall", func(r *operate.RouterReport) string { return formatPrecision(r.Fallback) })
	for i, k := range reports[0].Kinds {
		row("  "+terminal.Printable(k.Kind), func(r *operate.RouterReport) string {
			if i < len(r.Kinds) {
				return fmt.Sprintf("%s of %d", formatPercent(r.Kinds[i].Accuracy), r.Kinds[i].Cases)
			}
			return "-"
		})
	}
	for _, name := range []string{"<0.5", "0.5-0.7", "0.7-0.9", ">=0.9"} {
		row("confidence "+name, func(r *operate.RouterReport) string {
			for _, b := range r.Calibration {
				if b.Confidence == name {
					return fmt.Sprintf("%d, sure %s, right %s", b.Decisions, formatPercent(b.Mean), formatPercent(b.Accuracy))
				}
			}
			return "-"
		})
	}
	row("calibration error", func(r *operate.RouterReport) string { return formatPercent(r.Error) })
	row("answers not readable", func(r *operate.RouterReport) string { return formatPercent(r.Malformed) })
	row("decisions failed", func(r *operate.RouterReport) string { return fmt.Sprint(r.Failed) })
	row("time, p50 / p95", func(r *operate.RouterReport) string { return terminal.Millis(r.P50) + " / " + terminal.Millis(r.P95) })
	row("tokens in / out", func(r *operate.RouterReport) string { return fmt.Sprintf("%.0f / %.0f", r.Input, r.Output) })
	_ = w.Flush()
}

// showWrong prints the decisions that were not those of the set.
func showWrong(out io.Writer, reports []operate.RouterReport) {
	for i := range reports {
		for _, m := range reports[i].Wrong {
			fmt.Fprintf(out, "wrong: %s\n  want %s, got %s\n", terminal.Printable(m.Input), terminal.Printable(m.Want), terminal.Printable(m.Got))
		}
	}
}

// formatPercent shows a share; a negative one stands for a share that could not be computed.
func formatPercent(share float64) string {
	if share < 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*share)
}

// formatPrecision shows how many of the chosen were right, and how many of the right ones
// were chosen.
func formatPrecision(p operate.Precision) string {
	return formatPercent(p.Precision) + " / " + formatPercent(p.Recall)
}
