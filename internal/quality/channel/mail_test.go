package channel

import (
	"bytes"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// A subject is cut at a word, else between graphemes, and is then at most so long.
func TestShortened(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in   string
		most int
		want string
	}{
		{"", 5, ""},
		{"abcde", 5, "abcde"},
		{"abcdef", 5, "abcde"},
		{"ab cd", 5, "ab cd"},
		{"ab cde", 5, "ab"},
		{"abcde f", 5, "abcde"},
		{"éèêëē", 5, "éèêëē"},
		{"éèêëēė", 5, "éèêëē"},
		{"ab 你好吗", 5, "ab"},
		{"ab 你好吗好", 5, "ab"},
		{"a\u0301b\u0301c\u0301d", 5, "a\u0301b\u0301"},
	} {
		if got := shortenText(tt.in, tt.most); got != tt.want || utf8.RuneCountInString(got) > tt.most {
			t.Errorf("%q is %q, want %q", tt.in, got, tt.want)
		}
	}
}

// What stands in a header is read back as it was, by a decoder that we did not write, and no
// line of it is too long.
func TestEncoded(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in    string
		plain bool
	}{
		{"", true},
		{"Hello", true},
		{strings.Repeat("a", maxHeaderLine), true},
		{strings.Repeat("a", maxHeaderLine+1), false},
		{"a ~ b", true},
		{"a\x7fb", false},
		{"a = ? b", true},
		{"a =? b", false},
		{"Grüße", false},
		{strings.Repeat("é", 100), false},
		{strings.Repeat("😀", 60), false},
		{strings.Repeat("a", maxEncodedWord) + "é", false},
		{strings.Repeat("a", maxEncodedWord-1) + "é", false},
	} {
		got := encodeSubject(tt.in)
		if (got == tt.in) != tt.plain {
			t.Errorf("%q stands as %q", tt.in, got)
		}
		read, err := new(mime.WordDecoder).DecodeHeader(strings.ReplaceAll(got, "\r\n ", " "))
		if err != nil || !tt.plain && read != tt.in {
			t.Errorf("%q is read as %q, %v", tt.in, read, err)
		}
		for i, line := range strings.Split(got, "\r\n") {
			if len(line) > 76 || i > 0 && !strings.HasPrefix(line, " =?UTF-8?B?") {
				t.Errorf("%q has the line %q", tt.in, line)
			}
		}
	}
}

// A header is one line.
func TestHeader(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "", " a ": "a", "a\r\nBcc: b": "a Bcc: b", "a\n\n\tb": "a b", "a\x00b": "ab", "a\u2028b": "a b", "\u202ea": "a", "a\u00a0 b": "a b",
	} {
		if got := headerText(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}

// A subject is the first heading that says something, else the first sentence.
func TestSubjectOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, want string }{
		{"", ""},
		{"Hello there. More.", "Hello there."},
		{"Hello there", "Hello there"},
		{"Hello\nthere. More", "Hello"},
		{"Hello e.g. there. More.", "Hello e.g. there."},
		{"Done! More.", "Done!"},
		{"text\n\n# Head\n\n# Two", "Head"},
		{"#\n\n## Two", "Two"},
		{"---\n\ntext", "text"},
		{"- one\n- two", "- one"},
		{"> quoted. More", "> quoted."},
		{"```\ncode\nmore\n```", "code"},
		{"|a|b|\n|-|-|", "a (0)"},
		{"|a|b|\n|-|-|\n|c|d|", "a (1)"},
		{"|a|b|\n|-|-|\n|c|d|\n\ntext", "a: b"},
		{"**bold** text. More", "bold text."},
		{"[a](http://b). More", "a (http://b)."},
		{strings.Repeat("word ", 200) + "end. More.", strings.Repeat("word ", 200) + "end. More."},
	} {
		root, _ := treeOf(tt.in)
		if got := subjectOf(root); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.in, got, tt.want)
		}
	}
}

// The message of a mail: its headers, text first, the same for the same input, and another
// one for any other.
func TestMIME(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	message := func(r Response, at time.Time) string {
		b, err := r.MIME(at)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	base := Response{ChannelFields: ChannelFields{Subject: "Hi", Text: "text = é", HTML: "<p>html</p>"}}
	got := message(base, at)
	for _, want := range []string{
		"Date: Thu, 26 Nov 2026 12:00:00 +0000\r\n", "Subject: Hi\r\n", "MIME-Version: 1.0\r\n", "@sluice.invalid>\r\n",
		"multipart/alternative", "Content-Transfer-Encoding: quoted-printable\r\n", "text =3D =C3=A9", "<p>html</p>",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if strings.Index(got, "text/plain") > strings.Index(got, "text/html") {
		t.Error("the text is not first")
	}
	for _, header := range []string{"\nFrom:", "\nTo:", "\nUser-Agent:", "\nX-Mailer:"} {
		if strings.Contains(got, header) {
			t.Errorf("it has %q", header)
		}
	}
	if message(base, at) != got {
		t.Error("the bytes do not repeat")
	}
	id := func(message string) string {
		_, rest, _ := strings.Cut(message, "Message-ID: ")
		line, _, _ := strings.Cut(rest, "\r\n")
		return line
	}
	if later := message(base, at.Add(time.Hour)); id(later) != id(got) || later == got {
		t.Errorf("an hour later it is %s, and was %s", id(later), id(got))
	}
	for _, other := range []ChannelFields{{Subject: "Ho", Text: base.Text, HTML: base.HTML}, {Subject: "Hi", Text: "text", HTML: base.HTML}, {Subject: "Hi", Text: base.Text, HTML: ""}, {Subject: "Hi", Text: base.Text + base.HTML}} {
		if id(message(Response{ChannelFields: other}, at)) == id(got) {
			t.Errorf("%+v has the id of another message", other)
		}
	}
}

// Programs on the way change lines that begin with "From " or a dot: no raw line does, and a
// reader that we did not write gets the text back.
func TestMailKeepsLinesThatMailersChange(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 71)
	for _, text := range []string{
		"hi\n\nFrom here\n\n.", "hi\n\n.\n\n..b\n\n.c", "a\n\nFrom " + long + " From y", "a\n\n." + long + "yyyy.zzzz", "a\n\nFrom From From " + long,
	} {
		r := &Response{ChannelFields: ChannelFields{Subject: "s", Text: text, HTML: "<p>x</p>\n.\nFrom z"}}
		raw, err := r.MIME(time.Unix(0, 0))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(string(raw), "\r\n") {
			if strings.HasPrefix(line, "From ") || strings.HasPrefix(line, ".") || len(line) > maxEncodedLine {
				t.Errorf("%q has the line %q", text, line)
			}
		}
		message, err := mail.ReadMessage(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		_, params, _ := mime.ParseMediaType(message.Header.Get("Content-Type"))
		part, err := multipart.NewReader(message.Body, params["boundary"]).NextPart() // it decodes
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(part)
		if got := strings.ReplaceAll(string(body), "\r\n", "\n"); err != nil || got != text {
			t.Errorf("%q is read as %q, %v", text, got, err)
		}
	}
}
