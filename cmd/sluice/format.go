// This file is the command format: package channel at the command line, without a gateway. The
// bytes for a service go to stdout and their cost to stderr, so that a pipe gets the text alone.

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"sluice/internal/app/operate"
	"sluice/internal/app/settings"
	"sluice/internal/clients/terminal"
	"sluice/internal/quality/channel"
	guide "sluice/internal/quality/style"
)

// runFormat words a text, out of a file or of stdin, for a channel. It prints the parts, the card,
// or the message of the e-mail. With --json it prints the whole answer of POST
// /channels/{channel}/format.
func (p program) runFormat(ctx context.Context, args []string) int {
	var f settings.File
	l := settings.LoaderWith(&f)
	name := l.String("channel", channel.Plain, "sms, whatsapp, teams, email, plain, web, or a channel of the configuration file")
	subject := l.String("subject", "", "of an e-mail")
	locale := l.String("locale", "", "a language tag: picks texts of the style, and is the lang of an e-mail")
	user := l.String("user-name", "", "of whom the style's greeting is for")
	asJSON := l.Bool("json", "print the whole answer as JSON")
	file := ""
	if n := len(args) - 1; n >= 0 && (args[n] == "-" || !strings.HasPrefix(args[n], "-")) && (n == 0 || !isValueFlag(args[n-1])) {
		file, args = args[n], args[:n]
	}
	if _, code, ok := p.loadConfig(l, args); !ok {
		return code
	}
	specs := channel.ByName(f.Forms())
	spec, known := specs[*name]
	if !known {
		fmt.Fprintf(p.stderr, "sluice format: there is no channel %q; there are %s\n", *name, strings.Join(channel.Names(specs), ", "))
		return exitUsage
	}
	reader := guide.Reader{Locale: *locale, Name: *user, Frames: spec.Greeting}
	if err := operate.CheckFormat(&reader, subject); err != nil {
		fmt.Fprintf(p.stderr, "sluice format: %v\n", err)
		return exitUsage
	}
	text, err := p.textOf(file)
	if err != nil {
		fmt.Fprintf(p.stderr, "sluice format: %v\n", err)
		return exitFailed
	}
	now := time.Now().Truncate(time.Millisecond)
	in := channel.Input{Text: text, Subject: *subject, At: now}
	in.Before, in.After = f.Style.Frame(reader)
	in.Locale = f.Style.Language(reader)
	r, err := channel.New(spec).Format(ctx, in)
	if err == nil {
		err = p.printFormatted(r, *asJSON, now)
	}
	if err != nil {
		fmt.Fprintf(p.stderr, "sluice format: %v\n", err)
		return exitFailed
	}
	return exitOK
}

// isValueFlag reports whether the argument behind a flag is its value.
//
// It distinguishes the file from a flag's value at the end of the arguments; json is the only flag
// of the command without a value.
func isValueFlag(flag string) bool {
	return strings.HasPrefix(flag, "-") && !strings.Contains(flag, "=") && strings.TrimLeft(flag, "-") != "json"
}

// maxText is how long a text on standard input may be, in bytes.
const maxText = 1 << 20

// textOf reads the text from a file or, for none or "-", from standard input. A text beyond maxText
// there is refused: to word only its begin would lose the rest.
func (p program) textOf(file string) (string, error) {
	if file != "" && file != "-" {
		b, err := p.readFile(file)
		return string(b), err
	}
	b, err := io.ReadAll(io.LimitReader(p.stdin, maxText+1))
	if len(b) > maxText {
		return "", errors.New("the text is longer than 1 MiB")
	}
	return string(b), err
}

// printFormatted prints the output for a channel: JSON, a whole mail as MIME, or the parts one
// after the other. at is the mail's date.
//
// Parts are separated by an empty line. An e-mail is printed as its message, with CR LF.
func (p program) printFormatted(r *channel.Response, asJSON bool, at time.Time) error {
	switch {
	case asJSON:
		enc := json.NewEncoder(p.stdout)
		enc.SetEscapeHTML(false)
		return enc.Encode(r)
	case r.HTML != "":
		return p.printMail(r, at)
	case r.Card != nil:
		fmt.Fprintf(p.stdout, "%s\n", r.Card)
	case !r.IsSplit:
		fmt.Fprintln(p.stdout, r.Content)
	}
	p.printParts(r)
	switch {
	case r.Segments > 0:
		fmt.Fprintln(p.stderr, terminal.SMSFigures(string(r.Encoding), r.Units, r.Segments))
	case r.IsSplit:
		fmt.Fprintf(p.stderr, "%d parts\n", len(r.Parts))
	}
	return nil
}

// printMail prints an answer as an e-mail of that date.
func (p program) printMail(r *channel.Response, at time.Time) error {
	message, err := r.MIME(at)
	if err != nil {
		return err
	}
	_, err = p.stdout.Write(message)
	return err
}

// printParts prints the parts of an answer, with an empty line between two.
func (p program) printParts(r *channel.Response) {
	for i, part := range r.Parts {
		if i > 0 {
			fmt.Fprintln(p.stdout)
		}
		if part.Card != nil {
			fmt.Fprintf(p.stdout, "%s\n", part.Card)
			continue
		}
		fmt.Fprintln(p.stdout, part.Content)
	}
}
