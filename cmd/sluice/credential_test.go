package main

import (
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"sluice/internal/app/gateway/gatewaytest"
)

// Commands that are clients show the key of SLUICE_KEY, or of its file, with each request, and
// nowhere else. One that is given by hand wins.
func TestClientsShowTheirKey(t *testing.T) {
	t.Parallel()
	const key = "slk_canary-of-a-key"
	file := filepath.Join(filepath.Dir(writeConfig(t, key+"\n")), "sluice.yaml")
	tests := []struct {
		env  map[string]string
		args []string
		want string
	}{
		{map[string]string{"SLUICE_KEY": key}, []string{"ask", "hello"}, "Bearer " + key},
		{map[string]string{"SLUICE_KEY_FILE": file}, []string{"ask", "--resume", "turn_0123456789abcdef0123456789"}, "Bearer " + key},
		{map[string]string{"SLUICE_KEY": key}, []string{"ask", "--waiting", "--user", "ana"}, "Bearer " + key},
		{map[string]string{"SLUICE_KEY": key}, []string{"loadtest", "--turns", "1"}, "Bearer " + key},
		{map[string]string{"SLUICE_KEY": key}, []string{"loadtest", "--turns", "1", "--header", "Authorization: Bearer own"}, "Bearer own"},
		{nil, []string{"ask", "hello"}, ""},
	}
	for _, tt := range tests {
		var mu sync.Mutex
		var got []string
		base := gatewaytest.ServeHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, r.Header.Get("Authorization"))
			w.WriteHeader(http.StatusUnauthorized)
		}))
		_, stdout, stderr := runCommand(t, tt.env, append(tt.args, "--url", base)...)
		mu.Lock()
		if len(got) == 0 || strings.Join(got, " ") != strings.TrimSpace(strings.Repeat(tt.want+" ", len(got))) {
			t.Errorf("%q showed %q, want %q", tt.args, got, tt.want)
		}
		mu.Unlock()
		if strings.Contains(stdout+stderr, "canary") {
			t.Errorf("%q: the key is shown: %s%s", tt.args, stdout, stderr)
		}
	}
	if code, _, stderr := runCommand(t, nil, "ask", "--key", key, "hello"); code != exitUsage || strings.Contains(stderr, key) {
		t.Errorf("on the command line: exit code %d, stderr %q", code, stderr)
	}
}
