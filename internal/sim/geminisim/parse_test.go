package geminisim

import (
	"net/http"
	"strings"
	"testing"

	"sluice/internal/sim/geminisim/simtest"
)

func TestParseErrorsNameTheirLine(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ script, want string }{
		{"", "no response in it"},
		{"# nothing\nloop\n---\n", "no response in it"},
		{"text a\n\nsay b", `script line 3: unknown directive "say"`},
		{"text a\n---\ntext b\ncal x", `script line 4: unknown directive "cal"`},
		{`text "a" b`, "must be a whole Go-quoted string"},
		{"call", "want: call NAME"},
		{"call add {", "script line 1:"},
		{`call add {"a":1} x=1`, `"x=1" is neither id=… nor sig=…`},
		{"parts {}", "parts:"},
		{"data {", "not valid JSON"},
		{"raw abc", `want: raw "GO-QUOTED BYTES"`},
		{"finish", "want: finish REASON"},
		{"usage 1", "want: usage"},
		{"usage 1 2 3 4", "want: usage"},
		{"delay 20", "want: delay DURATION"},
		{"split x", "want: split BYTES"},
		{"status 42", "want: status CODE"},
		{"header Retry-After 3", "want: header NAME: VALUE"},
		{"error x", "want: error CODE"},
		{"redirect 200 http://x", "want: redirect CODE URL"},
		{"repeat x text y", "want: repeat TIMES DIRECTIVE"},
		{"repeat 3 nothing y", "want: repeat TIMES DIRECTIVE"},
		{"repeat 3 delay y", "want: delay DURATION"},
		{"fill x", "want: fill BYTES"},
		{"cut now", "want: cut, without an argument"},
		{"expect role user", "a JSON pointer starts with /"},
		{"expect /a", "want: expect /POINTER VALUE"},
		{"expect-absent /a b", "want: expect-absent /POINTER"},
		{"expect-count /a b", "want: expect-count /POINTER NUMBER"},
		{"expect-header X", "want: expect-header NAME VALUE"},
		{"say a\nsay b", `script line 2: unknown directive "say"`},
	} {
		if _, err := ParseScript(tc.script); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: %v, want %q", tc.script, err, tc.want)
		}
	}
}

// The example of the doc comment, nearly all directives at once.
func TestParseKnowsAllDirectives(t *testing.T) {
	t.Parallel()
	s := script(t, "text a\r\nthought b\r\ncall add {\"a\":1} id=x sig=QQ==\nparts []\nfill 10\nfinish STOP\ndata {}\nraw \"\"\nusage 1 2\ndelay 1ms\nsplit 1\nrepeat 2 text x\nerror 429 retry=1s\nstatus 200\nheader A: b\nbody x\nredirect 301 /\nend\ncut\nreset\nstall\nhang\nexpect /a 1\nexpect-absent /a\nexpect-contains /a b\nexpect-count /a 1\nexpect-header A b\nloop\nlenient\n")
	if len(s.responses) != 1 || len(s.responses[0].steps) != 22 || len(s.responses[0].expects) != 5 || !s.loop || !s.lenient {
		t.Errorf("%+v", s)
	}
}

// No script may panic, neither when it is read nor when it is played.
func FuzzParseScript(f *testing.F) {
	f.Add("text a\ncall add {\"a\":1}\n---\nerror 429 retry=1s x\nloop")
	f.Add("usage 1 2 3\nparts [{\"functionCall\":{\"name\":\"a\"}}]\ndata {\"candidates\":[{}]}\nfinish STOP")
	f.Add("expect /contents/-/role user\nrepeat 2 raw \"\\xff\"\nstatus 204\nend")
	f.Fuzz(func(t *testing.T, text string) {
		for _, slow := range []string{"delay", "stall", "hang", "cut", "reset", "repeat", "fill"} {
			if strings.Contains(text, slow) {
				return
			}
		}
		s, err := ParseScript(text)
		if err != nil {
			return
		}
		r, err := http.NewRequest(http.MethodPost, streamPath, strings.NewReader(simtest.UserSays("hi")))
		if err != nil {
			t.Fatal(err)
		}
		New(Config{Script: s}).ServeHTTP(discard{http.Header{}}, r)
	})
}
