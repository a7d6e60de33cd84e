package chat

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
)

// ClientOrigin is the Origin and the Maker of agents' messages that a client reports. A call in
// them was made neither by this gateway nor by a known model.
const ClientOrigin = "\x00client"

// callPrefix begins the ids of calls to which their model gave none.
const callPrefix = "call_"

// CallSeed returns the common part of the ids of one turn's calls. Ids are searched in whole
// conversations, so two turns must not share them. A turn that is kept has its own id; an id of a
// request may come twice, but not at the same time.
func CallSeed(turn, requestID string, began time.Time) string {
	of := turn
	if of == "" {
		of = requestID + " " + strconv.FormatInt(began.UnixNano(), 36)
	}
	sum := sha256.Sum256([]byte(of))
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:10]))
}

// seedLength is how many characters a CallSeed has.
const seedLength = 16

// CallID returns the id of a turn's nth call without one.
func CallID(seed string, n int) string {
	if seed == "" {
		return callPrefix + strconv.Itoa(n)
	}
	return callPrefix + seed + "_" + strconv.Itoa(n)
}

// madeCallID reports whether an id is one of CallID: its model does not know it, and is not given
// it back.
func madeCallID(id string) bool {
	rest, ok := strings.CutPrefix(id, callPrefix)
	if !ok || len(rest) < seedLength+2 || rest[seedLength] != '_' {
		return false
	}
	_, err := strconv.ParseUint(rest[seedLength+1:], 10, 32)
	return err == nil && IsCallSeed(rest[:seedLength])
}

// IsCallSeed reports whether s has the form of a CallSeed.
func IsCallSeed(s string) bool {
	return len(s) == seedLength && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// maxOwnID limits a client's id of a conversation, in bytes.
const maxOwnID = 512

// ConversationIDOf makes our id of a conversation from the id of another protocol's client. A valid
// id stays the same. Any other one becomes conv_ and the client's id, or conv_ and 32 hexadecimal
// digits of its SHA-256. Empty stays empty.
func ConversationIDOf(own string) (string, *FieldError) {
	switch {
	case own == "" || validConversationID(own):
		return own, nil
	case len(own) > maxOwnID:
		return "", &FieldError{Code: CodeTooLong, Message: "must have at most 512 bytes"}
	case validConversationID("conv_" + own):
		return "conv_" + own, nil
	}
	sum := sha256.Sum256([]byte(own))
	return "conv_" + hex.EncodeToString(sum[:16]), nil
}
