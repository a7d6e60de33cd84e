package file

import "sluice/config"

// Written returns the object of a file as its author wrote it: where a Read puts the value of
// a variable stands ${NAME}. nil: the file cannot be read.
func Written(content []byte) map[string]any {
	d := &document{Sources: config.Sources{Lookup: func(name string) (string, bool) { return "${" + name + "}", true }}}
	root := d.parse(content)
	if root == nil {
		return nil
	}
	object, _ := root.value().(map[string]any)
	return object
}
