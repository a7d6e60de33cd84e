package roster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"sluice/breaker"
	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/process"
	"sluice/internal/base/fault"
	"sluice/internal/base/testnet"
	"sluice/internal/engine/router"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/internal/turn/chat"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// cards are agents that are somewhere else: their cards, by the hosts that they are at.
type cards struct {
	mu    sync.Mutex
	names map[string]string // of agents; none: there is no card
	asked map[string]int
}

func (c *cards) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked[r.Host]++
	name, ok := c.names[r.Host]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, fmt.Sprintf(`{"name":%q,"description":"d","version":"1","capabilities":{"streaming":true},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],
		"supportedInterfaces":[{"url":"http://%s/a2a","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"skills":[{"id":"s","name":"Skilled","description":"d","tags":[],"examples":["Do it"]}]}`, name, r.Host))
}

func (c *cards) hits(host string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked[host]
}

// member is a Roster with what became of its teams.
type member struct {
	*Roster
	log   *gatewaytest.LogTail
	mu    sync.Mutex
	teams []string // without names
	names string   // of the last one
}

// join starts a Roster over a network of cards.
func join(t *testing.T, c *cards, shared store.Values) *member {
	t.Helper()
	m := &member{log: new(gatewaytest.LogTail)}
	m.Roster = New(Config{
		Values: shared, Transport: testnet.Serve(t, c), Foreign: testnet.Serve(t, c), Breaker: breaker.Config{Failures: 3, Recovery: time.Minute, HalfOpenCalls: 1},
		Log: process.OwnLogger(process.NewLogger(m.log, "info")),
		Changed: func(team Team, listed bool) {
			m.note(map[bool]string{true: "listed", false: "card"}[listed], team)
		},
	})
	t.Cleanup(m.Close)
	return m
}

func newCards(hosts ...string) *cards {
	c := &cards{names: map[string]string{}, asked: map[string]int{}}
	for _, host := range hosts {
		c.names[host] = "Agent of " + host
	}
	return c
}

// note notes a team. A card may come before or after the team is made that asks for it: cards
// stand apart from what else changes teams.
func (m *member) note(why string, team Team) {
	ids, names := why+":", ""
	for i, a := range team.Agents {
		ids += " " + a.ID
		names += " " + a.Name
		if (team.Remotes[a.ID] != nil) != (a.Remote != nil) || team.Written[i].ID != a.ID {
			ids += " (wrong)"
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if why != "card" {
		m.teams = append(m.teams, ids)
	}
	m.names = strings.TrimSpace(names)
}

// use makes a team of a file.
func (m *member) use(file ...router.AgentSpec) {
	m.Use(file, func(team Team) { m.note("file", team) })
}

// want compares the teams since the last look, and the names in the last one.
func (m *member) want(t *testing.T, what, names string, want ...string) {
	t.Helper()
	synctest.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	if diff := cmp.Diff(want, m.teams); diff != "" || names != m.names {
		t.Errorf("%s the names are %q, want %q; teams (-want +got):\n%s", what, m.names, names, diff)
	}
	m.teams = nil
}

func far(id, host string) router.AgentSpec {
	return router.AgentSpec{ID: id, Description: "Far", Remote: &router.Remote{Card: "http://" + host + "/card", Refresh: time.Hour}}
}

// A remote agent keeps its card when the team changes, and is closed with the team that has
// it no more; what a card says stands where the file says nothing.
func TestRemoteAgentsOutliveATeam(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCards("one", "two")
		m := join(t, c, nil)
		local := router.AgentSpec{ID: "local", Name: "Mine", Description: "Near"}
		m.use(far("a", "one"), local)
		m.AwaitCards(t.Context())
		m.want(t, "at the start", "Agent of one Mine", "file: a local")
		m.use(far("a", "one"), far("b", "two"))
		m.want(t, "with another one", "Agent of one Agent of two", "file: a b")
		if got := fmt.Sprint(c.hits("one"), c.hits("two")); got != "1 1" {
			t.Errorf("cards were asked for %s times", got)
		}
		moved := far("a", "two")
		moved.Name = "Named"
		m.use(moved)
		m.want(t, "moved", "Named", "file: a")
		if n := len(m.Breakers()); n != 1 {
			t.Errorf("%d breakers guard the agents of the file", n)
		}
		m.use(local)
		m.want(t, "without remote ones", "Mine", "file: local")
		time.Sleep(2 * time.Hour)
		if n := c.hits("one") + c.hits("two"); n != 3 {
			t.Errorf("cards were asked for %d times, the last by nobody", n)
		}
	})
}

// A change waits for new cards, and not for ever.
func TestUseWaitsForCards(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stuck := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		r := New(Config{Transport: testnet.Serve(t, stuck), Foreign: testnet.Serve(t, stuck), Log: zerolog.Nop(), Changed: func(Team, bool) {}})
		defer r.Close()
		for i, want := range []time.Duration{0, settleTime} {
			began := time.Now()
			r.Use([]router.AgentSpec{far("a", "one")}, func(Team) {})
			if elapsed := time.Since(began); elapsed != want {
				t.Errorf("use %d took %v, want %v", i, elapsed, want)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		if r.AwaitCards(ctx); time.Since(began) > 0 {
			t.Errorf("a caller that is gone waited %v", time.Since(began))
		}
	})
}

const newAgent = `{"description":"New","card":"http://two/card"}`

// An agent that is added is in the teams of all processes that share the list, behind those of
// the file, and is out of them when it is taken out.
func TestAddedAgents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, st := newCards("one", "two"), memory.New(memory.Config{})
		first, second := join(t, c, st), join(t, c, st)
		for _, m := range []*member{first, second} {
			m.use(far("a", "one"))
			m.AwaitCards(t.Context())
			m.want(t, "at the start", "Agent of one", "file: a")
		}
		for i, want := range []bool{true, false} {
			if isNew, err := first.Put(t.Context(), "new", []byte(newAgent)); isNew != want || err != nil {
				t.Errorf("put %d: new %v, %v", i, isNew, err)
			}
		}
		first.want(t, "where it is added", "Agent of one Agent of two", "listed: a new", "listed: a new")
		time.Sleep(2 * followTime)
		second.want(t, "elsewhere", "Agent of one Agent of two", "listed: a new")
		third := join(t, c, st)
		third.use(far("a", "one"))
		third.want(t, "later", "Agent of one Agent of two", "file: a new")
		if err := second.Delete(t.Context(), "new"); err != nil {
			t.Error(err)
		}
		second.want(t, "where it is taken out", "Agent of one", "listed: a")
		time.Sleep(2 * followTime)
		first.want(t, "elsewhere", "Agent of one", "listed: a")
		if f, ok := errors.AsType[*fault.Error](second.Delete(t.Context(), "new")); !ok || f.Type != fault.NotFound {
			t.Errorf("taken out twice: %v", f)
		}
	})
}

// The file wins over an agent of the same id, and what it has cannot be added or taken out.
func TestAgentsOfTheFileStay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := join(t, newCards("one", "two"), nil)
		m.use()
		if _, err := m.Put(t.Context(), "a", []byte(newAgent)); err != nil {
			t.Fatal(err)
		}
		m.use(far("a", "one"))
		m.want(t, "the file has it now", "Agent of one", "file:", "listed: a", "file: a")
		_, err := m.Put(t.Context(), "a", []byte(newAgent))
		wantFault(t, err, "", chat.CodeNotAllowed)
		if err := m.Delete(t.Context(), "a"); err != nil { // the one that was added
			t.Error(err)
		}
		wantFault(t, m.Delete(t.Context(), "a"), "", chat.CodeNotAllowed)
		var most []router.AgentSpec
		for i := range maxAgents {
			most = append(most, router.AgentSpec{ID: fmt.Sprintf("a%d", i), Description: "d"})
		}
		m.use(most...)
		_, err = m.Put(t.Context(), "more", []byte(newAgent))
		wantFault(t, err, "", chat.CodeTooLong)
	})
}

func wantFault(t *testing.T, err error, field, code string) {
	t.Helper()
	wrong, ok := errors.AsType[*chat.ValidationError](err)
	if !ok || !slices.ContainsFunc(wrong.Fields, func(f chat.FieldError) bool { return f.Field == field && f.Code == code }) {
		t.Errorf("%v, want %s at %q", err, code, field)
	}
}

// An added agent is read by the rules of the file; faults point into what was sent.
func TestReadAgent(t *testing.T) {
	t.Parallel()
	for body, want := range map[string][2]string{
		`{"a":1,"a":2}`:         {"", chat.CodeInvalidJSON},
		`[]`:                    {"", chat.CodeInvalidJSON},
		`{}}, "b": {}`:          {"", chat.CodeInvalidJSON},
		`{"description":"x"}`:   {"/card", chat.CodeRequired},
		`{"card":"http://far"}`: {"/description", chat.CodeRequired},
		`{"description":"x","card":"http://f","x":1}`:                                  {"/x", chat.CodeUnsupported},
		`{"description":"x","card":"http://f","quality":{}}`:                           {"/quality", chat.CodeUnsupported},
		`{"description":"x","card":"http://f","tools":["t"]}`:                          {"/tools", chat.CodeNotAllowed},
		`{"description":"` + strings.Repeat("x", 5000) + `","card":"http://f"}`:        {"/description", chat.CodeTooLong},
		`{"description":"x","card":7}`:                                                 {"/card", chat.CodeInvalidFormat},
		`{"description":"x","card":"http://f","headers":{"X":"${HOME}"}}`:              {"/headers/X", chat.CodeInvalidFormat},
		`{"description":"x","card":"http://f","headers":{"X":"${SLUICE_AGENT_NONE}"}}`: {"/headers/X", chat.CodeInvalidFormat},
	} {
		_, err := readAgent("new", []byte(body))
		wantFault(t, err, want[0], want[1])
	}
	_, err := readAgent("No/Id", []byte(newAgent))
	wantFault(t, err, "", chat.CodeInvalidFormat)
	if got, err := readAgent("new", []byte(newAgent)); err != nil || got.ID != "new" || got.Remote.Card != "http://two/card" {
		t.Errorf("%+v, %v", got, err)
	}
}

// A list that somebody else wrote adds what can be read of it.
func TestDamagedList(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct{ event, team string }{
		"nonsense": {"agents_damaged", "file: a"}, `{"a":1}`: {"agents_damaged", "file: a"},
		`[{"id":"x","agent":1},{"id":"new","agent":` + newAgent + `}]`: {"agent_rejected", "file: a new"},
	} {
		synctest.Test(t, func(t *testing.T) {
			st := memory.New(memory.Config{})
			if _, err := st.PutValue(t.Context(), store.AgentsKey, store.Value{Data: []byte(text)}, 0); err != nil {
				t.Fatal(err)
			}
			m := join(t, newCards(), st)
			m.use(far("a", "one"))
			m.want(t, text, "", want.team)
			if len(m.log.All(want.event)) != 1 {
				t.Errorf("there is no %s in %s", want.event, m.log)
			}
			if _, err := m.Put(t.Context(), "new", []byte(newAgent)); (err != nil) != (want.event == "agents_damaged") {
				t.Errorf("%s: put: %v", text, err)
			}
		})
	}
}

// rival is a store in which somebody else is faster so many times.
type rival struct {
	store.Values
	times atomic.Int64
	down  atomic.Bool
}

func (r *rival) Value(ctx context.Context, key string) (store.Value, error) {
	if r.down.Load() {
		return store.Value{}, store.ErrUnavailable
	}
	return r.Values.Value(ctx, key)
}

func (r *rival) PutValue(ctx context.Context, key string, v store.Value, ttl time.Duration) (store.Value, error) {
	if n := r.times.Add(-1); n >= 0 {
		got, err := r.Values.PutValue(ctx, key, store.Value{Data: fmt.Appendf(nil, `[{"id":"r%d","agent":%s}]`, n, newAgent), Version: v.Version}, ttl)
		if err != nil {
			return got, err
		}
		return got, store.ErrConflict
	}
	return r.Values.PutValue(ctx, key, v, ttl)
}

// Who is slower than another process tries again, on what that one wrote; and gives up.
func TestChangeAmongRivals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := &rival{Values: memory.New(memory.Config{})}
		st.times.Store(2)
		m := join(t, newCards("two"), st)
		m.use()
		if _, err := m.Put(t.Context(), "new", []byte(newAgent)); err != nil {
			t.Fatal(err)
		}
		m.want(t, "after two rivals", "Agent of two Agent of two", "file:", "listed: r0 new")
		st.times.Store(100)
		_, err := m.Put(t.Context(), "more", []byte(newAgent))
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Type != fault.StoreUnavailable {
			t.Errorf("after a hundred rivals: %v", err)
		}
		st.times.Store(0)
		st.down.Store(true)
		if err := m.Delete(t.Context(), "new"); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("without a store: %v", err)
		}
		m.use()
		time.Sleep(2 * followTime)
		m.want(t, "without a store", "Agent of two Agent of two", "file: r0 new")
		st.down.Store(false)
		time.Sleep(2 * followTime)
		m.want(t, "when the store is back", "Agent of two", "listed: r92")
	})
}

// Nothing changes once it is closed, whatever comes then.
func TestClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, st := newCards("one"), memory.New(memory.Config{})
		m := join(t, c, st)
		m.use(far("a", "one"))
		m.want(t, "open", "Agent of one", "file: a")
		m.Close()
		m.cardChanged()
		if _, err := m.Put(t.Context(), "new", []byte(newAgent)); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Hour)
		m.want(t, "closed", "Agent of one")
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("gone")
		cancel(gone)
		m.added.busy <- struct{}{}
		if err := m.Delete(ctx, "new"); !errors.Is(err, gone) {
			t.Errorf("a caller that does not wait: %v", err)
		}
		<-m.added.busy
		(*Roster)(nil).Close()
	})
}
