package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/config/configtest"
)

// Each kind of setting reads what it is for and refuses all else, in words that do not repeat
// the value.
func TestKinds(t *testing.T) {
	t.Parallel()
	var (
		text    string
		yes     bool
		number  int
		span    time.Duration
		word    string
		key     Secret
		zone    *time.Location
		list    []string
		portion float64
	)
	secret := "sEcReT-"
	for _, tt := range []struct {
		name    string
		setting Setting
		got     func() any
		good    map[string]any
		bad     []string
		message string
	}{
		{
			"text", Text("V", &text, "", ""), func() any { return text },
			map[string]any{"a b": "a b", "ü": "ü"}, []string{secret + "\x00"}, "must not hold a NUL",
		},
		{
			"bool", Bool("V", &yes, ""), func() any { return yes },
			map[string]any{"true": true, "false": false, "1": true, "F": false}, []string{"yes", secret, "2"}, "must be true or false",
		},
		{
			"int", Int("V", &number, 0, -1, 9, ""), func() any { return number },
			map[string]any{"-1": -1, "0": 0, "9": 9, "+3": 3}, []string{"-2", "10", "1.5", "1e0", secret}, "must be a whole number from -1 to 9",
		},
		{
			"float", floatSetting("V", &portion, 0, 2, ""), func() any { return portion },
			map[string]any{"0.001": 0.001, "2": 2.0, "1e-3": 0.001}, []string{"0", "-1", "2.01", "NaN", "Inf", secret}, "must be a number above 0, up to 2",
		},
		{
			"duration", Duration("V", &span, 0, ""), func() any { return span },
			map[string]any{"1ns": time.Nanosecond, "90s": 90 * time.Second, "2d": 48 * time.Hour, "1m30s": 90 * time.Second}, []string{"90", secret, "1.5d", "s"}, "must be a duration with its unit, such as 15s, 500ms or 1m30s",
		},
		{
			"duration above 0", Duration("V", &span, 0, ""), func() any { return span },
			nil, []string{"0", "0s", "-1s", "0d"}, "must be more than 0",
		},
		{
			"duration or none", DurationOrNone("V", &span, 0, ""), func() any { return span },
			map[string]any{"0": time.Duration(0), "0s": time.Duration(0), "1s": time.Second}, []string{"-1ns"}, "must not be less than 0",
		},
		{
			"word", OneOf("V", &word, "", []string{"up", "down"}, ""), func() any { return word },
			map[string]any{"up": "up", "down": "down"}, []string{"Up", "u", "up,down", secret}, "must be one of up, down",
		},
		{
			"key", Key("V", "W", &key, ""), func() any { return key.Reveal() },
			map[string]any{"abc-1": "abc-1", "~!": "~!"}, []string{secret + " x", secret + "é", secret + "\n"}, "must be printable ASCII without spaces",
		},
		{
			"zone", Zone("V", &zone, "", ""), func() any { return zone.String() },
			map[string]any{"UTC": "UTC", "Europe/Berlin": "Europe/Berlin"}, []string{"Berlin", "Local", "../etc/passwd", secret}, "must be an IANA time zone such as UTC or Europe/Berlin",
		},
		{
			"address", Address("V", &text, "", ""), func() any { return text },
			map[string]any{":8080": ":8080", "localhost:0": "localhost:0", "[::1]:65535": "[::1]:65535", "10.0.0.1:1": "10.0.0.1:1"}, []string{"h", ":", ":65536", ":http", "::1:80", "h h:1", secret}, "must be host:port or :port, with a port from 0 to 65535",
		},
		{
			"port", Func("V", "", "", "", Port(&text)), func() any { return text },
			map[string]any{"0": ":0", "8080": ":8080", "65535": ":65535"}, []string{":80", "65536", "-1", "x", secret}, "must be a port from 0 to 65535",
		},
		{
			"base URL", BaseURL("V", &text, "", ""), func() any { return text },
			map[string]any{"http://h": "http://h", "https://h:1/a//": "https://h:1/a"}, []string{"h", "ftp://h", secret}, "must begin with http:// or https://",
		},
		{
			"origins", Origins("V", &list, ""), func() any { return list },
			map[string]any{"*": []string{"*"}, "https://a.b": []string{"https://a.b"}, "https://a.b , http://c:1": []string{"https://a.b", "http://c:1"}}, []string{"https://a.b,*"}, "entry 2 must not be *, which stands alone",
		},
		{
			"words", Words("V", &list, []string{"up", "down"}, ""), func() any { return list },
			map[string]any{"none": []string{}, "up": []string{"up"}, "down , up": []string{"down", "up"}}, []string{"none,up", "up,", "UP", secret}, "must be none, or some of up, down",
		},
		{
			"hosts", Hosts("V", &list, ""), func() any { return list },
			map[string]any{"A.b": []string{"a.b"}, "[::1], 10.0.0.1": []string{"::1", "10.0.0.1"}}, []string{"a.b,http://c", "a.b,c:1", "a.b,"}, "entry 2 must be a host name or address, without scheme and port",
		},
	} {
		for value, want := range tt.good {
			if err := tt.setting.Parse(value); err != nil || !cmp.Equal(tt.got(), want) {
				t.Errorf("%s: %q is %v, %v, want %v", tt.name, value, tt.got(), err, want)
			}
		}
		for _, value := range tt.bad {
			if err := tt.setting.Parse(value); err == nil || err.Error() != tt.message || strings.Contains(err.Error(), secret) {
				t.Errorf("%s: %q: %v, want %s", tt.name, value, err, tt.message)
			}
		}
	}
}

// What people read of each kind: the default and the values.
func TestShownOfKinds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		setting             Setting
		def, shown, accepts string
	}{
		{Text("V", new(string), "a", ""), "a", "`a`", "text"},
		{Text("V", new(string), "", ""), "", "none", "text"},
		{Bool("V", new(bool), ""), "false", "`false`", "`true`, `false`"},
		{Int("V", new(int), 3, 1, 9, ""), "3", "`3`", "1 to 9"},
		{Int("V", new(int), 0, 1, 9, ""), "", "none", "1 to 9"},
		{Int("V", new(int), 0, 0, 9, ""), "0", "`0`", "0 to 9"},
		{floatSetting("V", new(float64), 0.25, 1, ""), "0.25", "`0.25`", "above 0, up to 1"},
		{floatSetting("V", new(float64), 0, 1, ""), "", "none", "above 0, up to 1"},
		{Duration("V", new(time.Duration), 90*time.Second, ""), "90s", "`90s`", "duration, above 0"},
		{Duration("V", new(time.Duration), 2*time.Minute, ""), "2m0s", "`2m0s`", "duration, above 0"},
		{DurationOrNone("V", new(time.Duration), 0, ""), "0s", "`0s`", "duration, or 0"},
		{OneOf("V", new(string), "up", []string{"up", "down"}, ""), "up", "`up`", "`up`, `down`"},
		{Key("V", "W", new(Secret), ""), "", "none", "printable ASCII"},
		{Zone("V", new(*time.Location), "UTC", ""), "UTC", "`UTC`", "IANA name"},
		{Text("V", new(string), "a", "").As("b"), "a", "b", "text"},
		{DataFile("V", new(string), new(bool), "x/y.db", ""), "", "`x/y.db` in the user's data folder", "path"},
		{TextFile("V", new(string), ""), "", "none", "path"},
		{Origins("V", new([]string), ""), "", "none", "origins"},
		{Words("V", new([]string), []string{"up", "down"}, ""), "up,down", "`up,down`", "`up`, `down`, or `none`"},
	} {
		if tt.setting.Default != tt.def || tt.setting.DefaultShown() != tt.shown || tt.setting.Values != tt.accepts {
			t.Errorf("%q, shown as %q, of %q; want %q, %q, %q", tt.setting.Default, tt.setting.DefaultShown(), tt.setting.Values, tt.def, tt.shown, tt.accepts)
		}
	}
}

// loadOne loads a table of one setting.
func loadOne(s Setting, w configtest.World, args ...string) error {
	_, err := NewLoader(func(*Config) Table { return Table{{Name: "one", Settings: []Setting{s}}} }).Load(args, w.Lookup, w.ReadFile)
	return err
}

// A flag wins over the variable, that over the second one, and that over the default; what is
// empty does not count.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		env  map[string]string
		args []string
		want string
	}{
		{"default", nil, nil, "default"},
		{"second", map[string]string{"W": "second"}, nil, "second"},
		{"variable", map[string]string{"W": "second", "SLUICE_V": "first"}, nil, "first"},
		{"flag", map[string]string{"W": "second", "SLUICE_V": "first"}, []string{"--v", "flag"}, "flag"},
		{"last flag", nil, []string{"--v", "flag", "-v=again"}, "again"},
		{"empty variable", map[string]string{"W": "second", "SLUICE_V": " "}, nil, "second"},
		{"empty flag", map[string]string{"SLUICE_V": "first"}, []string{"--v="}, "default"},
		{"empty flag and second", map[string]string{"W": "second", "SLUICE_V": "first"}, []string{"--v="}, "second"},
		{"blanks around", map[string]string{"SLUICE_V": " first\n"}, nil, "first"},
	} {
		got := ""
		s := Text("SLUICE_V", &got, "default", "").Or("W", textParser(&got))
		if err := loadOne(s, configtest.World{Env: tt.env}, tt.args...); err != nil || got != tt.want {
			t.Errorf("%s: %q, %v, want %q", tt.name, got, err, tt.want)
		}
	}
}

// A fault is listed under what held the value.
func TestNamesOfFaults(t *testing.T) {
	t.Parallel()
	n := 0
	for _, tt := range []struct {
		env  map[string]string
		args []string
		want string
	}{
		{map[string]string{"SLUICE_N": "x"}, nil, "SLUICE_N: must be a whole number from 1 to 9"},
		{nil, []string{"--n", "x"}, "SLUICE_N: must be a whole number from 1 to 9 (given as --n)"},
		{map[string]string{"W": "x"}, nil, "W: must not be this"},
		{map[string]string{"W": "x"}, []string{"--n="}, "W: must not be this"},
	} {
		s := Int("SLUICE_N", &n, 0, 1, 9, "").Or("W", func(string) error { return errors.New("must not be this") })
		if err := loadOne(s, configtest.World{Env: tt.env}, tt.args...); err == nil || err.Error() != tt.want {
			t.Errorf("%v %q: %v, want %s", tt.env, tt.args, err, tt.want)
		}
	}
}

// A file of text is read, and why one is not is said with its path and without its content.
func TestTextFile(t *testing.T) {
	t.Parallel()
	files := map[string]string{"good.txt": "be kind\n", "empty.txt": " \n", "binary.txt": "a\xffb", "most.txt": strings.Repeat("a", maxText), "long.txt": strings.Repeat("a", maxText+1)}
	for path, want := range map[string]string{
		"good.txt": "", "most.txt": "", "empty.txt": "the file is empty", "binary.txt": "the file is not UTF-8 text",
		"long.txt": fmt.Sprintf("the file has more than %d KiB", maxText>>10), "gone.txt": "there is no such file",
	} {
		got := ""
		err := loadOne(TextFile("V", &got, ""), configtest.World{Env: map[string]string{"V": path}, Files: files})
		if want == "" && (err != nil || got != files[path]) || want != "" && (err == nil || err.Error() != "V: "+path+": "+want || got != "") {
			t.Errorf("%s: %.20q, %v, want %q", path, got, err, want)
		}
	}
	if err := loadOne(TextFile("V", new(string), ""), configtest.World{Env: map[string]string{"V": "secret-0123"}}); err == nil || err.Error() != "V: there is no such file" {
		t.Errorf("a word that may be a secret: %v", err)
	}
	if err := loadOne(TextFile("V", new(string), ""), configtest.World{}); err != nil {
		t.Errorf("no path: %v", err)
	}
}

// Why a file cannot be read, without its path.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"there is no such file":    &fs.PathError{Op: "open", Path: "/secret", Err: os.ErrNotExist},
		"we may not read the file": fmt.Errorf("x: %w", fs.ErrPermission),
		ErrNoFile.Error():          fmt.Errorf("x: %w", ErrNoFile),
		ErrTooLarge.Error():        fmt.Errorf("x: %w", ErrTooLarge),
		"the file cannot be read":  errors.New("/secret is on fire"),
	} {
		if got := Unreadable(err); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
}

// Files are read in their order: File when all settings have their values, Document when all
// files before it are read, each with what it may look at.
func TestOrderOfFiles(t *testing.T) {
	t.Parallel()
	var order []string
	read := func(name string) func(string, []byte, Sources) []Fault {
		return func(path string, content []byte, from Sources) []Fault {
			value, _ := from.Lookup("N")
			order = append(order, fmt.Sprintf("%s %s %s %s", name, path, content, value))
			from.Hide("S", "hidden-value")
			return []Fault{{name, "at fault"}}
		}
	}
	n := 0
	table := func(c *Config) Table {
		return Table{{Name: "x", Settings: []Setting{
			Document("DOC", "", read("doc")), File("FILE", "", read("file")), Int("N", &n, 0, 1, 9, "").Finally(func(fault func(string)) {
				order = append(order, fmt.Sprint("settled ", n))
				fault("does not go with the rest")
			}),
		}}}
	}
	w := configtest.World{Env: map[string]string{"DOC": "d", "FILE": "f", "N": "3"}, Files: map[string]string{"d": "D", "f": "F"}}
	_, err := NewLoader(table).Load(nil, w.Lookup, w.ReadFile)
	if diff := cmp.Diff([]string{"file f F 3", "doc d D 3", "settled 3"}, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"file: at fault", "doc: at fault", "N: does not go with the rest"}, faults(t, err)); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	w.Env = map[string]string{"DOC": "./gone"}
	if _, err := NewLoader(table).Load(nil, w.Lookup, w.ReadFile); !strings.HasPrefix(err.Error(), "DOC: ./gone: there is no such file\n") {
		t.Errorf("a file that is not there: %v", err)
	}
}

// A fault of a bare port has the address that was meant, and one of a host without its scheme has the URL.
func TestNearlyRightValues(t *testing.T) {
	t.Parallel()
	var text string
	err := loadOne(Address("V", &text, "", ""), configtest.World{Env: map[string]string{"V": "18101"}})
	if want := "V: must be host:port or :port, with a port from 0 to 65535; did you mean :18101?"; err == nil || err.Error() != want {
		t.Errorf("a port: %v, want %q", err, want)
	}
	err = loadOne(BaseURL("V", &text, "", ""), configtest.World{Env: map[string]string{"V": "127.0.0.1:8080"}})
	if want := "V: must begin with http:// or https://; write http://127.0.0.1:8080"; err == nil || err.Error() != want {
		t.Errorf("a URL: %v, want %q", err, want)
	}
}

// A flag that nobody knows may have a value: an argument behind it is not a fault of its own. Faults of
// flags are those of the command line.
func TestUnknownFlagExplainsItsValue(t *testing.T) {
	t.Parallel()
	l := NewLoader(nil)
	l.MaxArgs = 1
	l.String("workflow", "", "")
	_, err := l.Load([]string{"--wrokflow", "x", "hi"}, configtest.World{}.Lookup, nil)
	if diff := cmp.Diff([]string{"--wrokflow: there is no such flag; did you mean --workflow?"}, faults(t, err)); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	if wrong, ok := errors.AsType[*Error](err); !ok || !wrong.OfFlags() {
		t.Errorf("%v is not a fault of the command line", err)
	}
	if both := (&Error{Faults: []Fault{{"--a", "x"}, {"SLUICE_ADDR", "x"}}}); both.OfFlags() {
		t.Error("a variable is a flag")
	}
}

// A name that is ours and that nothing reads is reported, with what was probably meant.
func TestUnknownVariables(t *testing.T) {
	t.Parallel()
	environ := []string{"SLUICE_ADR=secret", "SLUICE_ADDR=:1", "SLUICE_ENTIRELY_OTHER=secret", "OTHER=secret", "PORT=1", "SLUICE_"}
	want := []string{
		"SLUICE_: there is no such variable", "SLUICE_ADR: there is no such variable; did you mean SLUICE_ADDR?", "SLUICE_ENTIRELY_OTHER: there is no such variable",
	}
	for _, strict := range []bool{false, true} {
		l := NewLoader(func(c *Config) Table {
			c.Strict = strict
			return sections(c)
		})
		l.Environ = environ
		c, err := l.Load(nil, configtest.World{}.Lookup, configtest.World{}.ReadFile)
		got := c.Warnings
		if strict {
			got = faults(t, err)
		} else if err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("strict %t (-want +got):\n%s", strict, diff)
		}
	}
}

// A slip is found by its letters, and another word is none.
func TestNearest(t *testing.T) {
	t.Parallel()
	known := []string{"max_length", "max_parts", "deliver", "SLUICE_ADDR", "a"}
	for name, want := range map[string]string{
		"max_lenght": "max_length", "maxlength": "max_length", "MAX-PARTS": "max_parts", "max_part": "max_parts", "delivery": "deliver", "delvier": "deliver", "dlvr": "",
		"SLUICE_ADR": "SLUICE_ADDR", "sluice-addr": "SLUICE_ADDR", "b": "a", "bc": "", "": "a", "completely_different": "", strings.Repeat("x", 200): "",
	} {
		got, ok := Nearest(name, known)
		if got != want || ok != (want != "") {
			t.Errorf("%.20q is %q, want %q", name, got, want)
		}
	}
	for _, tt := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"", "ab", 2}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"abc", "axc", 1}, {"abc", "abxc", 1}, {"abcd", "badc", 2}, {"kitten", "sitting", 3}} {
		if got := editDistance(tt.a, tt.b); got != tt.want || editDistance(tt.b, tt.a) != tt.want {
			t.Errorf("from %q to %q are %d steps, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

// What is hidden is once in the list, and what is too short is named.
func TestHidden(t *testing.T) {
	t.Parallel()
	var c Config
	c.Hide("B", "short", "long-enough-2", "")
	c.Hide("A", "tiny")
	c.Hide("", "long-enough-1", "long-enough-2", "1234567")
	if got := c.Secrets(); !slices.Equal(got, []string{"long-enough-1", "long-enough-2"}) {
		t.Errorf("secrets %q", got)
	}
	if got := c.ShortSecrets(); !slices.Equal(got, []string{"A", "B"}) {
		t.Errorf("short ones of %q", got)
	}
	if got := (Config{}).Secrets(); len(got) != 0 {
		t.Errorf("of none: %q", got)
	}
	var key Secret
	s := Key("SLUICE_K", "W", &key, "")
	for _, variable := range []string{"SLUICE_K", "W"} {
		table := func(*Config) Table { return Table{{Name: "x", Settings: []Setting{s}}} }
		w := configtest.World{Env: map[string]string{variable: "k-123456789"}}
		c, err := NewLoader(table).Load(nil, w.Lookup, w.ReadFile)
		if err != nil || !slices.Equal(c.Secrets(), []string{"k-123456789"}) || key.Reveal() != "k-123456789" {
			t.Errorf("%s: hidden %q, %v", variable, c.Secrets(), err)
		}
	}
}
