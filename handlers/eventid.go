package handlers

import (
	"net/http"
	"strconv"
	"strings"

	"sluice/internal/turn/chat"
)

// isReconnect reports whether the client had this stream before and lost it. A turn is never run
// twice because a connection was lost.
func isReconnect(r *http.Request) bool { return len(r.Header.Values("Last-Event-ID")) > 0 }

// eventID reads a Last-Event-ID of the form <turn_id>:<n>.
func eventID(r *http.Request) (turnID string, n int, ok bool) {
	given := r.Header.Values("Last-Event-ID")
	if len(given) != 1 {
		return "", 0, false
	}
	turnID, text, _ := strings.Cut(given[0], ":")
	n, ok = eventNumber(text)
	return turnID, n, ok && chat.IsTurnID(turnID)
}

// eventNumber reads the number of an event.
func eventNumber(text string) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 0 && len(text) <= 9 && strconv.Itoa(n) == text
}
