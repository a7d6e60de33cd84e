package handlers

import (
	"context"
	"net/http"
	"time"

	"sluice/internal/edge/dialect"
	"sluice/stream"
	"sluice/stream/sse"
)

// writer is an Output with a client behind it.
type writer interface {
	stream.Output
	// Discard drops the frames that the client has not got. Close fails from then on.
	Discard()
	Close() error
	Stats() sse.Stats
}

// outputs makes the writers of replies.
type outputs struct {
	heartbeat, writeTimeout time.Duration
	refuser                 *refuser
	repeats                 *repeats
}

// turnWriter returns the writer of a turn's reply. The writer of a stream commits it.
func (o *outputs) turnWriter(w http.ResponseWriter, r *http.Request, t *turn, cancel context.CancelCauseFunc) writer {
	if t.Mode == dialect.Unattended {
		return nobody{}
	}
	if t.Form != dialect.Streamed {
		return &document{Fold: stream.Fold{Only: stream.Ends | stream.Tools}, refuser: o.refuser, repeats: o.repeats, w: w, r: r, turn: t}
	}
	cfg := sse.Config{
		Encoder:      t.Encoder,
		Heartbeat:    o.heartbeat,
		BeatEvents:   t.BeatEvents,
		WriteTimeout: o.writeTimeout,
		HTTP1:        lazyDeadline(r),
		OnFail:       cancel,
	}
	if t.stored != nil {
		storedWriter(&cfg, t)
	}
	return sse.NewWriter(w, cfg)
}

// storedWriter keeps the writer from writing anything that the log lacks. A client that leaves does
// not end a turn that continues without it.
func storedWriter(cfg *sse.Config, t *turn) {
	cfg.Spill = t.stored.Spill
	if t.Mode != dialect.Attached {
		cfg.OnFail = nil
	}
}

// readerWriter returns the writer for a client that runs nothing.
func (o *outputs) readerWriter(w http.ResponseWriter, r *http.Request, enc stream.Encoder, beatEvents bool, cancel context.CancelCauseFunc) *sse.Writer {
	return sse.NewWriter(w, sse.Config{
		Encoder: enc, Heartbeat: o.heartbeat, BeatEvents: beatEvents, WriteTimeout: o.writeTimeout, HTTP1: lazyDeadline(r), OnFail: cancel,
	})
}

// nobody is the output of a turn without a client.
type nobody struct{}

func (nobody) Write(stream.Stamp, stream.Event) error { return nil }
func (nobody) Flush() error                           { return nil }
func (nobody) Blocked() time.Duration                 { return 0 }
func (nobody) Discard()                               {}
func (nobody) Close() error                           { return nil }
func (nobody) Stats() sse.Stats                       { return sse.Stats{} }
