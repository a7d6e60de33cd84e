package agent

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// maxIdentical is the first identical call of a turn that is refused: a model
// that repeats itself is stuck.
const maxIdentical = 3

// ledger remembers the tool calls of a turn.
type ledger struct {
	seed    string // of the ids that are given out
	n       int    // ids given out
	ids     index[struct{}]
	records index[callRecord] // by callKey
}

// callRecord is what became of the calls with one key.
type callRecord struct {
	times    int
	lost     bool // the outcome of one is unknown
	rejected bool // a person has not allowed one
}

// recordOf returns the record of a key, a new one for a new key.
func (l *ledger) recordOf(key string) *callRecord {
	if m := l.records.find(key); m != nil {
		return m
	}
	return l.records.add(key)
}

// newCallID returns the id that the events of a call carry: the model's own if it is fit and new,
// else one of ours. Gemini 2.5 sends empty ids.
func (l *ledger) newCallID(own string) string {
	id := own
	for id == "" || l.ids.find(id) != nil || len(id) > 64 || strings.ContainsFunc(id, isUnfitForID) {
		l.n++
		id = chat.CallID(l.seed, l.n)
	}
	l.ids.add(id)
	return id
}

// isUnfitForID reports whether a character of a model's id is replaced in ours: ids
// appear in frames, log and metrics of clients.
func isUnfitForID(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r))
}

// admitCall decides whether a call may run, when running others of its step already
// do. It returns the key under which equal calls are counted.
func (l *ledger) admitCall(c tool.Call, running int) (key string, err error) {
	if running >= maxParallel {
		return "", refusalFault(c, fmt.Sprintf("at most %d calls run in one step", maxParallel), "Call it again if it is still needed.")
	}
	key = callKey(c)
	if err := l.checkRefused(c, key); err != nil {
		return "", err
	}
	m := l.recordOf(key)
	if m.times++; m.times >= maxIdentical {
		return "", refusalFault(c, "the same call was made twice before", "Use the results that you have.")
	}
	return key, nil
}

// checkRefused returns why a call with that key may not be made again; nil: it may.
func (l *ledger) checkRefused(c tool.Call, key string) error {
	switch m := l.records.find(key); {
	case m == nil:
	case m.lost:
		return refusalOfLost(c)
	case m.rejected:
		return refusalOfRejected(c)
	}
	return nil
}

func refusalOfRejected(c tool.Call) error {
	return refusalFault(c, "the user has not allowed this call", "Do not repeat it; do without it, or tell the user.")
}

// refusalOfLost is the model's result for a call whose first outcome is unknown. To run it again
// could do a thing twice.
func refusalOfLost(c tool.Call) error {
	return refusalFault(c, "the same call was sent before and its outcome is unknown", "It must not be repeated; tell the user.")
}

// markLost records that the outcome of a call is unknown.
func (l *ledger) markLost(key string) {
	if key != "" {
		l.recordOf(key).lost = true
	}
}

// refusalFault returns the fault of a call that does not run; instead is the model's next step.
func refusalFault(c tool.Call, why, instead string) error {
	return &fault.Error{
		Type:     fault.ToolFailed,
		NoEffect: true,
		Message:  "The call of " + safeToolName(c.Name) + " was not executed: " + why,
		Hint:     "Not executed: " + why + ". " + instead,
	}
}

// safeToolName returns a tool's name as it may stand in a text for a person. A model can
// make up any name, a path for example.
func safeToolName(name string) string {
	if name == "" || len(name) > 64 || strings.ContainsFunc(name, func(r rune) bool { return r != ':' && isUnfitForID(r) }) {
		return "a tool that does not exist"
	}
	return name
}

// callKey is equal for calls that ask for the same thing, however the arguments
// are ordered or spaced. Integers stay as they are: as JCS writes them, ids beyond
// 2^53 would become equal.
func callKey(c tool.Call) string {
	args := c.Arguments.Clone()
	if args.Canonicalize(jsontext.CanonicalizeRawInts(false)) != nil {
		args = c.Arguments
	}
	return c.Name + " " + string(args)
}
