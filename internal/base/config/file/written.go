package file

import "sluice/internal/base/config"

// Written returns the object of a file as its author wrote it, with ${NAME} in place of a
// variable's value. It returns nil if the file cannot be read.
func Written(content []byte) map[string]any {
	d := &document{Sources: config.Sources{Lookup: func(name string) (string, bool) { return "${" + name + "}", true }}}
	root := d.parseTree(content)
	if root == nil {
		return nil
	}
	object, _ := root.plainValue().(map[string]any)
	return object
}

// Literal returns the object of a file with each text as it stands, with ${NAME}, its default and
// $$. name is the file's, for the error, which lists the faults of its grammar.
func Literal(name string, content []byte) (map[string]any, error) {
	d := &document{name: name, isLiteral: true}
	root := d.parseTree(content)
	if faults := d.collectResult().Faults; len(faults) > 0 {
		return nil, &config.Error{Faults: faults}
	}
	object, _ := root.plainValue().(map[string]any)
	return object, nil
}
