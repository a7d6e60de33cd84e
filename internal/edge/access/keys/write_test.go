package keys

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/config"
	"sluice/internal/edge/access"
)

// adds is the variable by which the test binary is a process that adds keys to a file until
// it is killed, or has added ten.
const adds = "SLUICE_TEST_ADDS_KEYS"

func TestMain(m *testing.M) {
	path := os.Getenv(adds)
	if path == "" {
		os.Exit(m.Run())
	}
	for range 10 {
		e, _, err := Add(path, Entry{User: "ana"})
		if err != nil {
			os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		os.Stdout.WriteString(e.ID + "\n")
	}
}

func adder(t *testing.T, path string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), adds+"="+path)
	return cmd
}

func writeFile(t *testing.T, content string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "keys.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// wantAlone fails if the folder of a file has others: what a change leaves behind.
func wantAlone(t *testing.T, path string) {
	t.Helper()
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(files) != 1 && runtime.GOOS != "windows" {
		t.Errorf("%d files, %v", len(files), err)
	}
}

func TestAddMakesTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keys.yaml")
	given := Entry{User: "ana", Tenant: "acme", Scopes: []string{"chat", "inspect"}, Limits: "gold", Expires: until, NoteText: "a $HOME"}
	e, key, err := Add(path, given)
	if err != nil {
		t.Fatal(err)
	}
	second, _, err := Add(path, Entry{User: "bob"})
	if err != nil {
		t.Fatal(err)
	}
	want := given
	want.ID, want.Hash, want.Created = idOf(key), hashOf(key), e.Created
	got, err := List(path)
	if diff := cmp.Diff([]Entry{second, want}, got); diff != "" && err == nil { // the dollar needs the general reader
		t.Errorf("(-want +got)\n%s", diff)
	}
	if age := time.Since(time.Time(e.Created)); err != nil || age < 0 || age > time.Minute {
		t.Errorf("created %v ago, %v", age, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
		t.Errorf("%v, %v", info, err)
	}
	if strings.Contains(readFile(t, path), key[secretFrom:]) {
		t.Error("the key stands in the file")
	}
	r, err := Open(Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Verify(key); err != nil {
		t.Error(err)
	}
	wantAlone(t, path)
}

func TestAddRefuses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keys.yaml")
	_, key, err := Add(path, Entry{User: "a\nb", Scopes: []string{"root"}})
	if faults, ok := errors.AsType[*config.Error](err); !ok || len(faults.Faults) != 2 || key != "" {
		t.Errorf("%q, %v", key, err)
	}
	if _, _, err := Add(path, Entry{User: "\xff"}); err == nil {
		t.Error("a user that is no text was added")
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a file was made")
	}
	_, err = Revoke(path, "aaaaaaaaaa")
	if _, ok := errors.AsType[*config.Error](err); !ok {
		t.Errorf("a key of no file: %v", err)
	}
	for name, content := range map[string]string{
		"a fault":            "keys:\n- {}\n",
		"JSON":               `{"keys":[` + jsonLine("aaaaaaaaaa", "")[2:] + "]}",
		"a list in brackets": "keys: [" + strings.TrimSpace(jsonLine("aaaaaaaaaa", "")[2:]) + "]\n",
		"an end":             "keys:\n" + jsonLine("aaaaaaaaaa", "") + "...\n",
		"0 bytes":            "",
	} {
		path := writeFile(t, content)
		if _, _, err := Add(path, Entry{User: "ana"}); err == nil || readFile(t, path) != content {
			t.Errorf("%s: %v, and the file is %q", name, err, readFile(t, path))
		}
		wantAlone(t, path)
	}
}

func TestChangesKeepWhatIsThere(t *testing.T) {
	t.Parallel()
	block := "- id: bbbbbbbbbb\n  # ours\n  hash: " + hashB + "\n  user: bob\n  created: 2026-01-31T12:00:00Z\n"
	bob := Entry{ID: "bbbbbbbbbb", Hash: hashB, User: "bob", Created: since}
	off := bob
	off.Disabled = true
	a := jsonLine("aaaaaaaaaa", "")
	add := func(path string) (Entry, error) { e, _, err := Add(path, Entry{User: "eva"}); return e, err }
	revoke := func(path string) (Entry, error) { return Revoke(path, bob.ID) }
	tests := []struct {
		name, content string
		change        func(string) (Entry, error)
		want          string // NEW is the line of the entry that was added; empty: a refusal
	}{
		{"an empty list", "# ours\nkeys: [] # none yet\n", add, "# ours\nkeys: # none yet\nNEW"},
		{"a list that begins the file", "keys: []", add, "keys:\nNEW"},
		{"a list", "keys:\n" + block + "# the end", add, "keys:\n" + block + "# the end\nNEW"},
		{"an indented list", "keys:\n  " + strings.ReplaceAll(strings.TrimSpace(block), "\n", "\n  ") + "\n", add, "keys:\n  " + strings.ReplaceAll(strings.TrimSpace(block), "\n", "\n  ") + "\n  NEW"},
		{"revoke in a list", "keys:\n" + a + "\n# bob's\n" + block + "# next\n\n" + jsonLine("cccccccccc", ""), revoke,
			"keys:\n" + a + "\n# bob's\n" + off.Line() + "  # ours\n# next\n\n" + jsonLine("cccccccccc", "")},
		{"revoke a line", "keys:\n" + bob.Line() + a, revoke, "keys:\n" + off.Line() + a},
		{"revoke in an indented list", "keys:\n  " + bob.Line(), revoke, "keys:\n  " + off.Line()},
		{"an id in the note of another one", "keys:\n" + jsonLine("aaaaaaaaaa", `,"note":"not bbbbbbbbbb"`) + bob.Line(), revoke,
			"keys:\n" + jsonLine("aaaaaaaaaa", `,"note":"not bbbbbbbbbb"`) + off.Line()},
		{"revoke twice", "keys:\n" + off.Line(), revoke, "keys:\n" + off.Line()},
		{"a remark behind a value", "keys:\n" + strings.Replace(block, "bob\n", "bob # really\n", 1), revoke, ""},
		{"a remark behind an entry", "keys:\n" + strings.TrimSpace(bob.Line()) + " # bob\n", revoke, ""},
		{"no such key", "keys:\n" + a, revoke, ""},
		{"no keys", "keys: []\n", revoke, ""},
		{"JSON", `{"keys":[` + bob.Line()[2:] + "]}", revoke, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := writeFile(t, tt.content)
			if err := os.Chmod(path, 0o640); err != nil {
				t.Fatal(err)
			}
			e, err := tt.change(path)
			want := strings.Replace(tt.want, "NEW", e.Line(), 1)
			if tt.want == "" {
				want = tt.content
			}
			if (err != nil) != (tt.want == "") {
				t.Errorf("error %v", err)
			}
			if diff := cmp.Diff(want, readFile(t, path)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 && runtime.GOOS != "windows" {
				t.Errorf("%v, %v", info.Mode(), err)
			}
			wantAlone(t, path)
		})
	}
}

func TestRotate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Time(since)) + 24*time.Hour)
		at := func(d time.Duration) Moment { return Moment(time.Now().Add(d)) }
		tests := []struct {
			name         string
			old          Moment // when it ends
			grace        time.Duration
			oldEnds, new Moment
		}{
			{"without an end", Moment{}, 24 * time.Hour, at(24 * time.Hour), Moment{}},
			{"at once", Moment{}, 0, at(0), Moment{}},
			{"a later end", at(9 * 24 * time.Hour), time.Hour, at(time.Hour), at(10 * 24 * time.Hour)},
			{"an earlier end", at(time.Minute), time.Hour, at(time.Minute), at(24*time.Hour + time.Minute)},
		}
		for _, tt := range tests {
			old, oldKey := newKey("ana")
			old.Tenant, old.Scopes, old.Limits, old.NoteText, old.Expires = "acme", []string{"inspect"}, "gold", "desk", tt.old
			path := writeFile(t, "keys:\n"+old.Line())
			got, key, err := Rotate(path, old.ID, tt.grace)
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			next := old
			next.ID, next.Hash, next.Created, next.Expires = got.ID, hashOf(key), at(0), tt.new
			old.Expires = tt.oldEnds
			list, err := List(path)
			if diff := cmp.Diff([]Entry{old, next}, list); diff != "" || err != nil {
				t.Errorf("%s: %v (-want +got)\n%s", tt.name, err, diff)
			}
			if old.ID == next.ID || old.Hash == next.Hash || hashOf(oldKey) != old.Hash {
				t.Errorf("%s: the same key", tt.name)
			}
		}
		off, _ := newKey("ana")
		off.Disabled = true
		path := writeFile(t, "keys:\n"+off.Line())
		if _, _, err := Rotate(path, off.ID, time.Hour); !errors.Is(err, errEnded) {
			t.Errorf("a disabled key: %v", err)
		}
		if _, _, err := Rotate(path, "aaaaaaaaaa", time.Hour); !errors.Is(err, errUnknownID) {
			t.Errorf("a key that is not there: %v", err)
		}
	})
}

// A link stays one: the file that it leads to is changed.
func TestChangeFollowsLinks(t *testing.T) {
	t.Parallel()
	path := writeFile(t, "keys: []\n")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Add(link, Entry{User: "ana"}); err != nil {
		t.Fatal(err)
	}
	if entries, err := List(path); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("%v, %v", info, err)
	}
}

// A change that cannot be finished leaves the file, and nothing next to it.
func TestFailedWriteLeavesTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "folder")
	if err := os.MkdirAll(filepath.Join(path, "not empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := replaceFile(path, "keys: []\n", nil); err == nil {
		t.Error("a folder was replaced")
	}
	wantAlone(t, path)
}

// Processes that change a file at once lose nothing, and one that is killed leaves a file
// with all that it reported.
func TestProcessesChangeAFileAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keys.yaml")
	doomed := adder(t, path)
	out, err := doomed.StdoutPipe()
	if err == nil {
		err = doomed.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	lines := bufio.NewScanner(out)
	for len(ids) < 3 && lines.Scan() {
		ids = append(ids, lines.Text())
	}
	if err := doomed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	var others []*exec.Cmd
	var outputs []*strings.Builder
	for range 3 {
		cmd, out := adder(t, path), new(strings.Builder)
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		others, outputs = append(others, cmd), append(outputs, out)
	}
	for lines.Scan() {
		ids = append(ids, lines.Text())
	}
	_ = doomed.Wait() // it was killed
	for i, cmd := range others {
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%v: %s", err, outputs[i])
		}
		ids = append(ids, strings.Fields(outputs[i].String())...)
	}
	entries, err := List(path)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.ID)
	}
	for _, id := range ids {
		if !slices.Contains(got, id) {
			t.Errorf("the key %s is lost", id)
		}
	}
	if len(ids) < 33 || len(got) < len(ids) || len(got) > len(ids)+1 { // the killed one may not have come to report its last
		t.Errorf("%d keys of %d that were reported", len(got), len(ids))
	}
}

// What was added is a key that Verify knows, after a look.
func TestRevokedKeyIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keys.yaml")
	e, key, err := Add(path, Entry{User: "ana"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open(Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	who, err := r.Verify(key)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Revoke(path, e.ID); err != nil {
		t.Fatal(err)
	}
	r.Look()
	_, err = r.Verify(key)
	if refused, ok := errors.AsType[*access.Refused](err); !ok || refused.Reason != "disabled" || !who.Revoked() {
		t.Errorf("after Revoke: %v, revoked %v", err, who.Revoked())
	}
}
