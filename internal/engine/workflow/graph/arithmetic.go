package graph

import (
	"math"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"
)

// Numbers of JSON are doubles, and most literals are integers: so both compute together. CEL
// itself refuses that, in a value of unknown type only when it is evaluated.

// arithmetic are the operators that take an integer and a double.
var arithmetic = map[string]func(a, b ref.Val) ref.Val{
	operators.Add:      func(a, b ref.Val) ref.Val { return applyOperator(a, b, traits.Adder.Add) },
	operators.Subtract: func(a, b ref.Val) ref.Val { return applyOperator(a, b, traits.Subtractor.Subtract) },
	operators.Multiply: func(a, b ref.Val) ref.Val { return applyOperator(a, b, traits.Multiplier.Multiply) },
	operators.Divide:   func(a, b ref.Val) ref.Val { return applyOperator(a, b, traits.Divider.Divide) },
	operators.Modulo:   func(a, b ref.Val) ref.Val { return applyOperator(toInteger(a), toInteger(b), traits.Modder.Modulo) },
}

// applyOperator applies an operator of a's type, if it has it.
func applyOperator[T any](a, b ref.Val, op func(T, ref.Val) ref.Val) ref.Val {
	if t, ok := a.(T); ok {
		return op(t, b)
	}
	return types.MaybeNoSuchOverloadErr(a)
}

// toInteger returns a double that is a whole number as an integer, and anything else as it is.
func toInteger(v ref.Val) ref.Val {
	if d, ok := v.(types.Double); ok && math.Trunc(float64(d)) == float64(d) {
		return d.ConvertToType(types.IntType)
	}
	return v
}

// mixedOverloads declares the operators for values whose types are known.
func mixedOverloads() (options []cel.EnvOption) {
	for _, op := range []struct{ function, name string }{
		{operators.Add, "add"}, {operators.Subtract, "subtract"}, {operators.Multiply, "multiply"}, {operators.Divide, "divide"},
	} {
		options = append(options, cel.Function(op.function,
			cel.Overload(op.name+"_int64_double", []*types.Type{types.IntType, types.DoubleType}, types.DoubleType),
			cel.Overload(op.name+"_double_int64", []*types.Type{types.DoubleType, types.IntType}, types.DoubleType)))
	}
	return options
}

// mixNumbers makes the operators take an integer and a double when they are evaluated.
func mixNumbers(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	call, ok := i.(interpreter.InterpretableCall)
	if !ok || len(call.Args()) != 2 || arithmetic[call.Function()] == nil {
		return i, nil
	}
	op := arithmetic[call.Function()]
	return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(), func(args ...ref.Val) ref.Val {
		return op(widenNumbers(args[0], args[1]))
	}), nil
}

// widenNumbers makes doubles of an integer and a double.
func widenNumbers(a, b ref.Val) (ref.Val, ref.Val) {
	switch {
	case a.Type() == types.IntType && b.Type() == types.DoubleType:
		a = a.ConvertToType(types.DoubleType)
	case a.Type() == types.DoubleType && b.Type() == types.IntType:
		b = b.ConvertToType(types.DoubleType)
	}
	return a, b
}
