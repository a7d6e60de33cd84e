// This file prints scripts that complete commands and flags in a shell. A script is made from the
// table of commands and their flags. So the shell does not start a process while somebody types.

package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"sluice/internal/base/config"
)

// completed is a command as a shell completes it.
type completed struct {
	command
	flags []string
}

// runCompletion prints the script of a shell.
func (p program) runCompletion(args []string) int {
	l := new(config.Loader)
	l.MaxArgs = 1
	if _, code, ok := p.loadConfig(l, args); !ok {
		return code
	}
	scripts := map[string]func(io.Writer, []completed){"bash": bashScript, "zsh": zshScript, "fish": fishScript}
	script, known := scripts[strings.Join(l.Args(), "")]
	if !known {
		fmt.Fprintln(p.stderr, "sluice completion: name a shell: bash, zsh or fish")
		return exitUsage
	}
	script(p.stdout, p.completeCommands())
	return exitOK
}

// completeCommands asks each command for its flags.
func (p program) completeCommands() []completed {
	var all []completed
	p.stdout, p.stderr = io.Discard, io.Discard
	for _, c := range commands() {
		got := completed{command: c}
		p.inspect = func(l *config.Loader) {
			own, shared := l.FlagNames()
			got.flags = slices.Concat(own, shared)
		}
		if c.name != "help" { // it does not have flags
			p.startCommand(context.Background(), c, []string{"--help"})
		}
		all = append(all, got)
	}
	return all
}

// nextWords returns the words that may follow on a command line: the next words of the names that
// begin with before.
func nextWords(all []completed, before string) []string {
	var next []string
	for _, c := range all {
		rest, begins := strings.CutPrefix(c.name, before)
		if word, _, _ := strings.Cut(rest, " "); begins && word != "" && !slices.Contains(next, word) {
			next = append(next, word)
		}
	}
	return next
}

// groupNames returns the first words of names that have two words.
func groupNames(all []completed) []string {
	var list []string
	for _, c := range all {
		if first, _, two := strings.Cut(c.name, " "); two && !slices.Contains(list, first) {
			list = append(list, first)
		}
	}
	return list
}

// bashScript writes the script for bash 3.2 and later. The script works without other packages.
func bashScript(w io.Writer, all []completed) {
	fmt.Fprint(w, `# bash completion for sluice: source <(sluice completion bash)
_sluice() {
  local current="${COMP_WORDS[COMP_CWORD]}" name="" flags="" next="" word i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="${COMP_WORDS[i]}"
    [[ $word == -* ]] && break
    name="${name:+$name }$word"
  done
  case "$name" in
`)
	for _, c := range all {
		next := ""
		if c.name == "" {
			next = strings.Join(nextWords(all, ""), " ")
		}
		bashCase(w, c.name, next, strings.Join(c.flags, " "))
	}
	for _, g := range groupNames(all) {
		bashCase(w, g, strings.Join(nextWords(all, g+" "), " "), "--help")
	}
	fmt.Fprint(w, `  esac
  if [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$current"))
  elif [[ -n $next ]]; then
    COMPREPLY=($(compgen -W "$next" -- "$current"))
  else
    COMPREPLY=($(compgen -f -- "$current"))
  fi
}
complete -o filenames -F _sluice sluice
`)
}

// bashCase writes the completions behind a name. A name with arguments behind it has the same
// flags.
func bashCase(w io.Writer, name, next, flags string) {
	pattern := `"` + name + `"`
	if name != "" && next == "" {
		pattern += ` | "` + name + ` "*`
	}
	fmt.Fprintf(w, "    %s) next=%q flags=%q ;;\n", pattern, next, flags)
}

// zshScript writes the script for zsh, whose bashcompinit runs that of bash.
func zshScript(w io.Writer, all []completed) {
	fmt.Fprint(w, "#compdef sluice\n# zsh completion for sluice: source <(sluice completion zsh)\nautoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n")
	bashScript(w, all)
}

// fishScript writes the script for fish.
func fishScript(w io.Writer, all []completed) {
	fmt.Fprint(w, "# fish completion for sluice: sluice completion fish | source\n")
	for _, c := range all {
		first, second, two := strings.Cut(c.name, " ")
		condition := "__fish_seen_subcommand_from " + first
		switch {
		case c.name == "":
			condition = "__fish_use_subcommand"
		case two:
			fmt.Fprintf(w, "complete -c sluice -f -n '__fish_seen_subcommand_from %s; and not __fish_seen_subcommand_from %s' -a %s -d %s\n", first, strings.Join(nextWords(all, first+" "), " "), second, fishQuoted(c.short))
			condition += "; and __fish_seen_subcommand_from " + second
		default:
			fmt.Fprintf(w, "complete -c sluice -f -n __fish_use_subcommand -a %s -d %s\n", c.name, fishQuoted(c.short))
		}
		for _, f := range c.flags {
			fmt.Fprintf(w, "complete -c sluice -n '%s' -l %s\n", condition, strings.TrimPrefix(f, "--"))
		}
	}
	for _, g := range groupNames(all) {
		fmt.Fprintf(w, "complete -c sluice -f -n __fish_use_subcommand -a %s\n", g)
	}
}

// fishQuoted quotes a text for fish, which knows ' and \ in single quotes.
func fishQuoted(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}
