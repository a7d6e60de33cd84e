//go:build unix

package task

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// keptDocument reads a document as it was stored, with the texts that were stored next to it.
func keptDocument(doc []byte, items ...[]byte) *document {
	d, long := readDocument("task_1", store.Task{Doc: doc, Meta: store.Meta{Version: 1}}), map[string]string{}
	for _, item := range items {
		_ = json.Unmarshal(item, &long)
	}
	if !d.isWhole() {
		d.addLongTexts(long)
	}
	return d
}

// answeredBy returns a document of a team's turn, in which each text is one agent's, and the whole
// answer.
func answeredBy(texts ...string) (d *document, all string) {
	d = &document{ID: "task_1", SessionID: "c", ContextID: "c"}
	d.addInput("turn_1", &Request{Chat: &chat.Request{Input: "the question"}}, time.Unix(0, 0), 50)
	said := new(answer)
	for i, text := range texts {
		name := fmt.Sprint("agent", i)
		said.addEvent(&stream.AgentRun{AgentID: name, Status: stream.AgentStarted})
		said.addEvent(&stream.Delta{Text: text, Attribution: stream.Attribution{AgentID: name}})
		said.addEvent(&stream.Delta{Text: "\n\n"})
		all += text + "\n\n"
	}
	said.addEvent(&stream.Route{AgentID: "agent0", Decision: stream.Routed})
	said.addEvent(&stream.Done{Reason: stream.InputRequired})
	d.endTurn(InputRequired, said, "turn_1", time.Unix(1, 0), 50)
	return d, all
}

// The store has a long answer once, whatever repeats it, and a reader of the document gets it
// everywhere.
func TestAnswerIsStoredOnce(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 40, 2_000, 200_000} {
		one, other := strings.Repeat("first ", n), strings.Repeat("second ", n)
		d, answer := answeredBy(one, other)
		before := string(d.encode())
		doc, long := d.encodeStored()
		if len(doc) > maxDocument {
			t.Errorf("%d: the document has %d bytes", n, len(doc))
		}
		if (long != nil) != (n == 200_000) {
			t.Errorf("%d: %d bytes of long texts", n, len(long))
		}
		if n >= 40 && len(doc)+len(long) > len(answer)*11/10+8<<10 {
			t.Errorf("%d: an answer of %d bytes takes %d", n, len(answer), len(doc)+len(long))
		}
		if n == 2_000 && strings.Count(string(doc), one) != 1 {
			t.Errorf("the answer stands there %d times", strings.Count(string(doc), one))
		}
		if diff := cmp.Diff(before, string(keptDocument(doc, long).encode())); diff != "" {
			t.Errorf("%d (-want +got):\n%.2000s", n, diff)
		}
	}
}

// A task that continues again and again has short documents, all of its last messages and every
// question, whatever the texts are.
func TestDocumentsAreShort(t *testing.T) {
	t.Parallel()
	for seed := range 15 {
		r := rand.New(rand.NewPCG(uint64(seed), 2))
		most := []int{2, 50, 500}[seed%3]
		d := &document{ID: "task_1", SessionID: "c", ContextID: "c"}
		var said []string
		var items [][]byte
		var doc []byte
		text := func() string {
			alphabet := []string{"a", "ü", "\"", "\x01", "\u2028", "<word> "}
			n := []int{3, 200, 3000, 12_000}[r.IntN(4)]
			return strings.Repeat(alphabet[r.IntN(len(alphabet))], n/4+r.IntN(n)) + fmt.Sprint(len(said))
		}
		for n := range 1 + r.IntN(min(2*most, 120)) {
			turn := fmt.Sprint("turn_", n)
			said = append(said, text())
			d.addInput(turn, &Request{Chat: &chat.Request{Input: said[len(said)-1]}}, time.Unix(0, 0), most)
			a := answerOf(&stream.Done{Reason: []stream.FinishReason{stream.InputRequired, stream.Stop}[r.IntN(2)]})
			if r.IntN(5) > 0 {
				said = append(said, text())
				a.text = []byte(said[len(said)-1])
			}
			d.endTurn(stateOf(a.Reason()), a, turn, time.Unix(0, 0), most)
			var long []byte
			if doc, long = d.encodeStored(); len(doc) > maxDocument {
				t.Fatalf("%d: %d bytes after %d turns", seed, len(doc), n+1)
			}
			if long != nil {
				items = append(items, long)
			}
			items = items[max(0, len(items)-most-2*maxAsked):]
			d = readDocument("task_1", store.Task{Doc: doc, Meta: store.Meta{Version: 1}})
		}
		got := keptDocument(doc, items...)
		want := said[max(0, len(said)-most):]
		if len(got.History) != len(want) {
			t.Fatalf("%d: %d messages, want %d", seed, len(got.History), len(want))
		}
		for i, m := range got.History {
			if m.Content != want[i] {
				t.Errorf("%d: message %d of %d has %d bytes, want %d", seed, i, len(want), len(m.Content), len(want[i]))
			}
		}
		if q := got.Metadata.PendingQuestion; q != nil && q.Messages[len(q.Messages)-2].Content == "" {
			t.Errorf("%d: the question lacks its request", seed)
		}
		if list := keptDocument(doc).encodeListed(false); len(list) > 2*maxDocument || !json.Valid(list) || bytes.Contains(list, []byte(`"elsewhere"`)) {
			t.Errorf("%d: in a list it has %d bytes", seed, len(list))
		}
	}
}

// A text that is gone is shown by its beginning, with a mark.
func TestLostLongText(t *testing.T) {
	t.Parallel()
	d, _ := answeredBy(strings.Repeat("word ", 50_000))
	doc, _ := d.encodeStored()
	got := keptDocument(doc)
	last := got.History[len(got.History)-1].Content
	if len(last) > maxHead || !strings.HasPrefix(last, "word word") || !strings.HasSuffix(last, cutMark) || bytes.Contains(got.encode(), []byte("elsewhere")) {
		t.Errorf("%d bytes, and the document is %.300s", len(last), got.encode())
	}
}

// A list is no longer than a page may be, of whatever length the answers are: each page
// continues where the one before ended, and GET of the task has its answer whole. On every
// engine.
func TestPagesOfLongTasks(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, here, _ Store) {
		s := New(Config{Store: here})
		defer s.Close()
		answer := strings.Repeat("0123456789abcde ", 1<<16)
		const turns = 8
		var ids []string
		for range turns {
			turn := beginAt(t, s)
			emitAll(t, turn, nobody{}, []stream.Event{&stream.Start{}, &stream.Delta{Text: answer}, &stream.Done{Reason: stream.Stop}, nil}, nil)
			turn.End()
			ids = append([]string{turn.Task()}, ids...)
			if kept, err := here.Task(t.Context(), turn.Task()); err != nil || len(kept.Doc) > maxDocument {
				t.Fatalf("a document of %d bytes, %v", len(kept.Doc), err)
			}
		}
		// And one of the version before, which has all of it.
		old := &document{ID: "task_old", ContextID: "conv_1", SessionID: "conv_1", Status: status{State: Completed}}
		old.History = []message{{Role: "user", Content: "hi"}, {Role: "assistant", Content: answer}}
		old.Artifacts = []artifact{{ArtifactID: "answer", Parts: []part{{Text: answer}}}}
		if err := here.CreateTask(t.Context(), "task_old", store.Task{Doc: old.encode(), Meta: store.Meta{State: Completed, Conversation: "conv_1", Created: time.Now().Add(-time.Hour)}}, time.Hour); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, "task_old")
		var listed []string
		for q := (store.Query{Conversation: "conv_1", Limit: 3}); ; {
			page, err := s.List(t.Context(), Caller{}, q, ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			text, _ := json.Marshal(page)
			if len(text) > maxList || bytes.Contains(text, []byte(`"artifacts"`)) {
				t.Errorf("a page of %d bytes: %.200s", len(text), text)
			}
			for _, doc := range page.Tasks {
				var d document
				_ = json.Unmarshal(doc, &d)
				listed = append(listed, d.ID)
				for _, m := range d.History {
					if len(m.Content) > 2<<10 {
						t.Errorf("a text of %d bytes in a list", len(m.Content))
					}
				}
			}
			if q.Cursor = page.Next; q.Cursor == "" {
				break
			}
		}
		if diff := cmp.Diff(ids, listed); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		for _, id := range []string{ids[0], "task_old"} {
			whole, err := s.Show(t.Context(), Caller{}, id)
			if err != nil || bytes.Count(whole, []byte(answer)) != 2 {
				t.Errorf("%s: %v, the answer is there %d times", id, err, bytes.Count(whole, []byte(answer)))
			}
		}
		if n, err := s.Count(t.Context(), Caller{}, store.Query{Conversation: "conv_1"}, 100); n != len(ids) || err != nil {
			t.Errorf("%d tasks, %v", n, err)
		}
		if err := s.Forget(t.Context(), Caller{}, "conv_1"); err != nil {
			t.Fatal(err)
		}
		if left, err := here.List(t.Context(), store.LongKey(ids[0]), 0, 0); len(left) > 0 || err != nil {
			t.Errorf("forgotten, and %d long texts are left, %v", len(left), err)
		}
	})
}

// A question that is too long for a document is answered with all of its words.
func TestLongQuestionIsWhole(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, here, _ Store) {
		s := New(Config{Store: here})
		defer s.Close()
		question := strings.Repeat("which of them? ", 10_000)
		turn := beginAt(t, s)
		emitAll(t, turn, nobody{}, []stream.Event{&stream.Start{}, &stream.Delta{Text: question}, &stream.Done{Reason: stream.InputRequired}, nil}, nil)
		turn.End()
		req := Request{Chat: &chat.Request{Input: "that one", ConversationID: "conv_1"}, TaskID: turn.Task(), Cancel: func(error) {}}
		next, err := s.Begin(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		next.End()
		if said := req.Chat.Question.Said; len(said) != 2 || said[1].Text != question {
			t.Errorf("asked %d messages, the last of %d bytes", len(said), len(said[len(said)-1].Text))
		}
	})
}

// Eight lists are made at once; a request for one more is refused, and no other.
func TestListsAreFew(t *testing.T) {
	t.Parallel()
	s := New(Config{Store: memory.New(memory.Config{})})
	defer s.Close()
	var done []func()
	for range lists {
		d, err := s.Listing()
		if err != nil {
			t.Fatal(err)
		}
		done = append(done, d)
	}
	_, err := s.Listing()
	if f := fault.From(err); f.Type != fault.Overloaded {
		t.Errorf("one more: %v", err)
	}
	if _, err := s.Show(t.Context(), Caller{}, "none"); fault.From(err).Type != fault.NotFound {
		t.Errorf("who asks for a task: %v", err)
	}
	done[0]()
	if d, err := s.Listing(); err != nil {
		t.Errorf("when one is over: %v", err)
	} else {
		d()
	}
}
