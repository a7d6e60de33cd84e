// Package task is the life of a turn that is kept in a store: its document, the log of
// its events, and who reads it.
package task

import (
	"crypto/rand"
	"encoding/base32"
	"strings"
)

// idLength is how many characters follow a prefix: 128 random bits, five in each.
const idLength = 26

// Prefixes of ids.
const (
	taskPrefix         = "task_"
	turnPrefix         = "turn_"
	conversationPrefix = "conv_"
)

// NewID returns a task's id.
func NewID() string { return newID(taskPrefix) }

// NewTurnID returns a turn's id. Without authentication it is the key to the turn.
func NewTurnID() string { return newID(turnPrefix) }

// NewConversationID returns the id of a conversation that has none from its client.
func NewConversationID() string { return newID(conversationPrefix) }

func newID(prefix string) string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return prefix + base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding).EncodeToString(b[:])
}

// IsID says whether id has the form of a task's.
func IsID(id string) bool { return isID(id, taskPrefix) }

// IsTurnID says whether id has the form of a turn's.
func IsTurnID(id string) bool { return isID(id, turnPrefix) }

func isID(id, prefix string) bool {
	rest, ok := strings.CutPrefix(id, prefix)
	return ok && len(rest) == idLength && strings.Trim(rest, "0123456789abcdefghijklmnopqrstuvwxyz") == ""
}
