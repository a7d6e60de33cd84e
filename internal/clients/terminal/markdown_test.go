package terminal

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// letters stands for the escape sequences, so that what is wanted can be read.
var letters = Style{Dim: "<dim>", Bold: "<b>", Italic: "<i>", Red: "<red>", Green: "<green>", Yellow: "<code>", Struck: "<s>", Reset: "</>"}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{"plain", "Hello, world.", "Hello, world."},
		{"lines", "one\n\ntwo\n", "one\n\ntwo\n"},
		{"bold", "a **very** __good__ day", "a <b>very</> <b>good</> day"},
		{"italic", "*so* _so_", "<i>so</> <i>so</>"},
		{"bold and italic", "**a *b* c**", "<b>a <i>b</> c</>"},
		{"a mark behind a blank", "*a * b*", "<i>a * b</>"},
		{"bold within italic", "*a, **b** c* d", "<i>a, <b>b</> c</> d"},
		{"struck", "~~old~~ ~new~", "<s>old</> ~new~"},
		{"code", "run `ls *.go` or ``a`b``", "run <code>ls *.go</> or <code>a`b</>"},
		{"a link", "see [the docs](https://example.com/a_b_c).", "see the docs<dim> (https://example.com/a_b_c)</>."},
		{"no link", "a[0] [x] [y", "a[0] [x] [y"},
		{"heading", "## Two **parts**\ntext", "<b>Two <b>parts</><b></>\ntext"},
		{"list", "- one\n  * two\n+ three", "• one\n  • two\n• three"},
		{"numbers", "1. one\n2) two", "1. one\n2) two"},
		{"quote", "> said", "<dim>│ </>said"},
		{"rule", "a\n\n---\nb", "a\n\n<dim>────────────────────</>\nb"},
		{"bold at the beginning", "**Note** well", "<b>Note</> well"},
		{"what is never closed", "2 * 3 **4 `5 _6", "2 * 3 **4 `5 _6"},
		{"within words", "snake_case_name 2*3*4", "snake_case_name 2*3*4"},
		{"escaped", `\*not\* \[a\](b)`, "*not* [a](b)"},
		{"code block", "```go\nx := **y**\n```\nend", "    <dim>x := **y**</>\nend"},
		{"a fence in a longer one", "````\n```\n````\n", "    <dim>```</>\n"},
		{"table", "| Name | N |\n|---|--:|\n| **eggs** | 12 |\n| x | 1 |\n\nend", "<b>Name</>  <b>N</>\n<b>eggs</>  12\nx     1\n\nend"},
		{"no table", "| a | b |\ntext", "| a | b |\ntext"},
		{"a wide table", "| a |\n|---|\n| " + strings.Repeat("x", 90) + " |\n", "| a |\n|---|\n| " + strings.Repeat("x", 90) + " |\n"},
		{"a fence of tildes", "~~~\n```\n# a\n~~~\nb", "    <dim>```</>\n    <dim># a</>\nb"},
		{"no heading", "#a\n####### b", "#a\n####### b"},
		{"no target of a link", "[a](b c) [d](e", "[a](b c) [d](e"},
		{"a closing mark that is escaped", `*a\* b* c\d`, `<i>a* b</> c\d`},
		{"rows without a line below the first", "| a |\n| b |\n\n", "| a |\n| b |\n\n"},
		{"rows of several lengths", "| a |\n|---|\n| b | c |\n", "<b>a</>\nb  c\n"},
		{"as wide as the terminal", "| a |\n|---|\n| " + strings.Repeat("x", 78) + " |\n", "<b>a</>\n" + strings.Repeat("x", 78) + "\n"},
		{"wider by one", "| a |\n|---|\n| " + strings.Repeat("x", 79) + " |\n", "| a |\n|---|\n| " + strings.Repeat("x", 79) + " |\n"},
		{"a table at the end", "| a |\n|---|\n| b |", "<b>a</>\nb"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, size := range []int{1, 3, len(tt.text)} {
				m := Markdown{Style: letters, Columns: 80}
				got := ""
				for rest := tt.text; rest != ""; {
					n := min(size, len(rest))
					for !utf8.ValidString(rest[:n]) {
						n++
					}
					got += m.Write(rest[:n])
					rest = rest[n:]
				}
				got += m.End()
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("in pieces of %d (-want +got):\n%s", size, diff)
				}
			}
		})
	}
}

// A text streams: words outside of spans are shown before their line ends.
func TestMarkdownStreams(t *testing.T) {
	t.Parallel()
	m := Markdown{Style: letters, Columns: 80}
	for _, step := range []struct{ text, want string }{
		{"Hel", "Hel"}, {"lo, *wor", "lo, "}, {"ld*!", "<i>world</>!"}, {"\n- ", "\n"}, {"one", "• one"},
	} {
		if got := m.Write(step.text); got != step.want {
			t.Errorf("after %q: %q, want %q", step.text, got, step.want)
		}
	}
	held := m.Write(" **" + strings.Repeat("x", 2*longestHeld))
	if !strings.Contains(held, "**xxx") {
		t.Errorf("a span that does not end is held for ever: %q", held)
	}
}

// Marks that nothing closes are looked at once each.
func BenchmarkMarkdownMarks(b *testing.B) {
	text := strings.Repeat("*a **b [c `d ", 5000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		m := Markdown{Style: letters, Columns: 80}
		m.Write(text)
		m.End()
	}
}

// Without a style nothing is changed.
func TestMarkdownWithoutStyle(t *testing.T) {
	t.Parallel()
	var m Markdown
	const text = "# a **b**\n| c |\n"
	if got := m.Write(text) + m.End(); got != text {
		t.Errorf("%q became %q", text, got)
	}
}

// However a text is cut into pieces, what is shown is the same.
func TestMarkdownInPieces(t *testing.T) {
	t.Parallel()
	const text = "# A *b*\n\nsee [the **docs**](https://x.y/z) and `c`, ~~d~~:\n\n- **one** two\n  - `three`\n\n" +
		"| a | b |\n|---|---|\n| **c** | d_e_f |\n\n```sh\nls | wc\n```\n> quoted _text_\n\n***\n1. an *end"
	whole := Markdown{Style: letters, Columns: 80}
	want := whole.Write(text) + whole.End()
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		m := Markdown{Style: letters, Columns: 80}
		got := ""
		for rest := text; rest != ""; {
			n := min(len(rest), 1+r.IntN(12))
			got += m.Write(rest[:n])
			rest = rest[n:]
		}
		if diff := cmp.Diff(want, got+m.End()); diff != "" {
			t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
		}
	}
}

// After its end a Markdown shows the next text as if there had been none.
func TestMarkdownEnds(t *testing.T) {
	t.Parallel()
	for _, cut := range []string{"```\ncode", "| a |", "**bold", "# heading", "- ", "[link"} {
		m := Markdown{Style: letters, Columns: 80}
		first := m.Write(cut) + m.End()
		if strings.HasSuffix(first, "\n") || m.Write("*x*\n") != "<i>x</>\n" {
			t.Errorf("%q: %q, and it goes on after its end", cut, first)
		}
	}
}

// Nothing that was written is lost, but for marks.
func FuzzMarkdown(f *testing.F) {
	f.Add("# a **b** `c` [d](e)\n| f | g |\n|---|---|\n", 3)
	f.Add("```\ncode\n", 1)
	f.Fuzz(func(t *testing.T, text string, size int) {
		m := Markdown{Style: letters, Columns: 80}
		size = max(1, min(size, 100))
		var got strings.Builder
		for rest := []rune(text); len(rest) > 0; {
			n := min(size, len(rest))
			got.WriteString(m.Write(string(rest[:n])))
			rest = rest[n:]
		}
		got.WriteString(m.End())
		shown := got.String()
		for _, word := range strings.FieldsFunc(text, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') }) {
			if strings.Contains(text, "```"+word) || strings.Contains(text, "~~~") || strings.Contains(text, "```") {
				continue // may name the language of a block
			}
			if !strings.Contains(shown, word) {
				t.Fatalf("%q is lost from %q:\n%q", word, text, shown)
			}
		}
	})
}
