package check

import (
	"fmt"
	"strings"
	"testing"
)

// said writes a claim in short: its text, what it may be and what it means.
func said(text string, c *claim) string {
	var b strings.Builder
	b.WriteString(text[c.start:c.end])
	if c.forms&asAmount != 0 {
		for _, r := range c.means[:c.meanings] {
			fmt.Fprintf(&b, " =%v", c.value(r))
		}
		if c.percent {
			b.WriteString("%")
		}
		b.WriteString(string(c.unit))
	}
	if c.forms&asDate != 0 {
		fmt.Fprintf(&b, " date %d-%d-%d", c.date.year, c.date.month, c.date.day)
	}
	if c.forms&asClock != 0 {
		fmt.Fprintf(&b, " clock %d:%02d", c.clock.minute/60, c.clock.minute%60)
	}
	for form, name := range map[form]string{asPair: " pair", asToken: " token", asVersion: " version"} {
		if c.forms&form != 0 {
			b.WriteString(name)
		}
	}
	if c.rounded != 0 {
		b.WriteString(" rounded")
	}
	return b.String()
}

// Numbers are read with what is around them, in several languages.
func TestClaims(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want string }{
		{"1.234 and 1,234.5", "1.234 =1234 =1.234; 1,234.5 =1234.5"},
		{"-5 °C, −7 °F and $-3", "5 =-5c; 7 =-7f; 3 =-3money"},
		{"about $1.2 million", "1.2 =1.2e+06money rounded"},
		{"rund 30 Stunden, environ 12 km/h", "30 =30h rounded; 12 =12kmh rounded"},
		{"7 h 12 min", "7 h 12 =432min clock 7:12"},
		{"2 ore e 24 minuti", "2 ore e 24 =144min clock 2:24"},
		{"1 h 58", "1 h 58 =118min clock 1:58"},
		{"25 minutes 30", "25 minutes 30 =1530s"},
		{"5:30 p.m., 14 Uhr", "5:30 p. clock 17:30; 14 clock 14:00"},
		{"9h15", "9h15 =555min clock 9:15"},
		{"24–27 November", "24 date 0-11-24; 27 date 0-11-27"},
		{"il 1º dicembre, 8 de marzo", "1 date 0-12-1; 8 date 0-3-8"},
		{"24.11.2026, 2026-08, 11/27", "24.11.2026 date 2026-11-24; 2026-08 date 2026-8-0; 11/27 date 0-11-27 pair"},
		{"11月24日", "11月24 date 0-11-24"},
		{"3:1, 38:9 and 32/40", "3:1 pair; 38:9 pair; 32/40 pair"},
		{"INV-2031, p95, 32A", "INV-2031 token; p95 token; 32A token"},
		{"EUR50, 5kg, 3.11.2", "50 =50money; 5 =5kg; 3.11.2 version"},
		{"2 out of 6 mg/dl", "2 =2; 6 =6"},
		{"12 per cent, 3 por ciento", "12 =12%; 3 =3%"},
	} {
		var got []string
		list := claims(tt.text, nil)
		for i := range list {
			got = append(got, said(tt.text, &list[i]))
		}
		if s := strings.Join(got, "; "); s != tt.want {
			t.Errorf("%q is %s, want %s", tt.text, s, tt.want)
		}
	}
}

// Claims stand in order within their text, and each has something that may back it.
func FuzzClaims(f *testing.F) {
	for _, text := range [...]string{"7 h 12 min at 5:30 p.m. on 24–27 November", "-1.234,5 °C INV-2031 3:1 ٣٢ 明日は9時15分", "1º 2. de 3/4/26 '26 10 o'clock 5 m² 2026-11-24T10:00:00.1Z"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		end := 0
		for _, c := range claims(text, nil) {
			if c.start < end || c.end <= c.start || c.end > len(text) {
				t.Fatalf("%q: a claim from %d to %d behind %d", text, c.start, c.end, end)
			}
			if c.forms == 0 || c.meanings > len(c.means) {
				t.Fatalf("%q: %+v", text, c)
			}
			end = c.end
		}
		for at := 0; at < len(text); {
			size := sentenceLength(text[at:])
			if size < 1 || at+size > len(text) {
				t.Fatalf("%q: a sentence of %d bytes at %d", text, size, at)
			}
			at += size
		}
	})
}
