package peers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"
	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect"
	"sluice/internal/edge/dialect/openai"
	"sluice/internal/turn/chat"
	events "sluice/stream"
)

// sdkTurn is what a client of OpenAI's has of a turn: text, the calls that it knows of, and how
// the turn has ended.
type sdkTurn struct {
	Text    string
	Calls   []string
	Verdict string
}

// sdkPlayed is a turn in each form. Where Document is empty the gateway refuses the turn.
type sdkPlayed struct{ Stream, Document, Response, ResponseDocument sdkTurn }

// sdkTurns is what a client is given: where the turns are, and which of them are refused as a
// document.
type sdkTurns struct {
	Base    string   `json:"base"`
	Turns   []string `json:"turns"` // NAME/NUMBER
	Refused []string `json:"refused"`
}

// serveOpenAI answers POST /NAME/NUMBER/v1/… with that turn.
func (tp tape) serveOpenAI(t *testing.T) string {
	mux := http.NewServeMux()
	routes := openai.New(openai.Config{}).Routes()
	mux.HandleFunc("POST /{name}/{run}/v1/{path...}", func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("name")
		i, err := strconv.Atoi(r.PathValue("run"))
		at := slices.IndexFunc(routes, func(rt dialect.Route) bool { return rt.Path == "/v1/"+r.PathValue("path") })
		if err != nil || i >= len(tp[name]) || at < 0 {
			http.NotFound(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client is gone
		}
		asked := chat.Turn{RequestID: fmt.Sprintf("req_%s_%d", name, i), Began: time.Unix(1_767_225_600, 0)}
		x, err := routes[at].Open(r.WithContext(chat.WithTurn(r.Context(), asked)), body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if x.Form == dialect.Streamed {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		var frames []byte
		for _, ev := range tp[name][i] {
			frames = x.Encoder.Encode(frames, ev.Stamp, ev.Event)
		}
		_, _ = w.Write(frames)
	})
	return serve(t, mux)
}

// sdkWant returns what a client must have of a turn.
func sdkWant(turn []wholetest.Recorded) (want sdkPlayed, refused bool) {
	var fold events.Fold
	for _, ev := range turn {
		fold.Add(ev.Event)
	}
	e := fold.Fatal()
	chunks := sdkTurn{Text: fold.Text(), Verdict: "stop"}
	for _, c := range fold.Required {
		chunks.Calls = append(chunks.Calls, c.Tool)
	}
	response := sdkTurn{Text: chunks.Text, Verdict: "completed"}
	for _, c := range fold.Calls {
		if c.Outcome != "" {
			response.Calls = append(response.Calls, c.Tool)
		}
	}
	response.Calls = append(response.Calls, chunks.Calls...)
	for _, q := range fold.Questions {
		if len(q.Calls) == 0 {
			response.Text += q.Prompt
		}
		if chunks.Text != "" { // Chat Completions has no form for a question: its text stands apart
			chunks.Text += "\n\n"
		}
		chunks.Text += q.Prompt
	}
	switch {
	case e != nil && e.Type == fault.ModelBlocked:
		chunks.Verdict, response.Verdict = "content_filter", "incomplete"
	case e != nil && e.Type == fault.Cancelled:
		chunks.Verdict, response.Verdict = "error "+e.Message, "cancelled"
	case e != nil:
		chunks.Verdict, response.Verdict = "error "+e.Message, "failed"
	case fold.Reason() == events.MaxTokens:
		chunks.Verdict, response.Verdict = "length", "incomplete"
	case fold.Reason() == events.ClientTools:
		chunks.Verdict = "tool_calls"
	}
	want = sdkPlayed{Stream: chunks, Document: chunks, Response: response, ResponseDocument: response}
	if refused = e != nil && e.Type != fault.ModelBlocked; refused {
		want.Document, want.ResponseDocument = sdkTurn{}, sdkTurn{}
	}
	return want, refused
}

// inOrder sorts the calls: those of a client stand in the output where they were made.
func (p sdkPlayed) inOrder() sdkPlayed {
	for _, turn := range []*sdkTurn{&p.Stream, &p.Document, &p.Response, &p.ResponseDocument} {
		turn.Calls = append([]string{}, turn.Calls...)
		slices.Sort(turn.Calls)
	}
	return p
}

// OpenAI's SDKs accumulate each turn of the golden transcripts, streamed and not, by Chat
// Completions and by Responses, to the text of the native stream.
func TestSDKsPlayEveryTranscript(t *testing.T) {
	needPeers(t)
	turns := recordedTurns(t)
	given := sdkTurns{Base: turns.serveOpenAI(t)}
	want := map[string]sdkPlayed{}
	for name, runs := range turns {
		for i, turn := range runs {
			at := name + "/" + strconv.Itoa(i)
			played, refused := sdkWant(turn)
			want[at], given.Turns = played.inOrder(), append(given.Turns, at)
			if refused {
				given.Refused = append(given.Refused, at)
			}
		}
	}
	compare := func(t *testing.T, got map[string]sdkPlayed) {
		t.Helper()
		for at, played := range got {
			got[at] = played.inOrder()
		}
		if d := diff.Diff(want, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	}
	for _, version := range []string{"6.49.0", "7.57.0"} {
		t.Run("npm "+version, func(t *testing.T) {
			t.Parallel()
			got := map[string]sdkPlayed{}
			runDialect(t, "sdks", "transcripts.mjs", map[string]any{"sdk": "openai-" + version, "base": given.Base, "turns": given.Turns, "refused": given.Refused}, &got)
			compare(t, got)
		})
	}
	t.Run("PyPI", func(t *testing.T) {
		t.Parallel()
		compare(t, given.python(t))
	})
	t.Run("Go", func(t *testing.T) {
		t.Parallel()
		got := map[string]sdkPlayed{}
		for _, at := range given.Turns {
			got[at] = given.openAIGo(t, at)
		}
		compare(t, got)
	})
}

// python plays the turns by OpenAI's SDK for Python.
func (s sdkTurns) python(t *testing.T) (got map[string]sdkPlayed) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), installed(t, openAIPython), installed(t, "e2e/peers/testdata/sdks_transcripts.py"))
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var complaints bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(text), &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v:\n%s", err, complaints.Bytes())
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return got
}

// openAIGo plays a turn by OpenAI's library for Go.
func (s sdkTurns) openAIGo(t *testing.T, at string) (played sdkPlayed) {
	t.Helper()
	client := sdk.NewClient(option.WithBaseURL(s.Base+"/"+at+"/v1"), option.WithAPIKey("none"), option.WithMaxRetries(0))
	asks := sdk.ChatCompletionNewParams{Model: "sluice", Messages: []sdk.ChatCompletionMessageParamUnion{sdk.UserMessage("go")}}
	chunks, sum := client.Chat.Completions.NewStreaming(t.Context(), asks), sdk.ChatCompletionAccumulator{}
	for chunks.Next() {
		if !sum.AddChunk(chunks.Current()) {
			t.Errorf("%s: a chunk does not go with those before: %s", at, chunks.Current().RawJSON())
		}
	}
	if played.Stream = ofCompletion(sum.ChatCompletion); chunks.Err() != nil {
		played.Stream.Verdict = "error " + messageOf(chunks.Err())
	}
	input := responses.ResponseNewParams{Model: "sluice", Input: responses.ResponseNewParamsInputUnion{OfString: sdk.String("go")}}
	for parts := client.Responses.NewStreaming(t.Context(), input); parts.Next(); {
		switch ev := parts.Current(); ev.Type {
		case "response.completed", "response.failed", "response.incomplete":
			played.Response = ofResponse(ev.Response)
		}
	}
	if slices.Contains(s.Refused, at) {
		return played
	}
	whole, err := client.Chat.Completions.New(t.Context(), asks)
	if err != nil {
		t.Fatalf("%s: %v", at, err)
	}
	played.Document = ofCompletion(*whole)
	response, err := client.Responses.New(t.Context(), input)
	if err != nil {
		t.Fatalf("%s: %v", at, err)
	}
	played.ResponseDocument = ofResponse(*response)
	return played
}

// messageOf returns the message of an error that ended a stream, which the library wraps.
func messageOf(err error) string {
	_, text, _ := strings.Cut(err.Error(), "{")
	var e struct{ Message string }
	_ = json.Unmarshal([]byte("{"+text), &e)
	return e.Message
}

func ofCompletion(c sdk.ChatCompletion) (turn sdkTurn) {
	for _, choice := range c.Choices {
		turn.Text, turn.Verdict = choice.Message.Content, choice.FinishReason
		for _, call := range choice.Message.ToolCalls {
			turn.Calls = append(turn.Calls, call.Function.Name)
		}
	}
	return turn
}

func ofResponse(r responses.Response) sdkTurn {
	turn := sdkTurn{Text: r.OutputText(), Verdict: string(r.Status)}
	for _, item := range r.Output {
		if item.Type == "mcp_call" || item.Type == "function_call" {
			turn.Calls = append(turn.Calls, item.Name)
		}
	}
	return turn
}
