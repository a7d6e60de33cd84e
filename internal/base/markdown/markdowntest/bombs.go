package markdowntest

import (
	"fmt"
	"strconv"
	"strings"
)

// Bomb is a text that costs, or has cost, some reader of Markdown far more than its length.
type Bomb struct{ Name, Text string }

// Bombs returns texts of at most size bytes: the ideas of the pathological tests of cmark,
// cmark-gfm, commonmark.js and markdown-it, and texts that were found here.
func Bombs(size int) (all []Bomb) {
	add := func(name, text string) { all = append(all, Bomb{name, cutText(text, size)}) }
	fill := func(unit string) string { return strings.Repeat(unit, size/len(unit)) }
	for _, unit := range repeatedUnits() {
		add(fmt.Sprintf("%q", unit), fill(unit))
	}
	half := func(unit string) string { return strings.Repeat(unit, size/2/len(unit)) }
	third := func(unit string) string { return strings.Repeat(unit, size/3/len(unit)) }
	for _, pair := range [][2]string{
		{"*a **a ", " a** a*"}, {"[", "]"}, {"![", "](x)"}, {"[", "](x)"}, {"(", ")"}, {"<", ">"}, {"*", "_"}, {"**", "**a"}, {"~~a ", " ~~"},
		{"> ", "\n"}, {"- ", "x\n"}, {"- ", "\n"}, {"_a ", "*b "}, {"**a *b ", "c* "}, {"*a_ ", "_b* "}, {"[a](", ")"}, {"[*", "*](x)"}, {"***", "a**"}, {">", "a*"}, {"|", "\n|-"},
	} {
		add(fmt.Sprintf("%q, then %q", pair[0], pair[1]), half(pair[0])+"a"+half(pair[1]))
	}
	add("a closing mark of a length that does not fit", "a**b"+fill("c* "))
	add("an opening mark of a length that does not fit", "a*b "+fill("_a**"))
	add("marks within brackets", strings.Repeat("[", 2000)+third("*a")+strings.Repeat("]", 2000))
	add("links within brackets", strings.Repeat("[", 2000)+third("[a](b)")+strings.Repeat("](c)", 2000))
	add("brackets before a long line", strings.Repeat("[a][", 1400)+third("a "))
	add("titles that do not end", strings.Repeat("[a](b \"", 2500)+third("a "))
	add("titles in brackets that do not end", strings.Repeat("[a](b (", 2500)+third("a "))
	add("targets that do not end", strings.Repeat("[a](<b", 2500)+third("a"))
	add("backticks of all lengths", backtickRuns(size))
	add("backticks that grow, then text", backtickRuns(size/2)+half("a "))
	add("a list in a list in a list", deepList(size))
	add("deep lists, then empty lines", strings.Repeat("- ", 30)+"x"+fill("\n"))
	add("a deep list in a quote, then empty lines", "> "+strings.Repeat("- ", 30)+"x\n"+fill(">\n"))
	add("spaces before a line end", "x"+fill(" ")+"\nx")
	add("tags that do not end", "</"+fill("<!--"))
	add("tags with attributes that do not end", fill("<a b=\"c\" "))
	add("declarations that do not end", fill("<!A ")+fill("<![CDATA["))
	add("definitions of one name", fill("[a]: /b\n")+"[a]")
	add("definitions and their uses", linkDefinitions(size))
	add("a table of many columns", "|"+third("a|")+"\n|"+third("-|")+"\n"+third("|\n"))
	add("tables whose rules are long", fill("a\rb\n-\v\n"))
	add("cells of escaped bars", "|a|\n|-|\n|"+fill(`\|`))
	add("addresses of mail", fill("a@b."))
	add("parts of one address", "http://"+fill("a.b/(("))
	add("an address of closing brackets", "http://a.b/("+fill(")"))
	add("an address of entities", "http://a.b/"+fill("&a;"))
	add("numbers of a list", fill("1. a\n1) b\n"))
	return all
}

// repeatedUnits are texts that are repeated.
func repeatedUnits() []string {
	return []string{
		"_a*", "*a_ ", "~a*", "**a_ ", "a**b*c*", "_a ", "a_ ", "*a", "*a ", "a*", "*a _b ", "a**b", "_*", "***", "*_~~`", "~~a ", "~~*a*~~ ", "*a_", "_a_b", "**a*b_c~d", "*a*b", "__init__", "* a *a", "*[", "*[a", "*[a](b)* ",
		"[a", "a]", "[ a_", "[ (](", "![[]()", "[a](<b", "[a](b", "[a](", "[a](\"", "[", "]", "![", "[a][b] ", "[[a](b)](c) ", "[a]: <", "[a]:", "[\\", "[x](y) ", "![a](https://b.c/d.png) ", "[*a](b)", "[_](_", "![](", "[![a](b)](c)",
		"<", "<a ", "<b>", "<!--", "<?", "<!A ", "<![CDATA[", "</", "<div>\n", "<https://a.b> ", "<a href=\"", "<>", "<!", "<!--->", "<a@b.c>",
		"> ", "> - ", "1. ", "- ", "- a\n", "- - - ", "+ a\n  ", "* a\n\n", "> a\n", "> 2. [a](\n", "2. [a](\n", "- [ ] a\n", "- ```\n", "-", "=\n", "a\n=", "# a\n", "#", "---\n", "> - a\n>\n", "    a\n", "\t- ",
		"`", "``a`", "`` ` ``", "e`", "```\n", "~~~a\n", "~~~~~~~ ", "`a``b```c",
		"|", "|a|\n", "|a|b|\n|-|-|\n", "| a | b |\n|---|---|\n| c | d |\n\n", "|-", ":-|", "a | b\n", "a\rb\n-\v\n",
		"&amp", "&#x41;", "&", "&a;", "&#", "\\", "a\\\n", "\\*", "\\[",
		"http://", "www.", "a@b.", "a@", "www.a.b(", "http://a.b ", "http://a.b/(", "ftp://a*", "mailto:a", "x@y.z_",
		"\x00", "\xff", "\r", "a\r\n\r\n", "\n", " ", "\u202e", "\u2067", "\u00a0", "a\u2060", "e\u0301", "👨‍👩‍👧‍👦", "🇩", "ा", "👍\u200b", "a🎉\ufeffb", "✅\u00ad✅", "👍", "👍 ",
		"“", "€", "1 ", "1.000,5", "2*3", "Dr. ", "你好。", "a. ", "a.b ", "+49 30 1", "{{DATE(", "\"", "'", "1½",
	}
}

// cutText returns at most size bytes of a text.
func cutText(text string, size int) string { return text[:min(len(text), size)] }

// backtickRuns are runs of backticks, each longer than the one before.
func backtickRuns(size int) string {
	var b strings.Builder
	for n := 1; b.Len() < size; n++ {
		b.WriteString("e" + strings.Repeat("`", n))
	}
	return b.String()
}

// deepList is a list whose items lie deeper and deeper.
func deepList(size int) string {
	var b strings.Builder
	for n := 0; b.Len() < size; n++ {
		b.WriteString(strings.Repeat(" ", n*2%700) + "- a\n")
	}
	return b.String()
}

// linkDefinitions are definitions of links, and then one use of each.
func linkDefinitions(size int) string {
	var b, uses strings.Builder
	for n := 0; b.Len() < size/2; n++ {
		name := "[n" + strconv.Itoa(n) + "]"
		b.WriteString(name + ": /" + strconv.Itoa(n) + "\n")
		uses.WriteString(name)
	}
	return b.String() + "\n" + uses.String()
}
