// This file is the command doctor: it words the findings of package doctor on the way to a gateway,
// or (doctor_models.go) about the models of a file. The examination decides nothing by these texts,
// and --json has the same findings.

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/go-json-experiment/json"

	"sluice/internal/app/settings"
	"sluice/internal/base/config"
	"sluice/internal/clients/doctor"
	"sluice/internal/clients/terminal"
)

// runDoctor prints its findings. Exit code 1 means that something must be mended.
func (p program) runDoctor(ctx context.Context, args []string) int {
	var file settings.File
	l := settings.LoaderOfClient(&file)
	f := newDoctorFlags(l, &file)
	all, code, ok := p.loadConfig(l, args)
	if !ok {
		return code
	}
	if *f.url == "" {
		return p.examineModels(ctx, gatewayConfig(all, file), file.Path, *f.json)
	}
	cfg, err := f.examination()
	if err != nil {
		return p.refuseStart(err)
	}
	cfg.Header = withCredential(all, cfg.Header)
	ctx, cancel := p.untilSignal(ctx)
	defer cancel()
	if !*f.json {
		fmt.Fprintf(p.stdout, "sluice doctor: %s\n\n", cfg.URL.Redacted())
		cfg.Show = func(f doctor.Finding) { showFinding(p.stdout, f, terminal.StyleFor(p.stdout, p.lookup)) }
	}
	report := doctor.Examine(ctx, cfg)
	if ctx.Err() != nil {
		fmt.Fprintln(p.stderr, "sluice doctor: interrupted")
		return exitFailed
	}
	printConclusion(p.stdout, report, *f.json)
	if !report.Healthy {
		return exitFailed
	}
	return exitOK
}

// doctorFlags are the flags of doctor.
type doctorFlags struct {
	url           *string
	header        http.Header
	idle, timeout *time.Duration
	json          *bool
	file          *settings.File
}

// newDoctorFlags registers the command's own flags with l.
//
// file is filled in by the loader; check reads it after that.
func newDoctorFlags(l *config.Loader, file *settings.File) doctorFlags {
	f := doctorFlags{
		file:    file,
		url:     l.BaseURL("url", "base URL of the gateway, as its clients use it; credentials go into --header. Without it each model of the configuration file is asked"),
		header:  l.Header("header", "'Name: value' for every request; may be given again"),
		idle:    l.Duration("idle", 0, "also keep streams silent for this long, at most 5m, to find idle limits; 0: do not"),
		timeout: l.Duration("timeout", 15*time.Second, "how long a step may take, beyond the time that it must take"),
		json:    l.Bool("json", "print one JSON object at the end"),
	}
	l.Check = f.checkFlags
	return f
}

// checkFlags reports the faults of flags together: a single flag cannot know them.
//
// It runs after all flags were read and reports every fault, not the first alone.
func (f doctorFlags) checkFlags(fault func(name, message string)) {
	if *f.url == "" && f.file.Path == "" {
		fault("--url", "is required: the base URL of the gateway, such as https://chat.example.com; or --config, to ask the models of that file")
	}
	if *f.idle > doctor.LongestIdle {
		fault("--idle", "must not be more than 5m")
	}
	if *f.timeout <= 0 {
		fault("--timeout", "must be more than 0")
	}
}

// examination returns the examination that the flags describe. They have been
// checked.
func (f doctorFlags) examination() (doctor.Config, error) {
	base, err := url.Parse(*f.url)
	if err != nil {
		return doctor.Config{}, err
	}
	return doctor.Config{URL: base, Header: f.header, Idle: *f.idle, Timeout: *f.timeout}, nil
}

// showFinding shows a finding to a person.
//
// The observations come from outside and are made harmless for a terminal; the other texts are
// ours.
func showFinding(w io.Writer, f doctor.Finding, s terminal.Style) {
	check, seen := terminal.Printable(f.Check), terminal.Printable(f.Seen)
	color := map[doctor.Verdict]string{doctor.Good: s.Green, doctor.Notice: s.Yellow, doctor.Problem: s.Red}[f.Verdict]
	fmt.Fprintf(w, "  %s%-8s%s%-12s%s\n", color, f.Verdict, s.Reset, check, seen)
	if f.Means != "" {
		fmt.Fprintf(w, "%22s%s%s%s\n", "", s.Dim, f.Means, s.Reset)
	}
	for _, c := range f.Change {
		fmt.Fprintf(w, "%22s→ %s\n", "", c)
	}
}

// printConclusion writes the report's end.
//
// Texts from outside are made printable in the JSON too, as it often ends up on a terminal.
func printConclusion(w io.Writer, report doctor.Report, asJSON bool) {
	if !asJSON {
		fmt.Fprintf(w, "\n%s\n", summaryLine(report.Findings))
		return
	}
	for i, f := range report.Findings {
		report.Findings[i].Seen = terminal.Printable(f.Seen)
	}
	if text, err := json.Marshal(report); err == nil { // plain texts: it cannot fail
		fmt.Fprintf(w, "%s\n", terminal.PrintableJSON(text))
	}
}

// summaryLine is the last line of a report.
func summaryLine(findings []doctor.Finding) string {
	problems := 0
	for _, f := range findings {
		if f.Verdict == doctor.Problem {
			problems++
		}
	}
	switch problems {
	case 0:
		return "No problems found."
	case 1:
		return "1 problem found."
	}
	return fmt.Sprintf("%d problems found.", problems)
}
