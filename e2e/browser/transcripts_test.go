package browser

import (
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"sluice/stream/sse"
)

// parsedEvent is an event as npm/parse.mjs reports it.
type parsedEvent struct{ ID, Event, Data string }

// parsed is what eventsource-parser made of a stream.
type parsed struct {
	Name   string
	Events []parsedEvent
	Errors []string
}

// eventsource-parser finds no fault in what we have recorded, and reads the same
// events as our own reader, however the stream is split.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	streams := recorded(t)
	for _, p := range drive[parsed](t, "parse.mjs", streams) {
		t.Run(p.Name, func(t *testing.T) {
			if len(p.Errors) > 0 {
				t.Errorf("faults: %q", p.Errors)
			}
			last := ""
			for i := range p.Events { // it reports the ids of frames, a reader the last one seen
				if p.Events[i].ID == "" {
					p.Events[i].ID = last
				}
				last = p.Events[i].ID
			}
			if diff := cmp.Diff(readOurselves(t, streams[p.Name]), p.Events); diff != "" {
				t.Errorf("(-ours +eventsource-parser):\n%s", diff)
			}
			delete(streams, p.Name)
		})
	}
	for name := range streams {
		t.Errorf("%s was not judged", name)
	}
}

// recorded returns the streams of all transcripts by name; a transcript whose reply
// is no stream has none.
func recorded(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(root + "/testdata/transcripts/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	streams := map[string]string{}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			if text := string(f.Data); f.Name == "want.sse" && strings.HasPrefix(text, "retry: ") {
				streams[filepath.Base(file)] = text
			}
		}
	}
	if len(streams) < 30 {
		t.Fatalf("only %d streams in %d transcripts", len(streams), len(files))
	}
	return streams
}

func readOurselves(t *testing.T, stream string) (events []parsedEvent) {
	t.Helper()
	r := sse.NewReader(strings.NewReader(stream), 1<<20)
	for {
		e, err := r.Next()
		if err == io.EOF {
			return events
		}
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid([]byte(e.Data)) {
			t.Errorf("event %s is no JSON: %s", e.ID, e.Data)
		}
		events = append(events, parsedEvent{e.ID, e.Type, e.Data})
	}
}
