package docs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// block is a fenced block of a page.
type block struct {
	line    int    // of its fence
	heading string // the last one before it
	lang    string
	text    string
	marks   map[string]string // of the comments before it
}

// name is that of its test.
func (b block) name() string { return fmt.Sprintf("line %d", b.line) }

var (
	fence = regexp.MustCompile("^( *)```([a-z]*)$")
	mark  = regexp.MustCompile(`^ *<!-- ([a-z]+): (.*) -->$`)
	// typed is how a line begins that a reader would type.
	typed = regexp.MustCompile(`^(\$ |sluice($| -| [a-z-]+($| ))|go (run|test|build) |curl |make |docker |kubectl |export |python3? |npm |cd |[A-Z_]+=\S+ (sluice|go|curl))`)
)

// languages are those that a fence may have. A block in none of them would be run by nobody.
var languages = []string{"sh", "console", "yaml", "json", "text", "html", "js", "ts", "tsx", "python", "nginx"}

// marks are those that a comment may have.
var marks = []string{"needs", "file", "for", "fails", "tries"}

// blocks returns the fenced blocks of a page, and what is wrong with them.
func blocks(page string) (found []block, faults []string) {
	fault := func(line int, format string, args ...any) {
		faults = append(faults, fmt.Sprintf("line %d: ", line)+fmt.Sprintf(format, args...))
	}
	var open *block
	var indent, heading string
	pending := map[string]string{}
	number := 0
	for line := range strings.Lines(page) {
		number++
		line = strings.TrimRight(line, "\n")
		switch m := fence.FindStringSubmatch(line); {
		case open != nil && strings.TrimSpace(line) == "```":
			found = append(found, *open)
			open = nil
		case open != nil:
			open.text += strings.TrimPrefix(line, indent) + "\n"
			if open.lang == "text" && typed.MatchString(strings.TrimPrefix(line, indent)) {
				fault(number, "a text that a reader would type: %s", line)
			}
		case m != nil:
			if !slices.Contains(languages, m[2]) {
				fault(number, "a block in %q", m[2])
			}
			open, indent = &block{line: number, heading: heading, lang: m[2], marks: pending}, m[1]
			pending = map[string]string{}
		case strings.HasPrefix(strings.TrimSpace(line), "```"):
			fault(number, "a fence that cannot be read")
		default:
			if m := mark.FindStringSubmatch(line); m != nil && slices.Contains(marks, m[1]) {
				pending[m[1]] = m[2]
			} else if strings.TrimSpace(line) != "" && len(pending) > 0 {
				fault(number, "a mark without its block")
				clear(pending)
			}
			if text, ok := strings.CutPrefix(line, "#"); ok {
				heading = strings.TrimSpace(strings.TrimLeft(text, "#"))
			}
		}
	}
	if open != nil {
		fault(open.line, "a block without an end")
	}
	return found, faults
}

func TestBlocks(t *testing.T) {
	t.Parallel()
	const page = "# A\n\n```sh\none\n  two\n```\n\n<!-- needs: docker -->\n<!-- file: a.yaml -->\n\n```yaml\na: 1\n```\n\n## B\n\n- in a list:\n\n  ```text\n  three\n  ```\n"
	want := []block{
		{line: 3, heading: "A", lang: "sh", text: "one\n  two\n", marks: map[string]string{}},
		{line: 11, heading: "A", lang: "yaml", text: "a: 1\n", marks: map[string]string{"needs": "docker", "file": "a.yaml"}},
		{line: 19, heading: "B", lang: "text", text: "three\n", marks: map[string]string{}},
	}
	got, faults := blocks(page)
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(block{})); diff != "" || faults != nil {
		t.Errorf("(-want +got)\n%s%v", diff, faults)
	}
	for page, want := range map[string]string{
		"```\na\n```\n":                           `line 1: a block in ""`,
		"```text\n$ sluice ask\n```\n":            "line 2: a text that a reader would type: $ sluice ask",
		"```text\nA=b sluice ask\n```\n":          "line 2: a text that a reader would type: A=b sluice ask",
		"```sh\na\n":                              "line 1: a block without an end",
		"<!-- needs: docker -->\nText\n":          "line 2: a mark without its block",
		"``` sh\n":                                "line 1: a fence that cannot be read",
		"<!-- settings: x -->\n\n```sh\na\n```\n": "",
	} {
		if _, faults := blocks(page); strings.Join(faults, "\n") != want {
			t.Errorf("%q: got %q, want %q", page, faults, want)
		}
	}
}

// command is one of a block in console, and what the page shows of its output.
type command struct{ text, output string }

// commands splits a block in console.
func commands(text string) (all []command) {
	continued := false
	for line := range strings.Lines(text) {
		switch typed, ok := strings.CutPrefix(line, "$ "); {
		case ok:
			all = append(all, command{text: typed})
			continued = strings.HasSuffix(line, "\\\n")
		case len(all) == 0:
		case continued:
			all[len(all)-1].text += line
			continued = strings.HasSuffix(line, "\\\n")
		default:
			all[len(all)-1].output += line
		}
	}
	return all
}

func TestCommands(t *testing.T) {
	t.Parallel()
	want := []command{{"one \\\n  -d 2\n", "shown\n\nmore\n"}, {"three\n", ""}}
	if diff := cmp.Diff(want, commands("$ one \\\n  -d 2\nshown\n\nmore\n$ three\n"), cmp.AllowUnexported(command{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

var (
	addressed = regexp.MustCompile(`\b(?:localhost|127\.0\.0\.1):(\d{4,5})\b`)
	number    = regexp.MustCompile(`\b\d{4,5}\b`)
)

// ports returns the ports that a page names behind an address of loopback.
func ports(page []block) (all []string) {
	for _, b := range page {
		for _, m := range addressed.FindAllStringSubmatch(b.text, -1) {
			if !slices.Contains(all, m[1]) {
				all = append(all, m[1])
			}
		}
	}
	return all
}

// withPorts returns a text with other ports.
func withPorts(text string, other map[string]string) string {
	return number.ReplaceAllStringFunc(text, func(n string) string {
		if p, ok := other[n]; ok {
			return p
		}
		return n
	})
}

func TestPorts(t *testing.T) {
	t.Parallel()
	page := []block{{text: "curl localhost:8080/a 127.0.0.1:9001 127.0.0.1:8080\nlisten 8080; wait 5000; 18080"}}
	if diff := cmp.Diff([]string{"8080", "9001"}, ports(page)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	got := withPorts(page[0].text, map[string]string{"8080": "41", "9001": "42"})
	if want := "curl localhost:41/a 127.0.0.1:42 127.0.0.1:41\nlisten 41; wait 5000; 18080"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
