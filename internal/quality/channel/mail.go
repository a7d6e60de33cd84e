// This file makes an e-mail: its two forms, a subject, and the message with both. A sender or a
// file gets the message. It has neither a From nor a To. The same text and date give the same
// message, so that its Message-ID identifies a repeated delivery.

package channel

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/wneessen/go-mail"
)

// clipAt is the size of HTML, in bytes, above which Gmail shows only the begin of it
// (about 102 KB, by spamresource.com and others, 2026-11).
const clipAt = 102_400

// maxSubject is the length of a subject that is made of the text, in characters: with its
// name it fits a line of RFC 5322, 2.1.1.
const maxSubject = 78

// makeMail makes both forms of a mail. Only what neither shows counts as degraded.
//
// An e-mail is never parted. The plain form and the HTML say the same, as mail programs
// show either.
func (d *draft) makeMail() {
	text := d.scratch.form.resetFor(0, false, len(d.in.Text))
	text.degrade = func(k kind) {
		if k == image {
			d.recordDegraded(k)
		}
	}
	walkTree(d.watch, text, d.root)
	if d.watch.Err() != nil {
		return
	}
	r := d.out
	r.Content = string(text.buf)
	r.Text = r.Content
	r.Subject = headerText(d.in.Subject)
	if r.Subject == "" {
		r.Subject = balanceOrder(shortenText(headerText(subjectOf(d.textTree())), maxSubject))
	}
	html := &htmlForm{features: d.spec.shownFeatures(), degrade: d.recordDegraded, buf: make([]byte, 0, 1024+2*len(d.in.Text))}
	html.writeHead(d.in.Locale, directionAttr(d.root), r.Subject, headerText(d.spec.Brand))
	walkTree(d.watch, html, d.root)
	html.writeMarkup("</div></body></html>\n")
	r.HTML = string(html.buf)
	r.Metadata.ClipRisk = len(r.HTML) > clipAt
}

// textTree is the tree of the text alone.
//
// A greeting in front of a text must not become the subject.
func (d *draft) textTree() *node {
	if d.in.Before+d.in.After == "" {
		return d.root
	}
	t := tree{watch: d.watch, nodes: &d.scratch.nodes, emojis: d.newEmojiFilter()}
	return t.parseSource(d.parser.Source(d.watch, clean(d.in.Text)))
}

// headerText returns a text as one line, for a header.
//
// It never contains a line end, so a text cannot add a header.
func headerText(s string) string { return strings.Join(strings.Fields(clean(s)), " ") }

// subjectOf returns the first heading, else the first sentence; of a table alone its first
// header, and how many rows it has.
//
// Only the begin of a text without sentences is searched, for a subject is short.
func subjectOf(root *node) string {
	for n := root.first; n != nil; n = n.next {
		if n.kind == heading {
			if s := strings.TrimSpace(textOf(n)); s != "" {
				return s
			}
		}
	}
	if n := root.first; n != nil && n.kind == table && n.next == nil {
		return strings.TrimSpace(textOf(n.first.first)) + " (" + strconv.Itoa(int(n.kids)-1) + ")"
	}
	text := newTextForm(0, false, 0)
	for n := root.first; n != nil && len(bytes.TrimSpace(text.buf)) == 0; n = n.next {
		one := *n
		one.next = nil
		walkTree(nil, text, &node{first: &one})
	}
	first, _, _ := strings.Cut(strings.TrimLeft(string(text.buf), "\n "), "\n")
	for i, r := range first {
		if isSpace(r) && endsSentence(first[:i]) {
			return first[:i]
		}
		if i > 8*maxSubject {
			break
		}
	}
	return first
}

// shortenText cuts a text at a word to at most most characters.
func shortenText(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	n := 0
	for i := range s {
		if n++; n > most+1 {
			s = s[:i]
			break
		}
	}
	if at := strings.LastIndexByte(s, ' '); at > 0 {
		return s[:at]
	}
	return s[:graphemeBefore(s, 0, len(s)-1)]
}

// Bounds of a subject on its lines, in bytes.
const (
	maxHeaderLine  = 69 // besides its name
	maxEncodedWord = 42 // before it is encoded; RFC 2047, section 2, allows 75 afterwards
)

// isPrintable reports whether a text is printable ASCII alone.
func isPrintable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r >= 0x7f })
}

// isPlainSubject reports whether a subject stands in a header as it is.
func isPlainSubject(subject string) bool {
	return len(subject) <= maxHeaderLine && isPrintable(subject) && !strings.Contains(subject, "=?")
}

// encodeSubject is a subject as it stands in a header. Its first line holds some of it: there
// are readers that take a line end in front of it for a space.
//
// The words are in base64 (RFC 2047, section 4.1) and each holds whole characters, as
// section 5 asks for. A text with =? in it is encoded too, since it might read as an
// encoded word.
func encodeSubject(subject string) string {
	if isPlainSubject(subject) {
		return subject
	}
	var b strings.Builder
	for subject != "" {
		n := min(len(subject), maxEncodedWord)
		for n < len(subject) && !utf8.RuneStart(subject[n]) {
			n--
		}
		if b.Len() > 0 {
			b.WriteString("\r\n ")
		}
		b.WriteString("=?UTF-8?B?" + base64.StdEncoding.EncodeToString([]byte(subject[:n])) + "?=")
		subject = subject[n:]
	}
	return b.String()
}

// MIME returns the message of an e-mail, without From and To, which its sender knows. The
// same response and date give the same bytes.
//
// Lines end in CR LF. The error is that of the writer, which writes to memory.
func (r *Response) MIME(date time.Time) ([]byte, error) {
	// The boundary depends on the text, so that no text can hold it.
	sum := sha256.Sum256([]byte(r.Subject + "\x00" + r.Text + "\x00" + r.HTML))
	id := hex.EncodeToString(sum[:16])
	m := mail.NewMsg(mail.WithNoDefaultUserAgent(), mail.WithEncoding(mail.EncodingQP), mail.WithCharset(mail.CharsetUTF8), mail.WithBoundary("sluice-"+id))
	m.SetDateWithValue(date)
	m.SetMessageIDWithValue(id + "@sluice.invalid")
	m.SetGenHeaderPreformatted(mail.HeaderSubject, encodeSubject(r.Subject))
	m.SetBodyString(mail.TypeTextPlain, r.Text)
	m.AddAlternativeString(mail.TypeTextHTML, r.HTML)
	var b bytes.Buffer
	if _, err := m.WriteTo(&b); err != nil {
		return nil, err
	}
	return withSafeStarts(b.Bytes()), nil
}

// maxEncodedLine is the length of a line of quoted-printable text (RFC 2045, 6.7).
const maxEncodedLine = 76

// withSafeStarts encodes the starts of lines that programs on the way change. "From " gets a > in a
// mailbox file. A dot is doubled, or ends the message.
func withSafeStarts(message []byte) []byte {
	if !bytes.Contains(message, []byte("\nFrom ")) && !bytes.Contains(message, []byte("\n.")) {
		return message
	}
	out := make([]byte, 0, len(message)+64)
	for line := range bytes.Lines(message) {
		for {
			safe, rest := safeStart(line)
			out = append(out, safe...)
			if len(safe) == 0 || len(safe)+len(bytes.TrimRight(rest, "\r\n")) <= maxEncodedLine {
				out = append(out, rest...)
				break
			}
			out = append(out, "=\r\n"...)
			line = rest
		}
	}
	return out
}

// safeStart returns the encoded start of a line and the rest. The start is empty for a line that
// stays as it is.
func safeStart(line []byte) (safe string, rest []byte) {
	switch {
	case bytes.HasPrefix(line, []byte("From ")):
		return "=46rom ", line[len("From "):]
	case bytes.HasPrefix(line, []byte(".")):
		return "=2E", line[1:]
	}
	return "", line
}
