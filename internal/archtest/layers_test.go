// Package archtest checks the shape of the whole tree: its import rules, its package
// variables, its goroutines and its words.
package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "sluice"

// The heights of the table. Imports point down, or sideways to what a row names: Go
// itself forbids circles.
const (
	ground = iota // texts, errors, settings, measures: they know nothing of turns
	words         // what a turn is made of, and what keeps and guards it
	parts         // what answers, asks, keeps and speaks
	house         // the edge, the commands and the wiring
)

// layer is a row of the table: a package and the folders below it that have no row of
// their own, and which rows it may import. A row names at most ten others, the wiring's
// apart.
type layer struct {
	tree   string
	height int
	may    []string
	why    string
}

// layers is the table. The last rows stand next to it.
func layers() []layer {
	return []layer{
		{"internal/base/check", ground, nil, "rules for texts, which read alike wherever they are asked"},
		{"internal/base/jsonparts", ground, nil, "one way to take JSON apart that was checked"},
		{"internal/base/stack", ground, nil, "it knows goroutines and nothing of what runs on them"},
		{"internal/base/markdown", ground, nil, "one way to read Markdown, for what words it and what checks it"},
		{"internal/edge/conns", ground, nil, "it knows connections and nothing of what runs on them"},
		{"internal/model/h2pool", ground, nil, "a way to send HTTP requests, whatever they ask for"},
		{"internal/base/redact", ground, nil, "one place that hides secrets, for every caller"},
		{"internal/base/fault", ground, []string{"internal/base/redact"}, "everybody uses the errors of the contract"},
		{"internal/base/config", ground, []string{"internal/base/check", "internal/base/redact"}, "packages register their settings with it; it knows none of them, and their values the program hands out"},
		{"internal/base/telemetry/otlp", parts, []string{"internal/base/telemetry"}, "the one place that knows how spans and metrics leave the process"},
		{"internal/base/telemetry", ground, []string{"internal/base/fault"}, "spans, instruments and states of parts, whatever they tell of"},
		{"web", ground, nil, "files and nothing else"},

		{"internal/engine/toolcache", parts, []string{"internal/turn/tool", "internal/turn/chat", "internal/base/telemetry", "internal/state/store"}, "it stores results, and knows neither who runs tools nor who asks for them"},
		{"internal/turn/tool", words, []string{"internal/base/fault"}, "what a tool is must not depend on who runs it or who asks for it"},
		{"internal/turn/chat", words, []string{"internal/turn/tool", "internal/base/check", "internal/base/jsonparts"}, "what is asked and said must not depend on how it is answered"},
		{"stream", words, []string{"internal/turn/chat", "internal/base/fault"}, "events tell of calls, usage and faults; an encoder knows events only"},
		{"internal/engine/run", words, []string{"internal/turn/tool", "internal/turn/chat", "stream", "internal/base/fault"}, "what runs inside a turn; it knows neither teams nor workflows"},
		{"breaker", words, []string{"internal/base/fault", "internal/base/config", "internal/base/telemetry"}, "it guards calls without knowing what they are"},
		{"internal/state/store/engines", words, []string{"internal/state/store", "internal/state/store/memory", "internal/state/store/sqlite", "internal/state/store/redis", "internal/base/telemetry"}, "the one place that names all engines"},
		{"internal/state/store/memory", words, []string{"internal/state/store", "internal/base/telemetry"}, "an engine, which knows no other"},
		{"internal/state/store/sqlite", words, []string{"internal/state/store", "internal/base/telemetry"}, "an engine, which knows no other"},
		{"internal/state/store/redis", words, []string{"internal/state/store", "internal/base/telemetry", "internal/base/testnet"}, "an engine, which knows no other"},
		{"internal/state/store/storetest", words, []string{"internal/state/store", "internal/base/testnet"}, "what engines have in common, whichever they are"},
		{"internal/state/store", words, []string{"internal/base/config", "internal/base/telemetry"}, "it knows neither what state means nor what guards its engines"},
		{"internal/model/gemini", parts, []string{"internal/turn/tool", "internal/model", "internal/turn/chat", "internal/base/fault", "internal/base/config", "internal/base/telemetry", "breaker", "internal/base/redact", "internal/base/check", "internal/model/h2pool"}, "a Model, for anyone who wants one"},
		{"internal/model/openai", parts, []string{"internal/turn/tool", "internal/turn/chat", "internal/model"}, "codecs of the protocols that OpenAI began"},
		{"internal/model/anthropic", parts, []string{"internal/turn/tool", "internal/turn/chat", "internal/model"}, "a codec of the Messages protocol"},
		{"internal/model", words, []string{"internal/turn/tool", "internal/turn/chat", "stream", "internal/base/fault", "internal/base/config", "internal/base/telemetry", "breaker", "internal/base/redact", "internal/base/check", "internal/model/h2pool"}, "the frame of all model calls, which knows no provider"},

		{"internal/edge/access/keys", parts, []string{"internal/edge/access", "internal/turn/chat", "internal/base/config", "internal/base/fault", "internal/base/telemetry"}, "API keys and their file; it knows no request"},
		{"internal/edge/access/jwt", parts, []string{"internal/edge/access", "internal/turn/chat", "internal/base/config", "internal/base/fault", "internal/base/telemetry"}, "tokens and the keys of their issuers; it knows no request"},
		{"internal/edge/access/limit", parts, []string{"internal/edge/access", "internal/turn/chat", "internal/base/config", "internal/base/fault", "internal/base/telemetry", "internal/state/store"}, "it counts, and knows neither requests nor turns"},
		{"internal/edge/access/door", parts, []string{"internal/edge/access", "internal/edge/access/keys", "internal/edge/access/jwt", "internal/turn/chat", "internal/base/config", "internal/base/fault", "internal/base/telemetry"}, "it asks who sends a request; what answers it does not know"},
		{"internal/edge/access", words, []string{"internal/turn/chat", "internal/base/fault"}, "what a credential proves, whichever it is"},
		{"internal/engine/agent/remote", parts, []string{"internal/engine/run", "internal/turn/chat", "stream", "internal/base/fault", "internal/base/config", "breaker", "internal/base/telemetry"}, "it runs an agent that is somewhere else; who asks it, it does not know"},
		{"internal/engine/agent/delegate", parts, []string{"internal/engine/agent", "internal/engine/run", "internal/turn/tool", "internal/turn/chat", "stream", "internal/base/fault", "internal/base/telemetry", "internal/state/task/record"}, "agents as tools of agents; of the file and of stores it knows what it declares"},
		{"internal/engine/agent", parts, []string{"internal/engine/run", "internal/turn/tool", "internal/turn/chat", "stream", "internal/base/fault", "internal/base/config", "internal/base/redact", "internal/base/telemetry", "internal/base/stack"}, "it declares the Model and the Tools that it needs, and knows none"},
		{"internal/engine/router", parts, []string{"internal/engine/run", "internal/turn/tool", "internal/turn/chat", "stream", "internal/base/fault", "internal/base/config", "internal/base/telemetry", "internal/base/redact", "internal/base/check"}, "it runs runners, and knows neither agents nor models"},
		{"internal/engine/workflow/graph", parts, []string{"internal/turn/tool", "internal/base/fault", "internal/base/config", "internal/state/store"}, "it reads and checks graphs, and knows neither a run nor how a node is carried out"},
		{"internal/engine/workflow/engine", parts, []string{"internal/engine/run", "internal/turn/tool", "internal/turn/chat", "stream", "internal/base/fault", "internal/base/telemetry", "internal/engine/workflow/graph"}, "it runs graphs, and knows neither agents nor tools nor who stores its records"},
		{"internal/engine/workflow/records", parts, []string{"internal/engine/run", "internal/turn/tool", "internal/turn/chat", "stream", "internal/base/fault", "internal/base/telemetry", "internal/state/store", "internal/engine/workflow/graph", "internal/engine/workflow/engine"}, "it stores what a run says of itself, and knows not what nodes do"},
		{"internal/engine/approval", parts, []string{"internal/engine/run", "internal/turn/tool", "internal/turn/chat", "stream", "internal/base/fault", "internal/base/config", "internal/base/telemetry", "internal/state/store"}, "it asks people for any runner, and knows none"},
		{"internal/quality/check", words, []string{"internal/base/redact", "internal/base/markdown"}, "pure rules for texts; it knows neither turns nor models"},
		{"internal/quality/style", words, []string{"internal/base/config"}, "the voice of answers; it knows neither models nor channels"},
		{"internal/quality/channel", parts, []string{"internal/base/config", "internal/base/markdown"}, "it words texts, and knows neither who wrote them nor who sends them"},
		{"internal/quality/deliver", parts, []string{"internal/base/config", "internal/base/telemetry"}, "it hands over bytes, and knows neither what they say nor who reads them"},
		{"internal/quality", parts, []string{"internal/engine/run", "internal/turn/chat", "stream", "internal/base/fault", "internal/base/config", "internal/base/telemetry", "internal/base/redact", "internal/quality/check", "internal/base/markdown"}, "it runs a runner and holds its text back; who asks, words and sends it declares"},
		{"internal/state/task/record", parts, []string{"internal/turn/chat", "stream", "internal/base/fault", "internal/base/config", "internal/base/redact", "internal/base/telemetry"}, "it reads events, and knows neither who runs turns nor where traces are stored"},
		{"internal/state/task/recording", parts, []string{"internal/turn/tool", "internal/base/fault", "internal/base/config"}, "it writes down what passes, and knows neither who runs turns nor what they mean"},
		{"internal/state/task/conversation", parts, []string{"internal/turn/tool", "internal/turn/chat", "stream", "internal/base/fault", "internal/base/config", "internal/state/store"}, "it remembers turns, and knows neither who answers nor how"},
		{"internal/state/task", parts, []string{"internal/turn/chat", "stream", "internal/base/fault", "internal/base/config", "internal/base/telemetry", "internal/state/store", "internal/state/task/record"}, "it stores turns, and knows neither who runs them nor who reads them"},
		{"mcpclient/servers", parts, []string{"internal/turn/tool", "internal/base/config", "breaker", "internal/base/redact", "internal/base/check", "mcpclient"}, "what an operator says of MCP servers; what connects to them reads no settings"},
		{"mcpclient/internal/wire", words, []string{"internal/turn/tool", "internal/turn/chat", "internal/base/redact", "internal/base/telemetry", "internal/base/stack"}, "messages of MCP on their way; it knows no session, no turn and no breaker"},
		{"mcpclient", parts, []string{"internal/turn/tool", "internal/turn/chat", "internal/base/fault", "internal/base/telemetry", "breaker", "internal/base/redact", "internal/base/check", "mcpclient/internal/wire"}, "Tools, for anyone who wants some"},
		{"internal/edge/dialect/jsonline", words, []string{"internal/turn/chat"}, "JSON on one line; chat knows which characters are hidden"},
		{"internal/edge/dialect/channels", parts, []string{"internal/turn/chat", "internal/base/fault", "internal/quality/channel", "internal/quality/style", "internal/edge/dialect"}, "a protocol without turns: what words texts knows no HTTP"},
		{"internal/edge/dialect/native", words, []string{"internal/turn/chat", "stream", "internal/edge/dialect/jsonline"}, "what events say as JSON, for our protocol and for those that repeat it"},
		{"internal/edge/dialect/sluice", parts, []string{"internal/turn/chat", "stream", "internal/base/fault", "internal/edge/dialect/native", "internal/edge/dialect"}, "a protocol, which knows events and no other protocol"},
		{"internal/edge/dialect/aisdk", parts, []string{"internal/turn/chat", "stream", "internal/base/fault", "internal/turn/tool", "internal/edge/dialect/jsonline", "internal/edge/dialect/native", "internal/edge/dialect"}, "a protocol, which knows events and no other protocol"},
		{"internal/edge/dialect/openai", parts, []string{"internal/turn/chat", "stream", "internal/base/fault", "internal/turn/tool", "internal/edge/dialect/jsonline", "internal/edge/dialect"}, "a protocol, which knows events and no other protocol"},
		{"internal/edge/dialect/agui", parts, []string{"internal/turn/chat", "stream", "internal/base/fault", "internal/turn/tool", "internal/edge/dialect/jsonline", "internal/edge/dialect/native", "internal/edge/dialect"}, "a protocol, which knows events and no other protocol"},
		{"internal/edge/dialect/chatkit/threads", parts, []string{"internal/edge/dialect/chatkit", "internal/base/fault", "internal/state/store"}, "it stores threads for the protocol, which knows no store"},
		{"internal/edge/dialect/chatkit", parts, []string{"internal/turn/chat", "stream", "internal/base/fault", "internal/edge/dialect/jsonline", "internal/edge/dialect"}, "a protocol, which knows events and no other protocol"},
		{"internal/edge/dialect/a2a", parts, []string{"internal/turn/chat", "stream", "internal/base/fault", "internal/edge/dialect/jsonline", "internal/edge/dialect", "internal/state/store"}, "a protocol, which knows events and no other protocol"},
		{"internal/edge/dialect", words, []string{"internal/turn/chat", "stream", "internal/base/fault", "internal/turn/tool", "internal/base/jsonparts"}, "what all protocols have in common"},

		{"handlers", house, []string{"internal/edge/access", "internal/turn/tool", "internal/turn/chat", "stream", "internal/base/fault", "internal/base/config", "internal/base/telemetry", "internal/edge/dialect", "internal/state/task", "internal/engine/approval"}, "of what answers it knows one method, and of protocols their routes"},
		{"internal/clients/loadtest", house, []string{"internal/base/check"}, "a client that judges the gateway: with our types it would share our mistakes"},
		{"internal/clients/ask", house, []string{"stream", "internal/clients/terminal"}, "a client at a terminal: it knows the wire, and no gateway"},
		{"internal/clients/terminal", house, nil, "what commands need to print for a person; it knows nothing of what they say"},
		{"internal/clients/doctor", house, []string{"stream"}, "a client that judges the way to a gateway"},
		{"internal/app/process", house, []string{"internal/turn/chat", "internal/base/fault", "internal/base/redact", "internal/edge/conns"}, "the care for a process, whatever it serves"},
		{"internal/app/wording", house, []string{"internal/quality/channel", "internal/turn/chat", "internal/quality/deliver", "internal/quality", "internal/quality/style", "stream"}, "what gives quality the packages that it may not import"},
		{"internal/app/roster", house, []string{"internal/engine/agent/remote", "breaker", "internal/turn/chat", "internal/base/config", "internal/base/fault", "internal/base/telemetry", "internal/engine/router", "internal/state/store", "internal/state/store/memory"}, "who is in a team, for what answers"},
		{"internal/app/records", house, []string{"internal/engine/approval", "internal/turn/chat", "internal/edge/dialect/a2a", "internal/edge/dialect/aisdk", "internal/edge/dialect/openai", "internal/base/fault", "internal/state/store", "stream", "internal/state/task", "internal/base/telemetry", "internal/engine/workflow/engine", "internal/engine/workflow/records"}, "wiring: the runs and turns of a store, for what continues, shows or removes them"},
		{"internal/app/providers", house, []string{"breaker", "internal/turn/chat", "internal/base/config", "internal/model", "internal/model/anthropic", "internal/model/gemini", "internal/model/openai", "internal/quality", "internal/engine/router", "internal/sim/geminisim", "internal/sim/offline", "internal/state/task/record", "internal/base/telemetry"}, "wiring: the models of a configuration, for all that ask them"},
		{"internal/app/settings", house, []string{
			"internal/edge/access/door", "internal/edge/access/limit", "internal/engine/agent", "internal/engine/agent/remote", "internal/engine/approval", "internal/turn/chat", "internal/base/config", "internal/edge/dialect", "handlers", "internal/app/process", "internal/app/providers", "mcpclient/servers", "internal/model", "internal/model/gemini", "internal/quality", "internal/quality/channel", "internal/quality/deliver", "internal/quality/style", "internal/base/redact", "internal/engine/router", "internal/state/store", "internal/state/task", "internal/state/task/conversation", "internal/state/task/record", "internal/state/task/recording", "internal/engine/workflow/engine", "internal/engine/workflow/graph",
		}, "wiring: the tables of all that can be configured"},
		{"internal/app/operate", house, []string{
			"internal/turn/chat", "internal/base/config", "internal/app/providers", "internal/app/records", "internal/app/settings", "mcpclient/servers", "internal/model", "internal/quality/style", "internal/base/redact", "internal/engine/router", "internal/state/store", "internal/state/store/engines", "internal/state/store/memory", "stream", "internal/state/task", "internal/state/task/record", "internal/state/task/recording", "internal/base/telemetry", "internal/turn/tool", "internal/engine/workflow/graph", "internal/engine/workflow/records",
		}, "wiring: commands that need parts; it knows no gateway"},
		{"internal/app/gateway/gatewaytest", house, []string{"internal/sim/geminisim", "internal/base/testnet"}, "tests only, which use a gateway from outside"},
		{"internal/app/gateway/wholetest", house, []string{
			"internal/edge/access", "internal/engine/agent", "breaker", "internal/turn/chat", "internal/base/config", "internal/edge/dialect", "internal/base/fault", "internal/app/gateway", "internal/app/gateway/gatewaytest", "internal/app/process", "internal/app/providers", "internal/app/settings", "internal/base/testnet", "mcpclient", "mcpclient/servers", "internal/model", "internal/engine/router", "internal/sim/geminisim", "internal/sim/modelsim", "internal/sim/offline", "internal/sim/todo", "internal/state/store", "internal/state/store/memory", "internal/state/store/redis", "internal/state/store/sqlite", "stream", "internal/state/task", "internal/base/telemetry", "handlers",
		}, "wiring: a whole gateway for the tests of any package"},
		{"internal/app/gateway", house, []string{
			"internal/edge/access/door", "internal/edge/access/keys", "internal/edge/access/limit", "internal/engine/agent", "internal/engine/agent/delegate", "internal/engine/agent/remote", "internal/engine/approval", "breaker", "internal/turn/chat", "internal/base/config", "internal/edge/dialect", "internal/edge/dialect/a2a", "internal/edge/dialect/agui", "internal/edge/dialect/aisdk", "internal/edge/dialect/channels", "internal/edge/dialect/chatkit", "internal/edge/dialect/chatkit/threads", "internal/edge/dialect/openai", "internal/edge/dialect/sluice", "internal/base/fault", "handlers", "internal/edge/conns", "internal/app/process", "internal/app/providers", "internal/app/records", "internal/app/roster", "internal/app/settings", "internal/app/wording", "mcpclient", "mcpclient/servers", "internal/model", "internal/quality", "internal/quality/channel", "internal/quality/deliver", "internal/base/redact", "internal/engine/router", "internal/engine/run", "internal/sim/home", "internal/sim/todo", "internal/state/store", "internal/state/store/engines", "stream", "internal/state/task", "internal/state/task/conversation", "internal/state/task/record", "internal/state/task/recording", "internal/base/telemetry", "internal/base/telemetry/otlp", "internal/turn/tool", "internal/engine/toolcache", "web", "internal/engine/workflow/engine", "internal/engine/workflow/graph", "internal/engine/workflow/records",
		}, "wiring: the gateway itself"},
		{"cmd", house, []string{
			"internal/edge/access/keys", "internal/clients/ask", "internal/clients/doctor", "internal/clients/loadtest", "internal/clients/terminal", "internal/base/config", "examples", "internal/app/gateway", "internal/app/operate", "internal/app/process", "internal/app/providers", "internal/app/settings", "internal/quality/channel", "internal/quality/style", "internal/sim/geminisim", "internal/sim/modelsim", "internal/sim/offline", "internal/sim/todo", "internal/state/store", "stream", "internal/state/task", "internal/state/task/recording", "internal/engine/workflow/graph",
		}, "wiring: main, signals and commands; nobody imports it"},

		{"internal/sim/home", parts, nil, "servers of their own, which could live elsewhere"},
		{"internal/sim/todo", parts, nil, "a server of its own, which could live elsewhere"},
		{"internal/sim/modelsim", parts, []string{"internal/sim/geminisim"}, "it speaks other protocols for the same plans, and judges us like it"},
		{"internal/sim/geminisim", parts, nil, "it speaks the wire, so that it can judge us: with our types it would share our mistakes"},
		{"internal/sim/offline", parts, []string{"internal/sim/geminisim"}, "a model behind the simulator, which sees what a language model would see: questions, no gateway"},
		{"internal/archtest", ground, nil, "tests of the whole tree"},
		{"internal/linked", ground, nil, "a command for the gate; nobody imports it"},
		{"internal/ratio", ground, nil, "a command that counts lines; nobody imports it"},
		{"internal/release", ground, nil, "a command that makes a version; nobody imports it"},
		{"internal/skipped", ground, nil, "a command for the gate; nobody imports it"},
		{"internal/base/testnet", ground, nil, "tests only, of any package"},
		{"examples", ground, nil, "clients, which know the wire only"},
	}
}

func layerOf(pkg string) (layer, bool) {
	for _, l := range layers() {
		if inTree(pkg, l.tree) {
			return l, true
		}
	}
	return layer{}, false
}

func inTree(pkg, tree string) bool { return pkg == tree || strings.HasPrefix(pkg, tree+"/") }

func inTrees(pkg string, trees ...string) bool {
	return slices.ContainsFunc(trees, func(tree string) bool { return inTree(pkg, tree) })
}

// source is one file.
type source struct {
	pkg  string // its folder, with slashes; "." is the root
	name string
	test bool
	file *ast.File
}

// tree is all Go code of the module.
type tree struct {
	fset  *token.FileSet
	files []source
}

// add parses one file.
func (tr *tree) add(name string, content any) error {
	file, err := parser.ParseFile(tr.fset, name, content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	slashed := filepath.ToSlash(name)
	tr.files = append(tr.files, source{path.Dir(slashed), slashed, strings.HasSuffix(name, "_test.go"), file})
	return nil
}

func (tr *tree) at(n ast.Node) string {
	p := tr.fset.Position(n.Pos())
	return fmt.Sprintf("%s:%d", p.Filename, p.Line)
}

// production lists the files that become part of a program.
func (tr *tree) production() []source {
	return slices.DeleteFunc(slices.Clone(tr.files), func(s source) bool { return s.test })
}

func readTree(t *testing.T) *tree {
	t.Helper()
	tr := &tree{fset: token.NewFileSet()}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skip(name, d.Name())
		}
		if filepath.Ext(name) != ".go" {
			return nil
		}
		return tr.add(name, nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// skip leaves out the folders that go build ./... leaves out.
func skip(name, base string) error {
	if name == "." {
		return nil
	}
	if strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata" || base == "node_modules" {
		return filepath.SkipDir
	}
	if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil {
		return filepath.SkipDir // a module of its own
	}
	return nil
}

// A rule returns what breaks it, each with its place.
type rule func(*tree) []string

func rules() map[string]rule {
	return map[string]rule{
		"imports":     brokenLayers,
		"dialects":    strayDialects,
		"echo":        strayEcho,
		"environment": strayEnvironment,
		"init":        initFunctions,
		"variables":   changingVariables,
	}
}

func TestTreeKeepsTheRules(t *testing.T) {
	t.Parallel()
	tr := readTree(t)
	if len(tr.production()) < 20 {
		t.Fatalf("only %d files found: the test looks at the wrong place", len(tr.production()))
	}
	for name, broken := range rules() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, b := range broken(tr) {
				t.Error(b)
			}
		})
	}
}

func TestLayersPointDown(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, l := range layers() {
		if seen[l.tree] { // the first row of a package counts alone
			t.Errorf("%s has two rows", l.tree)
		}
		seen[l.tree] = true
		for _, m := range l.may {
			if below, ok := layerOf(m); !ok || below.tree != m || below.height > l.height {
				t.Errorf("%s may import %s, which has no row or lies above it", l.tree, m)
			}
		}
		if len(l.may) > 10 && !strings.HasPrefix(l.why, "wiring: ") {
			t.Errorf("%s may import %d others: it knows too much", l.tree, len(l.may))
		}
	}
}

// imports calls each for all imports of files.
func imports(files []source, each func(s source, spec *ast.ImportSpec, target string)) {
	for _, s := range files {
		for _, spec := range s.file.Imports {
			target, _ := strconv.Unquote(spec.Path.Value)
			each(s, spec, target)
		}
	}
}

func brokenLayers(tr *tree) (broken []string) {
	for _, s := range tr.production() {
		if _, known := layerOf(s.pkg); !known {
			broken = append(broken, s.name+": the package has no row in the table of layers")
		}
	}
	imports(tr.production(), func(s source, spec *ast.ImportSpec, target string) {
		ours, isOurs := strings.CutPrefix(target, module+"/")
		l, known := layerOf(s.pkg)
		if below, _ := layerOf(ours); isOurs && known && below.tree != l.tree && !slices.Contains(l.may, below.tree) {
			broken = append(broken, fmt.Sprintf("%s: %s must not import %s (%s)", tr.at(spec), s.pkg, ours, l.why))
		}
	})
	return broken
}

// strayDialects keeps protocols apart: what lies below dialect is known to the wiring
// alone, so that each of them can go without a trace.
func strayDialects(tr *tree) (broken []string) {
	imports(tr.production(), func(s source, spec *ast.ImportSpec, target string) {
		below, isDialect := strings.CutPrefix(target, module+"/dialect/")
		name, _, _ := strings.Cut(below, "/")
		if isDialect && name != "jsonline" && name != "native" && !inTrees(s.pkg, "internal/edge/dialect/"+name, "cmd", "internal/app/gateway", "internal/app/records") {
			broken = append(broken, fmt.Sprintf("%s: only the wiring may import internal/edge/dialect/%s", tr.at(spec), below))
		}
	})
	return broken
}

// strayEcho keeps echo at the edge: moving to its next version must stay mechanical.
func strayEcho(tr *tree) (broken []string) {
	imports(tr.files, func(s source, spec *ast.ImportSpec, target string) {
		if strings.HasPrefix(target, "github.com/labstack/") && !inTree(s.pkg, "handlers") {
			broken = append(broken, tr.at(spec)+": only handlers may import echo")
		}
	})
	return broken
}

// strayEnvironment finds reads of flags and environment outside config, which
// reports every fault at once, and cmd, which hands them to config. gatewaytest looks
// what a test's child process is to be.
func strayEnvironment(tr *tree) (broken []string) {
	readers := []string{"Getenv", "LookupEnv", "Environ", "ExpandEnv", "UserHomeDir", "UserConfigDir", "UserCacheDir"}
	for _, s := range tr.production() {
		if inTrees(s.pkg, "internal/base/config", "cmd", "examples", "internal/app/gateway/gatewaytest", "internal/release") {
			continue
		}
		named := map[string]bool{}
		imports([]source{s}, func(_ source, spec *ast.ImportSpec, target string) {
			switch {
			case target == "flag" || target == "os" && spec.Name != nil && spec.Name.Name == ".":
				broken = append(broken, tr.at(spec)+": flags and environment are read in config")
			case (target == "os" || target == "syscall") && spec.Name != nil:
				named[spec.Name.Name] = true
			case target == "os" || target == "syscall":
				named[target] = true
			}
		})
		ast.Inspect(s.file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := sel.X.(*ast.Ident); ok && named[x.Name] && slices.Contains(readers, sel.Sel.Name) {
				broken = append(broken, tr.at(n)+": the environment is read in config")
			}
			return true
		})
	}
	return broken
}

func initFunctions(tr *tree) (broken []string) {
	for _, s := range tr.production() {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				broken = append(broken, tr.at(d)+": there must be no init")
			}
		}
	}
	return broken
}

// mayChange lists the package variables that may change or could be constants,
// with the reason.
func mayChange() map[string]string {
	return map[string]string{
		"cmd/sluice.version": "the linker sets it (-X main.version)",
	}
}

// changingVariables finds package variables that change: those without a value
// (somebody must set them later), those of a basic type (if they did not change
// they would be constants) and those that anything writes to. A map or a slice
// that nothing writes to is a table: Go has no constants of these types.
func changingVariables(tr *tree) (broken []string) {
	packages := map[string][]*ast.File{}
	for _, s := range tr.production() {
		packages[s.pkg] = append(packages[s.pkg], s.file)
	}
	for pkg, files := range packages {
		info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
		// Imports are not resolved: what is declared here is enough, and needs no
		// build. All errors follow from that.
		conf := types.Config{Importer: noImports{}, Error: func(error) {}}
		_, _ = conf.Check(pkg, tr.fset, files, info)
		c := &changes{tr: tr, pkg: pkg, info: info}
		for _, f := range files {
			c.declarations(f)
			ast.Inspect(f, c.writes)
		}
		broken = append(broken, c.broken...)
	}
	return broken
}

type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, fs.ErrNotExist }

// changes looks for changing variables in one package.
type changes struct {
	tr     *tree
	pkg    string
	info   *types.Info
	broken []string
}

func (c *changes) report(at ast.Node, name, what string) {
	if mayChange()[c.pkg+"."+name] == "" {
		c.broken = append(c.broken, fmt.Sprintf("%s: the package variable %s %s", c.tr.at(at), name, what))
	}
}

func (c *changes) declarations(f *ast.File) {
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR || embedded(g.Doc) {
			continue
		}
		for _, spec := range g.Specs {
			v := spec.(*ast.ValueSpec)
			for i, name := range v.Names {
				switch {
				case name.Name == "_" || embedded(v.Doc):
				case len(v.Values) == 0:
					c.report(name, name.Name, "has no value, so something sets it later")
				case i < len(v.Values) && c.isBasic(name, v.Values[i]):
					c.report(name, name.Name, "could be a constant, or changes")
				}
			}
		}
	}
}

func embedded(doc *ast.CommentGroup) bool {
	return doc != nil && slices.ContainsFunc(doc.List, func(l *ast.Comment) bool { return strings.HasPrefix(l.Text, "//go:embed ") })
}

// isBasic also takes arithmetic with imported constants, such as 5*time.Second,
// for basic.
func (c *changes) isBasic(name *ast.Ident, value ast.Expr) bool {
	if obj := c.info.Defs[name]; obj != nil && obj.Type() != types.Typ[types.Invalid] {
		_, basic := obj.Type().Underlying().(*types.Basic)
		return basic
	}
	_, arithmetic := value.(*ast.BinaryExpr)
	return arithmetic
}

// writes is a visitor for ast.Inspect.
func (c *changes) writes(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.AssignStmt:
		for _, left := range n.Lhs {
			c.written(left, "is assigned to")
		}
	case *ast.IncDecStmt:
		c.written(n.X, "is counted with")
	case *ast.RangeStmt:
		if n.Tok == token.ASSIGN {
			c.written(n.Key, "is assigned to")
			c.written(n.Value, "is assigned to")
		}
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			c.written(n.X, "has its address taken")
		}
	case *ast.CallExpr:
		if len(n.Args) > 0 && c.changesArgument(n.Fun) {
			c.written(n.Args[0], "is changed by a function")
		}
	}
	return true
}

// changesArgument knows the functions that change the map or slice that they get.
func (c *changes) changesArgument(fun ast.Expr) bool {
	switch fun := fun.(type) {
	case *ast.Ident:
		_, builtin := c.info.Uses[fun].(*types.Builtin)
		return builtin && slices.Contains([]string{"delete", "clear", "copy"}, fun.Name)
	case *ast.SelectorExpr:
		x, ok := fun.X.(*ast.Ident)
		if !ok {
			return false
		}
		return x.Name == "sort" || x.Name == "slices" && (strings.HasPrefix(fun.Sel.Name, "Sort") || fun.Sel.Name == "Reverse") ||
			x.Name == "maps" && (fun.Sel.Name == "Copy" || fun.Sel.Name == "DeleteFunc")
	}
	return false
}

// written reports e if it is, or is a part of, a package variable: one of this
// package, or of another one of ours. Those of other modules are settings of the
// whole program, so those who care for the process alone may set them.
func (c *changes) written(e ast.Expr, what string) {
	for {
		switch x := e.(type) {
		case *ast.ParenExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		case *ast.SelectorExpr:
			if id, ok := x.X.(*ast.Ident); ok {
				if p, ok := c.info.Uses[id].(*types.PkgName); ok && !(inTrees(c.pkg, "cmd", "internal/app/process") && !inTree(p.Imported().Path(), module)) {
					c.report(x, id.Name+"."+x.Sel.Name, what)
					return
				}
			}
			e = x.X
		case *ast.Ident:
			v, ok := c.info.Uses[x].(*types.Var)
			if ok && v.Pkg() != nil && v.Parent() == v.Pkg().Scope() {
				c.report(x, x.Name, what)
			}
			return
		default:
			return
		}
	}
}

// Each rule finds what it is for, and lets pass what it should.
func TestRulesCanFail(t *testing.T) {
	t.Parallel()
	tests := []struct {
		rule, name, code string
		want             string // in the only report; empty: none
	}{
		{"imports", "internal/engine/agent/x.go", `package agent; import _ "sluice/internal/model/gemini"`, "agent must not import internal/model/gemini"},
		{"imports", "internal/model/gemini/rest/x.go", `package rest; import _ "sluice/mcpclient"`, "must not import mcpclient"},
		{"imports", "handlers/x.go", `package handlers; import _ "sluice/cmd/sluice"`, "must not import cmd/sluice"},
		{"imports", "cmd/sluice/x.go", `package main; import _ "sluice/internal/engine/agent"`, "must not import internal/engine/agent"},
		{"imports", "internal/app/gateway/x.go", `package gateway; import (_ "sluice/internal/engine/agent"; _ "sluice/handlers")`, ""},
		{"imports", "handlers/x.go", `package handlers; import _ "sluice/internal/app/gateway"`, "must not import internal/app/gateway"},
		{"imports", "util/x.go", `package util`, "has no row"},
		{"imports", "x.go", `package sluice`, "has no row"},
		{"imports", "stream/sse/x.go", `package sse; import (_ "sluice/stream"; _ "sluice/internal/base/fault"; _ "io")`, ""},
		{"imports", "internal/engine/agent/x_test.go", `package agent_test; import _ "sluice/internal/sim/geminisim"`, ""},
		{"dialects", "internal/edge/dialect/chatkit/x.go", `package chatkit; import (_ "sluice/internal/edge/dialect"; _ "sluice/internal/edge/dialect/sluice")`, "only the wiring may import internal/edge/dialect/sluice"},
		{"dialects", "internal/edge/dialect/x.go", `package dialect; import _ "sluice/internal/edge/dialect/sluice"`, "only the wiring may import internal/edge/dialect/sluice"},
		{"dialects", "handlers/x.go", `package handlers; import _ "sluice/internal/edge/dialect/chatkit"`, "only the wiring may import internal/edge/dialect/chatkit"},
		{"dialects", "internal/app/gateway/x.go", `package gateway; import _ "sluice/internal/edge/dialect/chatkit"`, ""},
		{"dialects", "internal/edge/dialect/chatkit/wire/x.go", `package wire; import _ "sluice/internal/edge/dialect/chatkit"`, ""},
		{"echo", "internal/engine/agent/x_test.go", `package agent; import _ "github.com/labstack/echo/v4"`, "only handlers"},
		{"echo", "handlers/x.go", `package handlers; import _ "github.com/labstack/echo/v4"`, ""},
		{"environment", "internal/engine/agent/x.go", `package agent; import system "os"; func f() { system.Getenv("A") }`, "read in config"},
		{"environment", "internal/engine/agent/x.go", `package agent; import . "os"`, "read in config"},
		{"environment", "internal/engine/agent/x.go", `package agent; import _ "flag"`, "read in config"},
		{"environment", "mcpclient/x.go", `package mcpclient; import "syscall"; var _ = syscall.Environ()`, "read in config"},
		{"environment", "internal/engine/agent/x.go", `package agent; import "os"; var _, _ = os.ReadFile("x")`, ""},
		{"environment", "cmd/x/x.go", `package main; import "os"; func main() { os.Environ() }`, ""},
		{"init", "internal/turn/chat/x.go", `package chat; func init() {}`, "no init"},
		{"init", "internal/turn/chat/x.go", `package chat; type t int; func (t) init() {}`, ""},
		{"variables", "internal/turn/chat/x.go", `package chat; var n int`, "n has no value"},
		{"variables", "internal/turn/chat/x.go", `package chat; import "sync"; var mu sync.Mutex`, "mu has no value"},
		{"variables", "internal/turn/chat/x.go", `package chat; var a, n = f(), "x"; func f() []int { return nil }`, "n could be a constant"},
		{"variables", "internal/turn/chat/x.go", `package chat; import "time"; var wait = 5 * time.Second`, "wait could be a constant"},
		{"variables", "internal/turn/chat/x.go", `package chat; var m = map[string]int{}; func f() { m["a"] = 1 }`, "m is assigned to"},
		{"variables", "internal/turn/chat/x.go", `package chat; var m = map[string]int{}; func f() { m["a"]++ }`, "m is counted with"},
		{"variables", "internal/turn/chat/x.go", `package chat; var m = map[string]int{}; func f() { delete(m, "a") }`, "m is changed"},
		{"variables", "internal/turn/chat/x.go", `package chat; import "sort"; var s = []string{"b"}; func f() { sort.Strings(s[:1]) }`, "s is changed"},
		{"variables", "internal/turn/chat/x.go", `package chat; var s = []string{"b"}; func f() *string { return &s[0] }`, "s has its address taken"},
		{"variables", "internal/turn/chat/x.go", `package chat; var s = []string{"b"}; func f() { for _, s[0] = range s {} }`, "s is assigned to"},
		{"variables", "internal/turn/chat/x.go", `package chat; import "x/y"; var p = y.New(); func f() { p.a.b = 1 }`, "p is assigned to"},
		{"variables", "internal/engine/agent/x.go", `package agent; import "sluice/internal/base/fault"; func f() { fault.ErrClientGone = nil }`, "fault.ErrClientGone is assigned to"},
		{"variables", "internal/engine/agent/x.go", `package agent; import "github.com/rs/zerolog"; func f() { zerolog.X = 1 }`, "zerolog.X is assigned to"},
		{"variables", "cmd/x/x.go", `package main; import "github.com/rs/zerolog"; func f() { zerolog.X = 1 }`, ""},
		{"variables", "internal/app/process/x.go", `package process; import "github.com/rs/zerolog"; func f() { zerolog.X = 1 }`, ""},
		{"variables", "cmd/sluice/x.go", `package main; var version = "dev"`, ""},
		{"variables", "internal/turn/chat/x.go", `package chat; var m = map[string]int{"a": 1}; func f() int { m := map[string]int{}; m["b"] = 1; return m["a"] }`, ""},
		{"variables", "internal/turn/chat/x.go", `package chat; import "errors"; var errX = errors.New("x"); var _ error = errX`, ""},
		{"variables", "web/x.go", "package web\n\nimport \"embed\"\n\n//go:embed x\nvar files embed.FS\n", ""},
	}
	for _, tt := range tests {
		t.Run(tt.rule+" "+tt.code, func(t *testing.T) {
			t.Parallel()
			tr := &tree{fset: token.NewFileSet()}
			if err := tr.add(filepath.FromSlash(tt.name), tt.code); err != nil {
				t.Fatal(err)
			}
			got := strings.Join(rules()[tt.rule](tr), "\n")
			if tt.want == "" && got != "" || tt.want != "" && (!strings.Contains(got, tt.want) || strings.Contains(got, "\n")) {
				t.Errorf("got %q, want one report with %q", got, tt.want)
			}
		})
	}
}
