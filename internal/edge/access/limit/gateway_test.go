package limit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/settings"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
)

// asked is what tests look at of a reply.
type asked struct {
	status int
	header http.Header
	body   string
}

// ask sends a request of somebody, tenant/user; empty: of nobody.
func ask(t *testing.T, g wholetest.Peer, method, path, body, who string, header ...string) (got asked) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://gateway"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if who != "" {
		req.Header.Set("X-Who", who)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := g.Client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Errorf("%s broke off: %v", path, err)
	}
	return asked{resp.StatusCode, resp.Header, string(text)}
}

// turns asks for n turns, and returns how many there were.
func turns(t *testing.T, g wholetest.Peer, who string, n int) (got int) {
	t.Helper()
	for range n {
		switch r := ask(t, g, http.MethodPost, "/chat/stream", `{"input":"hi"}`, who); r.status {
		case http.StatusOK:
			got++
		case http.StatusTooManyRequests:
		default:
			t.Fatalf("%d %s", r.status, r.body)
		}
	}
	return got
}

// fleet is gateways with one store and limits.
func fleet(t *testing.T, limits string) *wholetest.Fleet {
	return &wholetest.Fleet{
		T: t, Store: memory.New(memory.Config{}), Door: wholetest.Door{}, File: limits,
		Gemini: wholetest.InPieces{Speaking: wholetest.NewSpeaking(3, true)},
	}
}

// settled waits until what has ended is counted by all.
func settled() {
	time.Sleep(3 * time.Second)
	synctest.Wait()
}

// Limits hold for all gateways together, by owner; a refusal is a problem that says when to come
// back, and a repeated key of a turn that was admitted costs nothing.
func TestLimitsOfAUser(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := fleet(t, "limits: {user: {requests: 4/h, reads: 3/h}}")
		one, two := f.Gateway(nil), f.Gateway(nil)
		first := ask(t, one, http.MethodPost, "/chat/stream", `{"input":"hi"}`, "acme/ada", "Idempotency-Key", "0123456789abcdef")
		if first.header.Get("RateLimit-Policy") != `"user-requests";q=4;w=3600` || first.header.Get("RateLimit") != `"user-requests";r=3;t=900` {
			t.Errorf("head of a turn: %v", first.header)
		}
		for range 3 {
			again := ask(t, two, http.MethodPost, "/chat/stream", `{"input":"hi"}`, "acme/ada", "Idempotency-Key", "0123456789abcdef")
			if again.status != http.StatusOK || again.header.Get("X-Sluice-Replayed") == "" {
				t.Errorf("repeated: %d %s", again.status, again.body)
			}
		}
		if r := ask(t, one, http.MethodGet, "/tasks", "", "acme/ada"); r.status != http.StatusTooManyRequests {
			t.Errorf("three repetitions are three reads, and this is a fourth: %d", r.status)
		}
		settled()
		if n := turns(t, two, "acme/ada", 9); n != 3 {
			t.Errorf("%d further turns of ada's, want 3", n)
		}
		settled()
		r := ask(t, one, http.MethodPost, "/chat/stream", `{"input":"hi"}`, "acme/ada")
		var doc struct {
			Type     string   `json:"error_type"`
			Wait     int64    `json:"retry_after_ms"`
			Violated []string `json:"violated-policies"`
		}
		if err := json.Unmarshal([]byte(r.body), &doc); err != nil {
			t.Fatal(err)
		}
		after, _ := strconv.Atoi(r.header.Get("Retry-After"))
		if r.status != http.StatusTooManyRequests || doc.Type != "rate_limited" || fmt.Sprint(doc.Violated) != "[user-requests]" || after < 880 || after > 990 || doc.Wait > int64(after)*1000 || doc.Wait <= int64(after-1)*1000 {
			t.Errorf("refused with %d, Retry-After %d, %s", r.status, after, r.body)
		}
		if want := `"user-requests";r=0;t=` + strconv.Itoa(after); r.header.Get("RateLimit") != want {
			t.Errorf("head of a refusal: %v, want %s", r.header, want)
		}
		for _, other := range []string{"acme/bob", "blue/ada"} {
			if n := turns(t, two, other, 9); n != 4 {
				t.Errorf("%d of %s, want 4", n, other)
			}
		}
		if r := ask(t, one, http.MethodPost, "/v1/chat/completions", `{"model":"sluice","messages":[{"role":"user","content":"hi"}]}`, "acme/ada"); r.status != http.StatusTooManyRequests ||
			r.header.Get("X-Should-Retry") != "false" || !strings.Contains(r.body, `"code":"rate_limit_exceeded"`) || r.header.Get("Retry-After-Ms") == "" {
			t.Errorf("of OpenAI's dialect: %d %v %s", r.status, r.header, r.body)
		}
	})
}

// What was not admitted for another reason costs no request.
func TestRefusalsCostNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := fleet(t, "limits: {user: {requests: 2/h, streams: 5, tokens: [100000/d]}}").Gateway(nil)
		for range 5 {
			for path, body := range map[string]string{
				"/chat/stream": `{"input":""}`, "/v1/chat/completions": `{}`, "/tasks/task_x/cancel": "",
			} {
				if r := ask(t, g, http.MethodPost, path, body, "acme/ada"); r.status < 400 || r.status == http.StatusTooManyRequests {
					t.Errorf("%s: %d %s", path, r.status, r.body)
				}
			}
			if r := ask(t, g, http.MethodPost, "/chat/stream", `{"input":"hi","agent":"none"}`, "acme/ada"); r.status < 400 || r.status == http.StatusTooManyRequests {
				t.Errorf("%d %s", r.status, r.body)
			}
			if r := ask(t, g, http.MethodPost, "/chat/stream", `{"input":"hi","user_id":"bob"}`, "acme/ada"); r.status != http.StatusForbidden {
				t.Errorf("%d %s", r.status, r.body)
			}
		}
		if n := turns(t, g, "acme/ada", 5); n != 2 {
			t.Errorf("%d turns, want 2", n)
		}
	})
}

// Tokens of all calls of a turn are its owner's, on all gateways.
func TestTokensOfAUser(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := fleet(t, "limits: {reserve: 0, user: {tokens: [60/d]}}")
		one, two := f.Gateway(nil), f.Gateway(nil)
		n := 0
		for _, g := range []wholetest.Peer{one, two, one, two, one, two, one} {
			n += turns(t, g, "acme/ada", 1) // 15 tokens
			settled()
		}
		if n != 4 && n != 5 { // what is given back of a day in these seconds is less than a token
			t.Errorf("%d turns of 15 tokens of 60", n)
		}
		if n := turns(t, two, "acme/bob", 1); n != 1 {
			t.Error("another's tokens are counted")
		}
	})
}

// One tenant at twenty times its limit uses nothing of what is for others.
func TestOthersAreUnaffected(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := fleet(t, "limits: {tenant: {requests: 5/h}, classes: {big: {requests: 50/h}}}\ntenants: {acme: {}, blue: {}, vast: {limits: big}}")
		g := f.Gateway(nil)
		for i := range 100 {
			who := "acme/u" + strconv.Itoa(i%7)
			if r := ask(t, g, http.MethodPost, "/chat/stream", `{"input":"hi"}`, who); (r.status == http.StatusOK) != (i < 5) {
				t.Fatalf("request %d of acme: %d", i, r.status)
			}
			if i%25 == 0 {
				if n := turns(t, g, "blue/ada", 1); n != 1 {
					t.Errorf("blue is refused at %d", i)
				}
			}
			if i%2 == 0 {
				if n := turns(t, g, "vast/ada", 1); n != 1 {
					t.Errorf("vast is refused at %d", i)
				}
			}
		}
	})
}

// The same with its store: quotas of a model are waited for, so that its provider refuses nothing.
func TestQuotaOfAModel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := fleet(t, "limits: {models: {gemini: {calls: 5/s}}, wait: 30s}")
		speaking := f.Gemini
		var times []time.Time
		f.Gemini = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			now, within := time.Now(), 0
			for _, at := range times {
				if now.Sub(at) < time.Second {
					within++
				}
			}
			if times = append(times, now); within >= 5 {
				http.Error(w, "{}", http.StatusTooManyRequests)
				return
			}
			speaking.ServeHTTP(w, r)
		})
		g := f.Gateway(nil)
		for i := range 20 {
			if r := ask(t, g, http.MethodPost, "/chat/stream", `{"input":"hi"}`, "acme/u"+strconv.Itoa(i)); r.status != http.StatusOK || strings.Contains(r.body, "error_type") {
				t.Fatalf("turn %d: %d %s", i, r.status, r.body)
			}
		}
		if len(times) != 20 {
			t.Errorf("%d calls, want 20", len(times))
		}
	})
}

// load returns the configuration of a gateway with a file.
func load(t *testing.T, text string) settings.Config {
	t.Helper()
	env := map[string]string{"SLUICE_CONFIG": "sluice.yaml", "GEMINI_API_KEY": wholetest.Key, "GEMINI_BASE_URL": "http://gemini"}
	var f settings.File
	cfg, err := settings.LoaderWith(&f).Load(nil, func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		func(string) ([]byte, error) { return []byte(text), nil })
	if err != nil {
		t.Fatal(err)
	}
	return settings.Config{Config: cfg, File: f, Version: "test"}
}

// Nobody who is known is counted by their address, which nobody can choose; another reading of
// the file changes what holds, and forgets nothing.
func TestLimitsOfAddressesReload(t *testing.T) {
	t.Parallel()
	g, err := gateway.New(t.Context(), load(t, "limits: {address: {requests: 3/h, reads: 2/h}}"), zerolog.Nop(), gateway.Seams{Gemini: wholetest.NewSpeaking(3, false)})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	srv := httptest.NewServer(g)
	defer srv.Close()
	count := func(method, path, body string, n int) (admitted int) {
		for i := range n {
			req, err := http.NewRequestWithContext(t.Context(), method, srv.URL+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("X-Forwarded-For", "203.0.113."+strconv.Itoa(i))
			resp, err := srv.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				admitted++
			}
		}
		return admitted
	}
	const hi = `{"input":"hi"}`
	if n := count(http.MethodPost, "/chat/stream", hi, 9); n != 3 {
		t.Errorf("%d turns, want 3", n)
	}
	if n := count(http.MethodGet, "/tools", "", 9); n != 2 {
		t.Errorf("%d reads, want 2", n)
	}
	if n := count(http.MethodGet, "/healthz", "", 9); n != 9 {
		t.Errorf("%d of what is public, want 9", n)
	}
	for _, step := range []struct {
		file string
		want int
	}{
		{"limits: {}", 9}, {"limits: {address: {requests: 6/h}}", 0}, {"limits: {address: {requests: 6/h}, models: {gemini: {concurrent: 3}}}", 0}, {"{}", 9},
	} {
		if err := g.Reload(load(t, step.file), nil); err != nil {
			t.Fatal(err)
		}
		if n := count(http.MethodPost, "/chat/stream", hi, 9); n != step.want {
			t.Errorf("%s: %d turns, want %d", step.file, n, step.want)
		}
	}
}

// A ticket is its turn's request; what watches a turn is a stream and a read.
func TestTicketsAndWatchers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := fleet(t, "limits: {user: {requests: 3/h, reads: 5/h, streams: 1}}")
		g := f.Gateway(nil)
		issued := ask(t, g, http.MethodPost, "/chat/tickets", `{"input":"hi"}`, "acme/ada")
		var ticket struct{ URL string }
		if err := json.Unmarshal([]byte(issued.body), &ticket); err != nil || issued.status != http.StatusCreated {
			t.Fatal(issued.status, issued.body, err)
		}
		r := ask(t, g, http.MethodGet, ticket.URL, "", "")
		if r.status != http.StatusOK {
			t.Fatal(r.status, r.body)
		}
		settled()
		if n := turns(t, g, "acme/ada", 1); n != 1 {
			t.Error("the second request of three is refused")
		}
		settled()
		held := make(chan struct{})
		_, id, _ := strings.Cut(r.body, `"task_id":"`)
		id, _, _ = strings.Cut(id, `"`)
		f.Gemini = wholetest.InPieces{Speaking: wholetest.NewSpeaking(3, true), Gate: held}
		two := f.Gateway(nil)
		done := make(chan int)
		go func() { done <- turns(t, two, "acme/ada", 1) }()
		synctest.Wait()
		watch := ask(t, g, http.MethodGet, "/tasks/"+id+"/events", "", "acme/ada")
		if watch.status != http.StatusTooManyRequests || !strings.Contains(watch.body, "user-streams") {
			t.Errorf("a watcher next to the only stream: %d %s", watch.status, watch.body)
		}
		if r := ask(t, g, http.MethodGet, "/tasks/"+id, "", "acme/ada"); r.status != http.StatusOK {
			t.Errorf("a read: %d %s", r.status, r.body)
		}
		close(held)
		if n := <-done; n != 1 {
			t.Error("the third request is refused")
		}
		settled()
		if r := ask(t, g, http.MethodGet, "/tasks/"+id+"/events", "", "acme/ada"); r.status != http.StatusOK {
			t.Errorf("a watcher when the stream has ended: %d %s", r.status, r.body)
		}
		if r := ask(t, g, http.MethodPost, "/chat/tickets", `{"input":"hi"}`, "acme/ada"); r.status != http.StatusTooManyRequests {
			t.Errorf("a ticket beyond the limit: %d %s", r.status, r.body)
		}
	})
}

// counted is a store that counts the commands by which records are read and changed.
type counted struct {
	*memory.Store
	commands atomic.Int64
}

func (c *counted) Task(ctx context.Context, id string) (store.Task, error) {
	c.commands.Add(1)
	return c.Store.Task(ctx, id)
}

func (c *counted) Tasks(ctx context.Context, q store.Query) (store.Page, error) {
	c.commands.Add(1)
	return c.Store.Tasks(ctx, q)
}

func (c *counted) CancelTask(ctx context.Context, id string) (store.Task, error) {
	c.commands.Add(1)
	return c.Store.CancelTask(ctx, id)
}

func (c *counted) ReadLog(ctx context.Context, turn string, after, limit int) ([]store.Entry, error) {
	c.commands.Add(1)
	return c.Store.ReadLog(ctx, turn, after, limit)
}

func (c *counted) Value(ctx context.Context, key string) (store.Value, error) {
	c.commands.Add(1)
	return c.Store.Value(ctx, key)
}

func (c *counted) PutValue(ctx context.Context, key string, v store.Value, ttl time.Duration) (store.Value, error) {
	c.commands.Add(1)
	return c.Store.PutValue(ctx, key, v, ttl)
}

func (c *counted) DeleteValue(ctx context.Context, key string) error {
	c.commands.Add(1)
	return c.Store.DeleteValue(ctx, key)
}

func (c *counted) List(ctx context.Context, key string, from, limit int) ([][]byte, error) {
	c.commands.Add(1)
	return c.Store.List(ctx, key, from, limit)
}

func (c *counted) Index(ctx context.Context, name string, r store.Range) ([]store.Member, error) {
	c.commands.Add(1)
	return c.Store.Index(ctx, name, r)
}

// With the reads of a user used up, an operation that only reads is refused before it touches the
// store, in each protocol whose body says what it is. A cancel, a deletion and a turn are none.
func TestReadsAreRefusedBeforeTheyAreDone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := &counted{Store: memory.New(memory.Config{})}
		f := fleet(t, "limits: {user: {reads: 3/h}}\na2a: {enabled: true}\n")
		f.Store = in
		g := f.Gateway(map[string]string{"SLUICE_CHATKIT_HISTORY": "store"})
		kit := func(kind, params string) string { return `{"type":"` + kind + `","params":{` + params + `}}` }
		rpc := func(method, params string) string {
			return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params + `}}`
		}
		began := ask(t, g, http.MethodPost, "/chatkit", kit("threads.create", `"input":{"content":[{"type":"input_text","text":"hi"}],"attachments":[],"inference_options":{}}`), "acme/ada")
		_, thread, _ := strings.Cut(began.body, `"thread_id":"`)
		thread, _, _ = strings.Cut(thread, `"`)
		turn := ask(t, g, http.MethodPost, "/chat/stream", `{"input":"hi","conversation_id":"conv_a"}`, "acme/ada")
		_, task, _ := strings.Cut(turn.body, `"task_id":"`)
		task, _, _ = strings.Cut(task, `"`)
		if thread == "" || task == "" {
			t.Fatal(began.body, turn.body)
		}
		for range 3 {
			ask(t, g, http.MethodGet, "/me", "", "acme/ada")
		}
		ofThread := `"thread_id":"` + thread + `"`
		reads := []struct{ method, path, body string }{
			{"GET", "/tasks", ""}, {"GET", "/tasks/" + task, ""}, {"GET", "/tasks/" + task + "/trace", ""}, {"GET", "/approvals", ""},
			{"POST", "/chatkit", kit("threads.list", "")}, {"POST", "/chatkit", kit("threads.get_by_id", ofThread)},
			{"POST", "/chatkit", kit("items.list", ofThread)}, {"POST", "/chatkit", kit("threads.update", ofThread+`,"title":"x"`)},
			{"POST", "/chatkit", kit("items.feedback", ofThread+`,"item_ids":["msg_1"],"kind":"positive"`)},
			{"GET", "/a2a/rest/tasks?contextId=conv_a", ""}, {"GET", "/a2a/rest/tasks/" + task, ""}, {"POST", "/a2a/rest/tasks/" + task + ":subscribe", "{}"},
			{"POST", "/a2a", rpc("ListTasks", `"contextId":"conv_a"`)}, {"POST", "/a2a", rpc("GetTask", `"id":"`+task+`"`)},
			{"POST", "/a2a", rpc("SubscribeToTask", `"id":"`+task+`"`)}, {"POST", "/a2a", rpc("GetExtendedAgentCard", "")},
			{"POST", "/a2a", rpc("GetTaskPushNotificationConfig", `"taskId":"`+task+`","id":"x"`)},
		}
		for _, r := range reads {
			before := in.commands.Load()
			got := ask(t, g, r.method, r.path, r.body, "acme/ada", "A2A-Version", "1.0")
			if n := in.commands.Load() - before; got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") == "" || n != 0 {
				t.Errorf("%s %s %s: %d after %d commands: %.200s", r.method, r.path, r.body, got.status, n, got.body)
			}
		}
		for _, r := range []struct{ path, body string }{
			{"/a2a", rpc("CancelTask", `"id":"`+task+`"`)}, {"/chatkit", kit("threads.delete", ofThread)},
			{"/a2a", rpc("SendMessage", `"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}`)},
		} {
			if got := ask(t, g, http.MethodPost, r.path, r.body, "acme/ada", "A2A-Version", "1.0"); got.status == http.StatusTooManyRequests {
				t.Errorf("%s: %d %s", r.body, got.status, got.body)
			}
		}
	})
}

// A probe keeps a connection open, so it counts as a stream: one user does not hold the places of all.
func TestProbesAreStreams(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := fleet(t, "limits: {user: {streams: 2}}").Gateway(nil)
		held := make(chan asked)
		for range 2 {
			go func() { held <- ask(t, g, http.MethodGet, "/diag/sse?ticks=50&interval_ms=5000", "", "acme/ada") }()
		}
		time.Sleep(time.Second)
		if r := ask(t, g, http.MethodGet, "/diag/sse", "", "acme/ada"); r.status != http.StatusTooManyRequests || !strings.Contains(r.body, "user-streams") {
			t.Errorf("a third probe of two streams: %d %.200s", r.status, r.body)
		}
		if r := ask(t, g, http.MethodGet, "/diag/sse?ticks=1", "", "acme/bob"); r.status != http.StatusOK {
			t.Errorf("another user's probe: %d %.200s", r.status, r.body)
		}
		for range 2 {
			if r := <-held; r.status != http.StatusOK {
				t.Errorf("a probe: %d %.200s", r.status, r.body)
			}
		}
		settled()
		if r := ask(t, g, http.MethodGet, "/diag/sse?ticks=1", "", "acme/ada"); r.status != http.StatusOK {
			t.Errorf("after they have ended: %d %.200s", r.status, r.body)
		}
	})
}
