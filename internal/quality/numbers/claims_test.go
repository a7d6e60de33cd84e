package numbers

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
			fmt.Fprintf(&b, " =%v", c.signedValue(r))
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
	for _, f := range []struct {
		form form
		name string
	}{{asPair, " pair"}, {asToken, " token"}, {asVersion, " version"}} {
		if c.forms&f.form != 0 {
			b.WriteString(f.name)
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
		if got := claimed(tt.text); got != tt.want {
			t.Errorf("%q is %s, want %s", tt.text, got, tt.want)
		}
	}
}

// claimed writes all claims of a text in short.
func claimed(text string) string {
	var got []string
	list := claimsIn(text, nil)
	for i := range list {
		got = append(got, said(text, &list[i]))
	}
	return strings.Join(got, "; ")
}

// Letters and digits that are one word are a name, unless they are money, a unit or a time.
func TestTokens(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"INV-2031": "INV-2031 token", "inv_2031": "inv_2031 token", "t81": "t81 token", "p95": "p95 token", "A4": "A4 token", "GPT-4o": "GPT-4o token", "i86_64": "i86_64 token",
		"A-1-b-": "A-1-b token", "__a1__": "a1 token", "Nr5": "Nr5 token", "über9": "über9 token",
		"32A": "32A token", "32AB": "32AB token", "32ABC": "32 =32", "32a": "32 =32", "32AM": "32 =32", "9AM": "9AM clock 9:00", "32TH": "32 =32 date 0-0-32", "5K": "5 =5000", "5V": "5 =5v", "5KM": "5 =5km", "5X": "5 =5", "32Ä": "32Ä token",
		"3D": "3D token", "5G": "5G token", "2FA": "2FA token", "2fa": "2fa token",
		"1a2": "1a2 token", "5 m2": "5 =5m; m2 token", "2x4": "2 =2; 4 =4", "x4": "4 =4",
		"EUR50": "50 =50money", "US50": "50 =50money", "-5": "5 =-5", "_5": "5 =5", "b 5": "5 =5", "第5": "5 =5", "日5本": "5 =5",
		"a.5": "5 =5", "a/5": "5 =5", "a5.6": "a5.6 token",
		strings.Repeat("a", 60) + "5": strings.Repeat("a", 40) + "5 token",
	} {
		if got := claimed(text); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

// Dates are read as people write them in each of the languages.
func TestDates(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2026-11-24":                   "2026-11-24 date 2026-11-24",
		"2026-11-24T10:30:00Z":         "2026-11-24T10:30:00Z date 2026-11-24 clock 10:30",
		"2026-11-24 10:30":             "2026-11-24 10:30 date 2026-11-24 clock 10:30",
		"2026-11":                      "2026-11 date 2026-11-0",
		"2026-12":                      "2026-12 date 2026-12-0",
		"2026-13":                      "2026-13 pair",
		"2026-00":                      "2026-00 pair",
		"2026-1":                       "2026-1 pair",
		"24.11.2026":                   "24.11.2026 date 2026-11-24",
		"24.11.26":                     "24.11.26 date 2026-11-24",
		"2026.11.24":                   "2026.11.24 date 2026-11-24",
		"24.13.2026":                   "24.13.2026 version",
		"32.11.2026":                   "32.11.2026 version",
		"0.11.2026":                    "0.11.2026 version",
		"24/11/2026":                   "24/11/2026 date 2026-11-24",
		"11/24/2026":                   "11/24/2026 date 2026-24-11",
		"2026/11/24":                   "2026/11/24 date 2026-11-24",
		"3/4/26":                       "3/4/26 date 2026-4-3",
		"11/24":                        "11/24 date 0-11-24 pair",
		"24/11":                        "24/11 date 0-24-11 pair",
		"12/31":                        "12/31 date 0-12-31 pair",
		"13/14":                        "13/14 pair",
		"12/32":                        "12/32 pair",
		"1/2/3/4":                      "1/2/3/4 pair",
		"24.11.":                       "24.11 =24.11 date 0-11-24 clock 24:11",
		"24.12":                        "24.12 =24.12 date 0-12-24 clock 24:12",
		"31.13":                        "31.13 =31.13",
		"32.12":                        "32.12 =32.12",
		"24.123":                       "24.123 =24123 =24.123",
		"124.11":                       "124.11 =124.11",
		"November 24th, 2026":          "24 date 0-11-24; 2026 =2026",
		"the 24th of November":         "24 date 0-11-24",
		"24. November":                 "24 date 0-11-24",
		"le 1er décembre":              "1 date 0-12-1",
		"le 24 novembre":               "24 date 0-11-24",
		"el 24 de noviembre":           "24 date 0-11-24",
		"il 24 novembre":               "24 date 0-11-24",
		"em 24 de novembro":            "24 date 0-11-24",
		"op 24 november":               "24 date 0-11-24",
		"24 ноября":                    "24 date 0-11-24",
		"11月24日":                       "11月24 date 0-11-24",
		"12月":                          "12月 date 0-12-0",
		"13月":                          "13 =13",
		"32 November":                  "32 =32",
		"0 November":                   "0 =0",
		"124 November":                 "124 =124",
		"2 out of 5":                   "2 =2; 5 =5",
		"4 may be late":                "4 =4",
		"4 May":                        "4 date 0-5-4",
		"2 set aside":                  "2 =2",
		"2 ago":                        "2 =2",
		"8 € mar":                      "8 =8money",
		"3 % mar":                      "3 =3%",
		"3 s mar":                      "3 =3s",
		"on Monday 24":                 "24 =24 date 0-0-24",
		"am Montag, den 24.":           "24 =24 date 0-0-24",
		"on Monday, the 24th":          "24 =24 date 0-0-24",
		"the 24th":                     "24 =24 date 0-0-24",
		"der 24. ist":                  "24 =24 date 0-0-24",
		"It is 24. Then":               "24 =24",
		"le 2e jour":                   "2 =2 date 0-0-2",
		"3º piso":                      "3 =3 date 0-0-3",
		"the 124th":                    "124 =124",
		"Nov 24, '26":                  "24 date 0-11-24; 26 =2026",
		"Nov 24, ’26":                  "24 date 0-11-24; 26 =2026",
		"'5":                           "5 =5",
		"24–27 November":               "24 date 0-11-24; 27 date 0-11-27",
		"24 to 27 November":            "24 date 0-11-24; 27 date 0-11-27",
		"24 & 27 November":             "24 date 0-11-24; 27 date 0-11-27",
		"November 24 and 27":           "24 date 0-11-24; 27 date 0-11-27",
		"24-27 November":               "24 date 0-11-24; 27 date 0-11-27",
		"vom 24. bis zum 27. November": "24 =24 date 0-0-24; 27 date 0-11-27",
		"vom 24. bis 27. November":     "24 date 0-11-24; 27 date 0-11-27",
		"du 24 au 27 novembre":         "24 date 0-11-24; 27 date 0-11-27",
		"del 24 al 27 de noviembre":    "24 date 0-11-24; 27 date 0-11-27",
		"dal 24 al 27 novembre":        "24 date 0-11-24; 27 date 0-11-27",
		"24, 25 and 27 November":       "24 =24; 25 date 0-11-25; 27 date 0-11-27",
		"40 to 27 November":            "40 =40; 27 date 0-11-27",
		"5 € and 27 November":          "5 =5money; 27 date 0-11-27",
		"5.5 and 27 November":          "5.5 =5.5 date 0-5-5; 27 date 0-11-27",
		"24 apples and 27 November":    "24 =24; 27 date 0-11-27",
	} {
		if got := claimed(text); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

// Times of day are read in 12 and 24 hours, in each of the languages.
func TestClocks(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"9:15": "9:15 clock 9:15", "09:15": "09:15 clock 9:15", "23:59": "23:59 clock 23:59", "24:00": "24:00 clock 24:00", "25:00": "25:00 pair", "9:60": "9:60 pair", "9:5": "9:5 pair", "109:15": "109:15 pair",
		"9:15:30": "9:15:30 clock 9:15", "9:15:3": "9:15 clock 9:15; 3 =3",
		"5 p.m.": "5 p. clock 17:00", "5 pm": "5 pm clock 17:00", "5pm": "5pm clock 17:00", "5PM": "5PM clock 17:00", "5 a.m.": "5 a. clock 5:00", "12 am": "12 am clock 0:00", "12 pm": "12 pm clock 12:00", "12:30 a.m.": "12:30 a. clock 0:30",
		"5:30 pm": "5:30 pm clock 17:30", "5.30 pm": "5.30 pm clock 17:30", "5\u00a0pm": "5\u00a0pm clock 17:00", "5 pmx": "5 =5", "5 ample": "5 =5",
		"14 Uhr": "14 clock 14:00", "9.15 Uhr": "9.15 clock 9:15", "5 o'clock": "5 clock 5:00", "5 o’clock": "5 clock 5:00", "5 oranges": "5 =5", "25 Uhr": "25 =25",
		"9.15": "9.15 =9.15 clock 9:15", "9.60": "9.60 =9.6", "9.5": "9.5 =9.5 date 0-5-9", "9,15": "9,15 =9.15", "1.9.15": "1.9.15 date 2015-9-1",
		"at 9": "9 =9 clock 9:00", "um 9": "9 =9 clock 9:00", "à 9": "9 =9 clock 9:00", "alle 9": "9 =9 clock 9:00", "a las 9": "9 =9 clock 9:00", "às 9": "9 =9 clock 9:00", "from 9": "9 =9 clock 9:00", "before 9": "9 =9 clock 9:00",
		"at 25": "25 =25", "at 9 km": "9 =9km", "at 9 %": "9 =9%", "in 9": "9 =9",
		"9h": "9 =9h clock 9:00", "9h15": "9h15 =555min clock 9:15", "9 h 15": "9 h 15 =555min clock 9:15", "25h15": "25h15 =1515min", "9h5": "9 =9h clock 9:00; 5 =5",
		"9 to 17:30": "9 =9 clock 9:00; 17:30 clock 17:30", "9–17:30": "9 =9 clock 9:00; 17:30 clock 17:30", "17:30 to 19": "17:30 clock 17:30; 19 =19 clock 19:00", "9 Uhr bis 17 Uhr": "9 clock 9:00; 17 clock 17:00",
		"99 to 17:30": "99 =99; 17:30 clock 17:30", "de 9 a las 17:30": "9 =9; 17:30 clock 17:30",
	} {
		if got := claimed(text); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

// A span of two units is one amount.
func TestSpans(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"7 h 12 min":               "7 h 12 =432min clock 7:12",
		"7h12m":                    "7h12 =432min clock 7:12",
		"7 hours 12 minutes":       "7 hours 12 =432min clock 7:12",
		"7 hours and 12 minutes":   "7 hours and 12 =432min clock 7:12",
		"7 Stunden 12 Minuten":     "7 Stunden 12 =432min clock 7:12",
		"7 Stunden und 12 Minuten": "7 Stunden und 12 =432min clock 7:12",
		"7 heures 12 minutes":      "7 heures 12 =432min clock 7:12",
		"7 heures et 12 minutes":   "7 heures et 12 =432min clock 7:12",
		"7 horas y 12 minutos":     "7 horas y 12 =432min clock 7:12",
		"7 ore e 12 minuti":        "7 ore e 12 =432min clock 7:12",
		"7 horas e 12 minutos":     "7 horas e 12 =432min clock 7:12",
		"7 uur en 12 minuten":      "7 uur en 12 =432min clock 7:12",
		"7 часов 12 минут":         "7 часов 12 =432min clock 7:12",
		"7小时12分":                   "7小时12 =432min clock 7:12",
		"7시간 12분":                  "7시간 12 =432min clock 7:12",
		"30 h 12 min":              "30 h 12 =1812min",
		"2 days 3 hours":           "2 days 3 =51h",
		"2 days, 3 hours":          "2 =2d; 3 =3h clock 3:00",
		"2 min 30 s":               "2 min 30 =150s",
		"2 min 30":                 "2 min 30 =150s",
		"2 min 30 apples":          "2 =2min; 30 =30",
		"7 h 75 min":               "7 =7h clock 7:00; 75 =75min",
		"7.5 h 12 min":             "7.5 =7.5h; 12 =12min",
		"7 h or a 12 min":          "7 =7h clock 7:00; 12 =12min",
		"7 h plus 12 min":          "7 =7h clock 7:00; 12 =12min rounded",
		"7 km 12 m":                "7 =7km; 12 =12m",
		"12 min 7 h":               "12 =12min; 7 =7h clock 7:00",
		"about 7 h 12 min":         "7 h 12 =432min clock 7:12 rounded",
		"7 h about 12 min":         "7 =7h clock 7:00; 12 =12min rounded",
		"1 h 2 min 3 s":            "1 h 2 min 3 =3723s clock 1:02",
	} {
		if got := claimed(text); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

// Pairs and versions are one thing.
func TestPairs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"3:1": "3:1 pair", "3-1": "3-1 pair", "38-9 won": "38-9 pair", "32/40": "32/40 pair", "3:1:2": "3:1:2 pair", "3:1-2": "3:1 pair; 2 =2", "3: 1": "3 =3; 1 =1", "3:": "3 =3", "3/": "3 =3", "3–1": "3 =3; 1 =1",
		"1.5/2.5": "1.5/2 pair", "3.11.2": "3.11.2 version", "1.2.3.4": "1.2.3.4 version", "10.0.0.1": "10.0.0.1 version", "1.2,3": "1.2,3", "v3.11.2": "v3.11.2 token",
	} {
		if got := claimed(text); strings.TrimSuffix(got, " ") != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

// What claims nothing is left out, and the rest is read as if it were not there.
func TestClaimsSkip(t *testing.T) {
	t.Parallel()
	list := claimsIn("1 2 3 4", func(n *number) bool { return n.raw() == "2" || n.raw() == "4" })
	if len(list) != 2 || list[0].means[0].value != 1 || list[1].means[0].value != 3 {
		t.Errorf("%+v", list)
	}
	if n := countNumbers("1 22 a3b 4.5"); n != 5 {
		t.Errorf("there are about %d numbers, want 5", n)
	}
}

// Claims stand in order within their text, and each has something that may back it.
func FuzzClaims(f *testing.F) {
	for _, text := range [...]string{"7 h 12 min at 5:30 p.m. on 24–27 November", "-1.234,5 °C INV-2031 3:1 ٣٢ 明日は9時15分", "1º 2. de 3/4/26 '26 10 o'clock 5 m² 2026-11-24T10:00:00.1Z"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		end := 0
		for _, c := range claimsIn(text, nil) {
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
