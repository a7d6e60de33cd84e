// This file compiles and evaluates the expressions of workflows, in the Common Expression Language
// (cel.dev). There is one language for all, with the variables of a view. The objects result,
// critic and decision have fixed members, so that a typing error is found when the file is read.
//
// Three bounds keep an expression from holding up a run: a cost limit, a time limit, and a limit on
// how deep its value is nested. The result is plain JSON data; values of CEL do not leave this
// file.

package graph

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"sluice/internal/base/fault"
)

// Bounds of one evaluation.
const (
	// maxCost is in CEL's own units, which count operations and the sizes of the values
	// that they look at.
	maxCost       = 100_000
	maxEvaluation = 50 * time.Millisecond
	// checkEvery is after how many steps of a comprehension the time is looked at.
	checkEvery = 100
)

// Names of the types of variables that are objects.
const (
	resultType   = "workflow.Result"
	criticType   = "workflow.Critic"
	decisionType = "workflow.Decision"
)

// objectTypes are the members of these types.
//
// A member that is not set is an error of the evaluation and not null; authors test with
// has(critic.json).
func objectTypes() map[string]map[string]*types.Type {
	return map[string]map[string]*types.Type{
		resultType:   {"text": types.StringType, "json": types.DynType, "is_error": types.BoolType, "unknown": types.BoolType},
		criticType:   {"text": types.StringType, "json": types.DynType},
		decisionType: {"action": types.StringType, "message": types.StringType, "input": types.DynType},
	}
}

// provider knows the types of our objects. Their values are maps, so that an object can
// also be used as a whole.
//
// Without it the members of result would be dynamic, and result.txt would fail only in the
// run that comes to it.
type provider struct {
	types.Provider
	objects map[string]map[string]*types.Type
}

// FindStructType implements types.Provider.
func (p *provider) FindStructType(name string) (*types.Type, bool) {
	if _, ok := p.objects[name]; ok {
		return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
	}
	return p.Provider.FindStructType(name)
}

// FindStructFieldNames implements types.Provider.
func (p *provider) FindStructFieldNames(name string) (names []string, found bool) {
	fields, ok := p.objects[name]
	if !ok {
		return p.Provider.FindStructFieldNames(name)
	}
	for field := range fields {
		names = append(names, field)
	}
	return names, true
}

// FindStructFieldType implements types.Provider.
func (p *provider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	fields, ok := p.objects[name]
	if !ok {
		return p.Provider.FindStructFieldType(name, field)
	}
	t, ok := fields[field]
	if !ok {
		return nil, false
	}
	return &types.FieldType{
		Type: t,
		IsSet: func(object any) bool {
			members, _ := object.(map[string]any)
			_, ok := members[field]
			return ok
		},
		GetFrom: func(object any) (any, error) {
			members, _ := object.(map[string]any)
			value, ok := members[field]
			if !ok {
				return nil, fmt.Errorf("no such key: %s", field)
			}
			return value, nil
		},
	}, true
}

// newEnv returns the language of all expressions. It never changes.
//
// It is made once in a process, as making it costs far more than an evaluation. Numbers of
// different types compare by value, because JSON's numbers arrive as doubles and literals
// are integers.
var newEnv = sync.OnceValues(func() (*cel.Env, error) {
	base, err := cel.NewEnv(cel.OptionalTypes(), cel.CrossTypeNumericComparisons(true))
	if err != nil {
		return nil, err
	}
	return base.Extend(append(mixedOverloads(),
		cel.CustomTypeProvider(&provider{base.CELTypeProvider(), objectTypes()}),
		cel.Variable("input", types.StringType),
		cel.Variable("messages", types.NewListType(types.NewMapType(types.StringType, types.StringType))),
		cel.Variable("routing_key", types.StringType),
		cel.Variable("next_action", types.StringType),
		cel.Variable("current_agent", types.StringType),
		cel.Variable("metadata", types.NewMapType(types.StringType, types.DynType)),
		cel.Variable("iteration", types.IntType),
		cel.Variable("result", types.NewObjectType(resultType)),
		cel.Variable("critic", types.NewObjectType(criticType)),
		cel.Variable("decision", types.NewObjectType(decisionType)),
	)...)
})

// expression is a compiled expression. It is safe for concurrent use.
//
// decision and failure are found when it is compiled, so that the engine knows whether an
// edge takes a rejection or a failure without trying it.
type expression struct {
	source  string
	program cel.Program
	// the variables that it uses
	decision, failure, unknown bool
}

// newExpression compiles an expression. If condition is set it must be true or false. The
// error is fit for its author, and holds no value but names out of the source.
//
// The place in the error is counted in characters, from 1.
func newExpression(source string, condition bool) (*expression, error) {
	if utf8.RuneCountInString(source) > maxExpression {
		return nil, errors.New("must not be longer than 2,000 characters")
	}
	env, err := newEnv()
	if err != nil {
		return nil, err
	}
	checked, issues := env.Compile(source)
	if err := firstOf(issues); err != nil {
		return nil, err
	}
	if out := checked.OutputType(); condition && !canBeBool(out) {
		return nil, fmt.Errorf("must be true or false, and is of type %s", out)
	}
	program, err := env.Program(checked, cel.CostLimit(maxCost), cel.InterruptCheckFrequency(checkEvery), cel.CustomDecoratorV2(mixNumbers))
	if err != nil {
		return nil, fmt.Errorf("is no expression: %s", oneLine(err.Error()))
	}
	e := &expression{source: source, program: program}
	ast.PreOrderVisit(checked.NativeRep().Expr(), ast.NewExprVisitor(e.markUse))
	return e, nil
}

// firstOf returns the first of the issues as an error, or nil without issues.
func firstOf(issues *cel.Issues) error {
	if issues == nil || len(issues.Errors()) == 0 {
		return nil
	}
	first := issues.Errors()[0]
	return fmt.Errorf("is no expression: %s (character %d)", oneLine(first.Message), first.Location.Column()+1)
}

func canBeBool(t *cel.Type) bool {
	return t.IsExactType(types.BoolType) || t.IsExactType(types.DynType)
}

// markUse records the variables that a part of the expression uses.
func (e *expression) markUse(part ast.Expr) {
	switch part.Kind() {
	case ast.IdentKind:
		e.decision = e.decision || part.AsIdent() == "decision"
	case ast.SelectKind:
		if s := part.AsSelect(); isResult(s.Operand()) {
			e.failure, e.unknown = e.failure || s.FieldName() == "is_error", e.unknown || s.FieldName() == "unknown"
		}
	}
}

func isResult(part ast.Expr) bool { return part.Kind() == ast.IdentKind && part.AsIdent() == "result" }

// seesOutcome reports whether there is an expression, and it looks at whether a call failed.
func (e *expression) seesOutcome() bool { return e.seesFailure() || e.seesUnknown() }

// seesFailure reports whether there is an expression, and it looks at result.is_error.
func (e *expression) seesFailure() bool { return e != nil && e.failure }

// seesUnknown reports whether there is an expression, and it looks at result.unknown.
func (e *expression) seesUnknown() bool { return e != nil && e.unknown }

// oneLine shortens a message of the compiler: it may repeat a long name.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > 200 {
		return string(r[:200]) + "…"
	}
	return text
}

// eval returns the expression's value as JSON has it: nil, bool, float64 or int64,
// string, []any, map[string]any. Its error is an *expressionError.
//
// The time limit is the caller's context shortened to maxEvaluation. CEL checks it only after every
// checkEvery steps of a loop. This is enough: the cost bounds all other parts.
func (e *expression) eval(ctx context.Context, v View) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, maxEvaluation)
	defer cancel()
	out, _, err := e.program.ContextEval(ctx, activation{v})
	var value any
	if err == nil {
		value, err = native(out, 0)
	}
	if err != nil {
		return nil, &expressionError{e.source, err}
	}
	return value, nil
}

// expressionError is the failure of one expression.
//
// Error gives the cause without the source, as it may hold values; the source is for the
// fault of a node (inNode).
type expressionError struct {
	source string
	err    error
}

func (e *expressionError) Error() string { return e.err.Error() }
func (e *expressionError) Unwrap() error { return e.err }

// testCondition returns whether a condition holds.
//
// A value that is neither true nor false can still come here: the compiler accepts a
// dynamic type.
func (e *expression) testCondition(ctx context.Context, v View) (bool, error) {
	value, err := e.eval(ctx, v)
	if err != nil {
		return false, err
	}
	b, ok := value.(bool)
	if !ok {
		return false, &expressionError{e.source, errors.New("the value is neither true nor false")}
	}
	return b, nil
}

// maxNesting bounds the values that expressions make.
const maxNesting = 64

// native makes plain values of CEL's. Values of types that JSON lacks become texts, as CEL's own
// conversion to a string writes them.
func native(v ref.Val, depth int) (any, error) {
	if depth > maxNesting {
		return nil, errors.New("the value is nested too deep")
	}
	switch v := v.(type) {
	case *types.Err:
		return nil, v
	case *types.Unknown:
		return nil, errors.New("the value is not known")
	case *types.Optional:
		return nativeOptional(v, depth)
	case traits.Mapper:
		return nativeMap(v, depth)
	case traits.Lister:
		return nativeList(v, depth)
	}
	return nativeScalar(v)
}

func nativeOptional(v *types.Optional, depth int) (any, error) {
	if !v.HasValue() {
		return nil, nil
	}
	return native(v.GetValue(), depth)
}

func nativeList(v traits.Lister, depth int) (any, error) {
	list := []any{}
	for it := v.Iterator(); it.HasNext() == types.True; {
		item, err := native(it.Next(), depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, item)
	}
	return list, nil
}

// nativeScalar makes a plain value of one that holds no others.
//
// Integers stay integers up to int64; a larger unsigned number becomes a float64. NaN and the
// infinities are errors, as JSON lacks them. Text that is not valid UTF-8 gets replacement
// characters.
func nativeScalar(v ref.Val) (any, error) {
	switch v := v.(type) {
	case types.Null:
		return nil, nil
	case types.Bool:
		return bool(v), nil
	case types.Int:
		return int64(v), nil
	case types.Uint:
		if uint64(v) > math.MaxInt64 {
			return float64(v), nil
		}
		return int64(v), nil
	case types.Double:
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, errors.New("the value is no number that JSON has")
		}
		return float64(v), nil
	case types.String:
		return strings.ToValidUTF8(string(v), "\ufffd"), nil
	}
	if text, ok := v.ConvertToType(types.StringType).(types.String); ok {
		return string(text), nil
	}
	return nil, fmt.Errorf("a value of type %s cannot be kept", v.Type().TypeName())
}

// nativeMap makes an object. Keys that are numbers or booleans become texts; of two keys
// with one text the later counts.
func nativeMap(v traits.Mapper, depth int) (any, error) {
	object := map[string]any{}
	for it := v.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		name, ok := key.ConvertToType(types.StringType).(types.String)
		if !ok {
			return nil, errors.New("a key is no text")
		}
		member, err := native(v.Get(key), depth+1)
		if err != nil {
			return nil, err
		}
		object[string(name)] = member
	}
	return object, nil
}

// View is a run as the expressions of a node see it.
type View interface {
	// ResolveName returns the value of a variable. The names are those of newEnv.
	ResolveName(name string) (value any, known bool)
}

// activation is a View as CEL takes it.
type activation struct{ View }

// Parent implements cel.Activation.
func (activation) Parent() cel.Activation { return nil }

// inNode makes the fault of an expression that failed in a node.
//
// Any other error is returned as it is. The source of the expression is the author's own
// text and may be shown; the cause may quote values and goes to the log alone.
func inNode(n *Vertex, err error) error {
	e, ok := err.(*expressionError)
	if !ok {
		return err
	}
	return &fault.Error{
		Type:    fault.WorkflowExpression,
		Message: fmt.Sprintf("An expression of node %s failed: %s", n.ID, oneLine(e.source)),
		Err:     e.err,
	}
}
