package delegate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/engine/agent"
	"sluice/internal/engine/run"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

// actor is the model of one agent: it gives its answers one after the other, and an error
// where there is none any more.
type actor struct {
	mu      sync.Mutex // guards the fields below
	answers []any      // a text, a tool.Call or several, an error, or a func of the context
	asked   []chat.ModelRequest
}

func (a *actor) Name() string { return "model" }

func (a *actor) Stream(ctx context.Context, req *chat.ModelRequest, yield func(*chat.Chunk) error) error {
	a.mu.Lock()
	a.asked = append(a.asked, *req)
	if len(a.answers) == 0 {
		a.mu.Unlock()
		return &fault.Error{Type: fault.ModelUnavailable, Message: "The model is unavailable"}
	}
	next := a.answers[0]
	a.answers = a.answers[1:]
	a.mu.Unlock()
	chunk := &chat.Chunk{Finish: chat.FinishStop, Usage: &chat.Usage{InputTokens: 10, OutputTokens: 1}}
	switch next := next.(type) {
	case string:
		chunk.Parts = []chat.Part{{Text: next}}
	case []tool.Call:
		for _, c := range next {
			chunk.Parts = append(chunk.Parts, chat.Part{Call: &c})
		}
	case error:
		return next
	case func(context.Context) error:
		return next(ctx)
	}
	return yield(chunk)
}

// to returns calls that give tasks, a text or JSON each, to the agent id.
func to(id string, tasks ...string) (calls []tool.Call) {
	for i, text := range tasks {
		arguments := text
		if !strings.HasPrefix(text, "{") {
			arguments = fmt.Sprintf(`{"task":%q}`, text)
		}
		calls = append(calls, tool.Call{ID: fmt.Sprint("call_", i+1), Name: "to_" + id, Arguments: jsontext.Value(arguments)})
	}
	return calls
}

// desk are the tools of every agent: one that reads, and one that writes.
type desk struct{ set *tool.Set }

func newDesk() desk {
	object := jsontext.Value(`{"type":"object"}`)
	return desk{&tool.Set{Specs: []tool.Spec{
		{Name: "read", Server: "desk", InputSchema: object, Annotations: tool.Annotations{ReadOnly: true}},
		{Name: "write", Server: "desk", InputSchema: object},
		{Name: "to_writer", Server: "desk", InputSchema: object},
	}}}
}

func (d desk) Tools(context.Context) *tool.Set { return d.set }

func (d desk) Call(_ context.Context, call tool.Call) (tool.Result, error) {
	return tool.Result{ID: call.ID, Name: call.Name, Text: "done: " + call.Name}, nil
}

// office is a boss who gives tasks to a researcher and a writer. The researcher gives tasks to
// the writer and to the boss, the writer to the reader, and that to the last.
type office struct {
	*Agents
	actors  map[string]*actor
	boss    *agent.Agent
	records *shelf
	events  []stream.Event
	result  stream.Result
	err     error
	paused  *chat.Paused
	req     *chat.Request // of the last turn
}

// shelf is Records in memory.
type shelf struct {
	mu       sync.Mutex // guards the fields below
	lines    []string
	finished []string
}

func (s *shelf) Record(task string) Record { return &folder{s, "of " + task + ":"} }

func (s *shelf) Finish(_ context.Context, task string) { s.finished = append(s.finished, task) }

type folder struct {
	in   *shelf
	line string
}

func (f *folder) Begin(_ context.Context, session, agent, asked string, again bool) {
	f.line += fmt.Sprintf(" %s begins %q %v %d;", agent, asked, again, len(session))
}

func (f *folder) AddEvent(ev stream.Event) {
	switch e := ev.(type) {
	case *stream.Delta:
		f.line += " says " + e.Text + ";"
	case *stream.ToolStarted:
		f.line += " calls " + e.Tool + " " + strings.TrimLeft(e.ID, "0123456789abcdef") + ";"
	}
}

func (f *folder) Seal(asked *chat.Question, of run.Owner) {
	if asked != nil && of != nil {
		f.line += " waits;"
	}
}

func (f *folder) End(_ context.Context, summary string, ok, waits bool, _ int64) {
	f.in.mu.Lock()
	defer f.in.mu.Unlock()
	f.in.lines = append(f.in.lines, f.line+fmt.Sprintf(" ends %q %v %v", summary, ok, waits))
}

func newOffice(answers map[string][]any) *office {
	o := &office{actors: map[string]*actor{}, records: new(shelf)}
	o.Agents = New(Config{Prefix: "to_", Timeout: time.Minute, Records: o.records, Agents: []Spec{
		{ID: "boss", Description: "Leads", Delegates: []string{"researcher", "writer"}},
		{ID: "researcher", Name: "Ann", Description: "Finds things out", Timeout: 5 * time.Second, Delegates: []string{"writer", "boss"}},
		{ID: "writer", Description: "Writes", Delegates: []string{"reader"}},
		{ID: "reader", Description: "Reads", Delegates: []string{"last"}},
		{ID: "last", Description: "Is the last"},
	}})
	for _, id := range []string{"boss", "researcher", "writer", "reader", "last"} {
		o.actors[id] = &actor{answers: answers[id]}
		a := o.Add(id, agent.Config{Model: o.actors[id], Tools: newDesk(), Hold: func(_ tool.Call, spec *tool.Spec) bool {
			return spec.Name == "write"
		}})
		if id == "boss" {
			o.boss = a
		}
	}
	return o
}

// turn is a turn of the boss; it can pause if people is set.
func (o *office) turn(ctx context.Context, req *chat.Request, people bool, begun int64) *office {
	o.events, o.paused = nil, nil
	o.req = req
	req.Facts = chat.Facts{Sessions: o.newSessions(begun)}
	if people {
		req.Facts.Ask = func(p *chat.Paused) string { o.paused = p; return "" }
	}
	o.result, o.err = o.boss.Run(ctx, req, o)
	o.Finish(ctx, req, o.paused != nil)
	return o
}

func (o *office) Emit(ev stream.Event) error {
	if d, ok := ev.(*stream.Delta); ok { // its sender uses it again
		c := *d
		ev = &c
	}
	o.events = append(o.events, ev)
	return nil
}

func (o *office) Flush() error { return nil }

// lines writes the events of sessions, with short ids, and the results of the boss's calls.
func (o *office) lines() (list []string) {
	for _, ev := range o.events {
		switch e := ev.(type) {
		case *stream.AgentRun:
			list = append(list, fmt.Sprintf("%s %s of %s", e.AgentID, e.Status, short(e.CallID)))
		case *stream.InnerDelta:
			list = append(list, e.AgentID+" says "+e.Delta)
		case *stream.ToolStarted:
			list = append(list, fmt.Sprintf("%s calls %s as %s", e.AgentID, e.Tool, short(e.ID)))
		case *stream.ToolCompleted:
			list = append(list, fmt.Sprintf("%s: %s", short(e.ID), e.Result))
		case *stream.ToolFailed:
			list = append(list, fmt.Sprintf("%s failed", short(e.ID)))
		}
	}
	return list
}

// short is an id without the part of the session's.
func short(id string) string {
	if strings.HasPrefix(id, "d") && len(id) > 9 && id[9] == '_' {
		return "d" + id[9:]
	}
	return id
}

// results are what the boss's model was shown of its calls.
func (o *office) results() (list []string) {
	asked := o.actors["boss"].asked
	for _, m := range asked[len(asked)-1].Messages {
		for _, p := range m.Parts {
			if p.Result != nil {
				list = append(list, p.Result.Text)
			}
		}
	}
	return list
}

// A delegate sees its task and the context alone, its events say that they are of its session,
// and its caller is given its answer. What models took is the turn's.
func TestDelegation(t *testing.T) {
	t.Parallel()
	o := newOffice(map[string][]any{
		"boss":       {to("researcher", `{"task":"Find it","context":"It is high"}`), "All done."},
		"researcher": {[]tool.Call{{ID: "call_1", Name: "read", Arguments: jsontext.Value(`{}`)}}, to("writer", "Write it"), "Found."},
		"writer":     {"Written."},
	})
	o.turn(t.Context(), &chat.Request{Input: "secret", Keeping: chat.Keeping{Task: "task_1"}, UserID: "ann"}, false, 0)
	if o.err != nil || o.result.Usage.InputTokens != 60 {
		t.Errorf("%v, %+v", o.err, o.result.Usage)
	}
	want := []string{
		" calls to_researcher as call_1", "researcher started of call_1", "researcher calls read as d_1", "d_1: done: read",
		"researcher calls to_writer as d_2", "writer started of d_2", "writer says Written.", "writer completed of d_2", "d_2: Written.",
		"researcher says Found.", "researcher completed of call_1", "call_1: Found.",
	}
	if diff := cmp.Diff(want, o.lines()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	asked := fmt.Sprintf("%+v", o.actors["researcher"].asked[0].Messages)
	if strings.Contains(asked, "secret") || !strings.Contains(asked, "Find it") || !strings.Contains(asked, "It is high") {
		t.Errorf("the researcher was asked %s", asked)
	}
	records := []string{
		`of task_1: writer begins "Write it" false 36; says Written.; ends "Written." true false`,
		`of task_1: researcher begins "Find it\n\nContext:\nIt is high" false 36; calls read _1; calls to_writer _2; says Found.; ends "Found." true false`,
	}
	if diff := cmp.Diff(records, o.records.lines); diff != "" || !slices.Equal(o.records.finished, []string{"task_1"}) {
		t.Errorf("finished %q, records (-want +got):\n%s", o.records.finished, diff)
	}
	ids := map[string]bool{}
	for _, ev := range o.events {
		if run, ok := ev.(*stream.AgentRun); ok {
			ids[run.SessionID] = true
			if run.Role != stream.RoleDelegate || run.Status == stream.AgentCompleted && (!*run.Success || run.Usage.Input == 0) {
				t.Errorf("%+v", run)
			}
		}
	}
	if len(ids) != 2 {
		t.Errorf("sessions %v", ids)
	}
}

// A call that is beyond a bound, or that nobody can understand, begins no session, and the
// turn continues.
func TestRefusedTasks(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answers map[string][]any
		want    string
	}{
		"no object":       {map[string][]any{"boss": {to("writer", `{"task":7}`), "ok"}}, "not {task, context}"},
		"no task":         {map[string][]any{"boss": {to("writer", `{"task":" "}`), "ok"}}, "task is missing or empty"},
		"a long task":     {map[string][]any{"boss": {to("writer", strings.Repeat("x", 5001)), "ok"}}, "longer than 5,000"},
		"a long context":  {map[string][]any{"boss": {to("writer", `{"task":"x","context":"`+strings.Repeat("x", 16<<10+1)+`"}`), "ok"}}, "longer than 16 KiB"},
		"a circle":        {map[string][]any{"boss": {to("researcher", "x"), "ok"}, "researcher": {to("boss", "y"), "nobody"}}, "waits for the answer itself"},
		"too deep":        {map[string][]any{"boss": {to("researcher", "x"), "ok"}, "researcher": {to("writer", "x"), "r"}, "writer": {to("reader", "x"), "w"}, "reader": {to("last", "x"), "l"}}, "handed on at most 3 times"},
		"nothing is said": {map[string][]any{"boss": {to("writer", "x"), "ok"}, "writer": {" "}}, "It has given no answer"},
		"a failure":       {map[string][]any{"boss": {to("writer", "x"), "ok"}}, "The agent could not do the task: The model is unavailable"},
		"spaces":          {map[string][]any{"boss": {to("writer", `{"task":"x","context":" "}`), "ok"}, "writer": {"W"}}, "W"},
	} {
		o := newOffice(tt.answers).turn(t.Context(), &chat.Request{Input: "x"}, false, 0)
		var shown []string
		for _, a := range o.actors {
			for _, req := range a.asked {
				shown = append(shown, fmt.Sprintf("%+v", texts(req.Messages)))
			}
		}
		if all := strings.Join(shown, "\n"); o.err != nil || !strings.Contains(all, tt.want) {
			t.Errorf("%s: %v\n%s", name, o.err, all)
		}
	}
}

// texts are the results in messages.
func texts(messages []chat.Message) (list []string) {
	for _, m := range messages {
		for _, p := range m.Parts {
			if p.Result != nil {
				list = append(list, p.Result.Text)
			}
		}
	}
	return list
}

// A turn has 20 sessions, those before a pause included, and 8 at the same time.
func TestBoundsOfATurn(t *testing.T) {
	t.Parallel()
	writer := slices.Repeat([]any{"W"}, 30)
	o := newOffice(map[string][]any{"boss": {to("writer", "1", "2", "3", "4", "5"), "ok"}, "writer": writer})
	o.turn(t.Context(), &chat.Request{Input: "x"}, false, 17)
	if refused := strings.Count(strings.Join(o.results(), "\n"), "20 tasks were given"); refused != 2 || begunBy(o.req) != 20 {
		t.Errorf("%d of 5 are refused behind 17, and %d begun:\n%q", refused, begunBy(o.req), o.results())
	}
	synctest.Test(t, func(t *testing.T) {
		slow := func(ctx context.Context) error {
			time.Sleep(time.Second)
			return nil
		}
		o := newOffice(map[string][]any{"boss": {append(to("writer", "1", "2", "3", "4"), to("researcher", "5", "6", "7", "8")...), "ok"},
			"writer": slices.Repeat([]any{slow}, 8), "researcher": slices.Repeat([]any{slow}, 8)})
		busy := new(chat.Sessions)
		busy.Running.Store(5)
		o.result, o.err = o.boss.Run(t.Context(), &chat.Request{Input: "x", Facts: chat.Facts{Sessions: busy}}, o)
		if refused := strings.Count(strings.Join(o.results(), "\n"), "8 agents work on tasks"); refused != 5 || busy.Running.Load() != 5 {
			t.Errorf("%d of 8 are refused beside 5, and %d run:\n%q", refused, busy.Running.Load(), o.results())
		}
	})
}

// A long answer is summarised by one more call without tools, and cut if that fails.
func TestLongAnswers(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 1000)
	for name, tt := range map[string]struct {
		summary any
		want    string
	}{
		"summarised": {"In short.", "In short."},
		"failed":     {errors.New("broken"), "[cut here: the first 3996 of 4999 bytes of the answer are shown]"},
		"too long":   {long + long, "[cut here:"},
		"empty":      {" ", "[cut here:"},
	} {
		o := newOffice(map[string][]any{"boss": {to("writer", "x"), "ok"}, "writer": {long, tt.summary}}).turn(t.Context(), &chat.Request{Input: "x"}, false, 0)
		got := o.results()
		if o.err != nil || len(got) != 1 || !strings.HasSuffix(got[0], tt.want) && !strings.Contains(got[0], tt.want) || len(got[0]) > maxSummary {
			t.Errorf("%s: %v, %d bytes: %.200q", name, o.err, len(got[0]), got)
		}
		if req := o.actors["writer"].asked[1]; req.Tools != nil && len(req.Tools.Specs) > 0 || !strings.Contains(fmt.Sprintf("%+v", req.Messages), "Summarise") {
			t.Errorf("%s: asked with %+v", name, req.Tools)
		}
	}
}

// A session that takes too long, that panics, or whose text has no end fails alone, unless the
// failure is a bug of ours: that ends the turn.
func TestSessionsFail(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer any
		status stream.AgentStatus
		kind   fault.Type
		ends   bool
	}{
		"time":    {func(ctx context.Context) error { <-ctx.Done(); return fault.Cause(ctx) }, stream.AgentFailed, fault.Timeout, false},
		"a panic": {func(context.Context) error { panic("a bug") }, stream.AgentFailed, fault.Internal, true},
		"no room": {&fault.Error{Type: fault.Overloaded, Message: "No room"}, stream.AgentFailed, fault.Overloaded, true},
		"its end": {&fault.Error{Type: fault.Cancelled, Message: "Cancelled"}, stream.AgentStopped, fault.Cancelled, false},
		"a text":  {strings.Repeat("x", maxText+1), stream.AgentFailed, fault.ModelUnavailable, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			o := newOffice(map[string][]any{"boss": {to("researcher", "x"), "ok"}, "researcher": {tt.answer}}).turn(t.Context(), &chat.Request{Input: "x"}, false, 0)
			if (o.err != nil) != tt.ends {
				t.Errorf("%s: the turn ends with %v", name, o.err)
			}
			ended := 0
			for _, ev := range o.events {
				if run, ok := ev.(*stream.AgentRun); ok && run.Success != nil {
					if ended++; *run.Success || run.Status != tt.status || run.ErrorType != tt.kind {
						t.Errorf("%s: %+v", name, run)
					}
				}
			}
			if ended != 1 {
				t.Errorf("%s: the session has %d ends", name, ended)
			}
			if !tt.ends && !strings.Contains(strings.Join(o.results(), ""), "What it has done before that is not known") {
				t.Errorf("%s: %q", name, o.results())
			}
		})
	}
}

// Where a person must allow a call of a delegate's, however deep, the turn pauses with one
// question for all of them, and continues in the same sessions with the same ids.
func TestSessionsPause(t *testing.T) {
	t.Parallel()
	write := []tool.Call{{ID: "call_1", Name: "write", Arguments: jsontext.Value(`{}`)}}
	o := newOffice(map[string][]any{
		"boss":       {append(to("researcher", "x"), to("writer", "y")[0]), "ok"},
		"researcher": {to("writer", "z"), "R"},
		"writer":     {write, write, "W", "W"},
	})
	req := &chat.Request{Input: "x", Keeping: chat.Keeping{Task: "task_1"}}
	o.turn(t.Context(), req, true, 0)
	if o.err != nil || o.paused == nil || len(o.records.finished) > 0 {
		t.Fatalf("%v, paused %+v, finished %v", o.err, o.paused, o.records.finished)
	}
	began := map[string]bool{}
	for _, ev := range o.events {
		if run, ok := ev.(*stream.AgentRun); ok {
			began[run.SessionID] = true
		}
	}
	var decisions []chat.Decision
	for _, q := range o.paused.Questions {
		for _, c := range q.Calls {
			if c.AgentID != "writer" || short(c.ID) != "d_1" || c.Spec == nil {
				t.Errorf("asked about %+v", c)
			}
			decisions = append(decisions, chat.Decision{CallID: c.ID, Action: chat.Approve})
		}
	}
	p, err := run.ReadPaused(chat.PausedAgent, o.paused.State)
	if err == nil {
		err = Readable(p)
	}
	if err != nil || len(decisions) != 2 || len(began) != 3 {
		t.Fatalf("%v, %d decisions, %d sessions", err, len(decisions), len(began))
	}
	p.Within[0].State = []byte(strings.Replace(string(p.Within[0].State), `"session":`, `"other":`, 1))
	if err := Readable(p); !errors.Is(err, run.ErrPaused) {
		t.Errorf("a damaged session: %v", err)
	}
	again := *req
	again.Resumed = &chat.Resumed{By: chat.PausedAgent, State: o.paused.State, Decisions: decisions}
	o.turn(t.Context(), &again, true, begunBy(o.req))
	if o.err != nil || o.paused != nil || begunBy(o.req) != 3 {
		t.Fatalf("%v, paused %+v, %d begun", o.err, o.paused, begunBy(o.req))
	}
	for _, ev := range o.events {
		if run, ok := ev.(*stream.AgentRun); ok && !began[run.SessionID] {
			t.Errorf("another session: %+v", run)
		}
	}
	if got := o.results(); !slices.Equal(got, []string{"R", "W"}) {
		t.Errorf("the boss is given %q:\n%s", got, strings.Join(o.lines(), "\n"))
	}
	waits := 0
	for _, line := range o.records.lines {
		if strings.HasSuffix(line, `waits; ends "" true true`) {
			waits++
		}
	}
	if waits != 3 || len(o.records.lines) != 6 || len(o.records.finished) != 1 {
		t.Errorf("%d of these wait, finished %q:\n%s", waits, o.records.finished, strings.Join(o.records.lines, "\n"))
	}
}

// Where nobody can be asked, a delegate's call is refused and the delegate continues.
func TestNobodyIsAsked(t *testing.T) {
	t.Parallel()
	o := newOffice(map[string][]any{
		"boss":   {to("writer", "y"), "ok"},
		"writer": {[]tool.Call{{ID: "call_1", Name: "write", Arguments: jsontext.Value(`{}`)}}, "Not written."},
	}).turn(t.Context(), &chat.Request{Input: "x"}, false, 0)
	if got := o.results(); o.err != nil || !slices.Equal(got, []string{"Not written."}) {
		t.Errorf("%v: %q", o.err, got)
	}
}

// The tools of an agent are its own and the agents that it may call; a delegate wins over a
// tool of its name. The set is the same as long as the agent's own is.
func TestToolsOfACaller(t *testing.T) {
	t.Parallel()
	o := newOffice(nil)
	tools := o.tools["boss"]
	set := tools.Tools(t.Context())
	var names []string
	for _, s := range set.Specs {
		names = append(names, s.Server+"/"+s.Name)
	}
	if diff := cmp.Diff([]string{"desk/read", "desk/write", "agents/to_researcher", "agents/to_writer"}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if again := tools.Tools(t.Context()); again != set {
		t.Error("the set is made twice")
	}
	if s := set.Lookup("to_researcher"); !strings.Contains(s.Description, "another agent, Ann,") || s.Confirm != tool.ConfirmNever || !json.Valid(s.InputSchema) {
		t.Errorf("%+v", s)
	}
	of := tools.(agent.Callees)
	if s := of.Spec(t.Context(), "last", "write"); s == nil || of.Spec(t.Context(), "nobody", "write") != nil || of.Spec(t.Context(), "last", "to_writer").Server != "desk" {
		t.Errorf("%+v", s)
	}
	if _, err := tools.Call(t.Context(), to("writer", "x")[0]); err == nil {
		t.Error("an agent is called outside of a turn")
	}
	if r, err := tools.Call(t.Context(), tool.Call{Name: "read"}); err != nil || r.Text != "done: read" {
		t.Errorf("its own tool: %+v, %v", r, err)
	}
	if _, err := (noTools{}).Call(t.Context(), tool.Call{Name: "x"}); err == nil || len(noTools{}.Tools(t.Context()).Specs) > 0 {
		t.Error("there is a tool where there is none")
	}
}

// Where no agent calls another there is nothing, which works; and nothing need be stored.
func TestNoDelegates(t *testing.T) {
	t.Parallel()
	none := New(Config{Agents: []Spec{{ID: "a"}}})
	req := &chat.Request{Input: "x", Keeping: chat.Keeping{Task: "t"}}
	if none != nil || none.newSessions(3) != nil || begunBy(req) != 0 {
		t.Errorf("%+v", none)
	}
	none.Finish(t.Context(), req, false)
	a := none.Add("a", agent.Config{Model: &actor{answers: []any{"A"}}, Tools: noTools{}})
	if result, err := a.Run(t.Context(), req, new(office)); err != nil || result.Reason != stream.Stop {
		t.Errorf("%+v, %v", result, err)
	}
	bare := New(Config{Prefix: "to_", Timeout: time.Minute, Agents: []Spec{{ID: "a", Delegates: []string{"b"}}, {ID: "b"}}})
	bare.Add("b", agent.Config{Model: &actor{answers: []any{"B"}}, Tools: noTools{}})
	boss := bare.Add("a", agent.Config{Model: &actor{answers: []any{to("b", "x"), "A"}}, Tools: noTools{}})
	sink := new(office)
	req.Facts.Sessions = bare.newSessions(0)
	if _, err := boss.Run(t.Context(), req, sink); err != nil || !slices.Contains(sink.lines(), "b says B") {
		t.Errorf("%v: %q", err, sink.lines())
	}
	bare.Finish(t.Context(), req, false)
}
