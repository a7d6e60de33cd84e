// Package sluice_test checks the shape of the whole tree: who imports whom, and
// what production code keeps at package level.
package sluice_test

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

// layer is a row of the table: a package, or a tree of them, and which of our own
// packages it may import. Imports point down. Packages of one tree may know each
// other; those of one layer do not. The rules for texts and the scrubber lie below layer 0.
type layer struct {
	tree   string
	height float64 // 0.25 is what design.md calls 0a, 0.5 is 0b, 1.5 is 1a
	may    []string
	why    string
}

// layers is the table. The last rows stand beside the layers.
func layers() []layer {
	return []layer{
		{"internal/check", -1, nil, "rules for texts, which read alike wherever they are asked"},
		{"internal/stack", -1, nil, "it knows goroutines and nothing of what runs on them"},
		{"redact", -1, nil, "one place that hides secrets, for every caller"},
		{"tool", 0.25, []string{"fault"}, "what a tool is must not depend on who runs it or who asks for it"},
		{"chat", 0.5, []string{"tool", "internal/check"}, "what is asked and said must not depend on how it is answered"},
		{"fault", 0, []string{"redact"}, "everybody uses the errors of the contract"},
		{"trace", 0.25, []string{"fault"}, "spans, whatever they tell of"},
		{"config/configtest", 0, nil, "tests only: a machine's environment and files"},
		{"config", 0, []string{"internal/check", "redact"}, "packages register their settings with it; it knows none of them, and their values the program hands out"},
		{"health", 0, nil, "what parts report of themselves, for every reader"},
		{"metrics", 0, nil, "instruments, whatever they count"},
		{"web", 0, nil, "files and nothing else"},
		{"internal/h2pool", 0, nil, "a way to send HTTP requests, whatever they ask for"},
		{"jsonline", 1, []string{"chat"}, "JSON on one line; chat knows which characters are hidden"},
		{"stream/sse/ssetest", 1.75, []string{"stream/sse"}, "tests only: streams, read by two readers"},
		{"stream/sse", 1.5, []string{"stream", "fault"}, "frames of events, and how they are written and read"},
		{"stream", 1, []string{"chat", "fault"}, "events tell of calls, usage and faults; an encoder knows events only"},
		{"breaker", 1, []string{"fault", "config", "health"}, "it guards calls without knowing what they are"},
		{"model", 1.5, []string{"tool", "chat", "stream", "fault", "config", "metrics", "breaker", "redact", "trace", "internal/check", "internal/h2pool"}, "the frame of all model calls, which knows no provider"},
		{"run", 1.5, []string{"tool", "chat", "stream", "fault"}, "what runs inside a turn; it knows neither teams nor workflows"},
		{"router", 2, []string{"run", "tool", "chat", "stream", "fault", "config", "metrics", "redact", "trace", "internal/check"}, "it runs runners, and knows neither agents nor models"},
		{"agent", 2, []string{"run", "tool", "chat", "stream", "fault", "config", "redact", "trace", "internal/stack"}, "it declares the Model and the Tools that it needs, and knows none"},
		{"delegate", 2.5, []string{"agent", "run", "tool", "chat", "stream", "fault", "trace", "record"}, "agents as tools of agents; of the file and of stores it knows what it declares"},
		{"workflow", 2, []string{"run", "tool", "chat", "stream", "fault", "config", "metrics", "trace", "store"}, "it runs graphs, and knows neither agents nor tools nor who keeps its records"},
		{"record", 1.5, []string{"chat", "stream", "fault", "config", "redact", "trace"}, "it reads events, and knows neither who runs turns nor where traces are kept"},
		{"recording", 2, []string{"tool", "fault", "config"}, "it writes down what passes, and knows neither who runs turns nor what they mean"},
		{"store/engines", 1.75, []string{"store", "store/memory", "store/sqlite", "store/redis", "health"}, "the one place that names all engines"},
		{"store/memory", 1.5, []string{"store", "health"}, "an engine, which knows no other"},
		{"store/sqlite", 1.5, []string{"store", "health"}, "an engine, which knows no other"},
		{"store/redis/redistest", 1.5, []string{"store", "internal/testnet"}, "tests only, of whatever needs a real server"},
		{"store/redis", 1.5, []string{"store", "health"}, "an engine, which knows no other"},
		{"store/storetest", 1.5, []string{"store", "internal/testnet"}, "what engines have in common, whichever they are"},
		{"store", 1, []string{"config", "metrics", "health"}, "it knows neither what state means nor what guards its engines"},
		{"task", 2, []string{"chat", "stream", "fault", "config", "metrics", "store", "record"}, "it keeps turns, and knows neither who runs them nor who reads them"},
		{"approval", 2, []string{"run", "tool", "chat", "stream", "fault", "config", "metrics", "trace", "store"}, "it asks people for any runner, and knows none"},
		{"conversation", 2, []string{"tool", "chat", "stream", "fault", "config", "store"}, "it remembers turns, and knows neither who answers nor how"},
		{"quality/check", 1, []string{"redact", "internal/markdown"}, "pure rules for texts; it knows neither turns nor models"},
		{"quality/style", 1, []string{"config"}, "the voice of answers; it knows neither models nor channels"},
		{"quality", 2, []string{"run", "chat", "stream", "fault", "config", "metrics", "redact", "internal/markdown"}, "it runs a runner and holds its text back; who asks, words and sends it declares"},
		{"a2aclient", 2, []string{"chat", "stream", "fault", "config", "breaker", "health", "trace"}, "it runs an agent that is somewhere else; who asks it, it does not know"},
		{"a2a", 2, []string{"config"}, "what a file says of a protocol, for the wiring"},
		{"toolcache", 2, []string{"tool", "chat", "metrics", "store"}, "it keeps results, and knows neither who runs tools nor who asks for them"},
		{"channel", 2, []string{"config", "internal/markdown"}, "it words texts, and knows neither who wrote them nor who sends them"},
		{"deliver", 2, []string{"config", "metrics"}, "it hands over bytes, and knows neither what they say nor who reads them"},
		{"openai", 2, []string{"tool", "chat", "fault", "config", "model", "internal/check"}, "codecs of the protocols that OpenAI began"},
		{"anthropic", 2, []string{"tool", "chat", "fault", "config", "model", "internal/check"}, "a codec of the Messages protocol"},
		{"gemini", 2, []string{"tool", "model", "chat", "fault", "config", "metrics", "breaker", "redact", "internal/check", "internal/h2pool"}, "a Model, for anyone who wants one"},
		{"mcpclient/servers", 2.5, []string{"tool", "config", "breaker", "redact", "internal/check", "mcpclient"}, "what an operator says of MCP servers; what connects to them reads no settings"},
		{"mcpclient/internal/wire", 1.5, []string{"tool", "chat", "redact", "trace", "internal/stack"}, "messages of MCP on their way; it knows no session, no turn and no breaker"},
		{"mcpclient", 2, []string{"tool", "chat", "fault", "config", "health", "breaker", "redact", "internal/check"}, "Tools, for anyone who wants some"},
		{"dialect/channels", 2.5, []string{"chat", "fault", "channel", "quality/style", "dialect"}, "a protocol without turns: what words texts knows no HTTP"},
		{"dialect/sluice", 2, []string{"chat", "stream", "fault", "jsonline", "dialect"}, "a protocol, which knows events and no other protocol"},
		{"dialect/chatkit/threads", 2.5, []string{"dialect/chatkit", "fault", "store"}, "it keeps threads for the protocol, which knows no store"},
		{"dialect/chatkit", 2, []string{"chat", "stream", "fault", "jsonline", "dialect"}, "a protocol, which knows events and no other protocol"},
		{"dialect/a2a", 2, []string{"chat", "stream", "stream/sse", "fault", "jsonline", "dialect", "store"}, "a protocol, which knows events and no other protocol"},
		{"dialect", 1.5, []string{"chat", "stream", "fault"}, "what all protocols have in common"},
		{"handlers", 3, []string{"tool", "chat", "stream", "fault", "config", "health", "metrics", "trace", "dialect", "store", "task", "approval"}, "of what answers it knows one method, and of protocols their routes"},
		{"loadtest", 3, []string{"internal/check"}, "a client that judges the gateway: with our types it would share our mistakes"},
		{"doctor", 3, []string{"stream"}, "a client that judges the way to a gateway"},
		{"telemetry/otlp", 4, []string{"trace"}, "the one place that knows how spans and metrics leave the process"},
		{"internal/providers", 3, []string{"chat", "config", "health", "metrics", "breaker", "model", "record", "router", "quality", "gemini", "openai", "anthropic", "sim/geminisim", "sim/offline"}, "the models of a configuration, for all that ask them"},
		{"internal/wording", 3, []string{"channel", "chat", "deliver", "quality", "quality/style", "stream"}, "what gives quality the packages that it may not import"},
		{"internal/roster", 3, []string{"a2aclient", "breaker", "chat", "config", "fault", "health", "router", "store"}, "who is in a team, for what answers"},
		{"internal/records", 3, []string{"fault", "run", "store", "workflow"}, "what a store has of a task, for who shows it and who removes it"},
		{"internal/settings", 4, []string{
			"a2a", "a2aclient", "agent", "approval", "channel", "config", "conversation", "deliver", "gemini", "handlers", "internal/providers", "mcpclient", "model", "quality", "quality/style", "record", "recording", "redact", "router", "store", "task", "workflow",
		}, "the tables of all that can be configured"},
		{"internal/operate", 5, []string{
			"chat", "config", "mcpclient", "metrics", "model", "quality/style", "record", "recording", "redact", "router", "store", "stream", "task", "tool", "workflow", "internal/providers", "internal/records", "internal/settings",
		}, "commands that need parts; it knows no gateway"},
		{"internal/process", 4, []string{"chat", "fault", "redact", "internal/conns"}, "the care for a process, whatever it serves"},
		{"internal/gateway/gatewaytest", 3, []string{"sim/geminisim", "internal/testnet"}, "tests only, which use a gateway from outside"},
		{"internal/gateway/wholetest", 6, []string{
			"a2a", "agent", "breaker", "chat", "config", "fault", "mcpclient", "model", "router", "store", "stream", "task", "telemetry/trace/tracetest", "internal/gateway", "sim/geminisim", "sim/modelsim", "sim/offline", "internal/process", "internal/providers", "internal/settings", "internal/testnet", "sim/todo",
		}, "tests only, which run a whole gateway in the package whose behaviour they hold"},
		{"internal/gateway", 5, []string{
			"delegate", "run", "tool", "chat", "fault", "config", "health", "metrics", "redact", "trace", "web", "stream", "breaker", "agent", "channel", "model", "mcpclient", "dialect", "router", "handlers", "store", "task", "toolcache", "internal/conns", "sim/home", "sim/todo", "internal/process", "internal/providers", "internal/records", "internal/roster", "internal/settings", "telemetry/otlp", "internal/wording", "quality", "deliver", "quality/style", "conversation", "approval", "workflow", "a2aclient", "record", "recording",
		}, "the wiring"},
		{"cmd", 6, []string{"config", "channel", "stream", "loadtest", "doctor", "internal/gateway", "internal/operate", "internal/process", "internal/providers", "internal/settings", "sim/todo", "sim/geminisim", "sim/modelsim", "sim/offline", "quality/style", "recording", "store", "task", "workflow"}, "main, signals and commands; nobody imports it"},
		{"internal/markdown", 0, nil, "one way to read Markdown, for what words it and what checks it"},
		{"internal/conns", 0, nil, "it knows connections and nothing of what runs on them"},
		{"sim/home", 0, nil, "servers of their own, which could live elsewhere"},
		{"sim/todo", 0, nil, "a server of its own, which could live elsewhere"},
		{"sim/modelsim", 1, []string{"sim/geminisim"}, "it speaks other protocols for the same plans, and judges us like it"},
		{"sim/geminisim/simtest", 0, nil, "tests only: requests to the simulator"},
		{"sim/geminisim", 0, nil, "it speaks the wire, so that it can judge us: with our types it would share our mistakes"},
		{"e2e/scenario", -1, nil, "the frame of what judges a gateway: with our types it would share our mistakes"},
		{"e2e/attack", 1, []string{"e2e/scenario", "internal/markdown/markdowntest"}, "it judges any build of the gateway: with our types it would share our mistakes"},
		{"e2e/failover", 0, []string{"e2e/scenario"}, "it judges any build of the gateway, as e2e/attack does"},
		{"internal/ratio", 0, nil, "a command that counts lines; nobody imports it"},
		{"internal/skipped", 0, nil, "a command for the gate; nobody imports it"},
		{"internal/testnet", 0, nil, "tests only, of any package"},
		{"sim/offline/english", 0, nil, "words, patterns and dates; it knows neither todos nor models"},
		{"sim/offline/roles", 1, []string{"sim/geminisim", "sim/offline/english"}, "what a gateway asks of a model; it knows no phrases of visitors"},
		{"sim/offline", 1.5, []string{"sim/geminisim", "sim/offline/english", "sim/offline/roles"}, "a model behind the simulator, which sees what a language model would see: questions, no gateway"},
		{"e2e/peers", 2, []string{"sim/geminisim", "sim/offline", "sim/todo"}, "tests only, which see the gateway from outside"},
		{"e2e/replay", 3, []string{"tool", "chat", "fault", "config", "model", "openai", "anthropic"}, "tests only, which set other people's readers beside ours"},
		{"e2e/protocols", 5, nil, "tests only, which put the four protocols side by side"},
		{"e2e/browser", 2, []string{"sim/geminisim", "stream"}, "tests only, which use the gateway with other people's clients"},
		{"examples", 0, nil, "clients, which know the wire only"},
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
			if below, ok := layerOf(m); !ok || below.height >= l.height {
				t.Errorf("%s may import %s, which is not below it", l.tree, m)
			}
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
		if isOurs && known && !inTree(ours, l.tree) && !inTrees(ours, l.may...) {
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
		if isDialect && !inTrees(s.pkg, "dialect/"+name, "cmd", "internal/gateway") {
			broken = append(broken, fmt.Sprintf("%s: only the wiring may import dialect/%s", tr.at(spec), below))
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
		if inTrees(s.pkg, "config", "cmd", "examples", "internal/gateway/gatewaytest", "e2e/failover") {
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
				if p, ok := c.info.Uses[id].(*types.PkgName); ok && !(inTrees(c.pkg, "cmd", "internal/process") && !inTree(p.Imported().Path(), module)) {
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
		{"imports", "agent/x.go", `package agent; import _ "sluice/model/gemini"`, "agent must not import gemini"},
		{"imports", "gemini/rest/x.go", `package rest; import _ "sluice/mcpclient"`, "must not import mcpclient"},
		{"imports", "handlers/x.go", `package handlers; import _ "sluice/cmd/sluice"`, "must not import cmd/sluice"},
		{"imports", "cmd/sluice/x.go", `package main; import _ "sluice/agent"`, "must not import agent"},
		{"imports", "internal/gateway/x.go", `package gateway; import (_ "sluice/agent"; _ "sluice/handlers")`, ""},
		{"imports", "handlers/x.go", `package handlers; import _ "sluice/internal/gateway"`, "must not import internal/gateway"},
		{"imports", "util/x.go", `package util`, "has no row"},
		{"imports", "x.go", `package sluice`, "has no row"},
		{"imports", "stream/sse/x.go", `package sse; import (_ "sluice/stream"; _ "sluice/fault"; _ "io")`, ""},
		{"imports", "agent/x_test.go", `package agent_test; import _ "sluice/sim/geminisim"`, ""},
		{"dialects", "dialect/chatkit/x.go", `package chatkit; import (_ "sluice/dialect"; _ "sluice/dialect/sluice")`, "only the wiring may import dialect/sluice"},
		{"dialects", "dialect/x.go", `package dialect; import _ "sluice/dialect/sluice"`, "only the wiring may import dialect/sluice"},
		{"dialects", "handlers/x.go", `package handlers; import _ "sluice/dialect/chatkit"`, "only the wiring may import dialect/chatkit"},
		{"dialects", "internal/gateway/x.go", `package gateway; import _ "sluice/dialect/chatkit"`, ""},
		{"dialects", "dialect/chatkit/wire/x.go", `package wire; import _ "sluice/dialect/chatkit"`, ""},
		{"echo", "agent/x_test.go", `package agent; import _ "github.com/labstack/echo/v4"`, "only handlers"},
		{"echo", "handlers/x.go", `package handlers; import _ "github.com/labstack/echo/v4"`, ""},
		{"environment", "agent/x.go", `package agent; import system "os"; func f() { system.Getenv("A") }`, "read in config"},
		{"environment", "agent/x.go", `package agent; import . "os"`, "read in config"},
		{"environment", "agent/x.go", `package agent; import _ "flag"`, "read in config"},
		{"environment", "mcpclient/x.go", `package mcpclient; import "syscall"; var _ = syscall.Environ()`, "read in config"},
		{"environment", "agent/x.go", `package agent; import "os"; var _, _ = os.ReadFile("x")`, ""},
		{"environment", "cmd/x/x.go", `package main; import "os"; func main() { os.Environ() }`, ""},
		{"init", "chat/x.go", `package chat; func init() {}`, "no init"},
		{"init", "chat/x.go", `package chat; type t int; func (t) init() {}`, ""},
		{"variables", "chat/x.go", `package chat; var n int`, "n has no value"},
		{"variables", "chat/x.go", `package chat; import "sync"; var mu sync.Mutex`, "mu has no value"},
		{"variables", "chat/x.go", `package chat; var a, n = f(), "x"; func f() []int { return nil }`, "n could be a constant"},
		{"variables", "chat/x.go", `package chat; import "time"; var wait = 5 * time.Second`, "wait could be a constant"},
		{"variables", "chat/x.go", `package chat; var m = map[string]int{}; func f() { m["a"] = 1 }`, "m is assigned to"},
		{"variables", "chat/x.go", `package chat; var m = map[string]int{}; func f() { m["a"]++ }`, "m is counted with"},
		{"variables", "chat/x.go", `package chat; var m = map[string]int{}; func f() { delete(m, "a") }`, "m is changed"},
		{"variables", "chat/x.go", `package chat; import "sort"; var s = []string{"b"}; func f() { sort.Strings(s[:1]) }`, "s is changed"},
		{"variables", "chat/x.go", `package chat; var s = []string{"b"}; func f() *string { return &s[0] }`, "s has its address taken"},
		{"variables", "chat/x.go", `package chat; var s = []string{"b"}; func f() { for _, s[0] = range s {} }`, "s is assigned to"},
		{"variables", "chat/x.go", `package chat; import "x/y"; var p = y.New(); func f() { p.a.b = 1 }`, "p is assigned to"},
		{"variables", "agent/x.go", `package agent; import "sluice/fault"; func f() { fault.ErrClientGone = nil }`, "fault.ErrClientGone is assigned to"},
		{"variables", "agent/x.go", `package agent; import "github.com/rs/zerolog"; func f() { zerolog.X = 1 }`, "zerolog.X is assigned to"},
		{"variables", "cmd/x/x.go", `package main; import "github.com/rs/zerolog"; func f() { zerolog.X = 1 }`, ""},
		{"variables", "internal/process/x.go", `package process; import "github.com/rs/zerolog"; func f() { zerolog.X = 1 }`, ""},
		{"variables", "cmd/sluice/x.go", `package main; var version = "dev"`, ""},
		{"variables", "chat/x.go", `package chat; var m = map[string]int{"a": 1}; func f() int { m := map[string]int{}; m["b"] = 1; return m["a"] }`, ""},
		{"variables", "chat/x.go", `package chat; import "errors"; var errX = errors.New("x"); var _ error = errX`, ""},
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
