package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

func TestFormat(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args   []string
		config string
		code   int
		want   string
	}{
		{[]string{"format"}, "", exitOK, "Hi\nthere (https://a.b)\n"},
		{[]string{"format", "--channel", "whatsapp", "in.md"}, "", exitOK, "*Hi*\nthere (https://a.b)\n"},
		{[]string{"format", "--channel=email"}, "", exitOK, "Subject: Hi"},
		{[]string{"format", "--channel=sms", "--json"}, "", exitOK, `"encoding":"GSM-7"`},
		{[]string{"format", "--channel=tiny", "--config=c.yaml"}, "channels: {tiny: {extends: plain, max_length: 40}}", exitOK, "there"},
		{[]string{"format", "--channel=fax"}, "", exitUsage, ""},
		{[]string{"format", "none.md"}, "", exitFailed, ""},
		{[]string{"format", "--locale=x_y"}, "", exitUsage, ""},
		{[]string{"format", "--user-name=" + strings.Repeat("u", 65)}, "", exitUsage, ""},
		{[]string{"format", "--channel=email", "--subject", strings.Repeat("s", 201)}, "", exitUsage, ""},
		{[]string{"format", "--channel=email", "--subject", "a\nb", "-"}, "", exitOK, "Subject: a b\r\n"},
	} {
		var out, errs bytes.Buffer
		code := run(t.Context(), tt.args, program{
			stdin: strings.NewReader("# Hi\n\n[there](https://a.b)"), stdout: &out, stderr: &errs,
			lookup: func(string) (string, bool) { return "", false },
			readFile: func(name string) ([]byte, error) {
				switch name {
				case "in.md":
					return []byte("# Hi\n\n[there](https://a.b)"), nil
				case "c.yaml":
					return []byte(tt.config), nil
				}
				return nil, os.ErrNotExist
			},
		})
		if code != tt.code || code != exitOK && (out.Len() > 0 || errs.Len() == 0) || !strings.Contains(out.String(), tt.want) {
			t.Errorf("%q: %d, %q, %q", tt.args, code, out.String(), errs.String())
		}
	}
}

// A text on standard input is worded as a whole or not at all.
func TestFormatRefusesHalfATextFromStdin(t *testing.T) {
	t.Parallel()
	for size, want := range map[int]int{maxText: exitOK, maxText + 1: exitFailed} {
		var out, errs bytes.Buffer
		code := run(t.Context(), []string{"format", "--channel=plain"}, program{
			stdin: strings.NewReader(strings.Repeat("a", size)), stdout: &out, stderr: &errs,
			lookup: func(string) (string, bool) { return "", false },
		})
		if code != want || (code == exitOK) != (out.Len() == size+1) {
			t.Errorf("%d bytes: %d, %d bytes out, %s", size, code, out.Len(), &errs)
		}
	}
}
