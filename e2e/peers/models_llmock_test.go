package peers

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/e2e/replay"
	"sluice/internal/model"
)

// llmock is the server of that name, which breaks answers on demand and judges its
// clients.
type llmock struct {
	t   *testing.T
	url string
}

func startLLMock(t *testing.T) *llmock {
	t.Helper()
	program := installed(t, modelsBin+"llmock")
	addr := freeAddr(t)
	host, port, _ := strings.Cut(addr, ":")
	startServer(t, command{name: program, args: []string{"serve", "--host", host, "--port", port}, env: baseEnv()}, addr)
	return &llmock{t, "http://" + addr}
}

// post sends a command, and get asks for what into points to.
func (l *llmock) post(path, body string) {
	l.t.Helper()
	resp, err := http.Post(l.url+"/_llmock/"+path, "application/json", strings.NewReader(body))
	if err != nil {
		l.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		text, _ := io.ReadAll(resp.Body)
		l.t.Fatalf("llmock answered %s: %s", resp.Status, text)
	}
}

func (l *llmock) get(path string, into any) {
	l.t.Helper()
	resp, err := http.Get(l.url + "/_llmock/" + path)
	if err == nil {
		defer resp.Body.Close()
		err = json.NewDecoder(resp.Body).Decode(into)
	}
	if err != nil {
		l.t.Fatal(err)
	}
}

// verdict returns how many requests came, and what llmock has to say of them.
func (l *llmock) verdict() (attempts int, findings []string) {
	l.t.Helper()
	var v struct {
		Attempts int
		Findings []struct{ Code string }
	}
	l.get("verdict", &v)
	for _, f := range v.Findings {
		findings = append(findings, f.Code)
	}
	return v.Attempts, findings
}

// llmockRow is what llmock is asked to do, and what must come of it.
type llmockRow struct {
	name     string
	do       string // behaviours, as JSON
	error    string // empty: a good answer
	attempts int
	reported bool     // text is handed on, also before an error
	findings []string // what llmock has to say; it does not see that we reported an error
}

func llmockRows() []llmockRow {
	const more = `,"after_chunks":6}`
	return []llmockRow{
		{name: "good", do: `{"type":"reply","text":"Grüße: 10 €"}`, attempts: 1, reported: true},
		{name: "slow", do: `{"type":"slow_first_token","seconds":0.3}`, attempts: 1, reported: true},
		{name: "503 twice", do: `{"type":"fail","status":503,"times":2}`, attempts: 3, reported: true},
		{name: "529", do: `{"type":"fail","status":529}`, attempts: 2, reported: true},
		{name: "503 for ever", do: `{"type":"fail","status":503,"times":null}`, error: "model_unavailable", attempts: 3},
		{name: "429 with a short wait", do: `{"type":"fail","status":429,"retry_after":1}`, attempts: 2, reported: true},
		{name: "429 with a long wait", do: `{"type":"fail","status":429,"retry_after":30}`, error: "model_rate_limited", attempts: 1, findings: []string{"gave_up"}},
		{name: "401", do: `{"type":"fail","status":401}`, error: "model_error", attempts: 1},
		{name: "400", do: `{"type":"fail","status":400}`, error: "model_error", attempts: 1},
		{name: "disconnected before it began", do: `{"type":"stream_fault","kind":"disconnect","after_chunks":0}`, attempts: 2, reported: true},
		{name: "disconnected in the text", do: `{"type":"stream_fault","kind":"disconnect"` + more, error: "model_unavailable", attempts: 1, reported: true, findings: []string{"gave_up"}},
		{name: "ended in the text", do: `{"type":"stream_fault","kind":"truncate"` + more, error: "model_unavailable", attempts: 1, reported: true, findings: []string{"truncated_stream_accepted"}},
		{name: "no JSON", do: `{"type":"stream_fault","kind":"malformed"` + more, error: "model_unavailable", attempts: 1, reported: true, findings: []string{"malformed_chunk_ignored"}},
		{name: "stalled", do: `{"type":"stream_fault","kind":"stall","stall_seconds":20` + more, error: "timeout", attempts: 1, reported: true},
	}
}

// llmockPaths are where llmock speaks each protocol.
var llmockPaths = map[string]string{
	replay.Chat:      "/v1/chat/completions",
	replay.Responses: "/v1/responses",
	replay.Messages:  "/anthropic/v1/messages",
}

// llmock gives the answers, the errors and the broken streams of three protocols by code
// that is not ours, and has nothing to say against how we retry.
func TestLLMock(t *testing.T) {
	t.Parallel()
	l := startLLMock(t)
	for _, api := range []string{replay.Chat, replay.Responses, replay.Messages} {
		for _, row := range llmockRows() {
			t.Run(api+" "+row.name, func(t *testing.T) { l.check(t, api, row) })
		}
		t.Run(api+" calls", func(t *testing.T) { l.checkCalls(t, api) })
		t.Run(api+" broken call", func(t *testing.T) { l.checkBrokenCall(t, api) })
	}
}

// open sets how l behaves, and returns a model of it.
func (l *llmock) open(t *testing.T, api, behaviours string) *model.Model {
	t.Helper()
	l.post("reset", "")
	l.post("scenario", `{"behaviors":[`+behaviours+`]}`)
	spec := replay.Spec(api, l.url+llmockPaths[api])
	spec.Retries, spec.Idle = 2, time.Second
	m, err := replay.Open(spec, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

func (l *llmock) check(t *testing.T, api string, row llmockRow) {
	a, _ := replay.Ask(t.Context(), l.open(t, api, row.do), replay.Hello())
	attempts, findings := l.verdict()
	if a.Error != row.error || attempts != row.attempts || (a.Text != "") != row.reported {
		t.Errorf("error %q, %d attempts, text %q; want error %q, %d attempts, text: %v", a.Error, attempts, a.Text, row.error, row.attempts, row.reported)
	}
	if row.error == "" && a.Finish != "stop" {
		t.Errorf("it ends as %q", a.Finish)
	}
	if row.name == "good" && a.Text != "Grüße: 10 €" {
		t.Errorf("the text is %q", a.Text)
	}
	if !slices.Equal(findings, row.findings) {
		t.Errorf("llmock finds %q, want %q", findings, row.findings)
	}
}

func (l *llmock) checkCalls(t *testing.T, api string) {
	const calls = `{"type":"reply","text":"I look.","tool_calls":[{"name":"list_todos","arguments":{"status":"open"}},{"name":"create_todo","arguments":{"title":"Käse"}}]},
		{"type":"reply","text":"It is done."}`
	got := runTurn(t.Context(), l.open(t, api, calls), "What is to be done?")
	for i := range got {
		got[i].Input, got[i].Output = 0, 0 // llmock's own count
	}
	want := []replay.Answer{
		{Text: "I look.", Finish: "stop", Calls: []replay.Call{
			{Name: "list_todos", Arguments: map[string]any{"status": "open"}}, {Name: "create_todo", Arguments: map[string]any{"title": "Käse"}},
		}},
		{Text: "It is done.", Finish: "stop"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("turn (-want +got):\n%s", diff)
	}
	if attempts, findings := l.verdict(); attempts != 2 || findings != nil {
		t.Errorf("%d attempts, llmock finds %q", attempts, findings)
	}
}

// A call whose arguments are no JSON is never run.
func (l *llmock) checkBrokenCall(t *testing.T, api string) {
	got := runTurn(t.Context(), l.open(t, api, `{"type":"tool_fault","kind":"malformed_arguments","times":null}`), "List the todos")
	if len(got) != 1 || got[0].Error != "model_error" || len(got[0].Calls) != 0 {
		t.Errorf("the turn is %s", fmt.Sprintf("%+v", got))
	}
}
