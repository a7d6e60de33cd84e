package peers

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"

	"sluice/e2e/replay"
	"sluice/internal/model"
)

// recordings are answers of providers that others recorded, which are not ours to pass
// on.
const recordings = root + "/../shared/testdata"

// readRecordings reads those of the providers, and skips the test where there are none.
func readRecordings(t *testing.T) (list []replay.Recording) {
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

// npmApart says where a library of JavaScript does not read what we read, and why, by
// the library's name and the recording's.
var npmApart = map[string]string{
	"ai-sdk quoted-chat-geminicompat-signature": "it wants a function in each piece of a call",
	"ai-sdk quoted-chat-vllm-noid":              "calls without ids get some of its own, as they do from us",
	"openai chat-groq-server-tools":             "it wants a role in the first chunk",
	"openai chat-mistral-thinking-array":        "it takes content that is no string for text",
	"openai quoted-chat-content-filter":         "it leaves it to its caller what a finish reason means",
	"openai quoted-chat-geminicompat-signature": "it wants an index in each piece of a call",
	"openai quoted-chat-ollama-index0":          "it joins calls of one index, whatever their ids",
	"openai quoted-chat-vllm-noid":              "it wants a type in each call",
}

// JavaScript's libraries read in every recorded answer what we read: the same text, the
// same calls, a failure where we see one.
func TestModelReadersFromNPM(t *testing.T) {
	t.Parallel()
	program, script := node(t), installed(t, npmFolder+"/read.mjs")
	installed(t, npmFolder+"/node_modules/@ai-sdk/openai-compatible")
	list := readRecordings(t)
	url := serve(t, replay.Handler(list))
	ours := map[string]replay.Answer{}
	var stdin, stderr bytes.Buffer
	for _, rec := range list {
		ours[rec.Name] = askRecording(t, &rec, url)
		_ = json.NewEncoder(&stdin).Encode(map[string]string{"name": rec.Name, "api": rec.API, "base": rec.Base(url)})
	}
	cmd := exec.CommandContext(t.Context(), program, script)
	cmd.Stdin, cmd.Stderr = &stdin, &stderr
	stdout, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	seen := 0
	for dec := json.NewDecoder(bytes.NewReader(stdout)); dec.More(); seen++ {
		var theirs struct {
			Name, Reader string
			replay.Answer
		}
		if err := dec.Decode(&theirs); err != nil {
			t.Fatal(err)
		}
		answer := ours[theirs.Name]
		judgeReader(t, theirs.Reader+" "+theirs.Name, answer.Differences(&theirs.Answer))
	}
	if seen < len(list) {
		t.Errorf("%d answers were read, of %d", seen, len(list))
	}
}

func judgeReader(t *testing.T, name string, differences []string) {
	t.Helper()
	why, known := npmApart[name]
	switch {
	case known && len(differences) == 0:
		t.Errorf("%s: it reads what we read, although it was to be apart: %s", name, why)
	case !known:
		for _, d := range differences {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func askRecording(t *testing.T, rec *replay.Recording, server string) replay.Answer {
	t.Helper()
	m, err := replay.Open(replay.Spec(rec.API, rec.Endpoint(server)), model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	a, _ := replay.Ask(t.Context(), m, replay.Hello())
	return a
}
