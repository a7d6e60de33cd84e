// This file turns the trials of operate.ExamineModels into findings: a word, a tool call, a
// structured answer, and members that the model refuses. Each trial costs a request with a few
// tokens at the model's provider.

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"sluice/internal/app/operate"
	"sluice/internal/app/providers"
	"sluice/internal/app/settings"
	"sluice/internal/clients/doctor"
	"sluice/internal/clients/terminal"
)

// modelsReport is the result of the examination of a file's models.
type modelsReport struct {
	Config   string           `json:"config"`
	Healthy  bool             `json:"healthy"` // nothing must be mended
	Findings []doctor.Finding `json:"findings"`
}

// examineModels asks each model of the file and prints its abilities. Exit code 1 means that
// something must be mended.
func (p program) examineModels(ctx context.Context, cfg settings.Config, path string, asJSON bool) int {
	ctx, cancel := p.untilSignal(ctx)
	defer cancel()
	report := modelsReport{Config: path, Healthy: true}
	if !asJSON {
		fmt.Fprintf(p.stdout, "sluice doctor: the models of %s\n\n", terminal.Printable(path))
	}
	err := operate.ExamineModels(ctx, cfg, func(e operate.Examined) {
		for _, f := range findingsOf(e) {
			f.Seen = strings.Join(strings.Fields(f.Seen), " ")
			report.Healthy = report.Healthy && f.Verdict != doctor.Problem
			report.Findings = append(report.Findings, f)
			if !asJSON {
				showFinding(p.stdout, f, terminal.StyleFor(p.stdout, p.lookup))
			}
		}
	}, p.newLogger(cfg))
	if ctx.Err() != nil {
		fmt.Fprintln(p.stderr, "sluice doctor: interrupted")
		return exitFailed
	}
	if err != nil {
		return p.refuseStart(err)
	}
	p.concludeModels(report, asJSON)
	if !report.Healthy {
		return exitFailed
	}
	return exitOK
}

// concludeModels prints the summary, or all of it as JSON.
func (p program) concludeModels(report modelsReport, asJSON bool) {
	if !asJSON {
		fmt.Fprintf(p.stdout, "\n%s\n", summaryLine(report.Findings))
		return
	}
	if text, err := json.Marshal(report); err == nil { // plain texts: it cannot fail
		fmt.Fprintf(p.stdout, "%s\n", terminal.PrintableJSON(text))
	}
}

// findingsOf words the examination of a model, a finding for each trial.
//
// A model that does not give a word is not judged further: the other trials would fail for the same
// reason.
func findingsOf(e operate.Examined) []doctor.Finding {
	key := e.Key
	if key == "" {
		key = "default"
	}
	name := strings.TrimSpace(e.Provider + " " + e.Model)
	list := []doctor.Finding{trialOf(key, "a word of "+name, e.Word)}
	if e.Word.Err != nil {
		return list
	}
	call := trialOf(key, "a tool call", e.Call)
	if e.Forced && e.Call.Err == nil {
		call.Verdict, call.Seen = doctor.Notice, call.Seen+", but only when it was obliged to"
		call.Means = "Turns leave the choice to the model: it may answer without its tools."
	}
	if e.Model == providers.OfflineModel {
		call = doctor.Finding{Check: key, Verdict: doctor.Notice, Seen: "a simulator, which calls only the tools that its phrases are about"}
	}
	object := trialOf(key, "a structured answer", e.Object)
	object.Seen += ", asked for in mode " + e.Mode
	return append(list, call, object, knownOf(key, e))
}

// knownOf words the learned properties of a model, and its window if that is known.
//
// A window that nobody knows is worth a note, because a conversation that is too long then
// fails at the provider.
func knownOf(key string, e operate.Examined) doctor.Finding {
	f := doctor.Finding{Check: key, Verdict: doctor.Good, Seen: "takes all members of requests"}
	if len(e.Learned) > 0 {
		f.Verdict, f.Seen = doctor.Notice, "does not take "+strings.Join(e.Learned, ", ")
		f.Means = "Each process learns it again, by a request that is refused."
	}
	if e.Context > 0 {
		f.Seen += fmt.Sprintf("; context of %d tokens, as configured", e.Context)
		return f
	}
	f.Seen += "; context not known"
	f.Change = []string{"Set context_tokens to the model's window, so that a long conversation is not cut silently"}
	return f
}

// trialOf returns the finding of a trial. The parameter what names its object, such as a tool call.
func trialOf(key, what string, t operate.Trial) doctor.Finding {
	elapsed := t.Elapsed.Round(time.Millisecond)
	if t.Err == nil {
		return doctor.Finding{Check: key, Verdict: doctor.Good,
			Seen: fmt.Sprintf("%s in %v, %d tokens in, %d out, %d thinking", what, elapsed, t.Usage.InputTokens, t.Usage.OutputTokens, t.Usage.ThinkingTokens)}
	}
	f := doctor.Finding{Check: key, Verdict: doctor.Problem, Seen: fmt.Sprintf("%s did not come: %v", what, t.Err)}
	f.Means, f.Change = meaningOf(t.Class())
	return f
}

// meaningOf returns the meaning of a class of failures, and the remedies.
//
// The classes are those of Trial.Class. An unknown one has empty texts: the cause itself was
// reported before.
func meaningOf(class string) (means string, change []string) {
	switch class {
	case "misconfigured":
		return "The provider does not know the key, the model's name or the address, or there is no money left.",
			[]string{"Correct api_key, model or endpoint", "Look at the account at the provider"}
	case "unavailable":
		return "The address does not answer, or it speaks another protocol.", []string{"Correct endpoint, provider or api", "Start what should answer, or wait for it"}
	case "timeout":
		return "The answer did not begin, or go on, in time.", []string{"Raise timeout, for a server that loads its model first"}
	case "rate_limited":
		return "Too many requests.", []string{"Ask later, or with another key"}
	}
	return "", nil
}
