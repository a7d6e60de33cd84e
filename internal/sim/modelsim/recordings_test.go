package modelsim

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Requests that real endpoints took are taken here too, so that the rules are not
// stricter by mistake. Those that return what another model signed are not.
func TestAcceptsRecordedRequests(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(recordings + "*/*.json")
	if err != nil || len(files) == 0 {
		t.Skipf("no recordings in %s: %v", recordings, err)
	}
	accepted := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var r struct {
			API     string
			Status  int
			Request m
		}
		if json.Unmarshal(data, &r) != nil || r.Status != 200 || r.Request == nil {
			continue
		}
		path := map[string]string{"chat/completions": chatPath, "chat": chatPath, "responses": responsesPath, "messages": messagesPath}[r.API]
		if path == "" {
			continue
		}
		_, url := serve(t, Config{})
		resp, body := post(t, url+path, "", r.Request)
		foreign := false
		for _, word := range []string{"signature", "encrypted content", "not what this model sent", "not persisted"} {
			foreign = foreign || strings.Contains(body, word)
		}
		if resp.StatusCode != 200 && !foreign {
			t.Errorf("%s: %d %s", filepath.Base(file), resp.StatusCode, body)
		}
		if resp.StatusCode == 200 {
			accepted++
		}
	}
	t.Logf("%d of %d recorded requests are taken", accepted, len(files))
	if accepted < 60 {
		t.Errorf("only %d requests were taken", accepted)
	}
}
