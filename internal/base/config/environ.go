package config

import (
	"path/filepath"
	"runtime"
)

// childEnv returns what of our environment a child process may know: enough to find programs, its
// home and its language. It leaves out proxies and certificates, because the URL of a proxy often
// holds a password. An operator can name them in the server's env.
func childEnv(lookup func(string) (string, bool)) []string {
	names := []string{
		"PATH", "HOME", "USER", "SHELL", "TMPDIR", "TZ", "LANG",
		"LC_ALL", "LC_ADDRESS", "LC_COLLATE", "LC_CTYPE", "LC_IDENTIFICATION", "LC_MEASUREMENT", "LC_MESSAGES",
		"LC_MONETARY", "LC_NAME", "LC_NUMERIC", "LC_PAPER", "LC_TELEPHONE", "LC_TIME",
		"XDG_CACHE_HOME", "XDG_CONFIG_DIRS", "XDG_CONFIG_HOME", "XDG_DATA_DIRS", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME",
	}
	if runtime.GOOS == "windows" { // little starts there without these
		names = append(names, "APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT",
			"SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE")
	}
	var env []string
	for _, name := range names {
		if value, ok := lookup(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// dataFolder returns the folder for the user's data on the system goos, or ""
// when the environment names none. A relative XDG_DATA_HOME does not count
// (XDG Base Directory Specification).
func dataFolder(goos string, lookup func(string) (string, bool)) string {
	if goos == "windows" {
		folder, _ := lookup("LOCALAPPDATA")
		return folder
	}
	if folder, _ := lookup("XDG_DATA_HOME"); filepath.IsAbs(folder) {
		return folder
	}
	home, _ := lookup("HOME")
	if home == "" {
		return ""
	}
	if goos == "darwin" {
		return filepath.Join(home, "Library", "Application Support")
	}
	return filepath.Join(home, ".local", "share")
}
