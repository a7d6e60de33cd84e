// This file is the package's front: a Formatter takes Markdown and returns the Response of its
// channel. It runs the steps in order (clean, parse, walk, cut) and fills in the metadata. The
// forms that walk the tree are in text.go, html.go and card.go. The cutting of texts is in split.go
// and sms.go.
//
// A Formatter keeps memory between texts, in a pool: a turn of a channel formats several
// texts of like size, and most of the cost is nodes.

package channel

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/markdown"
)

// Input is the input of a Formatter.
type Input struct {
	RequestID string
	Text      string // Markdown
	Before    string // Markdown in front of it, not part of a subject; may be empty
	After     string // Markdown behind it; may be empty
	Subject   string // of an e-mail; empty: made of the text
	Locale    string // BCP 47, for lang of an e-mail; may be empty
	At        time.Time
	// Source is Before, Text and After together, shared with others that read it; nil: not shared.
	Source *markdown.Source
}

// Response is a text in the form of a channel.
type Response struct {
	RequestID string `json:"request_id"`
	Channel   string `json:"channel"`
	// Content is the whole text, without indicators. For teams and email it is the plain
	// form.
	Content string `json:"content"`
	IsSplit bool   `json:"is_split"`
	// Parts is empty unless the text is split.
	Parts    []Part   `json:"parts"`
	Metadata Metadata `json:"metadata"`
	// FormattedAt is RFC 3339 in UTC.
	FormattedAt   time.Time `json:"formatted_at"`
	ChannelFields           // of the whole, if it is not split

	form string
}

// Part is one message of several.
type Part struct {
	Sequence int `json:"sequence"` // from 1
	// Content is sent as it is, the indicator included.
	Content   string `json:"content"`
	Indicator string `json:"continuation_indicator,omitempty"`
	ChannelFields
}

// ChannelFields are the fields that one channel alone has.
type ChannelFields struct {
	Encoding Encoding       `json:"encoding,omitempty"` // of sms
	Segments int            `json:"segments,omitzero"`
	Units    int            `json:"units,omitzero"`
	Chars    int            `json:"chars,omitzero"` // of whatsapp: units of UTF-16
	Card     jsontext.Value `json:"card,omitempty"` // of teams
	Bytes    int            `json:"bytes,omitzero"` // as Teams counts them
	Subject  string         `json:"subject,omitempty"`
	Text     string         `json:"text,omitempty"` // of email
	HTML     string         `json:"html,omitempty"`
}

// Metadata says what became of the text.
type Metadata struct {
	EmojisUsed      []string `json:"emojis_used"`
	MarkdownRemoved bool     `json:"markdown_removed"`
	// Degraded lists the constructs that became text.
	Degraded       []string `json:"degraded"`
	Transliterated bool     `json:"transliterated"`
	LinksDropped   int      `json:"links_dropped,omitzero"` // targets that are not allowed
	Truncated      bool     `json:"truncated,omitzero"`     // text behind the last part is lost
	MarkupIgnored  bool     `json:"markup_ignored,omitzero"`
	ClipRisk       bool     `json:"clip_risk,omitzero"` // Gmail may cut the e-mail
}

// ContentType returns the media type of the message.
func (r *Response) ContentType() string {
	switch r.form {
	case Teams:
		return "application/vnd.microsoft.card.adaptive"
	case Email:
		return "multipart/alternative"
	}
	return "text/plain"
}

// Formatter words texts for one channel. It may be used at the same time.
type Formatter struct {
	spec    Spec
	parser  *markdown.Parser
	scratch sync.Pool // of *scratch
}

// scratch is reusable memory for one text.
//
// It belongs to one goroutine at a time. A Response must not refer to it, as the next text
// overwrites it.
type scratch struct {
	nodes arena
	form  textForm
}

// New returns a Formatter of a spec. Check must have found no fault in it.
func New(spec Spec) *Formatter {
	return &Formatter{spec: spec, parser: markdown.NewParser()}
}

// Spec returns the formatter's spec.
func (f *Formatter) Spec() Spec { return f.spec }

// Format words a text. The only error is the cause for which ctx has ended. ctx is checked every
// few milliseconds.
//
// Unreadable Markdown is text. The time grows with the length of the text, for any input
// (markdown.Bearable refuses the sources that a parser would take long for). At is written as UTC
// and otherwise not used.
func (f *Formatter) Format(ctx context.Context, in Input) (*Response, error) {
	r := &Response{RequestID: in.RequestID, Channel: f.spec.Name, Parts: []Part{}, FormattedAt: in.At.UTC(), form: f.spec.Form}
	if f.spec.Form == Web {
		r.Metadata.Degraded = []string{}
		r.Content = in.Before + in.Text + in.After
		r.Metadata.EmojisUsed = emptyIfNil(emojisIn(r.Content))
		return r, nil
	}
	d := &draft{Formatter: f, in: in, out: r, watch: markdown.NewWatch(ctx)}
	s, _ := f.scratch.Get().(*scratch)
	if s == nil {
		s = &scratch{}
	}
	d.scratch = s
	defer func() {
		s.nodes.reset() // nothing of a response is a node
		f.scratch.Put(s)
	}()
	t := tree{watch: d.watch, nodes: &s.nodes, emojis: f.newEmojiFilter()}
	d.root = t.parseSource(f.sourceOf(d.watch, &in))
	if err := d.watch.Err(); err != nil {
		return nil, err
	}
	d.markup = t.markup
	r.Metadata.LinksDropped = t.dropped
	r.Metadata.MarkupIgnored = t.ignored
	switch f.spec.Form {
	case Teams:
		d.makeCard()
	case Email:
		d.makeMail()
	default:
		d.makeText()
	}
	if err := d.watch.Err(); err != nil {
		return nil, err
	}
	r.Metadata.EmojisUsed = emptyIfNil(emojisIn(r.Content))
	r.Metadata.Degraded = d.degradedNames()
	shows := f.spec.Markdown && (f.spec.Form == WhatsApp || f.spec.Form == Teams || f.spec.Form == Email)
	r.Metadata.MarkdownRemoved = d.markup && (!shows || d.lost != 0)
	return r, nil
}

// sourceOf returns the source of a text. It shares the caller's source, unless that needs cleaning.
func (f *Formatter) sourceOf(w *markdown.Watch, in *Input) *markdown.Source {
	text := clean(in.Before + in.Text + in.After)
	if in.Source != nil && in.Source.Text() == text {
		return in.Source
	}
	return f.parser.Source(w, text)
}

// emptyIfNil makes an empty list of none, for JSON.
func emptyIfNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// newEmojiFilter returns what becomes of the emojis of a text; nil: they stay.
//
// The returned function counts over all texts of one tree, so a new one is asked for each
// tree.
func (f *Formatter) newEmojiFilter() func(string) string {
	left := f.spec.maxEmojis()
	if left < 0 {
		return nil
	}
	return func(s string) string {
		return replaceEmojis(s, func(g string) string {
			if left == 0 {
				return ""
			}
			left--
			return g
		})
	}
}

// draft is a response in the making.
//
// A response is made by one goroutine.
type draft struct {
	*Formatter
	in      Input
	out     *Response
	watch   *markdown.Watch
	scratch *scratch
	root    *node
	markup  bool
	lost    uint32 // kinds that became text, a bit each
}

// recordDegraded records a construct that became text.
func (d *draft) recordDegraded(k kind) { d.lost |= 1 << k }

// degradedNames lists the constructs that became text by their names, each once.
func (d *draft) degradedNames() []string {
	list := []string{}
	for k := range lineBreak {
		if name := constructName(k); d.lost&(1<<k) != 0 && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// constructName returns the name that a report has for a degraded construct, or "" if it is not
// listed. Images and lists have names that differ from features.
//
// The names are part of the public interface (metadata.degraded).
func constructName(k kind) string {
	switch k {
	case bold:
		return "bold"
	case italic:
		return "italic"
	case struck:
		return "strike"
	case heading:
		return "headers"
	case table:
		return "tables"
	case link:
		return "links"
	case image:
		return "images"
	case code, codeBlock:
		return "code"
	case list:
		return "lists"
	case quote:
		return "quotes"
	}
	return ""
}

// textForm walks the tree for a text.
func (d *draft) textForm(marked bool) *textForm {
	f := d.scratch.form.resetFor(d.spec.Features, marked, len(d.in.Text))
	f.degrade = d.recordDegraded
	walkTree(d.watch, f, d.root)
	return f
}

// makeText makes the forms that are one text: WhatsApp, plain, SMS.
//
// Content is the text of all parts, without indicators. It ends with dots if the text was cut.
func (d *draft) makeText() {
	marked := d.spec.Form == WhatsApp && d.spec.Markdown
	f := d.textForm(marked)
	if d.watch.Err() != nil {
		return
	}
	f.trimSpaces()
	fl := f.makeFlat()
	fl.limit = d.spec.MaxLength
	if d.spec.Form == SMS {
		d.makeSMS(fl)
		return
	}
	s := d.newSplitter(fl, units{fl, d.spec.MaxLength})
	parts, truncated := s.split(d.spec.Split)
	d.out.Metadata.Truncated = truncated
	end := parts[len(parts)-1].end
	d.out.Content = withDots(fl.partText(0, end), truncated)
	if len(parts) == 1 && !truncated {
		d.out.ChannelFields = d.fieldsOf(d.out.Content)
		return
	}
	for i, p := range parts {
		d.addPart(i, len(parts), withDots(balanceOrder(fl.partText(p.start, p.end)), truncated && i == len(parts)-1), d.fieldsOf)
	}
}

// withDots ends a text that was cut with dots, which stand below a fence and not on its line.
func withDots(s string, truncated bool) string {
	switch {
	case !truncated:
		return s
	case strings.HasSuffix(s, "\n```"):
		return s + "\n…"
	}
	return s + " …"
}

// fieldsOf returns the fields of a text that was sent.
func (d *draft) fieldsOf(content string) ChannelFields {
	if d.spec.Form == WhatsApp {
		return ChannelFields{Chars: lengthUTF16(content)}
	}
	return ChannelFields{}
}

// newSplitter returns what cuts the text. 20 parts are the most unless the channel
// says otherwise.
func (d *draft) newSplitter(fl *flat, m meter) *splitter {
	most := d.spec.MaxParts
	if most == 0 {
		most = 20
	}
	return &splitter{text: fl.text, unsplit: fl.unsplit, meter: m, maxParts: most, indicator: d.spec.Indicator}
}

// makeSMS makes an SMS: cut by segments, in GSM-7 or UCS-2 part by part.
//
// Each part has the cheaper encoding that can say it: one emoji in the last part does not
// make the first ones dear. Between two parts Content has the white space that the cut
// took.
func (d *draft) makeSMS(fl *flat) {
	m := &sms{
		text: fl.text, transliterate: d.spec.Transliterate, auto: d.spec.Emojis == emojisAuto && d.spec.SupportsEmojis, words: d.spec.Words,
		maxUnits: d.spec.MaxLength, maxSegments: d.spec.MaxSegments,
	}
	s := d.newSplitter(fl, m)
	parts, truncated := s.split(d.spec.Split)
	d.out.Metadata.Truncated = truncated
	var content strings.Builder
	for i, p := range parts {
		if i > 0 {
			content.WriteString(fl.text[parts[i-1].end:p.start])
		}
		body, encoding := m.writePart(p.start, p.end, s.roomOf(i, len(parts), truncated))
		body = balanceOrder(body)
		if encoding == encodingGSM7 && body != fl.text[p.start:p.end] {
			d.out.Metadata.Transliterated = true
		}
		if truncated && i == len(parts)-1 {
			body += map[Encoding]string{encodingGSM7: " ...", encodingUCS2: " …"}[encoding]
		}
		content.WriteString(body)
		if len(parts) == 1 && !truncated {
			d.out.ChannelFields = countSMS(body, encoding)
			break
		}
		d.addPart(i, len(parts), body, func(sent string) ChannelFields { return countSMS(sent, encoding) })
	}
	d.out.Content = content.String()
}

// countSMS returns the units and segments of an SMS in an encoding.
func countSMS(content string, e Encoding) ChannelFields {
	units, segments := e.countUnits(content)
	return ChannelFields{Encoding: e, Units: units, Segments: segments}
}

// indicatorOf returns the number of a part among all, or "" without an indicator.
//
// The form is "(2/3)", from 1. A text of one part is without an indicator.
func (d *draft) indicatorOf(i, of int) string {
	if d.spec.Indicator == noIndicator || of < 2 {
		return ""
	}
	return "(" + strconv.Itoa(i+1) + "/" + strconv.Itoa(of) + ")"
}

// addPart adds a part with its indicator.
func (d *draft) addPart(i, of int, body string, own func(string) ChannelFields) {
	p := Part{Sequence: i + 1, Indicator: d.indicatorOf(i, of)}
	p.Content = withIndicator(body, p.Indicator, d.spec.Indicator)
	p.ChannelFields = own(p.Content)
	d.out.IsSplit = true
	d.out.Parts = append(d.out.Parts, p)
}

// withSuffix puts an indicator behind a part.
func withSuffix(body, indicator string) string {
	last := body[strings.LastIndexByte(body, '\n')+1:]
	if last == "```" || strings.HasPrefix(last, "> ") {
		return body + "\n" + indicator
	}
	return body + " " + indicator
}

// withIndicator joins a text and its indicator. The indicator gets its own line next to markup that
// counts only at the begin or end of a line.
//
// An indicator in front on its line would turn a quote, a fence or an indented text into plain
// text.
func withIndicator(body, indicator string, where Indicator) string {
	switch {
	case indicator == "":
		return body
	case where == indicatorSuffix:
		return withSuffix(body, indicator)
	}
	if depth, _ := markdown.Containers(body[:min(len(body), 16)]); depth > 0 || strings.HasPrefix(body, "```") || strings.HasPrefix(body, " ") {
		return indicator + "\n" + body
	}
	return indicator + " " + body
}
