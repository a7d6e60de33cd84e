package judges

import (
	"net/http/httptest"
	"path/filepath"
	"testing"

	"sluice/e2e/replay"
	"sluice/internal/model"
)

// recordings are answers that others recorded, which are not ours to pass on.
const recordings = "../../../shared/testdata"

// apart says where a library does not read what we read, and why.
var apart = map[string]string{
	"chat-avian-thinking-kimi-1":  "the chunks have several ids, which openai-go refuses",
	"chat-avian-thinking-kimi-2":  "the chunks have several ids, which openai-go refuses",
	"chat-groq-server-tools":      "each chunk has an id of its own, which openai-go refuses",
	"chat-mistral-thinking-array": "openai-go takes content that is no string for text, JSON and all",
	"quoted-chat-content-filter":  "openai-go leaves it to its caller what a finish reason means",
	"quoted-chat-ollama-index0":   "openai-go joins calls of one index, whatever their ids",
}

// readRecordings reads those of both providers, and skips the test where there are none.
func readRecordings(t testing.TB) (list []replay.Recording) {
	t.Helper()
	for _, dir := range []string{"openai", "anthropic"} {
		more, err := replay.Read(filepath.Join(recordings, dir))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, more...)
	}
	if len(list) == 0 {
		t.Skip("the recordings in shared/testdata are not here")
	}
	return list
}

// The libraries of those who made the protocols read in every recorded answer what we
// read: the same text, the same calls, a failure where we see one.
func TestRecordings(t *testing.T) {
	t.Parallel()
	list := readRecordings(t)
	server := httptest.NewServer(replay.Handler(list))
	t.Cleanup(server.Close)
	for _, rec := range list {
		t.Run(rec.Name, func(t *testing.T) {
			t.Parallel()
			judge(t, &rec, server.URL)
		})
	}
}

func judge(t *testing.T, rec *replay.Recording, server string) {
	m, err := replay.Open(replay.Spec(rec.API, rec.Endpoint(server)), model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	ours, _ := replay.Ask(t.Context(), m, replay.Hello())
	theirs, err := readers[rec.API](t.Context(), rec.Base(server))
	if err != nil {
		theirs.Error = err.Error()
	}
	differences := ours.Differences(&theirs)
	why, known := apart[rec.Name]
	if known && len(differences) == 0 {
		t.Errorf("the library reads what we read, although it was to be apart: %s", why)
	}
	if known {
		t.Logf("%s: %q", why, differences)
		return
	}
	for _, d := range differences {
		t.Error(d)
	}
}
