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
		if code != tt.code || !strings.Contains(out.String(), tt.want) {
			t.Errorf("%q: %d, %q, %q", tt.args, code, out.String(), errs.String())
		}
	}
}
