//go:build unix

package gateway_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/state/store/redis/redistest"
	"sluice/internal/state/task"
)

// crashText is a variable of the process that is killed: behind so many bytes of the answer, at most.
// With 0 it is killed at a write alone.
const crashText = "SLUICE_TEST_CRASH_TEXT"

// crashTexts is how often TestKilledInText kills; not set: as often as the gate can wait for.
const crashTexts = "SLUICE_TEST_CRASH_TEXTS"

// killedStory is the text of an answer in which a process is killed.
const killedStory = "Das Museum öffnet um neun – 9:00.\r\n| row | row |\n| row | row |\nשלום עולם 👩‍👩‍👧 «ends» at five in the afternoon. The garden “Nord” is open all day, {\"and"

// killScene is what a turn does around the text in which it is killed. texts are those of its
// answers, in their order, and story is the one that is cut. Each but the last one pays.
type killScene struct {
	texts []string
	story int
}

// killScenes are the scenes by name.
var killScenes = map[string]killScene{
	"alone":         {texts: []string{killedStory}},
	"before a call": {texts: []string{killedStory, "It is paid."}},
	"behind a call": {texts: []string{"I pay.", killedStory}, story: 1},
}

// before returns the text of the answers before the story.
func (s killScene) before() string { return strings.Join(s.texts[:s.story], "") }

// teller is the model of a turn that is killed in its text, and continued.
type teller struct {
	killScene
	cut     int  // bytes of the story behind which it says nothing more, once; 0: it says all of it
	follows bool // a note that asks it to continue
	stopped atomic.Bool
	// over is closed when the process was killed, attached when the client reads the remaining answer.
	over, attached chan struct{}
	continued      atomic.Int64 // answers behind a note
}

// ServeHTTP implements http.Handler.
func (k *teller) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	asked, _ := io.ReadAll(r.Body)
	var body struct {
		Contents []struct{ Parts []struct{ Text string } }
	}
	_ = json.Unmarshal(asked, &body)
	n := bytes.Count(asked, []byte(`"functionResponse"`))
	text, call, last := k.texts[n], n < len(k.texts)-1, len(body.Contents)-1
	select {
	case <-k.over: // another process asks
		select {
		case <-k.attached:
		case <-time.After(5 * time.Second):
		}
	default:
	}
	w.Header().Set("Content-Type", "text/event-stream")
	say := func(parts, end string) {
		fmt.Fprintf(w, `data: {"candidates":[{"content":{"role":"model","parts":[%s]}%s}]}`+"\r\n\r\n", parts, end)
		_ = http.NewResponseController(w).Flush()
	}
	note := body.Contents[last].Parts[0].Text
	begin, end := strings.Index(note, "«"), strings.LastIndex(note, "»")
	stops := n == k.story && k.cut > 0 && k.stopped.CompareAndSwap(false, true)
	switch {
	case stops:
		text = text[:k.cut]
	case begin < 0 || end < begin:
	case k.follows:
		k.continued.Add(1)
		text = note[begin+len("«"):end] + strings.TrimPrefix(text, strings.TrimRight(body.Contents[last-1].Parts[0].Text, " \n\r"))
	default:
		text, call = "Once upon a time there was a king who did not know what to say, and so he said all of this at once.", false
	}
	for _, piece := range strings.SplitAfter(text, " ") {
		quoted, _ := json.Marshal(piece)
		say(`{"text":`+string(quoted)+`}`, "")
		time.Sleep(2 * time.Millisecond) // each piece is a write
	}
	if stops {
		<-r.Context().Done()
		return
	}
	part := `{"text":""}`
	if call {
		part = `{"functionCall":{"name":"pay","args":{"amount":30}}}`
	}
	say(part, `,"finishReason":"STOP"`)
}

// killedFront is a front end of a turn that is killed. again returns the request of a client that
// attaches again, which has got so much.
type killedFront struct {
	more  string // of the configuration file
	again func(got string) (method, path, body string)
	tail  bool // it gets the events behind those that it has, not all of them
}

// killedFronts are the front ends by their names in frontEnds.
var killedFronts = map[string]killedFront{
	"chat": {}, // by its idempotency key
	"responses": {tail: true, again: func(got string) (method, path, body string) {
		numbers := regexp.MustCompile(`"sequence_number":(\d+)`).FindAllStringSubmatch(got, -1)
		return http.MethodGet, "/v1/responses/" + regexp.MustCompile(`resp_\w+`).FindString(got) + "?stream=true&starting_after=" + numbers[len(numbers)-1][1], ""
	}},
	"aisdk": {again: func(string) (method, path, body string) { return http.MethodGet, "/api/chat/c1/stream", "" }},
	"agui":  {},
}

// killedRequest returns the request of a front end, whose turn continues without its client.
func killedRequest(name string) (path, body string, delta func(map[string]any) any) {
	for _, f := range frontEnds {
		if f.name != name {
			continue
		}
		body = f.body
		switch name {
		case "chat":
			body = strings.Replace(body, `"stream":true`, `"stream":true,"metadata":{"on_disconnect":"continue"}`, 1)
		case "responses":
			body = strings.Replace(body, `"stream":true`, `"stream":true,"background":true`, 1)
		case "aisdk":
			body = strings.Replace(body, `"id":"c1"`, `"id":"c1","on_disconnect":"continue"`, 1)
		case "agui":
			body = strings.Replace(body, `"forwardedProps":{}`, `"forwardedProps":{"on_disconnect":"continue"}`, 1)
		}
		return f.path, body, f.delta
	}
	return "", "", nil
}

// killedKey is the idempotency key of such a request.
var killedKey = []string{"Idempotency-Key", "killed-in-its-text"}

// dieInText sends the request of a front end, and kills this process behind the text that the
// environment names.
func dieInText(f *wholetest.Flow, name string) {
	path, body, delta := killedRequest(name)
	at, _ := strconv.Atoi(os.Getenv(crashText))
	got := new(bytes.Buffer)
	seen := writerFunc(func(p []byte) {
		got.Write(p)
		_, _ = os.Stdout.Write(p)
		if at > 0 && len(plainText(textOf(got.String(), delta))) >= at {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	})
	f.ServeMethod(http.MethodPost, path, body, seen, killedKey...)
}

// plainText returns a text without the blank lines between answers.
func plainText(text string) string { return strings.ReplaceAll(text, "\n\n", "") }

// writerFunc is an io.Writer that calls a function.
type writerFunc func([]byte)

// Write implements io.Writer.
func (w writerFunc) Write(p []byte) (int, error) {
	w(p)
	return len(p), nil
}

// killedText is one kill of a process that has text out.
type killedText struct {
	name, scene, redis string
	cut                int // of the story, in bytes; 0: it is killed at a write
	at                 int // the write
	follows            bool
}

// killCounts counts how kills ended.
type killCounts struct{ whole, lost, silent, over atomic.Int64 }

// A process is killed in the text of an answer, before and behind an unsafe call. The next one ends
// the text, once, or the turn as turn_lost. A client that attaches again reads the whole answer, and
// the tool has run once.
func TestKilledInText(t *testing.T) {
	t.Parallel()
	kills := 32
	if raceEnabled || testing.Short() {
		kills = 16
	}
	if text := os.Getenv(crashTexts); text != "" {
		kills, _ = strconv.Atoi(text)
	}
	socket := redistest.Start(t, "redis-server", os.Getenv("SLUICE_REQUIRE_PEERS") != "").Socket
	var counts killCounts
	var some sync.WaitGroup
	places := make(chan struct{}, 4)
	for i := range kills {
		k := killedText{
			name: []string{"chat", "responses", "aisdk", "agui"}[i%4], redis: []string{"", socket}[i/4%2],
			scene: []string{"behind a call", "before a call", "alone"}[i/8%3], follows: i%7 != 6,
		}
		if k.cut = 1 + i*61%(len(killedStory)-1); i%3 == 2 {
			k.cut, k.at = 0, 8+i*5%24
		}
		for k.cut > 0 && !utf8.RuneStart(killedStory[k.cut]) {
			k.cut--
		}
		places <- struct{}{}
		some.Go(func() {
			defer func() { <-places }()
			t.Run(fmt.Sprint("kill ", i), func(t *testing.T) { k.run(t, &counts) })
		})
	}
	some.Wait()
	t.Logf("%d processes: %d turns whole, %d lost, of these %d without text; %d not killed", kills, counts.whole.Load(), counts.lost.Load(), counts.silent.Load(), counts.over.Load())
	if counts.whole.Load() < int64(kills)/2 {
		t.Error("most turns must end whole")
	}
}

// run kills a process and judges how its turn ends in this one.
func (k killedText) run(t *testing.T, counts *killCounts) {
	t.Logf("%+v", k)
	bank := openShop(t)
	model := &teller{killScene: killScenes[k.scene], cut: k.cut, follows: k.follows, over: make(chan struct{}), attached: make(chan struct{})}
	server := httptest.NewServer(model)
	t.Cleanup(server.Close)
	front := killedFronts[k.name]
	c := crashedTurn{crashing{"", bank.mcp, k.redis}, server.URL, "tasks: {lease: 3s}\n" + front.more, ""}
	behind := 0
	if k.cut > 0 {
		behind = len(model.before()) + k.cut
	}
	reply, over := c.kill(t, k.name, k.at, fmt.Sprint(crashText, "=", behind))
	if over {
		if k.cut > 0 {
			t.Fatalf("it was not killed:\n%s", reply)
		}
		counts.over.Add(1) // it had fewer writes
		return
	}
	close(model.over)
	_, _, delta := killedRequest(k.name)
	got := string(reply[:bytes.LastIndex(reply, []byte("\n\n"))+1])
	text := textOf(got, delta)
	in, id, first := c.left(t)
	if id == "" {
		if counts.silent.Add(1); text != "" {
			t.Errorf("nothing is stored of a turn with text:\n%s", got)
		}
		return
	}
	f := c.gateway(t, in)
	var again string
	read := make(chan struct{})
	go func() {
		defer close(read)
		again = k.attach(f, got, sync.OnceFunc(func() { close(model.attached) }))
	}()
	last := bank.over(f, id)
	<-read
	if text == "" {
		counts.silent.Add(1)
	}
	want := strings.Join(model.texts, "")
	all := ""
	for _, turn := range turnsOf("", first.Turn, last.Turn) {
		logged, _ := logOfTurn(f, turn, false)
		all += logged
	}
	k.judge(t, counts, model, bank, last.State, plainText(all), want)
	if first.Turn != last.Turn || k.name == "aisdk" && again == "" && (k.cut == 0 || !k.follows) {
		return // the turn ended with a question, or before the client came
	}
	if shown := textOf(again, delta); front.tail && text+shown != all || !front.tail && shown != all {
		t.Errorf("the client had %q, and read again %q; the answer is %q\n%s", text, shown, all, again)
	}
}

// judge judges the text of a turn that was killed, and the calls of its tool.
func (k killedText) judge(t *testing.T, counts *killCounts, model *teller, bank *shop, state, text, want string) {
	switch {
	case state == task.Completed:
		counts.whole.Add(1)
		if text != want {
			t.Errorf("the answer is %q, want %q", text, want)
		}
		if n := bank.paid[30]; len(model.texts) > 1 && n != 1 && !(n == 0 && bank.rejected[30]) || n > 1 {
			t.Errorf("paid %d times", n)
		}
	case k.follows:
		t.Errorf("the turn is %s with the text %q", state, text)
	default:
		counts.lost.Add(1)
		if !strings.HasPrefix(want, text) || bank.paid[30] > model.story {
			t.Errorf("a lost turn has the text %q, and paid %d times", text, bank.paid[30])
		}
	}
	if model.cut > 0 && k.follows && model.continued.Load() != 1 {
		t.Errorf("%d answers continue the text", model.continued.Load())
	}
}

// attach has the client read again, and returns what it reads.
func (k killedText) attach(f *wholetest.Flow, got string, attached func()) string {
	method := http.MethodPost
	path, body, _ := killedRequest(k.name)
	if again := killedFronts[k.name].again; again != nil && strings.Contains(got, "data: ") {
		method, path, body = again(got)
	}
	defer attached()
	return f.ServeMethod(method, path, body, writerFunc(func([]byte) { attached() }), killedKey...)
}
