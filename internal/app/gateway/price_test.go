package gateway_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/engine/agent"
	"sluice/internal/sim/geminisim"
	"sluice/internal/state/store/memory"
	"sluice/internal/state/task/conversation"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// The price of input, as a part of the full one. Messages and exact marks charge for writing.
const (
	readPrice    = 0.1
	writtenPrice = 1.25
)

// charge is what a provider read and wrote of a call's input, in bytes. total is the size of the
// input, and repeated the part of it that an earlier call has sent.
type charge struct{ total, read, written, repeated int }

// price returns the price of the input, in bytes of the full price.
func (c *charge) price() float64 {
	return readPrice*float64(c.read) + writtenPrice*float64(c.written) + float64(c.total-c.read-c.written)
}

// cacheRules are the published rules of prefixes. Each returns what the provider reads and writes
// of a call, by the calls before it.
var cacheRules = map[string]func() func(before []*sent, now *sent) (read, written int){
	"any prefix": func() func([]*sent, *sent) (int, int) { // OpenAI before 5.6
		return func(before []*sent, now *sent) (int, int) { return longestPrefix(before, now), 0 }
	},
	"recent prefix": func() func([]*sent, *sent) (int, int) { // Gemini
		return func(before []*sent, now *sent) (int, int) {
			return longestPrefix(before[max(0, len(before)-2):], now), 0
		}
	},
	"marked": func() func([]*sent, *sent) (int, int) { // Messages
		const most, back = 4, 20
		entries := map[string]bool{}
		return func(_ []*sent, now *sent) (read, written int) {
			for _, mark := range now.marks {
				for last := mark; last >= 0 && last >= mark-back; last-- {
					if entries[now.beginning(last)] {
						read = max(read, size(now.blocks[:last+1]))
						break
					}
				}
			}
			for _, mark := range now.marks[:min(most, len(now.marks))] {
				entries[now.beginning(mark)] = true
				written = max(written, size(now.blocks[:mark+1])-read)
			}
			return read, written
		}
	},
	"exact marks": func() func([]*sent, *sent) (int, int) { // OpenAI from 5.6 on
		const reads, writes = 80, 4
		entries := map[string]bool{}
		return func(_ []*sent, now *sent) (read, written int) {
			for _, mark := range now.marks[max(0, len(now.marks)-reads):] {
				if entries[now.beginning(mark)] {
					read = max(read, size(now.blocks[:mark+1]))
				}
			}
			for n, i := 0, len(now.marks)-1; i >= 0 && n < writes; i-- {
				if key := now.beginning(now.marks[i]); !entries[key] {
					entries[key], n = true, n+1
					written = max(written, size(now.blocks[:now.marks[i]+1])-read)
				}
			}
			if !now.exact { // the provider sets a mark at the end
				written = size(now.blocks) - read
			}
			return read, written
		}
	},
}

// size returns the bytes of blocks.
func size(blocks []string) (n int) {
	for _, b := range blocks {
		n += len(b)
	}
	return n
}

// beginning returns what a mark on a block keeps. With Messages the choice among the tools is part
// of what is kept of messages.
func (p *sent) beginning(last int) string {
	key := strings.Join(p.blocks[:last+1], "\x00")
	if last >= len(p.head) {
		key += "\x00" + p.choice
	}
	return key
}

// longestPrefix returns how many bytes of a call an earlier one began with.
func longestPrefix(before []*sent, now *sent) (most int) {
	for _, b := range before {
		i := 0
		for i < len(b.blocks) && i < len(now.blocks) && b.blocks[i] == now.blocks[i] {
			i++
		}
		n := size(now.blocks[:i])
		if i < len(b.blocks) && i < len(now.blocks) {
			one, other := b.blocks[i], now.blocks[i]
			for j := 0; j < len(one) && j < len(other) && one[j] == other[j]; j++ {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// talk is a conversation whose price is measured.
type talk struct {
	turns int
	brief bool // without a context
	own   bool // the client brings the history
}

// String names a talk.
func (c talk) String() string {
	from, with := "memory", "a context"
	if c.own {
		from = "its own history"
	}
	if c.brief {
		with = "no context"
	}
	return fmt.Sprintf("%d turns, %s, %s", c.turns, from, with)
}

// targets returns the least share that is read, and the highest price.
func (c talk) targets() (read, price float64) {
	return map[talk]float64{
			{12, true, false}: 0.90, {12, true, true}: 0.88, {12, false, false}: 0.84, {12, false, true}: 0.83,
			{200, true, false}: 0.93, {200, true, true}: 0.92, {200, false, false}: 0.89, {200, false, true}: 0.89,
		}[c], map[talk]float64{
			{12, true, false}: 0.21, {12, true, true}: 0.23, {12, false, false}: 0.27, {12, false, true}: 0.28,
			{200, true, false}: 0.18, {200, true, true}: 0.19, {200, false, false}: 0.22, {200, false, true}: 0.22,
		}[c]
}

// record has the conversation, with a tool in each third turn, and returns the input of its calls.
func (c talk) record(t *testing.T, k *keeper, tools *finds) (calls []*sent) {
	t.Helper()
	s := memory.New(memory.Config{})
	defer func() { _ = s.Close() }()
	turn := 0
	m := k.serve(t, func(q geminisim.Question) geminisim.Answer {
		if turn%3 == 2 && steps(&q) == 0 {
			return geminisim.Answer{Calls: []geminisim.Call{{Name: "list_todos", Args: jsontext.Value(`{}`)}}}
		}
		return geminisim.Answer{Text: fmt.Sprintf("%-300d", turn)[:299] + "."}
	}, func(p *sent) { calls = append(calls, p) })
	r := conversation.New(conversation.Config{Store: s}).Around(agent.New(agent.Config{Model: m, Tools: tools, Origin: agent.Origin("a", k.spec.Key, k.spec.Model)}))
	var said []chat.HistoryMessage
	for turn = range c.turns {
		req := &chat.Request{Input: fmt.Sprintf("question %d, asked with some words", turn), ConversationID: "conv_1", UserID: "ann"}
		if !c.brief {
			req.Context = []chat.ContextEntry{{Name: "page", Value: strings.Repeat(fmt.Sprintf("row %03d ", turn), 330/8)}}
		}
		if c.own {
			req.HasHistory = true
			req.History, req.Pruning = chat.PruneHistory(said)
		}
		result, err := r.Run(t.Context(), req, dropped{})
		if err != nil || result.Reason != stream.Stop {
			t.Fatalf("%s, turn %d: %v %v", k.name, turn, result.Reason, err)
		}
		said = append(said, chat.HistoryMessage{Role: chat.RoleUser, Text: req.Input}, chat.HistoryMessage{Role: chat.RoleModel, Text: fmt.Sprintf("%-300d", turn)[:299] + "."})
		time.Sleep(time.Minute)
	}
	return calls
}

// missOf returns why a provider read less of a call than an earlier one has sent, or "".
func missOf(before []*sent, now *sent, c charge) string {
	switch {
	case len(before) == 0:
		return "the first call"
	case !slices.Equal(before[len(before)-1].head, now.head):
		return "tools or system prompt differ"
	case c.repeated < c.total/2:
		return "a block left the history"
	case c.read < c.repeated*9/10:
		return "no mark where an earlier call had one"
	}
	return ""
}

// TestPriceOfAConversation measures by four published rules what the input of a conversation costs,
// and which part of it is read from the provider's cache. It names each miss.
func TestPriceOfAConversation(t *testing.T) {
	t.Parallel()
	tools := todoTools(t)
	for _, k := range cacheKeepers() {
		for _, c := range []talk{
			{12, true, false}, {12, true, true}, {12, false, false}, {12, false, true},
			{200, true, false}, {200, true, true}, {200, false, false}, {200, false, true},
		} {
			if c.turns > 12 && k.brief {
				continue // the rule is measured with the other protocol
			}
			t.Run(fmt.Sprint(k.name, " ", k.spec.Model, ", ", c), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					calls := c.record(t, &k, tools)
					rule := cacheRules[k.rule]()
					var sum charge
					var price float64
					var misses []string
					for i, now := range calls {
						b := charge{total: size(now.blocks), repeated: longestPrefix(calls[:i], now)}
						b.read, b.written = rule(calls[:i], now)
						if reason := missOf(calls[:i], now, b); reason != "" {
							misses = append(misses, fmt.Sprintf("call %d: %s (%d of %d bytes read, %d repeated)", i+1, reason, b.read, b.total, b.repeated))
						}
						sum.total, sum.read, sum.repeated, price = sum.total+b.total, sum.read+b.read, sum.repeated+b.repeated, price+b.price()
					}
					read, cost, known := float64(sum.read)/float64(sum.total), price/float64(sum.total), float64(sum.read)/float64(sum.repeated)
					t.Logf("%d calls: %.3f read, %.3f of the repeated bytes, %.3f of the full price\n%s", len(calls), read, known, cost, strings.Join(misses, "\n"))
					if least, most := c.targets(); read < least || cost > most || known < 0.93 {
						t.Errorf("%.3f read, want %.2f; %.3f of the full price, want %.2f; %.3f of the repeated bytes, want 0.93", read, least, cost, most, known)
					}
				})
			})
		}
	}
}

// cacheKeepers returns the protocols, OpenAI's with models before and after its exact marks.
func cacheKeepers() []keeper {
	all := keepers()
	for i := range all {
		if k := all[i]; k.rule == "any prefix" {
			k.spec.Model, k.rule, k.brief = "gpt-5.6", "exact marks", k.name == "chat"
			all = append(all, k)
			all[i].brief = !k.brief
		}
	}
	return all
}
