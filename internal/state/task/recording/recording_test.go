package recording

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"sluice/internal/base/fault"
	"sluice/internal/turn/tool"
)

// turn answers with body, as a turn does.
func turn(body ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		for i, part := range body {
			_, _ = io.WriteString(w, part)
			if i == 0 {
				From(r.Context()).Begin("")
			}
		}
	})
}

// serve sends a request to a handler that is recorded.
func serve(r *Recorder, h http.Handler, target string) string {
	req := httptest.NewRequest(http.MethodPost, target, strings.NewReader(`{"input":"hi"}`))
	req.Header.Set("Authorization", "Bearer canary")
	req.Header.Set("Cookie", "canary")
	out := httptest.NewRecorder()
	defer func() { _ = recover() }()
	r.Handler(h, true).ServeHTTP(out, req)
	return out.Body.String()
}

// listed returns the recordings of a folder, oldest first.
func listed(dir string) ([]string, error) { return filepath.Glob(filepath.Join(dir, "turn-*.slrec")) }

// only returns the one recording of a folder.
func only(t *testing.T, dir string) []byte {
	t.Helper()
	list, err := listed(dir)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	content, err := os.ReadFile(list[0])
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// A recording that is not whole, not as it was written, or of a later version is refused,
// wherever it was cut and whichever of its bytes was changed.
func TestRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := New(Config{Dir: dir, Version: "1.2"})
	serve(r, turn("event: start\n\n", "\xff\xfe"), "/chat/stream?ticket=canary&a=b")
	r.Close()
	content := only(t, dir)
	if bytes.Contains(content, []byte("canary")) {
		t.Errorf("a key was recorded: %s", content)
	}
	got, err := Read(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	if body := string(got.Body()); body != "event: start\n\n\xff\xfe" || string(got.Request.Body) != `{"input":"hi"}` || got.Request.Target != "/chat/stream?a=b" || !got.Stored || got.Version != "1.2" {
		t.Errorf("%q, %+v", body, got.Head)
	}
	for i := range content {
		if _, err := Read(bytes.NewReader(content[:i])); !errors.Is(err, errCut) && (i >= 20 || !errors.Is(err, errNone)) {
			t.Fatalf("cut at %d: %v", i, err)
		}
		changed := bytes.Clone(content)
		changed[i] ^= 1
		if _, err := Read(bytes.NewReader(changed)); err == nil {
			t.Fatalf("byte %d was changed: %s", i, changed)
		}
	}
	if _, err := Read(io.MultiReader(bytes.NewReader(content), strings.NewReader("x"))); !errors.Is(err, errAltered) {
		t.Errorf("with something behind it: %v", err)
	}
	if _, err := Read(io.LimitReader(zeros{}, 1<<32)); !errors.Is(err, errNone) {
		t.Errorf("a file without an end: %v", err)
	}
	if _, err := Read(io.MultiReader(bytes.NewReader(content[:bytes.IndexByte(content, '\n')+1]), io.LimitReader(zeros{}, 1<<32))); !errors.Is(err, errAltered) {
		t.Errorf("a line without an end: %v", err)
	}
	newer := bytes.Replace(content, []byte(`"sluice_recording":1`), []byte(`"sluice_recording":2`), 1)
	if _, err := Read(bytes.NewReader(newer)); !errors.Is(err, errNewer) {
		t.Errorf("of a newer version: %v", err)
	}
	if _, err := Read(strings.NewReader("hello")); !errors.Is(err, errNone) {
		t.Error(err)
	}
}

// What runs no turn leaves nothing, nor does a turn that is larger than the folder may be.
// Recordings stay until the folder is full, the oldest go first, and no other file does.
func TestFolderKeepsItsBound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	other := filepath.Join(dir, "turn-mine.txt")
	if err := os.WriteFile(other, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	r := New(Config{Dir: dir, Max: 10_000, Log: zerolog.New(&log)})
	serve(r, http.NotFoundHandler(), "/none")
	serve(r, turn("x", strings.Repeat("y", 20_000)), "/large")
	for i := range 20 {
		serve(r, turn("x", strings.Repeat("y", 2_000)), fmt.Sprint("/", i))
	}
	r.Close()
	list, err := listed(dir)
	if err != nil {
		t.Fatal(err)
	}
	var targets []string
	total := int64(0)
	for _, name := range list {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Read(bytes.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		targets = append(targets, got.Request.Target)
		total += int64(len(content))
	}
	if diff := cmp.Diff([]string{"/16", "/17", "/18", "/19"}, targets); diff != "" || total > 10_000 {
		t.Errorf("%d bytes (-want +got):\n%s", total, diff)
	}
	if _, err := os.Stat(other); err != nil {
		t.Error(err)
	}
	if !strings.Contains(log.String(), "SLUICE_RECORD_MAX") {
		t.Errorf("the log has %s", log.String())
	}
}

// A folder that cannot be written, a disk that fails and a recorder that has ended cost
// recordings, and no turn; the log has it once.
func TestTurnsGoOnWithoutARecording(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, where := range map[string]string{"no folder": filepath.Join(file, "rec"), "disk": filepath.Join(dir, "rec")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			r := New(Config{Dir: where, Log: zerolog.New(&log)})
			if name == "disk" { // a file that takes no bytes
				create := r.create
				r.create = func() (*file2, error) {
					f, err := create()
					if err == nil {
						_ = f.Close()
					}
					return f, err
				}
			}
			for range 3 {
				if got := serve(r, turn("a", "b"), "/"); got != "ab" {
					t.Errorf("the client got %q", got)
				}
			}
			r.Close()
			if got := serve(r, turn("a", "b"), "/"); got != "ab" {
				t.Errorf("behind Close the client got %q", got)
			}
			if list, _ := listed(where); len(list) > 0 {
				t.Errorf("there is %q", list)
			}
			if n := strings.Count(log.String(), "recording_failed"); n != 1 {
				t.Errorf("the log has %d lines:\n%s", n, log.String())
			}
		})
	}
	var none *Recorder
	none.Close()
	From(context.Background()).Begin("")
}

// file2 has a name that no variable of the test hides.
type file2 = file

// Turns at the same time have recordings of their own, each whole.
func TestTurnsAtTheSameTime(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := New(Config{Dir: dir})
	var group sync.WaitGroup
	for i := range 50 {
		group.Go(func() {
			parts := make([]string, 20)
			for k := range parts {
				parts[k] = fmt.Sprint(i, ";")
			}
			serve(r, turn(parts...), fmt.Sprint("/", i))
		})
	}
	group.Wait()
	r.Close()
	list, _ := listed(dir)
	for _, name := range list {
		content, _ := os.ReadFile(name)
		got, err := Read(bytes.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		if want := strings.Repeat(strings.TrimPrefix(got.Request.Target, "/")+";", 20); string(got.Body()) != want {
			t.Errorf("%s: %s", got.Request.Target, got.Body())
		}
	}
	if len(list) != 50 {
		t.Errorf("%d recordings", len(list))
	}
}

// A reply that was cut off is compared as far as its client got it; and what a turn received
// that no recording holds is reported with it.
func TestAbortedAndContinued(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := New(Config{Dir: dir})
	serve(r, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.WriteString(w, "a\n\nb\n\nhal")
		From(req.Context()).Begin("")
		From(req.Context()).Begin("a memory")
		panic(http.ErrAbortHandler)
	}), "/")
	r.Close()
	got, err := Read(bytes.NewReader(only(t, dir)))
	if err != nil {
		t.Fatal(err)
	}
	if got.Continues != "a memory" {
		t.Errorf("it continues %q", got.Continues)
	}
	if d, _ := got.Compare([]byte("a\n\nb\n\nhalf\n\nc\n\n")); d != nil {
		t.Error(d)
	}
	if d, _ := got.Compare([]byte("a\n\nx\n\n")); d == nil || d.Event != 2 {
		t.Error(d)
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	body := func(text string) *Recording {
		data := Text(text)
		return &Recording{Entries: []Entry{{Kind: kindOut, Data: &data}}}
	}
	const one = "retry: 1000\nid: turn_aaaaaaaaaaaaaaaa:1\ndata: {\"task_id\":\"task_aaaaaaaaaaaaaaaa\",\"duration_ms\":12,\"at\":\"2026-01-02T03:04:05Z\"}\n\n: ping\n\ndata: {\"turn\":\"turn_aaaaaaaaaaaaaaaa\"}\n\n"
	for text, differs := range map[string]int{
		one: 0,
		strings.NewReplacer("aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb", ":12,", ":7,", ": ping\n\n", "", "2026", "2027").Replace(one): 0,
		strings.Replace(one, `{"turn":"turn_aaaaaaaaaaaaaaaa"}`, `{"turn":"turn_bbbbbbbbbbbbbbbb"}`, 1):                           2, // another turn
		strings.Replace(one, "duration_ms", "duration", 1):                                                                        1,
		strings.Replace(one, "data: {\"turn", "data:  {\"turn", 1):                                                                2,
		one + "data: {}\n\n": 3,
		"":                   1,
	} {
		d, reordered := body(one).Compare([]byte(text))
		if reordered || d == nil && differs > 0 || d != nil && d.Event != differs {
			t.Errorf("%q: %v", text, d)
		}
	}
}

// What a tool layer says comes back as it was: its sets, results, progress and faults.
func TestToolsComeBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := New(Config{Dir: dir})
	source := &shelf{set: &tool.Set{Specs: []tool.Spec{{Name: "get", Server: "s", InputSchema: []byte(`{"type":"object"}`)}},
		Unavailable: []tool.UnavailableServer{{Server: "x", Err: &fault.Error{Type: fault.MCPUnavailable, Message: "gone"}}}}}
	type said struct {
		Set      string
		Result   tool.Result
		Err      string
		Progress []tool.Progress
		Name     string
	}
	sets := map[*tool.Set]bool{}
	use := func(ctx context.Context, tools Tools, named string) (out []said) {
		for _, args := range []string{`{"n":1}`, `{"n":2}`, `{"n":1}`} {
			set := tools.Tools(ctx)
			sets[set] = true
			s := said{Set: fmt.Sprint(set.Specs, set.Unavailable[0].Server, set.Unavailable[0].Err), Name: named}
			ctx := tool.WithProgress(ctx, func(p tool.Progress) { s.Progress = append(s.Progress, p) })
			var err error
			if s.Result, err = tools.Call(ctx, tool.Call{ID: "c", Name: "get", Arguments: []byte(args)}); err != nil {
				s.Err = err.Error()
			}
			out = append(out, s)
		}
		return out
	}
	var want []said
	serve(r, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		From(req.Context()).Begin("")
		name := r.Named(req.Context(), "s", "get", func() string { return "get" })
		want = use(req.Context(), r.Tools("a", source), name)
	}), "/")
	r.Close()
	rec, err := Read(bytes.NewReader(only(t, dir)))
	if err != nil {
		t.Fatal(err)
	}
	p := NewPlayer(rec)
	got := use(t.Context(), p.Tools("a", nil), p.Named(t.Context(), "s", "get", nil))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-recorded +played):\n%s", diff)
	}
	if len(sets) != 2 { // the source's, and that of the recording
		t.Errorf("there are %d sets", len(sets))
	}
	if _, err := p.Tools("a", nil).Call(t.Context(), tool.Call{Name: "get"}); err == nil {
		t.Error("a call more has an answer")
	}
	if asked, unused := p.Extra(); len(asked) != 1 || unused != 0 {
		t.Error(asked, unused)
	}
}

// shelf is a tool layer.
type shelf struct {
	set *tool.Set
	n   int
}

func (s *shelf) Tools(context.Context) *tool.Set { return s.set }

func (s *shelf) Call(ctx context.Context, call tool.Call) (tool.Result, error) {
	s.n++
	tool.ReportOf(ctx)(tool.Progress{Progress: float64(s.n), Total: 3, Message: "on my way"})
	if s.n == 2 {
		return tool.Result{}, &fault.Error{Type: fault.ToolFailed, Message: "broken", Hint: "try less", Unknown: true, Err: errors.New("why")}
	}
	return tool.Result{ID: call.ID, Name: call.Name, Text: fmt.Sprint(s.n, string(call.Arguments)), Cached: s.n == 3}, nil
}

// Branches that speak at the same time may change places, and nothing else may.
func TestCompareOfBranches(t *testing.T) {
	t.Parallel()
	const a1, a2, b1, b2, end = "id: t:1\ndata: {\"node_id\":\"a\",\"x\":1}\n\n", "id: t:2\ndata: {\"node_id\":\"a\",\"x\":2}\n\n",
		"id: t:3\ndata: {\"node_id\":\"b\",\"x\":1}\n\n", "id: t:4\ndata: {\"node_id\":\"b\",\"x\":2}\n\n", "id: t:5\ndata: {\"done\":1}\n\n"
	data := Text(a1 + b1 + a2 + b2 + end)
	r := &Recording{Entries: []Entry{{Kind: kindOut, Data: &data}}}
	for text, want := range map[string]string{
		a1 + b1 + a2 + b2 + end: "equal", b1 + b2 + a1 + a2 + end: "reordered", b2 + b1 + a1 + a2 + end: "different",
		a1 + a2 + b1 + end: "different", a1 + a1 + b1 + b2 + end: "different",
	} {
		got := "equal"
		if d, reordered := r.Compare([]byte(text)); d != nil {
			got = "different"
		} else if reordered {
			got = "reordered"
		}
		if got != want {
			t.Errorf("%q is %s, not %s", text, got, want)
		}
	}
}

// What a Done lists grows in the order in which branches end, which is chance as well; of a
// reply that was cut off each branch may have got further in the other turn.
func TestCompareOfBranchesThatEnd(t *testing.T) {
	t.Parallel()
	call := func(node, status string) string {
		return "id: t:1\nevent: tool_call\ndata: {\"node_id\":\"" + node + "\",\"status\":\"" + status + "\"}\n\n"
	}
	done := func(tools string) string {
		return "id: t:9\nevent: done\ndata: {\"tools_called\":[" + tools + "],\"timings\":{\"tools\":[{\"tool_name\":" + strings.ReplaceAll(tools, ",", ",\"ms\":5},{\"tool_name\":") + ",\"ms\":7}]}}\n\n"
	}
	one := call("a", "begun") + call("b", "begun") + call("a", "done") + call("b", "done")
	two := call("b", "begun") + call("a", "begun") + call("b", "done") + call("a", "done")
	for name, tt := range map[string]struct {
		recorded, rerun string
		cut, same       bool
	}{
		"another order":           {one + done(`"x","y"`), two + done(`"y","x"`), false, true},
		"another tool":            {one + done(`"x","y"`), two + done(`"y","z"`), false, false},
		"cut":                     {call("a", "begun") + call("a", "done") + "half", two, true, true},
		"cut, and something else": {call("a", "begun") + call("a", "failed") + "half", two, true, false},
	} {
		data := Text(tt.recorded)
		r := &Recording{Entries: []Entry{{Kind: kindOut, Data: &data}}}
		if tt.cut {
			r.Entries = append(r.Entries, Entry{Kind: kindAbort})
		}
		if d, _ := r.Compare([]byte(tt.rerun)); (d == nil) != tt.same {
			t.Errorf("%s: %v", name, d)
		}
	}
}

// The request that differs by the time of day alone is found, also among those that hold
// all of its words and were made at the same time as the one that asks.
func TestUnlikeness(t *testing.T) {
	t.Parallel()
	asked := []byte(`{"text":"tea"} It is 10:06.`)
	right, wrong := unlikeness([]byte(`{"text":"tea"} It is 10:05.`), asked), unlikeness([]byte(`{"text":"tea"},{"text":"What of tea"} It is 10:06.`), asked)
	if right >= wrong || unlikeness(asked, asked) != 0 {
		t.Errorf("%d, %d", right, wrong)
	}
}

// zeros is a device without an end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
