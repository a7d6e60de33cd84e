package sluice_test

import (
	"net/http"
	"testing"
	"time"

	"sluice/internal/edge/dialect/sluice"
	"sluice/stream"
	"sluice/stream/sse"
)

// encoding is what an encoder is made of.
type encoding struct {
	RequestID   string
	Accumulated bool
	Retry       time.Duration
}

// turn is a Writer with what stamps the events in front of it.
type turn struct {
	*sse.Writer
	stamper *stream.Stamper
}

func newTurn(w http.ResponseWriter, cfg encoding) *turn {
	out := sse.NewWriter(w, sse.Config{Encoder: sluice.NewEncoder(cfg.RequestID, cfg.Accumulated, cfg.Retry)})
	return &turn{out, stream.NewStamper(out, time.Now())}
}

func (t *turn) Emit(ev stream.Event) error { return t.stamper.Emit(ev) }

// emit sends ev at once.
func emit(t *testing.T, s *turn, ev stream.Event) {
	t.Helper()
	if err := s.Emit(ev); err != nil {
		t.Errorf("Emit(%T): %v", ev, err)
	}
	if err := s.Flush(); err != nil {
		t.Errorf("Flush after %T: %v", ev, err)
	}
}
