package handlers

import (
	"fmt"
	"net/http"

	"github.com/rs/zerolog"

	"sluice/internal/turn/chat"
)

// Texts of a client or a model go into the log up to these lengths, in bytes. maxLoggedNames is how
// many names of tools a line holds.
const (
	maxLoggedMethod = 32
	maxLoggedPath   = 512
	maxLoggedName   = 128
	maxLoggedNames  = 32
)

// logReceived logs that a turn was asked for: of its input the length alone.
func logReceived(log *zerolog.Logger, r *http.Request, input int) {
	log.Info().Dict("details", logRequestLine(zerolog.Dict(), r).Int("input_length", input)).Msg("request_received")
}

// logRequestLine adds method and path to the details of a line.
func logRequestLine(details *zerolog.Event, r *http.Request) *zerolog.Event {
	return details.Str("method", chat.Clip(r.Method, maxLoggedMethod)).Str("path", chat.Clip(r.URL.Path, maxLoggedPath))
}

// loggedNames returns the names of tools as they go into the log.
func loggedNames(names []string) []string {
	var logged []string
	for i, name := range names {
		if i == maxLoggedNames {
			return append(logged, fmt.Sprintf("… and %d more", len(names)-i))
		}
		logged = append(logged, chat.Clip(name, maxLoggedName))
	}
	return logged
}
