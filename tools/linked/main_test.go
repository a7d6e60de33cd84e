package main

import (
	"runtime/debug"
	"testing"
)

// A binary is refused if both its Go and what it links are too old.
func TestJudge(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		compiler, linked string
		ok               bool
	}{
		{"go1.26.8", "", false},
		{"go1.26.8", "v0.60.0", false},
		{"go1.26.8", "v0.61.0", true},
		{"go1.26.8", "v0.62.1-0.20261101000000-abcdefabcdef", true},
		{"go1.26.8", "v1.0.0", true},
		{"go1.26.8", "v0.9.0", false},
		{"go1.26.8", "(devel)", false},
		{"go1.26.9", "v0.60.0", true},
		{"go1.26.10", "", true},
		{"go1.27.0", "", true},
		{"go1.25.99", "v0.60.0", false},
		{"devel", "", false},
	} {
		info := &debug.BuildInfo{GoVersion: tt.compiler, Deps: []*debug.Module{{Path: "example.org/other", Version: "v9.0.0"}}}
		if tt.linked != "" {
			info.Deps = append(info.Deps, &debug.Module{Path: "golang.org/x/net", Version: tt.linked})
		}
		if err := judgeBinary(info); (err == nil) != tt.ok {
			t.Errorf("%s with %s: %v", tt.compiler, tt.linked, err)
		}
	}
	replaced := &debug.Module{Path: "golang.org/x/net", Version: "v0.61.0", Replace: &debug.Module{Path: "fork", Version: "v0.60.0"}}
	if judgeBinary(&debug.BuildInfo{GoVersion: "go1.26.8", Deps: []*debug.Module{replaced}}) == nil {
		t.Error("the version that was replaced counts")
	}
}
