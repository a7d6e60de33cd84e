package keys

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/config"
	"sluice/internal/edge/access"
	"sluice/internal/turn/chat"
)

// fixture is a key file of a test, and what its ring reported.
type fixture struct {
	*Ring
	t      *testing.T
	path   string
	writes int
	mu     sync.Mutex // guards events
	events []string
}

func (f *fixture) report(event ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = append(f.events, fmt.Sprint(event...))
}

// reported returns what was reported since the last call.
func (f *fixture) reported() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	events := f.events
	f.events = nil
	return events
}

// newFixture opens a ring of entries. It belongs into a bubble, whose time is the ring's.
func newFixture(t *testing.T, entries ...Entry) *fixture {
	t.Helper()
	f := &fixture{t: t, path: filepath.Join(t.TempDir(), "keys.yaml")}
	f.write(fileOf(entries...))
	ring, err := Open(Config{
		Path:     f.path,
		Reloaded: func(added, removed []string) { f.report("reloaded ", added, removed) },
		Rejected: func(err error) { f.report("rejected ", strings.TrimPrefix(err.Error(), f.path)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ring.Close)
	f.Ring = ring
	return f
}

// write puts a file in place of the one that is there, written a while ago.
func (f *fixture) write(content string) {
	f.t.Helper()
	f.writes++
	next := fmt.Sprint(f.path, f.writes)
	if err := os.WriteFile(next, []byte(content), 0o600); err != nil {
		f.t.Fatal(err)
	}
	f.touch(next, -time.Minute)
	if err := os.Rename(next, f.path); err != nil {
		f.t.Fatal(err)
	}
}

// touch sets when a file was written, from now.
func (f *fixture) touch(path string, from time.Duration) {
	f.t.Helper()
	at := time.Now().Add(from)
	if err := os.Chtimes(path, at, at); err != nil {
		f.t.Fatal(err)
	}
}

// pass lets the ring look at its file once.
func (f *fixture) pass() {
	time.Sleep(interval)
	synctest.Wait()
}

// wantEvents compares what was reported since the last call.
func (f *fixture) wantEvents(want ...string) {
	f.t.Helper()
	if diff := cmp.Diff(want, f.reported()); diff != "" {
		f.t.Errorf("events (-want +got)\n%s", diff)
	}
}

// want verifies a key; reason is why it is refused, or empty.
func (f *fixture) want(key, reason string) *access.Identity {
	f.t.Helper()
	who, err := f.Verify(key)
	refused, _ := errors.AsType[*access.Refused](err)
	switch {
	case reason == "" && err != nil:
		f.t.Errorf("%s is refused: %v", key, err)
	case reason != "" && (refused == nil || refused.Reason != reason):
		f.t.Errorf("%s gave %v and %v, want it refused as %s", key, who, err, reason)
	}
	return who
}

func fileOf(entries ...Entry) string {
	if len(entries) == 0 {
		return "keys: []\n"
	}
	text := "keys:\n"
	for _, e := range entries {
		text += e.Line()
	}
	return text
}

// newKey makes a key and its entry.
func newKey(user string) (Entry, string) {
	id, key := generateKey()
	return Entry{ID: id, Hash: hashOf(key), User: user, Created: since}, key
}

func TestVerify(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ana, anaKey := newKey("ana")
		bob, bobKey := newKey("bob")
		bob.Tenant, bob.Scopes, bob.Limits, bob.Expires = "acme", []string{"act_as", "chat"}, "gold", Moment(time.Now().Add(time.Hour))
		none, noneKey := newKey("none")
		none.Scopes = []string{}
		off, offKey := newKey("off")
		off.Disabled = true
		f := newFixture(t, ana, bob, none, off)

		plain := &access.Identity{Principal: chat.Principal{ID: "ana", Scopes: chat.ScopeChat, KeyID: ana.ID}, Method: access.ByKey}
		full := &access.Identity{
			Principal: chat.Principal{ID: "bob", Tenant: "acme", Scopes: chat.ScopeChat | chat.ScopeActAs, Class: "gold", KeyID: bob.ID},
			Method:    access.ByKey, Expires: time.Time(bob.Expires), Ends: time.Time(bob.Expires),
		}
		same := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Revoked" }, cmp.Ignore())
		if diff := cmp.Diff([]*access.Identity{plain, full}, []*access.Identity{f.want(anaKey, ""), f.want(bobKey, "")}, same); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		if who := f.want(noneKey, ""); who.Scopes != 0 {
			t.Errorf("a key without scopes has %v", who.Scopes)
		}
		f.want(offKey, "disabled")

		_, stranger := newKey("ana")
		foreign := prefix + ana.ID + stranger[len(prefix)+idLen:sumFrom]
		altered := []byte(anaKey)
		altered[secretFrom], altered[secretFrom+1] = altered[secretFrom+1], 'x'
		if anaKey[secretFrom+1] == 'x' {
			altered[secretFrom+1] = 'y'
		}
		for key, reason := range map[string]string{
			"":                            "malformed",
			"slk_":                        "malformed",
			anaKey + " ":                  "malformed",
			strings.ToUpper(anaKey):       "malformed",
			string(altered):               "checksum",
			stranger:                      "unknown",
			foreign + checksumOf(foreign): "unknown",
		} {
			f.want(key, reason)
		}
		if f.Len() != 4 || !f.IsCurrent() {
			t.Errorf("%d keys, current %v", f.Len(), f.IsCurrent())
		}
	})
}

// The time of a key is looked at on each use: to the second at which it is over, and no longer.
func TestExpiry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, key := newKey("ana")
		e.Expires = Moment(time.Now().Add(time.Minute).Truncate(time.Second))
		f := newFixture(t, e)
		who := f.want(key, "")
		time.Sleep(time.Until(time.Time(e.Expires)) - 1)
		f.want(key, "")
		if who.Revoked() {
			t.Error("the key counts as taken back before its end")
		}
		time.Sleep(time.Nanosecond)
		f.want(key, "expired")
		if !who.Revoked() {
			t.Error("the key counts after its end")
		}
	})
}

func TestChangesOfTheFile(t *testing.T) {
	t.Parallel()
	ana, anaKey := newKey("ana")
	bob, bobKey := newKey("bob")
	changed := func(of Entry, change func(*Entry)) Entry { change(&of); return of }
	tests := []struct {
		name    string
		content string
		event   string // empty: nothing is reported
		reason  string // of ana's key afterwards
		revoked bool   // whether the identity that she had is
	}{
		{"the same", fileOf(ana), "", "", false},
		{"another note", fileOf(changed(ana, func(e *Entry) { e.NoteText = "x" })), "", "", false},
		{"one more", fileOf(ana, bob), "reloaded [" + bob.ID + "] []", "", false},
		{"gone", fileOf(bob), "reloaded [" + bob.ID + "] [" + ana.ID + "]", "unknown", true},
		{"an empty list", "keys: []\n", "reloaded [] [" + ana.ID + "]", "unknown", true},
		{"disabled", fileOf(changed(ana, func(e *Entry) { e.Disabled = true })), "reloaded [] [" + ana.ID + "]", "disabled", true},
		{"another user", fileOf(changed(ana, func(e *Entry) { e.User = "eva" })), "reloaded [" + ana.ID + "] [" + ana.ID + "]", "", true},
		{"another tenant", fileOf(changed(ana, func(e *Entry) { e.Tenant = "t" })), "reloaded [" + ana.ID + "] [" + ana.ID + "]", "", true},
		{"fewer scopes", fileOf(changed(ana, func(e *Entry) { e.Scopes = []string{} })), "reloaded [" + ana.ID + "] [" + ana.ID + "]", "", true},
		{"another key of that id", fileOf(changed(ana, func(e *Entry) { e.Hash = bob.Hash })), "reloaded [" + ana.ID + "] [" + ana.ID + "]", "unknown", true},
		{"ended", fileOf(changed(ana, func(e *Entry) { e.Expires = since })), "", "expired", true},
		{"0 bytes", "", "rejected :1:1: the file is empty", "", false},
		{"half-written", fileOf(ana, bob)[:300], "rejected :3:", "", false},
		{"a fault", fileOf(bob) + "- {}\n", "rejected :3:", "", false},
		{"a word twice", fileOf(ana, ana), "rejected :3:", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(time.Time(since).Add(time.Hour))) // behind all times of the entries
				f := newFixture(t, ana)
				who := f.want(anaKey, "")
				f.write(tt.content)
				f.pass()
				f.pass()
				events := f.reported()
				if got := strings.Join(events, "\n"); !strings.HasPrefix(got, tt.event) || tt.event == "" && got != "" || len(events) > 1 {
					t.Errorf("events %q, want %q once", events, tt.event)
				}
				f.want(anaKey, tt.reason)
				if f.IsCurrent() == strings.HasPrefix(tt.event, "rejected") {
					t.Errorf("current is %v", f.IsCurrent())
				}
				if who.Revoked() != tt.revoked {
					t.Errorf("the identity is revoked: %v, want %v", who.Revoked(), tt.revoked)
				}
				f.write(fileOf(ana, bob))
				f.pass()
				f.want(anaKey, "")
				f.want(bobKey, "")
				if !f.IsCurrent() || who.Revoked() {
					t.Errorf("after a good file: current %v, revoked %v", f.IsCurrent(), who.Revoked())
				}
			})
		})
	}
}

// A file that does not count is reported once for each reason, and its return as well.
func TestRejectedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ana, key := newKey("ana")
		f := newFixture(t, ana)
		if err := os.Remove(f.path); err != nil {
			t.Fatal(err)
		}
		f.pass()
		f.pass()
		f.wantEvents("rejected : there is no such file")
		f.write("")
		f.pass()
		f.pass()
		f.wantEvents("rejected :1:1: the file is empty")
		f.want(key, "")
		f.write(fileOf(ana))
		f.pass()
		f.pass()
		f.wantEvents("reloaded [] []")
		if runtime.GOOS == "windows" {
			return
		}
		if err := os.Chmod(f.path, 0o602); err != nil {
			t.Fatal(err)
		}
		f.pass()
		f.pass()
		f.wantEvents("rejected : " + errWritable.Error())
		if err := os.Chmod(f.path, 0o660); err != nil {
			t.Fatal(err)
		}
		f.pass()
		f.wantEvents("reloaded [] []")
		if err := os.Chmod(f.path, 0o602); err != nil {
			t.Fatal(err)
		}
		f.pass()
		f.wantEvents("rejected : " + errWritable.Error())
	})
}

// A change that is undone is a change as well.
func TestThereAndBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ana, anaKey := newKey("ana")
		bob, bobKey := newKey("bob")
		f := newFixture(t, ana)
		f.write(fileOf(bob))
		f.Look()
		f.want(bobKey, "")
		f.write(fileOf(ana))
		f.Look()
		f.want(anaKey, "")
		f.want(bobKey, "unknown")
	})
}

// A file is read when it is another one, and only then: by its size, its time or its number.
func TestUnchangedFileIsNotRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ana, anaKey := newKey("ana")
		bob, _ := newKey("bob")
		f := newFixture(t, ana)
		before, err := os.Stat(f.path)
		if err != nil {
			t.Fatal(err)
		}
		// The same size, time and number: what nobody can see is not read.
		if err := os.WriteFile(f.path, []byte(fileOf(bob)), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(f.path, before.ModTime(), before.ModTime()); err != nil {
			t.Fatal(err)
		}
		f.pass()
		f.Look()
		f.want(anaKey, "")
		f.touch(f.path, -30*time.Second)
		f.Look()
		f.want(anaKey, "unknown")
		// The same number and time, and another size.
		if before, err = os.Stat(f.path); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.WriteFile(f.path, []byte(fileOf(bob, ana)), 0o600), os.Chtimes(f.path, before.ModTime(), before.ModTime())); err != nil {
			t.Fatal(err)
		}
		f.Look()
		f.want(anaKey, "")
		// The very file comes back.
		if err := os.Rename(f.path, f.path+".old"); err != nil {
			t.Fatal(err)
		}
		f.Look()
		if f.IsCurrent() {
			t.Error("a file that is gone counts as current")
		}
		if err := os.Rename(f.path+".old", f.path); err != nil {
			t.Fatal(err)
		}
		f.Look()
		if !f.IsCurrent() {
			t.Error("a file that is back does not count")
		}
	})
}

// A file that was written just before the start may still be written to in the same instant.
func TestFreshFileIsReadAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ana, anaKey := newKey("ana")
		bob, bobKey := newKey("bob")
		path := writeFile(t, fileOf(ana))
		at := time.Now()
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		r, err := Open(Config{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if err := errors.Join(os.WriteFile(path, []byte(fileOf(bob)), 0o600), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(calm)
		r.Look()
		if _, err := r.Verify(bobKey); err != nil {
			t.Error(err)
		}
		if _, err := r.Verify(anaKey); err == nil {
			t.Error("what was there at the start still counts")
		}
	})
}

// A mounted secret of Kubernetes is a link to a link to a folder, and changes by the latter.
func TestLinksAreFollowed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ana, anaKey := newKey("ana")
		bob, bobKey := newKey("bob")
		dir := t.TempDir()
		at := time.Now().Add(-time.Hour)
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		for name, e := range map[string]Entry{"..1": ana, "..2": bob} {
			must(os.Mkdir(filepath.Join(dir, name), 0o700))
			file := filepath.Join(dir, name, "keys.yaml")
			must(os.WriteFile(file, []byte(fileOf(e)), 0o400))
			must(os.Chtimes(file, at, at))
		}
		must(os.Symlink("..1", filepath.Join(dir, "..data")))
		must(os.Symlink(filepath.Join("..data", "keys.yaml"), filepath.Join(dir, "keys.yaml")))
		r, err := Open(Config{Path: filepath.Join(dir, "keys.yaml")})
		must(err)
		defer r.Close()
		if _, err := r.Verify(anaKey); err != nil {
			t.Fatal(err)
		}
		must(os.Symlink("..2", filepath.Join(dir, "..new")))
		must(os.Rename(filepath.Join(dir, "..new"), filepath.Join(dir, "..data")))
		r.Look()
		if _, err := r.Verify(anaKey); err == nil {
			t.Error("the key of the file before counts")
		}
		if _, err := r.Verify(bobKey); err != nil {
			t.Error(err)
		}
	})
}

// A file that is written in place is left until its writer is done: it may look like a good
// one that lacks keys.
func TestWriterIsWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ana, anaKey := newKey("ana")
		bob, bobKey := newKey("bob")
		f := newFixture(t, bob)
		whole := fileOf(bob, ana)
		half := fileOf(ana)
		if err := os.WriteFile(f.path, []byte(half), 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(interval - calm/2)
		f.touch(f.path, 0)
		var writer sync.WaitGroup
		writer.Go(func() {
			for _, content := range []string{half, whole} {
				time.Sleep(calm/2 + calm/4) // the first time while the ring waits, the second when it has
				if err := os.WriteFile(f.path, []byte(content), 0o600); err != nil {
					t.Error(err)
				}
				f.touch(f.path, 0)
			}
		})
		time.Sleep(calm / 2)
		f.want(bobKey, "")
		writer.Wait()
		f.pass()
		f.pass()
		f.want(bobKey, "")
		f.want(anaKey, "")
		f.wantEvents("reloaded [" + ana.ID + "] []")
	})
}

func TestOpenFaults(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	tests := map[string]string{
		filepath.Join(dir, "none"):          "none: there is no such file",
		dir:                                 "is no regular file",
		file("empty", "", 0o600):            "empty:1:1: the file is empty",
		file("bad", "keys:\n- {}\n", 0o600): "bad:2:3: /keys/0/",
	}
	if runtime.GOOS != "windows" {
		tests[file("open", "keys: []\n", 0o646)] = "open: others than its owner and group may write"
	}
	for path, want := range tests {
		r, err := Open(Config{Path: path})
		if faults, ok := errors.AsType[*config.Error](err); r != nil || !ok || !strings.Contains(faults.Error(), want) {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
}

// Keys are asked for while the file changes and the ring closes.
func TestVerifyWhileTheFileChanges(t *testing.T) {
	t.Parallel()
	ana, anaKey := newKey("ana")
	bob, bobKey := newKey("bob")
	path := filepath.Join(t.TempDir(), "keys.yaml")
	write := func(content string) {
		old := time.Now().Add(-time.Hour)
		next := path + ".next"
		if err := errors.Join(os.WriteFile(next, []byte(content), 0o600), os.Chtimes(next, old, old), os.Rename(next, path)); err != nil {
			t.Error(err)
		}
	}
	write(fileOf(ana))
	r, err := Open(Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 500 {
				if who, err := r.Verify(anaKey); err != nil || who.ID != "ana" || who.Revoked() {
					t.Errorf("%v, %v", who, err)
				}
				if who, err := r.Verify(bobKey); err == nil {
					_ = who.Revoked()
				}
			}
		})
	}
	for i := range 50 {
		if i%2 == 0 {
			write(fileOf(ana, bob))
		} else {
			write(fileOf(ana))
		}
		r.Look()
	}
	all.Wait()
	r.Close()
	r.Close()
	if _, err := r.Verify(anaKey); err != nil {
		t.Errorf("after Close: %v", err)
	}
}

func TestVerifyAllocatesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, key := newKey("ana")
		e.Expires = Moment(time.Now().Add(time.Hour))
		f := newFixture(t, e)
		_, stranger := newKey("bob")
		for _, k := range []string{key, stranger, key[:20]} {
			if n := testing.AllocsPerRun(100, func() { f.Verify(k) }); n != 0 {
				t.Errorf("%v allocations for a key", n)
			}
		}
	})
}

func FuzzVerify(f *testing.F) {
	id, key := generateKey()
	for _, seed := range []string{"", key, key[:20], key + "x", "slk_", strings.Repeat("slk_", 13) + "ab"} {
		f.Add(seed)
	}
	r := &Ring{}
	e := Entry{ID: id, Hash: hashOf(key), User: "ana", Created: since}
	r.keys.Store(r.keysOf([]Entry{e}))
	f.Fuzz(func(t *testing.T, credential string) {
		who, err := r.Verify(credential)
		if (err == nil) != (credential == key) || (err == nil) != (who != nil) {
			t.Errorf("%q: %v, %v", credential, who, err)
		}
	})
}

// manyKeys is a file of as many keys as there may be, and one of them.
func manyKeys(t testing.TB) (path, key string) {
	var file strings.Builder
	file.WriteString("keys:\n")
	for i := range maxKeys {
		var e Entry
		e, key = newKey(fmt.Sprint("user-", i))
		e.Tenant, e.Scopes = "acme", []string{"chat", "approve"}
		file.WriteString(e.Line())
	}
	path = filepath.Join(t.TempDir(), "keys.yaml")
	if err := os.WriteFile(path, []byte(file.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, key
}

func BenchmarkVerify(b *testing.B) {
	path, key := manyKeys(b)
	r, err := Open(Config{Path: path})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Verify(key); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpen100000(b *testing.B) {
	path, _ := manyKeys(b)
	for b.Loop() {
		r, err := Open(Config{Path: path})
		if err != nil {
			b.Fatal(err)
		}
		r.Close()
	}
}

// The longest of all checks of a key, each of which is a pause for somebody, while 100,000
// keys are read again.
func BenchmarkPauseAtReload(b *testing.B) {
	path, key := manyKeys(b)
	old := time.Now().Add(-time.Hour)
	r, err := Open(Config{Path: path})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	var longest time.Duration
	for b.Loop() {
		old = old.Add(time.Second)
		content, err := os.ReadFile(path)
		if err == nil {
			err = errors.Join(os.WriteFile(path, append(content, "# x\n"...), 0o600), os.Chtimes(path, old, old))
		}
		if err != nil {
			b.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			r.Look()
			close(done)
		}()
		for open := true; open; {
			begun := time.Now()
			_, err := r.Verify(key)
			longest = max(longest, time.Since(begun))
			if err != nil {
				b.Fatal(err)
			}
			select {
			case <-done:
				open = false
			default:
				time.Sleep(100 * time.Microsecond)
			}
		}
	}
	b.ReportMetric(float64(longest.Microseconds())/1000, "ms-longest")
}
