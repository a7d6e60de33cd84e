package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// allPlatforms are those that a release has.
const allPlatforms = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64"

// platform is a system and a processor, by Go's names.
type platform struct{ os, arch string }

// String is the platform as flags name it.
func (p platform) String() string { return p.os + "/" + p.arch }

// fileName is the beginning of the names of a platform's files.
func (p platform) fileName(version string) string {
	return strings.Join([]string{"sluice", version, p.os, p.arch}, "_")
}

// archiveName is the name of the platform's archive.
func (p platform) archiveName(version string) string {
	if p.os == "windows" {
		return p.fileName(version) + ".zip"
	}
	return p.fileName(version) + ".tar.gz"
}

// programName is the name of the binary.
func (p platform) programName() string {
	if p.os == "windows" {
		return "sluice.exe"
	}
	return "sluice"
}

// parsePlatforms reads a list such as linux/amd64,darwin/arm64.
func parsePlatforms(list string) (all []platform, err error) {
	known := strings.Split(allPlatforms, ",")
	for name := range strings.SplitSeq(list, ",") {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("%q is none of the platforms %s", name, allPlatforms)
		}
		system, arch, _ := strings.Cut(name, "/")
		all = append(all, platform{system, arch})
	}
	return all, nil
}

// semver matches a version of semver.org 2.0 without build metadata, which Debian's versions cannot
// express.
var semver = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)

// parseVersion reads a version, with or without a v. An empty text gives a snapshot, older than any
// release.
func parseVersion(text, commit string, date time.Time) (string, error) {
	if text == "" {
		return "0.0.0-" + date.Format("20060102150405") + ".g" + commit, nil
	}
	version := strings.TrimPrefix(text, "v")
	if !semver.MatchString(version) {
		return "", fmt.Errorf("%q is no version such as 1.2.3 or 1.2.3-rc.1", text)
	}
	return version, nil
}
