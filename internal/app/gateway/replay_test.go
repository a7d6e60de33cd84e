package gateway_test

import (
	"bytes"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/edge/dialect"
	"sluice/internal/edge/dialect/chatkit"
	"sluice/internal/edge/dialect/sluice"
	"sluice/stream"
)

// recordedTurn is a turn as it was stored, and a second encoder.
type recordedTurn struct {
	lines [][]byte
	err   error          // of the storage
	fresh stream.Encoder // for the same request
}

// recorder stores the events of a Dialect's turns as they pass. It opens each request twice: the
// second encoder has not seen the first's events. encoder replaces both; nil: nothing does.
func recorder(d dialect.Dialect, encoder func() stream.Encoder, turns *[]*recordedTurn) dialect.Dialect {
	return wholetest.Observed{Dialect: d, Opened: func(x *dialect.Exchange, open func() (*dialect.Exchange, error)) (func(stream.Stamp, stream.Event), error) {
		again, err := open()
		if err != nil {
			return nil, err
		}
		turn := &recordedTurn{fresh: again.Encoder}
		if encoder != nil {
			x.Encoder, turn.fresh = encoder(), encoder()
		}
		*turns = append(*turns, turn)
		return turn.store, nil
	}}
}

// store stores an event, unless nothing is kept of it.
func (turn *recordedTurn) store(s stream.Stamp, ev stream.Event) {
	if stream.Passing(ev) {
		return
	}
	line, err := stream.AppendStored(nil, s, ev)
	if err != nil {
		turn.err = err
	}
	turn.lines = append(turn.lines, line)
}

// again encodes the stored turn.
func (turn *recordedTurn) again(t *testing.T) string {
	t.Helper()
	if turn.err != nil {
		t.Errorf("an event could not be stored: %v", turn.err)
	}
	var text []byte
	for _, line := range turn.lines {
		stamp, ev, err := readStored(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		text = turn.fresh.Encode(text, stamp, ev)
	}
	return string(text)
}

// The events of a turn that were stored as they passed are, read back and encoded
// afresh for the same request, the bytes that its client got; heartbeats aside, which
// are not events.
func TestStoredEventsMakeTheSameStream(t *testing.T) {
	t.Parallel()
	native := func(accumulated bool) func() stream.Encoder {
		return func() stream.Encoder { return sluice.NewEncoder(wholetest.RequestID, accumulated, 0) }
	}
	t.Run("accumulated", func(t *testing.T) { replayAll(t, sluice.Path, native(true)) })
	t.Run("plain", func(t *testing.T) { replayAll(t, sluice.Path, native(false)) })
	t.Run("as asked", func(t *testing.T) { replayAll(t, sluice.Path, nil) })
	t.Run("chatkit", func(t *testing.T) { replayAll(t, chatkit.Path, nil) })
}

func replayAll(t *testing.T, path string, encoder func() stream.Encoder) {
	files, err := filepath.Glob("../../../testdata/transcripts/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	streams := 0
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			tr := wholetest.ReadTranscript(t, file)
			if path == chatkit.Path {
				if strings.HasPrefix(filepath.Base(file), "approval_") || !translate(tr, t) {
					return // no request for a turn
				}
				tr.Set("request", inThread.Replace(tr.Get("request")))
			}
			synctest.Test(t, func(t *testing.T) { streams += replay(tr, t, encoder) })
		})
	}
	if streams < 40 {
		t.Errorf("only %d streams", streams)
	}
}

// inThread gives the requests a thread that is there. A new one has an id that nobody
// can guess, and each of two equal requests would have another.
var inThread = strings.NewReplacer(`"type":"threads.create"`, `"type":"threads.add_user_message"`, `"params":{"input"`, `"params":{"thread_id":"conv_1","input"`)

// replay plays the transcript and encodes each of its streams again. It returns how
// many there were.
func replay(tr wholetest.Transcript, t *testing.T, encoder func() stream.Encoder) int {
	t.Helper()
	var turns []*recordedTurn
	replies := tr.PlayWith(t, tr.Gemini(t), new(bytes.Buffer), gateway.Seams{Dialect: func(d dialect.Dialect) dialect.Dialect {
		return recorder(d, encoder, &turns)
	}})
	var got []string
	for _, r := range replies {
		if r.Status == http.StatusOK && strings.HasPrefix(r.Header.Get("Content-Type"), "text/event-stream") {
			got = append(got, wholetest.Drafted.ReplaceAllString(r.Body, ""))
		}
	}
	n := 0
	for _, turn := range turns {
		if len(turn.lines) == 0 {
			continue // it was refused
		}
		if n++; n > len(got) {
			break
		}
		beat := string(turn.fresh.Heartbeat())
		first, again := strings.ReplaceAll(got[n-1], beat, ""), strings.ReplaceAll(turn.again(t), beat, "")
		if diff := cmp.Diff(first, again); diff != "" {
			t.Errorf("stream %d (-as it was +as stored):\n%s", n, diff)
		}
	}
	if n != len(got) {
		t.Errorf("%d turns were stored, and there are %d streams", n, len(got))
	}
	return n
}
