// This file is ask --schema: one question to a model, without agents and tools, whose answer is an
// object that a schema describes. It works without a gateway, with the same models and the same
// ways to ask as one.

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"sluice/internal/app/operate"
	"sluice/internal/app/settings"
	"sluice/internal/base/config"
	"sluice/internal/clients/terminal"
)

// formFlags are the flags of ask for a structured answer.
type formFlags struct{ schema, model *string }

// newFormFlags adds the flags. streamed reports whether a flag about the events of a turn was
// given: a structured answer lacks such events.
func newFormFlags(l *config.Loader, streamed func() bool) formFlags {
	f := formFlags{
		schema: l.String("schema", "", "ask a model, without tools, for one object that the JSON Schema in this file describes, and print it as one line"),
		model:  l.String("model", "", "with --schema: the key of the model in the configuration file; default: default"),
	}
	l.Check = func(fault func(name, message string)) {
		if *f.schema == "" && *f.model != "" {
			fault("--model", "belongs to --schema")
		}
		if *f.schema != "" && streamed() {
			fault("--schema", "asks a model itself, so --url, --json, --chat and --resume have no meaning beside it")
		}
	}
	return f
}

// fillIn asks a model for an object and prints it. Exit code 1 says that no valid answer
// came.
//
// A wrong schema or model is exitUsage, as the command has not asked a model then.
func (p program) fillIn(ctx context.Context, cfg settings.Config, f formFlags, text string) int {
	schema, err := p.readFile(*f.schema)
	if err != nil {
		fmt.Fprintf(p.stderr, "sluice ask: --schema: %v\n", err)
		return exitUsage
	}
	var answer bytes.Buffer
	err = operate.AskModel(ctx, cfg, operate.Question{Key: *f.model, Schema: schema, Text: text}, &answer, p.newLogger(cfg))
	switch {
	case errors.Is(err, operate.ErrNoModel):
		fmt.Fprintf(p.stderr, "sluice ask: --model %v\n", err)
		return exitUsage
	case errors.Is(err, operate.ErrSchema):
		fmt.Fprintf(p.stderr, "sluice ask: --schema %s\n", terminal.Printable(err.Error()))
		return exitUsage
	case err == nil:
		_, err = p.stdout.Write(terminal.PrintableJSON(answer.Bytes()))
	}
	if err != nil {
		fmt.Fprintf(p.stderr, "sluice ask: %s\n", terminal.Printable(err.Error()))
		return exitFailed
	}
	return exitOK
}
