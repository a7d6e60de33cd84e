package mcpclient

import (
	"errors"
	"maps"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
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

// BaseEnvAllowed says whether a child inherits the variable name from
// Config.BaseEnv: what programs need to find their files and their language, and
// nothing that could be a secret.
func BaseEnvAllowed(name string) bool {
	switch strings.ToUpper(name) {
	case "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TEMP", "TMP",
		// Windows does not start much without these.
		"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "USERPROFILE", "USERNAME",
		"HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES":
		return true
	}
	return strings.HasPrefix(strings.ToUpper(name), "LC_")
}

// childEnv returns the whole environment of a server's child, in a fixed order.
func childEnv(base []string, s Server) []string {
	var env []string
	for _, kv := range base {
		if name, _, ok := strings.Cut(kv, "="); ok && BaseEnvAllowed(name) {
			if _, overridden := s.Env[name]; !overridden {
				env = append(env, kv)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		env = append(env, name+"="+s.Env[name])
	}
	return env
}
