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

// floor is a row of the import rules: a folder, and the floors below it that its packages may import.
type floor struct {
	folder string
	may    []string
	why    string
}

const (
	base    = "internal/base"
	turn    = "internal/turn"
	state   = "internal/state"
	model   = "internal/model"
	engine  = "internal/engine"
	quality = "internal/quality"
	edge    = "internal/edge"
	clients = "internal/clients"
	app     = "internal/app"
	sim     = "internal/sim"
)

// floors returns the import rules, from the ground up. A floor imports floors above its row only.
func floors() []floor {
	return []floor{
		{base, nil, "errors, settings, measures and checks of texts do not depend on turns"},
		{"web", nil, "the page is files"},
		{sim, nil, "simulators judge the gateway: with its types they would share its mistakes"},
		{turn, []string{base}, "requests and tools do not depend on the code that answers"},
		{"breaker", []string{base}, "a breaker guards calls of any kind"},
		{"stream", []string{turn, base}, "events report calls, usage and faults"},
		{state, []string{"stream", turn, base}, "stores and tasks do not depend on the code that answers"},
		{"mcpclient", []string{"breaker", turn, base}, "tools serve any agent"},
		{model, []string{"breaker", "stream", turn, base}, "models serve any agent"},
		{engine, []string{state, "stream", "breaker", turn, base}, "agents declare the models and the tools that they need"},
		{quality, []string{engine, "stream", turn, base}, "checks hold back the text of any runner"},
		{edge, []string{quality, state, "stream", turn, base}, "protocols and credentials do not depend on runners"},
		{"handlers", []string{edge, engine, state, "stream", turn, base}, "the server runs anything with one method"},
		{clients, []string{"stream", base}, "clients judge the gateway from outside"},
		{app, []string{clients, "handlers", edge, quality, engine, model, "mcpclient", state, "stream", "breaker", turn, sim, "web", base}, "the wiring imports everything but the commands"},
		{"cmd", []string{app, clients, "handlers", edge, quality, engine, model, "mcpclient", state, "stream", "breaker", turn, sim, "web", base, "examples"}, "nothing imports the commands"},
	}
}

// pairs returns the imports between the trees of one floor.
func pairs() map[string]string {
	return map[string]string{
		base + "/config": "check redact", base + "/fault": "redact", base + "/telemetry": "fault",
		turn + "/chat": "tool", state + "/task": "store",
		engine + "/agent": "run", engine + "/approval": "run", engine + "/router": "run", engine + "/workflow": "run",
	}
}

// divided returns the floors whose folders are trees of their own, which do not import each other without a pair.
func divided() []string { return []string{base, turn, state, engine, edge} }

// floorOf returns the floor of a package.
func floorOf(pkg string) (floor, bool) {
	for _, f := range floors() {
		if inTree(pkg, f.folder) {
			return f, true
		}
	}
	return floor{}, false
}

// treeOf returns the tree of a package: a folder of its floor, or the whole floor.
func treeOf(pkg string, f floor) string {
	below := strings.TrimPrefix(pkg, f.folder+"/")
	if first, _, _ := strings.Cut(below, "/"); below != pkg && slices.Contains(divided(), f.folder) {
		return f.folder + "/" + first
	}
	return f.folder
}

// mayImport reports whether a package of a floor may import another package of ours.
func mayImport(pkg string, f floor, target string) bool {
	below, known := floorOf(target)
	switch {
	case !known:
		return slices.Contains(f.may, target)
	case below.folder != f.folder && f.folder == edge && below.folder == quality:
		return inTree(pkg, edge+"/dialect/channels") && inTrees(target, quality+"/channel", quality+"/style")
	case below.folder != f.folder:
		return slices.Contains(f.may, below.folder)
	}
	from, to := treeOf(pkg, f), treeOf(target, f)
	return from == to || slices.Contains(strings.Fields(pairs()[from]), strings.TrimPrefix(to, f.folder+"/"))
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
		"imports":     brokenFloors,
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

func TestFloorsPointDown(t *testing.T) {
	t.Parallel()
	var below []string
	for _, f := range floors() {
		for _, m := range f.may {
			if !slices.Contains(below, m) && m != "examples" {
				t.Errorf("%s may import %s, which is not above it in the table", f.folder, m)
			}
		}
		below = append(below, f.folder)
	}
	count := 0
	for _, to := range pairs() {
		count += len(strings.Fields(to))
	}
	if len(below) > 16 || count > 11 {
		t.Errorf("%d floors and %d pairs, want at most 16 and 11", len(below), count)
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

func brokenFloors(tr *tree) (broken []string) {
	for _, s := range tr.production() {
		if _, known := floorOf(s.pkg); !known && !inTrees(s.pkg, "examples", "tools") {
			broken = append(broken, s.name+": the package is on no floor")
		}
	}
	imports(tr.production(), func(s source, spec *ast.ImportSpec, target string) {
		ours, isOurs := strings.CutPrefix(target, module+"/")
		f, known := floorOf(s.pkg)
		if isOurs && (!known || !mayImport(s.pkg, f, ours)) {
			broken = append(broken, fmt.Sprintf("%s: %s must not import %s (%s)", tr.at(spec), s.pkg, ours, f.why))
		}
	})
	return broken
}

// strayDialects keeps protocols apart: what lies below dialect is known to the wiring
// alone, so that each of them can go without a trace.
func strayDialects(tr *tree) (broken []string) {
	imports(tr.production(), func(s source, spec *ast.ImportSpec, target string) {
		below, isDialect := strings.CutPrefix(target, module+"/"+edge+"/dialect/")
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
		if inTrees(s.pkg, "internal/base/config", "cmd", "examples", "internal/app/gateway/gatewaytest", "tools/release") {
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
		{"imports", "cmd/sluice/x.go", `package main; import (_ "sluice/internal/engine/agent"; _ "sluice/examples")`, ""},
		{"imports", "internal/app/x.go", `package app; import _ "sluice/examples"`, "must not import examples"},
		{"imports", "internal/base/config/x.go", `package config; import (_ "sluice/internal/base/check"; _ "sluice/internal/base/telemetry")`, "must not import internal/base/telemetry"},
		{"imports", "internal/base/check/x.go", `package check; import _ "sluice/internal/turn/chat"`, "must not import internal/turn/chat"},
		{"imports", "internal/state/store/x.go", `package store; import _ "sluice/internal/state/task"`, "must not import internal/state/task"},
		{"imports", "internal/state/task/x.go", `package task; import _ "sluice/internal/state/store"`, ""},
		{"imports", "internal/engine/router/x.go", `package router; import (_ "sluice/internal/engine/run"; _ "sluice/internal/engine/agent")`, "must not import internal/engine/agent"},
		{"imports", "internal/edge/access/x.go", `package access; import _ "sluice/internal/edge/dialect"`, "must not import internal/edge/dialect"},
		{"imports", "internal/edge/dialect/openai/x.go", `package openai; import _ "sluice/internal/quality/channel"`, "must not import internal/quality/channel"},
		{"imports", "internal/edge/dialect/channels/x.go", `package channels; import (_ "sluice/internal/quality/channel"; _ "sluice/internal/quality")`, "must not import internal/quality ("},
		{"imports", "internal/engine/workflow/graph/x.go", `package graph; import _ "sluice/internal/engine/workflow/engine"`, ""},
		{"imports", "internal/app/gateway/x.go", `package gateway; import (_ "sluice/internal/engine/agent"; _ "sluice/handlers")`, ""},
		{"imports", "handlers/x.go", `package handlers; import _ "sluice/internal/app/gateway"`, "must not import internal/app/gateway"},
		{"imports", "util/x.go", `package util`, "is on no floor"},
		{"imports", "x.go", `package sluice`, "is on no floor"},
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
