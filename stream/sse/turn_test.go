package sse_test

import (
	"net/http"
	"time"

	"sluice/internal/edge/dialect/sluice"
	"sluice/stream"
	"sluice/stream/sse"
)

// turn is a Writer with what stamps the events in front of it.
type turn struct {
	*sse.Writer
	stamper *stream.Stamper
}

// newTurn reports a turn in our own protocol.
func newTurn(w http.ResponseWriter, cfg sse.Config) *turn {
	cfg.Encoder = sluice.NewEncoder("r", false, 0)
	out := sse.NewWriter(w, cfg)
	return &turn{out, stream.NewStamper(out, time.Now())}
}

func (t *turn) Emit(ev stream.Event) error { return t.stamper.Emit(ev) }
