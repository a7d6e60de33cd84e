package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sluice/internal/edge/access/keys"
)

var keyForm = regexp.MustCompile(`^slk_([0-9a-z]{10})_[0-9A-Za-z]{38}\n$`)

// A key is made, shown once, listed, replaced and revoked.
func TestKeys(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keys.yaml")
	env := map[string]string{"SLUICE_API_KEYS": path}
	code, key, stderr := runCommand(t, env, "keys", "add", "--user", "ana", "--tenant", "acme", "--scopes", "chat,inspect", "--limits", "gold", "--expires", "90d", "--note", "her laptop")
	form := keyForm.FindStringSubmatch(key)
	if code != exitOK || form == nil || strings.Contains(stderr, key[15:]) || !strings.Contains(stderr, form[1]) {
		t.Fatalf("exit code %d, stdout %q, stderr %q", code, key, stderr)
	}
	r, err := keys.Open(keys.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	who, err := r.Verify(strings.TrimSpace(key))
	if err != nil || who.ID != "ana" || who.Tenant != "acme" || who.Scopes.String() != "chat inspect" || who.Class != "gold" {
		t.Fatalf("%+v, %v", who, err)
	}
	wantList := func(want string) {
		t.Helper()
		code, stdout, stderr := runCommand(t, nil, "keys", "list", "--file", path)
		if code != exitOK || stderr != "" || !regexp.MustCompile(want).MatchString(stdout) || strings.Contains(stdout, "sha256") {
			t.Errorf("exit code %d, stderr %q, stdout\n%swant %s", code, stderr, stdout, want)
		}
	}
	wantList(`^ID .*\n` + form[1] + `  good +ana +acme +chat,inspect +gold +20\d\d-\d\d-\d\d \d\d:\d\d +20\d\d-\d\d-\d\d \d\d:\d\d +her laptop\n$`)

	code, next, _ := runCommand(t, env, "keys", "rotate", form[1], "--grace", "0s")
	nextForm := keyForm.FindStringSubmatch(next)
	if code != exitOK || nextForm == nil {
		t.Fatalf("exit code %d, stdout %q", code, next)
	}
	wantList(form[1] + `  expired(?s:.*)` + nextForm[1] + `  good +ana`)
	if code, stdout, _ := runCommand(t, env, "keys", "revoke", nextForm[1]); code != exitOK || stdout != nextForm[1]+" of ana is revoked\n" {
		t.Errorf("exit code %d, stdout %q", code, stdout)
	}
	wantList(nextForm[1] + `  revoked +ana`)
}

// --print needs no file and changes none: the entry is for what writes the file.
func TestKeysPrint(t *testing.T) {
	t.Parallel()
	code, entry, key := runCommand(t, nil, "keys", "add", "--user", "ana", "--print")
	if code != exitOK || !keyForm.MatchString(key) {
		t.Fatalf("exit code %d, stderr %q", code, key)
	}
	path := filepath.Join(t.TempDir(), "keys.yaml")
	if err := os.WriteFile(path, []byte("keys:\n"+entry), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := keys.Open(keys.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Verify(strings.TrimSpace(key)); err != nil {
		t.Error(err)
	}
}

func TestKeysRefuse(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keys")
	tests := []struct {
		args []string
		code int
		want string // on stderr
	}{
		{[]string{}, exitUsage, "say what to do"},
		{[]string{"remove"}, exitUsage, "did you mean keys revoke?"},
		{[]string{"add", "--user", "ana"}, exitUsage, "--file: is required"},
		{[]string{"list"}, exitUsage, "--file: is required"},
		{[]string{"list", "--file", path}, exitUsage, path + ": there is no such file"},
		{[]string{"add", "--file", path}, exitUsage, "--user: must have 1 to 256"},
		{[]string{"add", "--print", "--user", "ana", "--scopes", "root,chat"}, exitUsage, "--scopes: must be of chat, "},
		{[]string{"add", "--file", path, "--user", "ana", "--tenant", "A"}, exitUsage, "--tenant: must be"},
		{[]string{"add", "--file", path, "--user", "ana", "--expires", "-1h"}, exitUsage, "--expires: must not"},
		{[]string{"add", "--file", filepath.Join(path, "none"), "--user", "ana"}, exitFailed, "no such file"},
		{[]string{"revoke", "--file", path}, exitUsage, "name the key"},
		{[]string{"rotate", "--file", path}, exitUsage, "name the key"},
		{[]string{"revoke", "aaaaaaaaaa", "--file", path}, exitUsage, "there is no such file"},
	}
	for _, tt := range tests {
		code, stdout, stderr := runCommand(t, nil, append([]string{"keys"}, tt.args...)...)
		if code != tt.code || stdout != "" || !strings.Contains(stderr, tt.want) {
			t.Errorf("%q: exit code %d, stdout %q, stderr %q, want %q", tt.args, code, stdout, stderr, tt.want)
		}
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a file was made")
	}
	if code, stdout, _ := runCommand(t, nil, "keys", "--help"); code != exitOK || !strings.Contains(stdout, "sluice keys rotate [flags] ID") {
		t.Errorf("help: exit code %d, stdout %q", code, stdout)
	}
	path = filepath.Join(t.TempDir(), "keys.yaml")
	if err := os.WriteFile(path, []byte("keys: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := runCommand(t, nil, "keys", "revoke", "aaaaaaaaaa", "--file", path); code != exitFailed || !strings.Contains(stderr, "no key of this id") {
		t.Errorf("an unknown id: exit code %d, stderr %q", code, stderr)
	}
}
