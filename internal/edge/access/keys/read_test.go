package keys

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/config"
)

var (
	hashA = hashOf("a")
	hashB = hashOf("b")
	since = Moment(time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC))
	until = Moment(time.Date(2027, 1, 31, 12, 0, 0, 0, time.UTC))
)

func (m Moment) Equal(other Moment) bool { return time.Time(m).Equal(time.Time(other)) }

// jsonLine is an entry as the command writes it.
func jsonLine(id, more string) string {
	return fmt.Sprintf(`- {"id":%q,"hash":%q,"user":"ana"%s,"created":"2026-01-31T12:00:00Z"}`, id, hashA, more) + "\n"
}

func TestReadEntries(t *testing.T) {
	t.Parallel()
	ana := Entry{ID: "aaaaaaaaaa", Hash: hashA, User: "ana", Created: since}
	bob := Entry{
		ID: "bbbbbbbbbb", Hash: hashB, User: "bob", Tenant: "acme", Scopes: []string{"chat:readonly", "inspect"}, Limits: "gold",
		Expires: until, Disabled: true, Created: since, NoteText: "of the desk: #4",
	}
	block := "- id: bbbbbbbbbb # the desk's\n  hash: " + hashB + "\n  user: bob\n  tenant: acme\n  scopes:\n    - chat:readonly\n    - inspect\n" +
		"  limits: gold\n  expires: 2027-01-31T13:00:00+01:00\n  disabled: true\n  created: 2026-01-31T12:00:00Z\n  note: 'of the desk: #4'\n"
	short := jsonLine("cccccccccc", "")
	flow := "- {id: aaaaaaaaaa, hash: \"" + hashA + "\", user: ana, created: 2026-01-31T12:00:00Z}\n"
	tests := []struct {
		name, content string
		want          []Entry
	}{
		{"none", "keys: []\n", nil},
		{"no line end", "keys: []", nil},
		{"JSON without any", `{"keys":[]}`, nil},
		{"as the command writes it", "keys:\n" + jsonLine("aaaaaaaaaa", ""), []Entry{ana}},
		{"its last line without an end", "keys:\n" + strings.TrimSpace(jsonLine("aaaaaaaaaa", "")), []Entry{ana}},
		{"flow", "keys:\n" + flow, []Entry{ana}},
		{"block", "keys:\n" + block, []Entry{bob}},
		{"indented", "keys:\n  " + flow, []Entry{ana}},
		{"all forms, and remarks", "# ours\n---\n\nkeys: # all\n# the first\n" + jsonLine("aaaaaaaaaa", "") + "  # of bob\n\n" + block, []Entry{ana, bob}},
		{"line ends of another system", "keys:\r\n" + strings.ReplaceAll(jsonLine("aaaaaaaaaa", ""), "\n", "\r\n"), []Entry{ana}},
		{"a byte order mark", "\ufeffkeys:\n" + jsonLine("aaaaaaaaaa", ""), []Entry{ana}},
		{"JSON", `{"keys": [` + jsonLine("aaaaaaaaaa", "")[2:] + `]}`, []Entry{ana}},
		{"a list in brackets", "keys: [" + flow[2:len(flow)-1] + "]\n", []Entry{ana}},
		{"no scopes at all", "keys:\n" + jsonLine("aaaaaaaaaa", `,"scopes":[]`), []Entry{{ID: ana.ID, Hash: ana.Hash, User: "ana", Scopes: []string{}, Created: since}}},
		{"no scopes at all, by hand", "keys:\n" + strings.Replace(flow, "user:", "scopes: [], user:", 1), []Entry{{ID: ana.ID, Hash: ana.Hash, User: "ana", Scopes: []string{}, Created: since}}},
		{"a dollar", "keys:\n" + jsonLine("aaaaaaaaaa", `,"note":"5 $$"`), []Entry{{ID: ana.ID, Hash: ana.Hash, User: "ana", Created: since, NoteText: "5 $"}}},
		{"a word like null", "keys:\n" + jsonLine("aaaaaaaaaa", `,"note":"null"`), []Entry{{ID: ana.ID, Hash: ana.Hash, User: "ana", Created: since, NoteText: "null"}}},
		{"an entry within a text", "keys:\n" + strings.Replace(block, "'of the desk: #4'", "|-\n    "+strings.TrimSpace(short), 1), func() []Entry { e := bob; e.NoteText = strings.TrimSpace(short); return []Entry{e} }()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := readEntries("k", []byte(tt.content))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// Each fault has its place, and holds nothing of the file.
func TestReadFaults(t *testing.T) {
	t.Parallel()
	a, b := jsonLine("aaaaaaaaaa", ""), jsonLine("bbbbbbbbbb", "")
	with := func(old, other string) string { return "keys:\n" + b + strings.Replace(a, old, other, 1) }
	tests := []struct {
		name, content string
		want          string // in the first fault
	}{
		{"empty", "", "k:1:1: the file is empty"},
		{"white space", " \n\n", "k:1:1: the file is empty"},
		{"remarks", "# none\n", "k:1:1: the file is empty"},
		{"no list", "keys:\n", "/keys: must be"},
		{"null", "keys: null\n", "/keys: must be"},
		{"no key", "{}", "k: must have the list keys"},
		{"another key", "keys: []\nother: 1\n", "k:2:1: /other: "},
		{"another key after entries", "keys:\n" + a + "other: 1\n", "k:3:1: /other: "},
		{"a list alone", a, "k:1:1: must be an object"},
		{"an object", "keys: {}\n", "/keys: must be"},
		{"not UTF-8", "keys: []\n# \xff", "is not UTF-8"},
		{"cut in the middle", "keys:\n" + b + a[:60], "k:3:"},
		{"cut in JSON", `{"keys":[` + a[2:60], "k:1:"},
		{"id", with("aaaaaaaaaa", "aaaaaaaaaA"), "k:3:9: /keys/0/id: must be 10 of"},
		{"hash", with("sha256:", "sha1:"), "/keys/0/hash: must be sha256:"},
		{"hash in upper case", with(hashA, "sha256:"+strings.ToUpper(hashA[7:])), "/hash: must be sha256:"},
		{"no user", with(`"user":"ana",`, ""), "/user: is required"},
		{"user empty", with(`"ana"`, `""`), "/user: must have 1 to 256"},
		{"user too long", with(`"ana"`, `"`+strings.Repeat("ä", 257)+`"`), "/user: must have 1 to 256"},
		{"user with a control", with(`"ana"`, `"a\u0000na"`), "/user: must have 1 to 256"},
		{"user with a line end", with(`"ana"`, `"ana\n"`), "/user: must have 1 to 256"},
		{"user a number", with(`"ana"`, `7`), "/user: must be"},
		{"user null", with(`"ana"`, `null`), "/user: must be"},
		{"tenant", with(`"ana"`, `"ana","tenant":"_x"`), "/tenant: must be up to 64"},
		{"tenant too long", with(`"ana"`, `"ana","tenant":"`+strings.Repeat("a", 65)+`"`), "/tenant: must be up to 64"},
		{"scope", with(`"ana"`, `"ana","scopes":["chat","root"]`), "/scopes: must be of chat, "},
		{"scopes null", with(`"ana"`, `"ana","scopes":null`), "/scopes: must be"},
		{"scopes a text", with(`"ana"`, `"ana","scopes":"chat"`), "/scopes: must be"},
		{"class", with(`"ana"`, `"ana","limits":"Gold"`), "/limits: must be up to 64"},
		{"expires", with(`"ana"`, `"ana","expires":"tomorrow"`), "/expires: must be a time"},
		{"expires at the zero time", with(`"ana"`, `"ana","expires":"0001-01-01T00:00:00Z"`), "/expires: must be a time"},
		{"created", with("2026-01-31T12:00:00Z", "2026-01-31"), "/created: must be a time"},
		{"no created", with(`,"created":"2026-01-31T12:00:00Z"`, ""), "/created: is required"},
		{"disabled", with(`"ana"`, `"ana","disabled":"yes"`), "/disabled: must be"},
		{"note", with(`"ana"`, `"ana","note":"`+strings.Repeat("x", 257)+`"`), "/note: must have at most"},
		{"unknown member", with(`"ana"`, `"ana","scope":"chat"`), "/scope: "},
		{"a member twice", with(`"ana"`, `"ana","user":"bob"`), "is given twice"},
		{"another case", with(`"user"`, `"User"`), "/User: "},
		{"an id twice", "keys:\n" + a + b + a, "k:4:9: /keys/0/id: is given twice"},
		{"an id twice in JSON", `{"keys":[` + a[2:] + "," + a[2:] + "]}", "is given twice"},
		{"a variable", with(`"ana"`, `"${HOME}"`), "/user: the variable HOME is not set"},
		{"two documents", "keys:\n" + a + "---\nkeys: []\n", "one document"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			entries, err := readEntries("k", []byte(tt.content))
			faults, ok := errors.AsType[*config.Error](err)
			if !ok || len(entries) > 0 {
				t.Fatalf("got %v and %v, want a fault", entries, err)
			}
			if !strings.Contains(faults.Error(), tt.want) {
				t.Errorf("got\n%s\nwant %s", faults, tt.want)
			}
			for _, secret := range []string{hashA[10:], "HOMEDRIVE", "tomorrow", "Gold"} {
				if strings.Contains(faults.Error(), secret) {
					t.Errorf("%q stands in %s", secret, faults)
				}
			}
		})
	}
}

// All faults of a file come at once, with their lines, up to a number.
func TestReadListsFaults(t *testing.T) {
	t.Parallel()
	var file strings.Builder
	file.WriteString("keys:\n")
	for i := range 2000 {
		id := fmt.Sprintf("%010d", i)
		if i == 700 || i == 1900 {
			id = "x"
		}
		fmt.Fprintf(&file, "- id: %q\n  hash: %s\n  user: u\n  created: 2026-01-31T12:00:00Z\n", id, hashA)
	}
	_, err := readEntries("k", []byte(file.String()))
	faults, _ := errors.AsType[*config.Error](err)
	if faults == nil || len(faults.Faults) != 2 || !strings.HasPrefix(faults.Faults[0].Name, "k:2802:") || !strings.HasPrefix(faults.Faults[1].Name, "k:7602:") {
		t.Errorf("got %v, want a fault in the lines 2802 and 7602", err)
	}
	_, err = readEntries("k", []byte("keys:\n"+strings.Repeat("- {\"id\":7}\n", 5000)))
	if faults, _ = errors.AsType[*config.Error](err); faults == nil || len(faults.Faults) < enoughFaults || len(faults.Faults) > 5*batch {
		t.Errorf("5000 bad entries gave %d faults", len(faults.Faults))
	}
}

func TestReadBounds(t *testing.T) {
	t.Parallel()
	var file strings.Builder
	file.WriteString("keys:\n")
	for i := range maxKeys {
		file.WriteString(jsonLine(fmt.Sprintf("%010d", i), ""))
	}
	entries, err := readEntries("k", []byte(file.String()))
	if err != nil || len(entries) != maxKeys {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	if _, err = readEntries("k", []byte(file.String()+jsonLine("aaaaaaaaaa", ""))); err == nil || !strings.Contains(err.Error(), "k:100002:") || !strings.Contains(err.Error(), "more than 100,000") {
		t.Errorf("one more: %v", err)
	}
	whole := strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(file.String(), "keys:\n- "), "\n"), "\n- ", ",")
	if _, err = readEntries("k", []byte(`{"keys":[`+whole+","+jsonLine("aaaaaaaaaa", "")[2:]+"]}")); err == nil {
		t.Error("one more as JSON is read")
	}
	if _, err = readEntries("k", make([]byte, maxSize+1)); err == nil || !strings.Contains(err.Error(), "64 MiB") {
		t.Errorf("a file too large: %v", err)
	}
}

// The general reader begins at the beginning.
func TestFaultOfJSONIsReportedOnce(t *testing.T) {
	t.Parallel()
	_, err := readEntries("k", []byte(`{"keys":[`+jsonLine("aaaaaaaaaa", "")[2:]+","+jsonLine("bbbbbbbbbB", "")[2:]+"]}"))
	if faults, ok := errors.AsType[*config.Error](err); !ok || len(faults.Faults) != 1 || !strings.Contains(faults.Error(), "/keys/1/id: ") {
		t.Errorf("got %v", err)
	}
}

// What the command writes is read as it was meant, and without the general reader.
func TestLine(t *testing.T) {
	t.Parallel()
	for _, e := range []Entry{
		{ID: "aaaaaaaaaa", Hash: hashA, User: "ana", Created: since},
		{ID: "bbbbbbbbbb", Hash: hashB, User: `a"b: ${X} # {`, Tenant: "t", Scopes: []string{}, Limits: "l", Expires: until, Disabled: true, Created: since, NoteText: "$$ null – 😀 \u200d"},
	} {
		got, err := readEntries("k", []byte("keys:\n"+e.Line()))
		if err != nil {
			t.Errorf("%s: %v", e.Line(), err)
		}
		if diff := cmp.Diff([]Entry{e}, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"", "keys: []", "keys:\n" + jsonLine("aaaaaaaaaa", ""), `{"keys":[]}`, "keys:\n- id: a\n  hash: |\n    x\n- {}\n", "keys:\n  - {\"id\": null}\n- x",
		"---\nkeys: # x\n\t- a\n", "keys:\n- &a {}\n- *a\n", "keys: [{}]\n", "keys:\n- {\"id\":\"aaaaaaaaaa\"} # x\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content string) {
		entries, err := readEntries("k", []byte(content))
		if err != nil {
			if faults, ok := errors.AsType[*config.Error](err); !ok || len(faults.Faults) == 0 || entries != nil {
				t.Fatalf("entries %v, error %v", entries, err)
			}
			return
		}
		seen := map[string]bool{}
		for _, e := range entries {
			if len(e.findFlaws()) > 0 || seen[e.ID] {
				t.Fatalf("%+v was read", e)
			}
			seen[e.ID] = true
		}
		// The general reader agrees, where it reads a file of that size.
		r := &reader{name: "k", seen: map[string]bool{}}
		r.readYAML([]byte(strings.TrimPrefix(content, "\ufeff")))
		if len(r.faults) > 0 {
			t.Skip("the library of YAML refuses more than JSON needs")
		}
		if diff := cmp.Diff(entries, r.entries); diff != "" {
			t.Fatalf("%q\n(-fast +general)\n%s", content, diff)
		}
	})
}

func BenchmarkRead100000(b *testing.B) {
	var file strings.Builder
	file.WriteString("keys:\n")
	for i := range maxKeys {
		file.WriteString(jsonLine(fmt.Sprintf("%010d", i), ""))
	}
	content := []byte(file.String())
	b.SetBytes(int64(len(content)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := readEntries("k", content); err != nil {
			b.Fatal(err)
		}
	}
}
