package wire

import (
	"errors"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// lookUp finds a command as a shell of the child would. exec.LookPath would ask
// our own PATH.
func lookUp(name string, env []string) (string, error) {
	if filepath.Base(name) != name {
		return name, nil
	}
	var path string
	for _, kv := range env {
		if k, v, _ := strings.Cut(kv, "="); k == "PATH" || runtime.GOOS == "windows" && strings.EqualFold(k, "PATH") {
			path = v
		}
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue // as exec.LookPath: never the working directory
		}
		if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return found, nil
		}
	}
	return "", errors.New("the server's command is not in its PATH")
}
