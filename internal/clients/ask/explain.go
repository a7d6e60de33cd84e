// This file adds the next step to an error: the address, the key or the names to use.

package ask

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/clients/terminal"
)

// listTime bounds a look at the names that a gateway has.
const listTime = 3 * time.Second

// explainError returns the text of an error, with the next step where one is known.
func (s *session) explainError(err error) string {
	if errors.Is(err, syscall.ECONNREFUSED) {
		return "Nobody listens at " + s.Base + ". Start a gateway, or leave --url out"
	}
	refused, ok := errors.AsType[*refusal](err)
	switch {
	case !ok:
		return err.Error()
	case refused.status == http.StatusUnauthorized:
		return err.Error() + "\nSet SLUICE_KEY to a key of this gateway; `sluice keys add` makes one"
	}
	text := err.Error()
	for _, field := range refused.fields {
		if names := s.namesFor(field); len(names) > 0 {
			text += "\nThere are: " + strings.Join(names, ", ")
		}
	}
	return text
}

// namesFor returns the names that a field of a request may have.
func (s *session) namesFor(field string) (names []string) {
	if field != "/channel" && field != "/agent" && field != "/workflow" {
		return nil
	}
	path := field + "s"
	ctx, cancel := context.WithTimeout(context.Background(), listTime)
	defer cancel()
	type entry struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
	var reply map[string]jsontext.Value
	var list []entry
	if s.fetchJSON(ctx, s.Base+path, &reply) != nil || json.Unmarshal(reply[path[1:]], &list) != nil {
		return nil
	}
	for _, e := range list {
		if e.ID == "" {
			e.ID = e.Name
		}
		names = append(names, e.ID)
	}
	return names
}

// printableLines is terminal.Printable for a text of several lines.
func printableLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = terminal.Printable(lines[i])
	}
	return strings.Join(lines, "\n")
}
