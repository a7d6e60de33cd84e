package offline

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/geminisim"
)

// tool is a declared function with its parameters; none at all: not known.
type tool struct {
	name   string
	params map[string]jsontext.Value
}

// toolbox holds the todo tools among the declared functions; nil: not declared.
type toolbox struct {
	create, list, update, remove *tool
}

// readToolbox finds the tools for todos among those that are declared.
func readToolbox(declared []geminisim.Function) toolbox {
	return toolbox{
		create: findTool(declared, "create_todo"),
		list:   findTool(declared, "list_todos"),
		update: findTool(declared, "update_todo"),
		remove: findTool(declared, "delete_todo"),
	}
}

// findTool returns the function of that name, which may have a server's before it.
func findTool(declared []geminisim.Function, name string) *tool {
	i := slices.IndexFunc(declared, func(f geminisim.Function) bool {
		return f.Name == name || strings.HasSuffix(f.Name, "_"+name)
	})
	if i < 0 {
		return nil
	}
	var schema struct {
		Properties map[string]jsontext.Value `json:"properties"`
	}
	_ = json.Unmarshal(declared[i].Parameters, &schema) // what cannot be read is not known
	return &tool{declared[i].Name, schema.Properties}
}

// plan is a call in the making. Arguments are written in the order in which they
// were added.
type plan struct {
	tool *tool
	args []byte
}

// with adds an argument, unless the tool has no such parameter or there is
// nothing to say: value is a string, a list of strings or true.
func (p plan) with(param string, value any) plan {
	v, err := json.Marshal(value, jsontext.AllowInvalidUTF8(true))
	if _, known := p.tool.params[param]; len(p.tool.params) > 0 && !known || err != nil || in(`"" []`, string(v)) {
		return p
	}
	p.args = slices.Clip(p.args)
	if len(p.args) > 0 {
		p.args = append(p.args, ',')
	}
	p.args = append(append(p.args, `"`+param+`":`...), v...)
	return p
}

// call is the plan as a call of its tool.
func (p plan) call() geminisim.Call {
	return geminisim.Call{Name: p.tool.name, Args: jsontext.Value("{" + string(p.args) + "}")}
}
