// This file prints the help: the commands, one command with its flags and examples, the variables,
// the exit codes. Lines fit the terminal, or 80 columns without one.

package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"sluice/internal/app/settings"
	"sluice/internal/base/config"
	"sluice/internal/clients/terminal"
)

const about = "Sluice is a gateway for agents: a chat turn goes in; what they think, which tools they call and what they answer comes out as a live stream of Server-Sent Events."

const exitCodes = `EXIT CODES
  0  all went well
  1  it could not start, was made to stop, or the turn was no success
  2  wrong flags, arguments or configuration: nothing was started
  3  a person is asked to allow something, and nobody is there to answer
  4  the turn was a success, and its answer did not pass its checks
`

// printHelp prints the page of the command that l belongs to.
func (p program) printHelp(w io.Writer, l *config.Loader) {
	if p.inspect != nil {
		p.inspect(l)
		return
	}
	if p.command.name == "" {
		p.printOverview(w)
		return
	}
	width := p.columnsOf(w)
	own, shared := l.FlagNames()
	p.printParagraph(w, strings.ToUpper(p.command.short[:1])+p.command.short[1:]+".", "")
	fmt.Fprintf(w, "\nUSAGE\n  %s\n", p.command.usageLine(len(own)+len(shared) > 0))
	if len(own) > 0 {
		fmt.Fprintln(w, "\nFLAGS")
		l.Flags(w, width)
	}
	fmt.Fprintln(w, "\nEXAMPLES")
	for _, line := range p.command.examples {
		fmt.Fprintf(w, "  %s\n", line)
	}
	if len(shared) > 0 {
		fmt.Fprintln(w)
		p.printParagraph(w, "The settings of the gateway are flags of this command too: sluice help variables.", "")
	}
}

// usageLine is the line that shows how a command is written.
func (c command) usageLine(flags bool) string {
	line := strings.TrimSpace("sluice " + c.name)
	if flags {
		line += " [flags]"
	}
	return strings.TrimSpace(line + " " + c.args)
}

// printOverview prints all commands.
func (p program) printOverview(w io.Writer) {
	p.printParagraph(w, about, "")
	fmt.Fprint(w, "\nUSAGE\n  sluice [flags]            start the gateway\n  sluice COMMAND [flags]\n\nCOMMANDS\n")
	p.printCommands(w, commands()[1:])
	fmt.Fprint(w, `
MORE
  sluice help COMMAND       its flags, and examples; COMMAND --help is the same
  sluice help variables     what can be set, by variable or by flag
  sluice help exit-codes    what the exit code of a command means

EXAMPLES
  sluice
  sluice ask "Remind me to buy eggs tomorrow at 3pm"
`)
}

// groupHelp prints the commands of a group.
func (p program) groupHelp(w io.Writer, members []command) {
	fmt.Fprintln(w, "USAGE")
	for _, c := range members {
		fmt.Fprintf(w, "  %s\n", c.usageLine(true))
	}
	fmt.Fprintln(w, "\nCOMMANDS")
	p.printCommands(w, members)
	fmt.Fprintf(w, "\nEXAMPLES\n")
	for _, c := range members {
		fmt.Fprintf(w, "  %s\n", c.examples[0])
	}
}

// printCommands prints a line, or as many as it needs, for each command.
func (p program) printCommands(w io.Writer, among []command) {
	const column = 18
	width := p.columnsOf(w)
	for _, c := range among {
		head := c.name
		for _, line := range config.Wrap(c.short, width-column-2) {
			fmt.Fprintf(w, "  %-*s%s\n", column, head, line)
			head = ""
		}
	}
}

// printParagraph prints a text in lines that fit.
func (p program) printParagraph(w io.Writer, text, indent string) {
	for _, line := range config.Wrap(text, p.columnsOf(w)-len(indent)) {
		fmt.Fprintln(w, indent+line)
	}
}

// columnsOf returns the width of lines for w.
func (p program) columnsOf(w io.Writer) int { return terminal.Columns(w, 80) }

// runHelp is the command help.
func (p program) runHelp(ctx context.Context, args []string) int {
	switch name := strings.Join(args, " "); name {
	case "", "-h", "--help":
		p.printOverview(p.stdout)
	case "variables":
		p.printParagraph(p.stdout, "Each variable is a flag too, which wins over it; secrets have no flag, as others on the machine see a command line.", "")
		fmt.Fprintln(p.stdout)
		settings.Loader().Variables(p.stdout, p.columnsOf(p.stdout))
	case "exit-codes":
		fmt.Fprint(p.stdout, exitCodes)
	default:
		return run(ctx, append(args, "--help"), p)
	}
	return exitOK
}
