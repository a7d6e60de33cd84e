// This file finds the lines of a conversation. The list's order is the truth: a turn follows the one
// that was appended before it, unless its request named another one. So one append decides both the
// place of a turn and the head.

package conversation

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/turn/chat"
)

// place is a turn's place in its conversation.
type place struct {
	ID        string `json:"id"`
	After     string `json:"after"`
	Forked    bool   `json:"forked"`
	Takeovers int    `json:"takeovers"`

	index  int // in the list
	parent int // among the places; -1: the turn begins a line, or its parent has left the list
}

// tree has the turns of a conversation, each once, in the order of the list.
type tree []place

// growTree reads the places of all items. It skips those that cannot be read.
func growTree(items [][]byte) tree {
	t, byID := make(tree, 0, len(items)), make(map[string]int, len(items))
	for i, item := range items {
		p := place{index: i}
		if json.Unmarshal(item, &p, jsontext.AllowInvalidUTF8(true)) != nil || p.ID == "" {
			continue
		}
		if at, ok := byID[p.ID]; ok {
			if p.Takeovers > t[at].Takeovers { // the later owner's record counts
				t[at].Takeovers, t[at].index = p.Takeovers, i
			}
			continue
		}
		byID[p.ID] = len(t)
		p.parent = len(t) - 1
		if p.Forked {
			if at, ok := byID[p.After]; ok {
				p.parent = at
			} else {
				p.parent = -1
			}
		}
		t = append(t, p)
	}
	return t
}

// indexOf returns the place of a turn, or -1.
func (t tree) indexOf(id string) int {
	return slices.IndexFunc(t, func(p place) bool { return p.ID == id })
}

// lineTo returns the places of the line that ends with one, oldest first.
func (t tree) lineTo(end int) (line []int) {
	for at := end; at >= 0; at = t[at].parent {
		line = append(line, at)
	}
	slices.Reverse(line)
	return line
}

// parentOf returns the id of a turn's parent, or chat.AfterStart.
func (t tree) parentOf(at int) string {
	switch p := &t[at]; {
	case p.parent >= 0:
		return t[p.parent].ID
	case p.After != "":
		return p.After
	}
	return chat.AfterStart
}

// siblingsOf returns the turns with the same parent as one, itself included. It returns nil if
// there is only that one.
func (t tree) siblingsOf(at int) (ids []string) {
	parent := t.parentOf(at)
	for i := range t {
		if t.parentOf(i) == parent {
			ids = append(ids, t[i].ID)
		}
	}
	if len(ids) < 2 {
		return nil
	}
	return ids
}
