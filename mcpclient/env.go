package mcpclient

import (
	"maps"
	"slices"
	"strings"
)

// baseEnvAllowed reports whether a child inherits the variable name from Config.BaseEnv: what
// programs need to find their files and their language, and nothing that could be a secret.
func baseEnvAllowed(name string) bool {
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
		if name, _, ok := strings.Cut(kv, "="); ok && baseEnvAllowed(name) {
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
