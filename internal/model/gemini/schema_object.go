package gemini

import (
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/model"
)

// schemaMembers returns the members of a schema. ok is false if v is not a whole JSON object.
func schemaMembers(v jsontext.Value) (o model.Object, ok bool) {
	if v.Kind() != '{' || !v.IsValid() {
		return nil, false
	}
	return model.Members(v), true
}

// mergeSchema adds to n the members that only other has. Properties and required names add up.
func mergeSchema(n *model.Object, other model.Object) {
	for _, m := range other {
		have := n.Get(m.Name)
		switch {
		case have == nil:
			n.Set(m.Name, m.Value)
		case m.Name == "properties":
			properties := model.Members(have)
			mergeSchema(&properties, model.Members(m.Value))
			n.Set(m.Name, properties.JSON())
		case m.Name == "required":
			n.Set(m.Name, renderArray(append(model.Elements(have), model.Elements(m.Value)...)))
		}
	}
}

// renderArray renders a JSON array of rendered values.
func renderArray(list []jsontext.Value) jsontext.Value {
	b := []byte{'['}
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, v...)
	}
	return append(b, ']')
}
