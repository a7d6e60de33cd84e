// This file checks that the links of an answer are known: from the evidence, or by their hosts. A
// model that invents an address is the most harmful case of an invented text, as users click it. No
// link is opened or resolved.

package check

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/markdown"
)

// linksBacked asks that links are known from a tool, the question, or by their host.
type linksBacked struct {
	Hosts []string `json:"hosts"`
}

// compileCheck checks that hosts are hosts.
func (c *linksBacked) compileCheck() (Check, error) {
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

// maxListed is how many links the feedback names.
const maxListed = 5

// Run requires that each link is in a tool's result or the question, or leads to an allowed host.
// It opens none.
func (c *linksBacked) Run(in *Input) Outcome {
	links := slices.Compact(slices.Sorted(slices.Values(in.answerProse().links)))
	if len(links) == 0 {
		return notApplicable("The answer has no link.")
	}
	if len(links) > maxLinks {
		return failedOutcome("The answer has too many links.")
	}
	if strange := c.unbackedLinks(in, links); len(strange) > 0 {
		return failedOutcome("These links are in no result of a tool: " + quoteList(strange) + ".")
	}
	return passedOutcome()
}

// unbackedLinks returns the first of the links that nothing backs.
func (c *linksBacked) unbackedLinks(in *Input, links []string) []string {
	var strange []string
	for _, link := range links {
		if in.Watch.Err() != nil || len(strange) == maxListed {
			break
		}
		if !c.isBacked(in, link) {
			strange = append(strange, link)
		}
	}
	return strange
}

// parseLink parses a link, also one without its scheme: www.a.b/c.
func parseLink(link string) (*url.URL, error) {
	u, err := url.Parse(link)
	if err == nil && u.Scheme == "" && u.Host == "" {
		return url.Parse("//" + link)
	}
	return u, err
}

// isBacked reports whether a link may stand in the answer.
//
// A host is compared as a whole: a subdomain must be named itself. The link must stand in
// one text of the evidence, with or without its scheme.
func (c *linksBacked) isBacked(in *Input, link string) bool {
	u, err := parseLink(link)
	if err != nil {
		return false
	}
	if u.Host != "" && slices.Contains(c.Hosts, strings.ToLower(u.Hostname())) {
		return true
	}
	bare := lowerHost(strings.TrimSuffix(bareLink(link, u), "/"), u.Host)
	if bare == "" {
		return false
	}
	scheme := strings.ToLower(u.Scheme)
	lowered := in.loweredTexts()
	for i, text := range in.sharedEvidence().Texts() {
		if hasLink(text, lowered[i], bare, len(u.Host), scheme) {
			return true
		}
	}
	return false
}

// loweredTexts returns the texts of the evidence in lower case, made once.
func (in *Input) loweredTexts() []string {
	f := in.sharedFindings()
	if f.lowered == nil {
		for _, text := range in.sharedEvidence().Texts() {
			f.lowered = append(f.lowered, lowerASCII(text))
		}
	}
	return f.lowered
}

// lowerHost returns a link that begins with a host, with that in lower case.
func lowerHost(link, host string) string {
	if n := len(host); n <= len(link) && link[:n] == host {
		return strings.ToLower(host) + link[n:]
	}
	return link
}

// bareLink returns the part of a link that a text may have: without mailto: or tel:, or the scheme
// of a web page.
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

// hasLink reports whether a text has a link as a whole: https://a.b/c is not in https://a.b/cd, nor
// in https://x.a.b/c. The case of the host does not matter. A scheme of web pages in the text must
// be the link's scheme. lowered is the text in lower case, and host is the length of the host at
// the link's begin.
func hasLink(text, lowered, link string, host int, scheme string) bool {
	needle, host := lowerASCII(link), min(host, len(link))
	for from := 0; ; {
		i := strings.Index(lowered[from:], needle)
		if i < 0 {
			return false
		}
		start, end := from+i, from+i+len(link)
		if text[start+host:end] == link[host:] && !joinsWord(text[:start]) && !linkContinues(text[end:]) && sameScheme(text[:start], scheme) && endsWith(text, start, end) {
			return true
		}
		from = end
	}
}

// lowerASCII returns a text in lower case, of the same length.
func lowerASCII(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return 'A' <= r && r <= 'Z' }) < 0 {
		return s
	}
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// sameScheme reports whether the text in front of an address in the evidence allows the link's
// scheme: https is not http.
func sameScheme(before, scheme string) bool {
	before, ok := strings.CutSuffix(before, "://")
	if !ok || scheme != "http" && scheme != "https" {
		return true
	}
	before = lowerASCII(before[max(0, len(before)-len("https")):])
	at := len(before) - len(scheme)
	return at >= 0 && before[at:] == scheme && (at == 0 || !isWord(rune(before[at-1])))
}

// linksInText returns the bare addresses of a text that a client may show as links: with a scheme,
// www., or a host with a path.
func linksInText(text string) (links []string) {
	if !strings.Contains(text, "/") && !strings.Contains(lowerASCII(text), "www.") {
		return nil
	}
	raw := []byte(text)
	at := 0
	for from := 0; ; {
		i := strings.Index(text[from:], "://")
		if i < 0 {
			return appendHosts(links, raw, text, at)
		}
		i += from
		from = i + len("://")
		start := i - markdown.SchemeBefore(raw[at:i])
		if r, _ := utf8.DecodeRuneInString(text[from:]); start == i || !isWord(r) {
			continue
		}
		from = markdown.URLEnd(raw, start)
		links = append(appendHosts(links, raw[:start], text[:start], at), text[start:from])
		at = from
	}
}

// appendHosts appends the addresses without a scheme in a text, from at on.
func appendHosts(links []string, raw []byte, text string, at int) []string {
	for at < len(text) {
		r, n := utf8.DecodeRuneInString(text[at:])
		if !isWord(r) || !startsAddress(text[:at]) {
			at += n
			continue
		}
		start := at
		at += ofHostLength(text[at:])
		if host := text[start:at]; isHost(host) && (strings.HasPrefix(text[at:], "/") || hasWWW(host)) {
			begin := len(strings.TrimSuffix(text[:start], "//"))
			if end := markdown.URLEnd(raw, begin); end > at+len("/") || end == at && hasWWW(host) {
				links = append(links, text[start:end])
				at = end
			}
		}
		at = max(at, start+n)
	}
	return links
}

// hasWWW reports whether a host is written as that of a web page.
func hasWWW(host string) bool { return strings.HasPrefix(lowerASCII(host), "www.") }

// startsAddress reports whether an address may begin behind a text: not within a word, a path
// or another address.
func startsAddress(before string) bool {
	outer := strings.TrimRight(strings.TrimSuffix(before, "//"), "_")
	r, _ := utf8.DecodeLastRuneInString(outer)
	return outer == "" || !isWord(r) && !strings.ContainsRune("/@.-%&=?#+:\\", r)
}

// ofHostLength returns the length of the characters of a host that text begins with, less the
// marks of a sentence at their end.
func ofHostLength(text string) int {
	if n := strings.IndexFunc(text, func(r rune) bool { return !ofHost(r) }); n >= 0 {
		text = text[:n]
	}
	return len(strings.TrimRight(text, ".-"))
}

// isHost reports whether a text is a host name whose last part has two letters or more. It excludes
// and/or, and 24.11/25.11.
func isHost(text string) bool {
	name, top, ok := cutLast(text, ".")
	if !ok || name == "" || len(top) < 2 || isExtension(lowerASCII(top)) {
		return false
	}
	return strings.Trim(top, latin) == "" && strings.TrimFunc(name, ofHost) == ""
}

// latin are the letters of ASCII.
const latin = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// ofHost reports whether r can stand in the name of a host.
func ofHost(r rune) bool { return r >= utf8.RuneSelf || strings.ContainsRune(latin+"0123456789-.", r) }

// isExtension reports whether names of files and of software end so, and no host does.
func isExtension(top string) bool {
	switch top {
	case "js", "ts", "go", "css", "html", "htm", "xml", "json", "yaml", "yml", "txt", "pdf", "csv", "php", "exe", "jpg", "png":
		return true
	}
	return false
}

// cutLast is strings.Cut at the last place.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// attributeTargets returns the targets that raw HTML has: of href, src and the like.
func attributeTargets(html string) (links []string) {
	if strings.IndexByte(html, '=') < 0 {
		return nil
	}
	for _, m := range target.FindAllStringSubmatch(html, -1) {
		if link := resolveText([]byte(strings.Trim(m[1], `"'`))); link != "" {
			links = append(links, link)
		}
	}
	return links
}

// target is an attribute of HTML whose value is opened or loaded.
var target = regexp.MustCompile(`(?i)\b(?:href|src|action|formaction|data|poster|background|cite)\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+)`)

// joinsWord reports whether the end of before belongs to the word behind it.
//
// It keeps example.org from being found in evil-example.org.
func joinsWord(before string) bool {
	r, _ := utf8.DecodeLastRuneInString(before)
	return before != "" && (isWord(r) || r == '.' || r == '-' || r == '_' || r == '@' || r == '%')
}

// linkContinues reports whether a link continues after the found part. A slash at its end, and a
// point at that of a sentence, say nothing.
func linkContinues(after string) bool {
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

// urlWindow is the length of the text behind a link in which its URL is looked for, in bytes.
// A URL that is longer continues.
const urlWindow = 256

// endsWith reports whether the URL that begins at start, or with the scheme before it, ends
// with the link that ends at end. Marks that say nothing may follow, such as a slash.
func endsWith(text string, start, end int) bool {
	begin := start
	if before, ok := strings.CutSuffix(text[:start], "://"); ok {
		begin = len(before) - markdown.SchemeBefore([]byte(before[max(0, len(before)-len("xhttps")):]))
	}
	from := max(0, begin-1)
	url := markdown.URLEnd([]byte(text[from:min(len(text), end+urlWindow)]), begin-from) + from
	return url <= end || strings.IndexFunc(text[end:url], func(r rune) bool { return isWord(r) || r >= utf8.RuneSelf }) < 0
}
