package geminisim

import (
	"regexp"
	"strings"
	"sync"
)

// pattern is a rule for phrases. It is compiled when it is first used: together
// they take 20 ms and 4 MB, which a gateway that talks to the real API never needs.
type pattern struct {
	compiled func() *regexp.Regexp
}

// phrasePattern makes a pattern in which case does not matter, apostrophes may be curly
// or missing, a blank is any white space, and " ?" may be none.
func phrasePattern(p string) *pattern {
	p = strings.NewReplacer("'", `['’]?`, " ?", `\s*`, " ", `\s+`).Replace(p)
	return rawPattern(`(?is)` + p)
}

// rawPattern makes a pattern of a regular expression as it is.
func rawPattern(expr string) *pattern {
	return &pattern{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })}
}

// The methods are those of regexp.Regexp.

func (p *pattern) MatchString(s string) bool            { return p.compiled().MatchString(s) }
func (p *pattern) FindStringIndex(s string) []int       { return p.compiled().FindStringIndex(s) }
func (p *pattern) FindStringSubmatch(s string) []string { return p.compiled().FindStringSubmatch(s) }
func (p *pattern) FindStringSubmatchIndex(s string) []int {
	return p.compiled().FindStringSubmatchIndex(s)
}
func (p *pattern) FindAllStringSubmatch(s string, n int) [][]string {
	return p.compiled().FindAllStringSubmatch(s, n)
}
func (p *pattern) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return p.compiled().FindAllStringSubmatchIndex(s, n)
}
func (p *pattern) FindAllString(s string, n int) []string { return p.compiled().FindAllString(s, n) }
func (p *pattern) ReplaceAllString(s, by string) string   { return p.compiled().ReplaceAllString(s, by) }
func (p *pattern) Split(s string, n int) []string         { return p.compiled().Split(s, n) }
