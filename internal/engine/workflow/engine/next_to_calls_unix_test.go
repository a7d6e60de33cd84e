//go:build unix

package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/settings"
	"sluice/internal/base/testnet"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/internal/state/store/redis/redistest"
	"sluice/internal/state/task"
)

// talker says the canary next to a call, and not in the answer that follows. Its judge lets
// no text pass that has the canary, and its refinement has none. It keeps what it is asked for
// answers.
type talker struct {
	mu    sync.Mutex // guards the field below
	asked []string
}

func (k *talker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	say := func(parts string) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, `data: {"candidates":[{"content":{"role":"model","parts":[%s]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":3}}`+"\r\n\r\n", parts)
	}
	switch {
	case bytes.Contains(body, []byte("You check an answer")):
		say(`{"text":"{\"verdicts\":[{\"id\":\"kind\",\"passed\":` + fmt.Sprint(!bytes.Contains(body, []byte(wholetest.Canary))) + `,\"feedback\":\"It says so.\"}]}"}`)
	case bytes.Contains(body, []byte("You rewrite an answer")):
		say(`{"text":"It is as it should be."}`)
	default:
		k.mu.Lock()
		k.asked = append(k.asked, string(body))
		k.mu.Unlock()
		if bytes.Contains(body, []byte("functionResponse")) {
			say(`{"text":"It is paid."}`)
			return
		}
		say(`{"text":"The secret is ` + wholetest.Canary + `."},{"functionCall":{"name":"pay","args":{"amount":30}},"thoughtSignature":"c2lnbmVk"}`)
	}
}

var moment = regexp.MustCompile(`Now it is [^(]*\(UTC[^)]*\)`)

// last returns the last request for an answer, but for its time.
func (k *talker) last() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return moment.ReplaceAllString(k.asked[len(k.asked)-1], "Now")
}

// talking is the file of a gateway whose agent pays; quality, if not empty, is its section.
func talking(quality, bank string) string {
	return quality + fmt.Sprintf("mcpServers: {bank: {url: %q}}\nmemory: {enabled: true}\n", bank+"/mcp") + strings.Replace(wholetest.WithheldTeam, "role: Writer", "role: Writer, tools: [bank]", 1)
}

// talks starts a gateway of that file, on a store, or where env says.
func talks(t *testing.T, file string, model http.Handler, in store.Store, env map[string]string) *wholetest.Flow {
	t.Helper()
	all := map[string]string{"GEMINI_API_KEY": wholetest.Key, "GEMINI_BASE_URL": "http://gemini", "SLUICE_HEARTBEAT": "0"}
	for name, value := range env {
		all[name] = value
	}
	cfg, read := wholetest.Configured(t, file, all)
	g, err := gateway.New(t.Context(), settings.Config{Config: cfg, File: read, Version: "test"}, zerolog.New(io.Discard), gateway.Seams{Store: in, Gemini: testnet.Serve(t, model)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	wholetest.AwaitTools(t, g)
	return &wholetest.Flow{T: t, Gateway: g}
}

// watchful is a store that fails the test if the canary is written to it.
type watchful struct {
	store.Store
	t *testing.T
}

func (w watchful) PutValue(ctx context.Context, key string, v store.Value, ttl time.Duration) (store.Value, error) {
	wholetest.WantNone(w.t, key, v.Data)
	return w.Store.PutValue(ctx, key, v, ttl)
}

func (w watchful) PushList(ctx context.Context, key string, item []byte, b store.Bounds, ttl time.Duration) error {
	wholetest.WantNone(w.t, key, item)
	return w.Store.PushList(ctx, key, item, b, ttl)
}

func (w watchful) AppendLog(ctx context.Context, turn string, a store.Append) error {
	wholetest.WantNone(w.t, "the log of events", a.Data)
	return w.Store.AppendLog(ctx, turn, a)
}

func (w watchful) CreateTask(ctx context.Context, id string, task store.Task, ttl time.Duration) error {
	wholetest.WantNone(w.t, "the task", task.Doc)
	return w.Store.CreateTask(ctx, id, task, ttl)
}

func (w watchful) UpdateTask(ctx context.Context, id string, task store.Task, ttl time.Duration) error {
	wholetest.WantNone(w.t, "the task", task.Doc)
	return w.Store.UpdateTask(ctx, id, task, ttl)
}

// wantNoneBelow looks for the canary in all files of a directory.
func wantNoneBelow(t *testing.T, dir string) {
	t.Helper()
	size := 0
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(name)
		size += len(text)
		wholetest.WantNone(t, name, text)
		return err
	})
	if err != nil || size == 0 {
		t.Errorf("%d bytes, %v", size, err)
	}
}

// What an agent says next to a call is part of the answer: while that is held back, and when it
// was withheld, it is in no store. All that is ever written to one is looked at: each write to
// the memory, the file with its journal, and the append-only file of Redis.
func TestWordsNextToCallsAreNowhere(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"a turn":   `{"input":"Pay","conversation_id":"conv_1","user_id":"ann"}`,
		"an agent": `{"input":"Pay","agent":"writer","conversation_id":"conv_1","user_id":"ann","drafts":true}`,
		"a run":    `{"input":"Pay","workflow":"flow","conversation_id":"conv_1","user_id":"ann","drafts":true}`,
	} {
		for _, engine := range []string{"memory", "file", "redis"} {
			t.Run(name+" "+engine, func(t *testing.T) {
				t.Parallel()
				var in store.Store
				env, dir := map[string]string{}, t.TempDir()
				switch engine {
				case "memory":
					in = watchful{memory.New(memory.Config{}), t}
				case "file":
					env["SLUICE_STORE"] = "sqlite:" + filepath.Join(dir, "s.db")
				case "redis":
					server := redistest.Start(t, "redis-server", os.Getenv("SLUICE_REQUIRE_PEERS") != "", "--appendonly", "yes")
					env["SLUICE_STORE"], dir = "unix://"+server.Socket, filepath.Dir(server.Socket)
				}
				var paid atomic.Int64
				f := talks(t, talking(fmt.Sprintf(wholetest.WithheldYAML, "graceful"), wholetest.NewCountedBank(t, &paid)), new(talker), in, env)
				got := f.Serve("/chat/stream", body, io.Discard)
				if !strings.Contains(got, `"outcome":"refined"`) || strings.Contains(strings.Join(wholetest.Drafts(got), ""), wholetest.Canary) != strings.Contains(body, "drafts") || paid.Load() != 1 {
					t.Errorf("paid %d times: %s", paid.Load(), got)
				}
				if engine != "memory" {
					wantNoneBelow(t, dir)
				}
			})
		}
	}
}

// A run whose gateway loses the store behind the call of its agent continues with another one,
// which does not call again. The model gets its call, with its signature, and the result. It
// gets the words next to the call only where the answer is not held back: there it is asked
// what it would have been asked without a take-over, byte for byte.
func TestWordsNextToCallsInATakenOverRun(t *testing.T) {
	t.Parallel()
	const body = `{"input":"Pay","workflow":"flow"}`
	for name, tt := range map[string]struct {
		quality string
		held    bool
	}{"held back": {fmt.Sprintf(wholetest.WithheldYAML, "graceful"), true}, "live": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var never atomic.Int64
			whole := new(talker)
			talks(t, talking(tt.quality, wholetest.NewCountedBank(t, &never)), whole, memory.New(memory.Config{}), nil).Serve("/chat/stream", body, io.Discard)
			journaled := 0
			for after := int64(3); after < 10; after++ {
				var paid atomic.Int64
				file := talking(tt.quality, wholetest.NewCountedBank(t, &paid))
				kept := memory.New(memory.Config{})
				var in store.Store = kept
				if tt.held {
					in = watchful{kept, t}
				}
				down := &wholetest.Cut{Store: in, Why: store.ErrUnavailable}
				down.After.Store(after)
				one := talks(t, file, new(talker), down, nil)
				one.Serve("/chat/stream", body, io.Discard)
				one.Close()
				id := wholetest.Only(t, kept)
				v, err := kept.Value(t.Context(), store.RunKey(id))
				if !down.Off.Load() || paid.Load() == 0 || err != nil || !bytes.Contains(v.Data, []byte(`"journal"`)) {
					continue
				}
				journaled++
				model := new(talker)
				two := talks(t, file, model, in, nil)
				testnet.Eventually(t, "the run is over", func() bool { return wholetest.StateOf(t, kept, id) != task.Working })
				last, err := kept.Task(t.Context(), id)
				if err != nil || last.State != task.Completed || paid.Load() != 1 || !strings.Contains(string(last.Doc), "It is paid.") {
					t.Errorf("write %d: paid %d times, %v: %s", after, paid.Load(), err, last.Doc)
				}
				two.Close()
				asked, words := model.last(), `{"text":"The secret is `+wholetest.Canary+`."},`
				if len(model.asked) != 1 || tt.held == strings.Contains(asked, wholetest.Canary) || !strings.Contains(asked, `"thoughtSignature":"c2lnbmVk"`) || !strings.Contains(asked, "paid 1") {
					t.Errorf("write %d: asked %d times, last\n%s", after, len(model.asked), asked)
				}
				if want := whole.last(); asked != want && (!tt.held || asked != strings.Replace(want, words, "", 1)) {
					t.Errorf("write %d: the model is asked\n%s\nwant\n%s", after, asked, want)
				}
			}
			if journaled == 0 {
				t.Error("no run was lost behind its call")
			}
		})
	}
}
