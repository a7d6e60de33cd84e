package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"sluice/config"
	"sluice/doctor"
)

// doctor tells what it found. Exit code 1 means that something must be mended.
func (p program) doctor(ctx context.Context, args []string) int {
	var l config.Loader
	base := l.String("url", "", "base URL of the gateway, as its clients use it")
	l.String("header", "", "'Name: value' for every request; may be given again")
	idle := l.Duration("idle", 0, "also keep streams silent for this long, at most 5m, to find idle limits; 0: do not")
	timeout := l.Duration("timeout", 15*time.Second, "how long a step may take, beyond the time that it must take")
	asJSON := l.Bool("json", "print one JSON object at the end")
	if _, code, ok := p.load(&l, args); !ok {
		return code
	}
	cfg, err := doctorConfig(*base, repeated(args, "header"), *idle, *timeout)
	if err != nil {
		return p.refuse(err)
	}
	ctx, cancel := p.untilSignal(ctx)
	defer cancel()
	if !*asJSON {
		fmt.Fprintf(p.stdout, "sluice doctor: %s\n\n", cfg.URL.Redacted())
		cfg.Show = func(f doctor.Finding) { showFinding(p.stdout, f, styleFor(p.stdout, p.lookup)) }
	}
	report := doctor.Examine(ctx, cfg)
	if ctx.Err() != nil {
		fmt.Fprintln(p.stderr, "sluice doctor: interrupted")
		return exitFailed
	}
	conclude(p.stdout, report, *asJSON)
	if !report.Healthy {
		return exitFailed
	}
	return exitOK
}

// doctorConfig checks the flags; its error lists all their faults.
func doctorConfig(base string, header []string, idle, timeout time.Duration) (doctor.Config, error) {
	var faults []config.Fault
	fault := func(flag, message string) { faults = append(faults, config.Fault{Name: flag, Message: message}) }
	u, err := url.Parse(strings.TrimSuffix(base, "/"))
	switch {
	case base == "":
		fault("--url", "is required: the base URL of the gateway, such as https://chat.example.com")
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		fault("--url", "must be an http or https URL")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		fault("--url", "must have neither credentials nor query nor fragment; credentials go into --header")
	}
	read := loadFlags{} // whose flag of the same name takes the same
	headers := read.headers(header)
	faults = append(faults, read.faults...)
	if idle > doctor.LongestIdle {
		fault("--idle", "must not be more than 5m")
	}
	if timeout <= 0 {
		fault("--timeout", "must be more than 0")
	}
	if len(faults) > 0 {
		return doctor.Config{}, &config.Error{Faults: faults}
	}
	return doctor.Config{URL: u, Header: headers, Idle: idle, Timeout: timeout}, nil
}

// showFinding shows a finding to a person.
func showFinding(w io.Writer, f doctor.Finding, s style) {
	color := map[doctor.Verdict]string{doctor.Good: s.green, doctor.Note: s.yellow, doctor.Problem: s.red}[f.Verdict]
	fmt.Fprintf(w, "  %s%-8s%s%-12s%s\n", color, f.Verdict, s.reset, f.Check, printable(f.Seen))
	if f.Means != "" {
		fmt.Fprintf(w, "%22s%s%s%s\n", "", s.dim, f.Means, s.reset)
	}
	for _, c := range f.Change {
		fmt.Fprintf(w, "%22s→ %s\n", "", c)
	}
}

// conclude writes the report's end.
func conclude(w io.Writer, report doctor.Report, asJSON bool) {
	if !asJSON {
		fmt.Fprintf(w, "\n%s\n", summary(report.Findings))
		return
	}
	for i, f := range report.Findings {
		report.Findings[i].Seen = printable(f.Seen)
	}
	if text, err := json.Marshal(report); err == nil { // plain texts: it cannot fail
		fmt.Fprintf(w, "%s\n", printableJSON(text))
	}
}

func summary(findings []doctor.Finding) string {
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
