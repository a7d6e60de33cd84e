package conversation

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/state/store"
	"sluice/internal/turn/chat"
)

// headerVersion is the version of a record. A record of another version is damaged for this process.
const headerVersion = 1

// Bounds of a record. They keep it far below 64 KiB.
const (
	maxMarks = 64 // running and waiting turns, each; the oldest leave first
	titleLen = 60 // characters of a title that is made of the first input
)

// header is the record of a conversation: its facts without its turns. Every change of it is a
// compare-and-set, so that gateways can decide by it.
type header struct {
	Version int `json:"v"`
	// Life distinguishes a conversation from a deleted one under the same id.
	Life       string `json:"life"`
	Title      string `json:"title,omitzero"` // a person's; empty: FirstTitle counts
	FirstTitle string `json:"made,omitzero"`  // of the first input
	Created    int64  `json:"created"`        // Unix time in milliseconds, as are all times here
	Updated    int64  `json:"updated"`
	// Turns and Bytes are those of the list. Forks counts turns that named their parent.
	Turns     int    `json:"turns"`
	Bytes     int    `json:"bytes"`
	Forks     int    `json:"forks,omitzero"`
	Truncated bool   `json:"truncated,omitzero"`
	Head      string `json:"head,omitzero"` // the turn that was appended last
	// HeadShown counts the turns that models were shown in the head, itself included; 0: not known.
	HeadShown int    `json:"shown,omitzero"`
	Running   []mark `json:"running,omitzero"`
	Waiting   []mark `json:"waiting,omitzero"` // turns that ended with a question to a person
	ChatKit   bool   `json:"chatkit,omitzero"` // ChatKit began it
}

// mark names a turn that runs or waits, and its task.
type mark struct {
	Turn string `json:"turn"`
	Task string `json:"task"`
	At   int64  `json:"at"`
}

// newHeader returns the record of a conversation that begins with an input.
func newHeader(input string, now time.Time) header {
	var life [6]byte
	_, _ = rand.Read(life[:]) // never fails
	at := now.UnixMilli()
	return header{Version: headerVersion, Life: hex.EncodeToString(life[:]), FirstTitle: titleOf(input), Created: at, Updated: at}
}

// titleOf returns the first line of an input, cut to titleLen characters, without controls.
func titleOf(input string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(input), "\n")
	line = chat.TitleLine(line)
	if utf8.RuneCountInString(line) <= titleLen {
		return line
	}
	return strings.TrimSpace(string([]rune(line)[:titleLen-1])) + "…"
}

// readHeader reads a record. It returns store.ErrDamaged for one that it does not know.
func readHeader(data []byte) (h header, err error) {
	if err := json.Unmarshal(data, &h, jsontext.AllowInvalidUTF8(true)); err != nil || h.Version != headerVersion || h.Life == "" {
		return header{}, store.ErrDamaged
	}
	h.Turns, h.Bytes, h.Forks = max(0, h.Turns), max(0, h.Bytes), max(0, h.Forks)
	return h, nil
}

// currentTitle returns the title: a person's, or the made one.
func (h *header) currentTitle() string { return cmp.Or(h.Title, h.FirstTitle) }

// encode returns the JSON that readHeader reads.
func (h *header) encode() []byte {
	data, _ := json.Marshal(h, jsontext.AllowInvalidUTF8(true)) // texts and numbers: cannot fail
	return data
}

// cloneHeader returns a copy that shares no list with h.
func (h *header) cloneHeader() header {
	c := *h
	c.Running, c.Waiting = slices.Clone(h.Running), slices.Clone(h.Waiting)
	return c
}

// addRunning records that a turn begins. Its task does not wait any more.
func (h *header) addRunning(m mark) {
	h.removeMarks(m)
	if m.Task != "" {
		h.Running = appendMark(h.Running, m)
	}
}

// removeMarks removes a turn from those that run, and its task from those that wait.
func (h *header) removeMarks(m mark) {
	h.Running = slices.DeleteFunc(h.Running, func(o mark) bool { return o.Turn == m.Turn })
	h.Waiting = slices.DeleteFunc(h.Waiting, func(o mark) bool { return o.Task == m.Task })
}

// appendMark adds a mark to a bounded list.
func appendMark(list []mark, m mark) []mark {
	list = append(list, m)
	return list[max(0, len(list)-maxMarks):]
}

// addTurn counts a turn that is appended with so many bytes.
func (h *header) addTurn(t *turn, bytes int) {
	h.removeMarks(mark{Turn: t.ID, Task: t.Task})
	if t.waits && t.Task != "" {
		h.Waiting = appendMark(h.Waiting, mark{t.ID, t.Task, t.Ended})
	}
	if t.Forked {
		h.Forks++
	}
	h.Turns, h.Bytes, h.Head, h.HeadShown = h.Turns+1, h.Bytes+bytes, t.ID, t.ShownTurns
	h.Updated = max(h.Updated, t.Ended)
}
