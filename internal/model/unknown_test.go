package model

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rs/zerolog"
)

// An unknown finish reason is logged once a word, and no word at all is not logged.
func TestUnknownFinishIsLoggedOnce(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	c := &call{m: &Model{cfg: Frame{Key: "fast"}}, parent: zerolog.New(&log).WithContext(t.Context())}
	for _, word := range []string{"odd", "", "strange", "odd", "strange"} {
		c.warnUnknown(word)
	}
	if got := log.String(); strings.Count(got, "model_finish_unknown") != 2 || strings.Count(got, `"key":"fast","finish_reason":"odd"`) != 1 {
		t.Errorf("logged:\n%s", got)
	}
}
