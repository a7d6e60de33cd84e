package peers

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/sim/geminisim"
	demo "sluice/internal/sim/offline"
)

// What stands on OpenAI's SDKs, and how it is installed: LangChain, LiteLLM, llm and the Agents SDK for Python, two
// versions of OpenAI's SDK and LangChain from npm.
const (
	sdksPython  = ".venv/sdks/bin/python"
	sdksJudge   = "e2e/peers/testdata/sdks_judge.py"
	sdksExample = "examples/langchain/ask.py"
	sdksFolder  = npmFolder + "/dialects/sdks"
)

// sdkSeen is what one client has got.
type sdkSeen struct {
	// Text is the answer as a document, and Streamed as a stream.
	Text, Streamed string
	Usage          bool
	// Call is what a turn with a tool of the client's has ended with, and Answered the turn
	// with its result.
	Call, Answered string
	// Object says that a structured answer fits its schema.
	Object bool
	// Refused is the client's error for a model that there is none of: its class, the status and
	// how the request's id begins.
	Refused string
	Failed  string
}

// sdkWants is what nearly all clients get.
func sdkWants(native string) sdkSeen {
	return sdkSeen{Text: native, Streamed: native, Usage: true, Call: "tool_calls get_weather", Answered: "stop", Object: true, Refused: "NotFoundError 404 req_"}
}

// weather is the offline model, which also looks at the weather by a tool of the client's without
// being obliged to.
func weather(t *testing.T) *gemini {
	t.Helper()
	sim := simulator(t, geminisim.Config{Model: demo.Model{}, Roles: demo.Roles(), Foreign: true})
	looks := simulator(t, geminisim.Config{Script: parse(t, "loop\nlenient\ncall get_weather {}\nfinish STOP")})
	says := simulator(t, geminisim.Config{Script: parse(t, "loop\nlenient\ntext It is cold.\nfinish STOP")})
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the gateway has left
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		switch has := func(text string) bool { return bytes.Contains(body, []byte(text)) }; {
		case has("Look at the weather") && has("functionResponse"):
			says.ServeHTTP(w, r)
		case has("Look at the weather"):
			looks.ServeHTTP(w, r)
		default:
			sim.ServeHTTP(w, r)
		}
	}))
	return &gemini{url: url}
}

// judgeSDKs runs a program that uses the gateway through several clients, and compares what it
// has seen.
func judgeSDKs(t *testing.T, cmd *exec.Cmd, want map[string]sdkSeen) {
	t.Helper()
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v:\n%s\n%s", err, complaints.Bytes(), out)
	}
	got := map[string]sdkSeen{}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// OpenAI's SDK from npm, of two generations, and LangChain on it get the same text as a native
// client, streamed and not, have calls of their tools, objects that fit, and their own errors.
func TestSDKsFromNPM(t *testing.T) {
	t.Parallel()
	installed(t, sdksFolder+"/node_modules")
	nodejs, script := dialectNode(t), installed(t, sdksFolder+"/openai.mjs")
	g := startGateway(t, nil)
	native := g.ask(t, "Show my todos").done().FinalOutput
	input, err := json.Marshal(map[string]string{"gateway": g.base, "question": "Show my todos"})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), nodejs, script)
	cmd.Stdin = bytes.NewReader(input)
	want := sdkWants(native)
	judgeSDKs(t, cmd, map[string]sdkSeen{"openai 6.49.0": want, "openai 7.57.0": want, "langchain": want})
}

// LangChain, LiteLLM, llm and OpenAI's Agents SDK for Python have the gateway as a model. The last
// two run their tools themselves, and the Agents SDK speaks the Responses API.
func TestSDKsFromPyPI(t *testing.T) {
	t.Parallel()
	python := installed(t, sdksPython)
	g := startGateway(t, weather(t).env())
	native := g.ask(t, "Show my todos").done().FinalOutput
	cmd := exec.CommandContext(t.Context(), python, installed(t, sdksJudge), g.base, "Show my todos", t.TempDir())
	for name, value := range with(baseEnv(), "LITELLM_LOCAL_MODEL_COST_MAP", "True", "LANGSMITH_TRACING", "false") {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	langchain, lite, llm := sdkWants(native), sdkWants(native), sdkWants(native)
	langchain.Refused = "OpenAIModelNotFoundError 404 req_" // a NotFoundError
	llm.Call, llm.Answered = "get_weather minus 5", "It is cold."
	judgeSDKs(t, cmd, map[string]sdkSeen{"langchain": langchain, "litellm": lite, "llm": llm, "agents": llm})
}

func TestLangChainExample(t *testing.T) {
	t.Parallel()
	python := installed(t, sdksPython)
	g := startGateway(t, nil)
	native := g.ask(t, "show my todos").done().FinalOutput
	cmd := exec.CommandContext(t.Context(), python, installed(t, sdksExample), "show my todos")
	runExample(t, cmd, g.base, native+"\nSummary(open=0, next='')\n")
}
