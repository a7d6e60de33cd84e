package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/gateway"
	"sluice/internal/settings"
)

// eval judges a part of a configuration.
func (p program) eval(ctx context.Context, args []string) int {
	if len(args) > 0 && args[0] == "router" {
		return p.evalRouter(ctx, args[1:])
	}
	fmt.Fprintln(p.stderr, "sluice eval: say what to judge: sluice eval router [--config FILE]... [--set FILE]")
	return exitUsage
}

// evalRouter asks the router of each configuration about each request of a set. Exit
// code 1 if one of them is less accurate than asked for.
func (p program) evalRouter(ctx context.Context, args []string) int {
	files, rest := configFlags(args)
	var reports []gateway.RouterReport
	var text io.Writer = p.stdout
	asJSON, least := false, 0.0
	ctx, cancel := p.untilSignal(ctx)
	defer cancel()
	for _, name := range files {
		var file settings.File
		l := settings.LoaderWith(&file)
		set := l.String("set", "", "the requests, one JSON object a line; router.jsonl beside the configuration file unless given")
		runs := l.Int("runs", 1, 1, 100, "how often the whole set is asked")
		min := l.Float("min-accuracy", 0, 1, "exit with code 1 below this share of right decisions")
		raw := l.Bool("json", "print JSON")
		own := rest
		if name != "" {
			own = append([]string{"--config", name}, rest...)
		}
		cfg, code, ok := p.load(l, own)
		if !ok {
			return code
		}
		asJSON, least = *raw, *min
		if file.Path == "" {
			fmt.Fprintln(p.stderr, "sluice eval router: name a configuration with --config")
			return exitUsage
		}
		path := *set
		if path == "" {
			path = filepath.Join(filepath.Dir(file.Path), "router.jsonl")
		}
		content, err := p.readFile(path)
		if err != nil {
			fmt.Fprintf(p.stderr, "sluice eval router: --set: %v\n", err)
			return exitUsage
		}
		cases, err := gateway.ReadRouterCases(content)
		if err != nil {
			fmt.Fprintf(p.stderr, "sluice eval router: %s: %v\n", path, err)
			return exitUsage
		}
		report, err := gateway.EvalRouter(ctx, gatewayConfig(cfg, file), cases, *runs)
		if err != nil {
			return p.refuse(err)
		}
		report.Config = file.Path
		reports = append(reports, report)
	}
	if asJSON {
		out, err := json.Marshal(reports, jsontext.WithIndent("  "))
		if err != nil {
			return p.refuse(err)
		}
		fmt.Fprintf(text, "%s\n", out)
	} else {
		showReports(text, reports)
	}
	if slices.ContainsFunc(reports, func(r gateway.RouterReport) bool { return r.Accuracy < least }) {
		fmt.Fprintf(p.stderr, "sluice eval router: the accuracy is below %g\n", least)
		return exitFailed
	}
	return exitOK
}

// configFlags takes --config, which may be given again, out of args. Without it there is
// one empty name: the variable decides.
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
func showReports(out io.Writer, reports []gateway.RouterReport) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name string, value func(*gateway.RouterReport) string) {
		fmt.Fprint(w, name)
		for i := range reports {
			fmt.Fprint(w, "\t", value(&reports[i]))
		}
		fmt.Fprintln(w)
	}
	row("configuration", func(r *gateway.RouterReport) string { return printable(r.Config) })
	row("model", func(r *gateway.RouterReport) string {
		if r.Model == gateway.OfflineModel {
			return r.Model + " (a simulator)"
		}
		return printable(r.Model)
	})
	row("cases, decisions", func(r *gateway.RouterReport) string { return fmt.Sprintf("%d, %d", r.Cases, r.Decisions) })
	row("accuracy", func(r *gateway.RouterReport) string { return percent(r.Accuracy) })
	row("accuracy of all agents", func(r *gateway.RouterReport) string { return percent(r.Set) })
	row("clarification, precision / recall", func(r *gateway.RouterReport) string { return both(r.Clarify) })
	row("fallback, precision / recall", func(r *gateway.RouterReport) string { return both(r.Fallback) })
	for i, k := range reports[0].Kinds {
		row("  "+printable(k.Kind), func(r *gateway.RouterReport) string {
			if i < len(r.Kinds) {
				return fmt.Sprintf("%s of %d", percent(r.Kinds[i].Accuracy), r.Kinds[i].Cases)
			}
			return "-"
		})
	}
	for _, name := range []string{"<0.5", "0.5-0.7", "0.7-0.9", ">=0.9"} {
		row("confidence "+name, func(r *gateway.RouterReport) string {
			for _, b := range r.Calibration {
				if b.Confidence == name {
					return fmt.Sprintf("%d, sure %s, right %s", b.Decisions, percent(b.Mean), percent(b.Accuracy))
				}
			}
			return "-"
		})
	}
	row("calibration error", func(r *gateway.RouterReport) string { return percent(r.Error) })
	row("answers not readable", func(r *gateway.RouterReport) string { return percent(r.Malformed) })
	row("decisions failed", func(r *gateway.RouterReport) string { return fmt.Sprint(r.Failed) })
	row("time, p50 / p95", func(r *gateway.RouterReport) string { return millis(r.P50) + " / " + millis(r.P95) })
	row("tokens in / out", func(r *gateway.RouterReport) string { return fmt.Sprintf("%.0f / %.0f", r.Input, r.Output) })
	_ = w.Flush()
	for i := range reports {
		for _, m := range reports[i].Wrong {
			fmt.Fprintf(out, "wrong: %s\n  want %s, got %s\n", printable(m.Input), printable(m.Want), printable(m.Got))
		}
	}
}

func percent(share float64) string {
	if share < 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*share)
}

func both(p gateway.Precision) string { return percent(p.Precision) + " / " + percent(p.Recall) }
