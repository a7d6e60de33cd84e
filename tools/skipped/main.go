// Command skipped reads what `go test -json` prints and writes what `go test` would: the packages'
// lines, and the output of the tests that failed. At the end it lists the skipped tests, each with
// its reason, and the figures of passed tests, logged behind "figures: ". Its exit code says
// nothing about the tests: go test's own does (set -o pipefail).
//
//	go test -json ./... | go run ./tools/skipped
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
)

// event is a line of `go test -json`, with the fields that are read (go doc cmd/test2json).
type event struct {
	Action, Package, Test, Output string
}

// main reads standard input to its end.
func main() {
	if err := summarizeEvents(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// summarizeEvents reads events until the end of its input.
func summarizeEvents(from io.Reader, to io.Writer) error {
	var skipped, figures []string
	said := map[string][]string{} // by test, until it ends
	in := bufio.NewScanner(from)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var e event
		if json.Unmarshal(in.Bytes(), &e) != nil {
			fmt.Fprintln(to, in.Text()) // a compiler's words
			continue
		}
		key := e.Package + " " + e.Test
		switch {
		case e.Action == "build-output", e.Action == "output" && e.Test == "":
			if e.Output != "PASS\n" {
				fmt.Fprint(to, e.Output)
			}
		case e.Action == "output":
			said[key] = append(said[key], e.Output)
		case e.Action == "skip" && e.Test != "":
			skipped = append(skipped, key+": "+cmp.Or(loggedAfter(said[key], ""), "no reason given"))
			delete(said, key)
		case e.Action == "fail" && e.Test != "":
			fmt.Fprint(to, strings.Join(said[key], ""))
			delete(said, key)
		case e.Action == "pass":
			if f := loggedAfter(said[key], "figures: "); f != "" {
				figures = append(figures, key+": "+f)
			}
			delete(said, key)
		}
	}
	for key, output := range said { // a test that ended the process never ends itself
		fmt.Fprintf(to, "unfinished: %s\n%s", key, strings.Join(output, ""))
	}
	printList(to, "\n%d tests were skipped\n", skipped)
	printList(to, "%d tests have figures\n", figures)
	return in.Err()
}

// printList writes lines under a title that has their number.
func printList(to io.Writer, title string, lines []string) {
	fmt.Fprintf(to, title, len(lines))
	for _, s := range lines {
		fmt.Fprintln(to, "  "+s)
	}
}

// loggedAfter returns the first line that a test logged behind a mark, or an empty text.
func loggedAfter(output []string, mark string) string {
	// The testing package writes in front of it where it was logged.
	place := regexp.MustCompile(`^\s*\S+_test\.go:\d+: `)
	for _, line := range output {
		if at := place.FindString(line); at != "" && strings.HasPrefix(line[len(at):], mark) {
			return strings.TrimSpace(line[len(at)+len(mark):])
		}
	}
	return ""
}
