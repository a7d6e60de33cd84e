// This file checks that the links of an answer are known: from the evidence, or by their
// hosts. A model that invents an address is the most harmful case of an invented text, as
// users click it. Nothing is opened or resolved.

package check

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// linksBacked asks that links are known from a tool, the question, or by their host.
type linksBacked struct {
	Hosts []string `json:"hosts"`
}

// compile checks that hosts are hosts.
func (c *linksBacked) compile() (Check, error) {
	for i, host := range c.Hosts {
		c.Hosts[i] = strings.ToLower(host)
		if u, err := url.Parse("https://" + host + "/"); err != nil || u.Hostname() != host || host == "" {
			return nil, &ArgsError{jsontext.Pointer("/hosts").AppendToken(strconv.Itoa(i)), "must be a host, without scheme, port and path"}
		}
	}
	return c, nil
}

// maxLinks is how many different links an answer may have: each is looked for in all of
// the evidence.
const maxLinks = 200

// Run wants that each link was in what a tool or the user said, or leads to a
// host that is allowed. It opens none.
func (c *linksBacked) Run(in *Input) Outcome {
	links := slices.Compact(slices.Sorted(slices.Values(in.prose().links)))
	if len(links) == 0 {
		return notApplicable("The answer has no link.")
	}
	if len(links) > maxLinks {
		return failed("The answer has too many links.")
	}
	var strange []string
	for _, link := range links {
		if !c.backed(in, link) && len(strange) < maxTold {
			strange = append(strange, link)
		}
	}
	if len(strange) > 0 {
		return failed("These links are in no result of a tool: " + quoted(strange) + ".")
	}
	return passed()
}

// backed says whether a link may stand in the answer.
//
// A host is compared as a whole: a subdomain must be named itself. The link must stand in
// one text of the evidence, with or without its scheme.
func (c *linksBacked) backed(in *Input, link string) bool {
	u, err := url.Parse(link)
	if err != nil {
		return false
	}
	if u.Host != "" && slices.Contains(c.Hosts, strings.ToLower(u.Hostname())) {
		return true
	}
	needle := strings.TrimSuffix(bareLink(link, u), "/")
	if needle == "" {
		return false
	}
	for _, text := range in.evidence().texts {
		if hasLink(text, needle) {
			return true
		}
	}
	return false
}

// bareLink is what a text may have of a link: without mailto: or tel:, or the scheme of a
// web page.
func bareLink(link string, u *url.URL) string {
	switch strings.ToLower(u.Scheme) {
	case "mailto", "tel":
		bare, _, _ := strings.Cut(link[len(u.Scheme)+1:], "?")
		return bare
	case "http", "https":
		return strings.TrimPrefix(link[len(u.Scheme)+1:], "//")
	}
	return link
}

// hasLink says whether a text has a link as a whole: https://a.b/c is not in
// https://a.b/cd, nor in https://x.a.b/c.
func hasLink(text, link string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], link)
		if i < 0 {
			return false
		}
		start, end := from+i, from+i+len(link)
		if !joins(text[:start]) && !continues(text[end:]) {
			return true
		}
		from = end
	}
}

// joins says whether the end of before belongs to the word behind it.
//
// It keeps example.org from being found in evil-example.org.
func joins(before string) bool {
	r, _ := utf8.DecodeLastRuneInString(before)
	return before != "" && (isWord(r) || r == '.' || r == '-' || r == '_' || r == '@' || r == '%')
}

// continues says whether a link goes on behind what was found of it. A slash at its end,
// and a point at that of a sentence, say nothing.
func continues(after string) bool {
	after = strings.TrimPrefix(after, "/")
	r, n := utf8.DecodeRuneInString(after)
	if after == "" {
		return false
	}
	if strings.ContainsRune(".?!:,;&=", r) {
		next, _ := utf8.DecodeRuneInString(after[n:])
		return isWord(next) || next == '/' || next == '%'
	}
	return isWord(r) || strings.ContainsRune("-_/%~+#@", r)
}
