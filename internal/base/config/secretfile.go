package config

import (
	"strings"

	"sluice/internal/base/check"
)

// fileSuffix turns the name of a secret's variable into the name of a second variable, which holds
// the path of a file with the secret. Platforms mount secrets as files, and the environment of a
// process is visible to others.
const fileSuffix = "_FILE"

// OrFile has the setting read from the file that <NAME>_FILE names, if its own variable is not
// set. It is for values that may hold a secret.
func (s Setting) OrFile() Setting {
	s.orFile = true
	return s
}

// secretValue returns a variable that may hold a secret: its value, or the content of the file that
// <NAME>_FILE names, less one line end. A file is read once.
func (r *reader) secretValue(name string) (string, bool) {
	value, set := r.lookup(name)
	path := r.trimmedEnv(name + fileSuffix)
	if path == "" {
		return value, set
	}
	if content, known := r.files[name]; known {
		return content, true
	}
	content := value
	if strings.TrimSpace(value) != "" {
		r.addFault(name+fileSuffix, name+" is set as well: set one of the two")
	} else {
		content = r.readSecret(name+fileSuffix, path)
	}
	r.files[name] = content
	return content, true
}

// readSecret reads the file that a variable names.
func (r *reader) readSecret(variable, path string) string {
	content, err := r.readFile(path)
	fault := TextFault(content, err, maxText)
	if fault == "" && !check.Plain(string(content)) {
		fault = "the file holds a NUL"
	}
	if fault != "" {
		if strings.ContainsAny(path, `/\`) { // else it may be the secret itself
			fault = path + ": " + fault
		}
		r.addFault(variable, fault)
		return ""
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(content), "\n"), "\r")
}

// secretNames returns the variables that name the file of a secret: those of settings, and those
// that the documents have looked up.
func (r *reader) secretNames(settings []Setting) (names []string) {
	for _, s := range settings {
		if s.orFile {
			names = append(names, s.Variable+fileSuffix, s.second+fileSuffix)
		}
	}
	for name := range r.files {
		names = append(names, name+fileSuffix)
	}
	return names
}
