// This file has tasks in a store grow: it measures a list and a stored turn, by the number of
// tasks. The packages of the gateway fill the store, because a client would be too slow.

package main

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"sluice/internal/state/store"
	"sluice/internal/state/store/redis"
	"sluice/internal/state/store/sqlite"
)

// conversation is the conversation of all tasks: a list of all conversations would not cost more.
const conversation = "conv_growth"

// taskCounts returns the numbers of tasks.
func (r *run) taskCounts() []int { return r.allowedSizes(10, 100, 1000, 10_000, 100_000) }

// tasksInSQLite has tasks grow in a file, within the gateway's process.
func tasksInSQLite(r *run) {
	t := newTasks()
	env := r.modelEnv()
	for _, n := range r.taskCounts() {
		path := filepath.Join(r.memoryFolder(), "tasks.db")
		// A file that is filled so fast makes its disk wait now and then.
		s, err := sqlite.Open(r.Ctx, sqlite.Config{Path: path, Calls: store.NewCalls(store.CallsConfig{Timeout: time.Minute})})
		r.Must(err)
		r.Must(fillStore(r.Ctx, s, n))
		r.Must(s.Close())
		begun := point{size: n}
		for range r.plan.rounds {
			g := r.startGateway("", env, "SLUICE_STORE=sqlite:"+path)
			begun.runs = append(begun.runs, float64(g.started.Microseconds()))
			g.stop()
		}
		t.begin.points = append(t.begin.points, begun)
		t.addGateway(n, r.startGateway("", env, "SLUICE_STORE=sqlite:"+path))
	}
	r.measureSeries(t.allSeries()...)
	r.printChart(t.newChart("SQLite", &t.begin))
}

// tasksInRedis has tasks grow in a server of Redis, whose CPU time counts with that of the gateway.
func tasksInRedis(r *run) {
	t := newTasks()
	env := r.modelEnv()
	addr, server := r.startRedis()
	for _, n := range r.taskCounts() {
		prefix := fmt.Sprintf("p%d:", n)
		s := redis.New(redis.Config{Location: store.Location{Kind: store.Redis, Addrs: []string{addr}}, Prefix: prefix})
		r.Must(fillStore(r.Ctx, s, n))
		r.Must(s.Close())
		t.addGateway(n, r.startGateway("", env, "SLUICE_STORE=redis://"+addr, "SLUICE_STORE_PREFIX="+prefix), server)
	}
	r.measureSeries(t.allSeries()...)
	r.printChart(t.newChart("Redis, with its server"))
}

// tasks are the series of a store.
type tasks struct{ page, rare, show, turn, begin series }

func newTasks() *tasks {
	return &tasks{page: series{name: "a list of 20"}, rare: series{name: "a list of a state that none has"},
		show: series{name: "one task"}, turn: series{name: "a turn that is kept"}, begin: series{name: "start of the gateway"}}
}

func (t *tasks) allSeries() []*series { return []*series{&t.page, &t.rare, &t.show, &t.turn} }

// addGateway adds a gateway whose store has n tasks; others are processes whose time counts too.
func (t *tasks) addGateway(n int, g *gateway, others ...int) {
	const list = "/tasks?conversation_id=" + conversation
	for s, do := range map[*series]func() error{
		&t.page: g.getFunc(list+"&state=completed&limit=20", `"completed"`),
		&t.rare: g.getFunc(list+"&state=canceled&limit=20", `"tasks":[]`),
		&t.show: g.getFunc("/tasks/"+taskID(n/2)+"?conversation_id="+conversation, `"completed"`),
		&t.turn: g.turnFunc(requestBody("hello", `,"conversation_id":"`+conversation+`"`)),
	} {
		s.probes = append(s.probes, &probe{size: n, pids: append([]int{g.pid}, others...), do: do})
	}
}

func (t *tasks) newChart(where string, others ...*series) *chart {
	return &chart{title: "CPU a request, by the tasks that are kept in " + where, x: "tasks in the store", series: append(t.allSeries(), others...)}
}

func taskID(i int) string { return fmt.Sprintf("task_%012d", i) }

// fillStore adds n tasks as turns leave them that ended a while ago: a document and a trace each.
func fillStore(ctx context.Context, s store.Store, n int) error {
	const ttl = 24 * time.Hour
	began := time.Now().Add(-time.Duration(n) * time.Second)
	for i := range n {
		id, turn, at := taskID(i), fmt.Sprintf("req_%012d", i), began.Add(time.Duration(i)*time.Second)
		stamp := at.UTC().Format("2006-01-02T15:04:05.000Z")
		doc := fmt.Sprintf(`{"id":%q,"sessionId":%q,"contextId":%q,"status":{"state":"completed","message":{"role":"assistant","content":"The request was answered"},"timestamp":%q},`+
			`"history":[{"role":"user","content":"hello","timestamp":%[4]q,"messageId":"%[5]s:user"},{"role":"assistant","content":%[6]q,"timestamp":%[4]q,"messageId":"%[5]s:assistant"}],"metadata":{"turns":[%[5]q]}}`,
			id, conversation, conversation, stamp, turn, strings.Repeat("the next few words go on ", 10))
		t := store.Task{Doc: []byte(doc), Meta: store.Meta{Conversation: conversation, Turn: turn, State: "completed", Created: at}}
		t.Side = store.Side{Key: store.TraceKey(id), Item: []byte(`{"turn":"` + turn + `","steps":[{"kind":"turn","status":"ok"},{"kind":"step","status":"ok"}]}`)}
		if err := s.CreateTask(ctx, id, t, ttl); err != nil {
			return err
		}
	}
	return nil
}

// startRedis starts a server of Redis, which ends with the run.
func (r *run) startRedis() (addr string, pid int) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		r.Lack("redis-server")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	r.Must(err)
	addr = l.Addr().String()
	r.Must(l.Close())
	host, port, _ := net.SplitHostPort(addr)
	cmd := exec.Command(program, "--bind", host, "--port", port, "--dir", r.makeFolder(), "--save", "", "--appendonly", "no")
	r.Must(cmd.Start())
	r.AtEnd(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for range 100 {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			_ = c.Close()
			return addr, cmd.Process.Pid
		}
		r.Pause(50 * time.Millisecond)
	}
	r.Lack("a server of Redis that answers")
	return "", 0
}
