// Command linked says whether a binary holds an HTTP/2 server that any client can crash
// (CVE-2026-97032). It was mended in Go 1.26.9 and, for a program that serves by
// golang.org/x/net, in 0.61 of that: one of the two is enough.
//
//	go run ./tools/linked dist/sluice
package main

import (
	"debug/buildinfo"
	"fmt"
	"go/version"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

const (
	mendedGo    = "go1.26.9"
	mendedMinor = 61 // of golang.org/x/net 0
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: linked BINARY")
		os.Exit(2)
	}
	info, err := buildinfo.ReadFile(os.Args[1])
	if err == nil {
		err = judgeBinary(info)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// judgeBinary returns why the binary must not be shipped, or nil.
func judgeBinary(info *debug.BuildInfo) error {
	if version.Compare(info.GoVersion, mendedGo) >= 0 {
		return nil
	}
	linked := "none"
	for _, m := range info.Deps {
		if m.Path != "golang.org/x/net" {
			continue
		}
		if m.Replace != nil {
			m = m.Replace
		}
		if linked = m.Version; isMended(linked) {
			return nil
		}
	}
	return fmt.Errorf("its HTTP/2 server can be crashed by any client: Go is %s, golang.org/x/net %s; want %s or 0.%d", info.GoVersion, linked, mendedGo, mendedMinor)
}

// isMended reports whether a version of golang.org/x/net, such as v0.61.0, is not too old.
func isMended(text string) bool {
	parts := strings.SplitN(strings.TrimPrefix(text, "v"), ".", 3)
	if len(parts) < 3 {
		return false
	}
	major, err := strconv.Atoi(parts[0])
	if err != nil {
		return false
	}
	minor, err := strconv.Atoi(parts[1])
	return err == nil && (major > 0 || minor >= mendedMinor)
}
