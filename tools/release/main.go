// Command release makes the files of a version, and publishes nothing. For each platform these are
// an archive with the static binary, the licence and the completions, and a list of the binary's
// parts (SBOM, CycloneDX). For Linux it adds a Debian package, for Homebrew a formula, and for all
// files their checksums. The files do not contain the time of the build: with the same tools the
// same commit gives the same bytes.
//
//	go run ./tools/release -version 0.9.0 -out dist
//
// It needs nfpm and cyclonedx-gomod: scripts/release-install.sh.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// release is a version on its way into a folder.
type release struct {
	version string    // semver, without a v
	base    string    // URL of the folder that the files will be published in
	date    time.Time // of everything in archives
	out     string
	tools   string // folder of nfpm and cyclonedx-gomod
	scratch string // what ends with the run: binaries, completions
}

// main builds all platforms, or those that -platforms names.
func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := runRelease(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func runRelease(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("release", flag.ExitOnError)
	version := flags.String("version", "", "`version` to stamp, with or without a v; empty: a snapshot of the commit")
	base := flags.String("url", "https://example.com/sluice", "`URL` of the folder that the files will be published in, for the formula")
	out := flags.String("out", "dist", "`folder` for the files; those of a former release go")
	tools := flags.String("tools", ".artifacts/bin", "`folder` of nfpm and cyclonedx-gomod")
	list := flags.String("platforms", allPlatforms, "comma-separated `list`")
	_ = flags.Parse(args) // it exits
	targets, err := parsePlatforms(*list)
	if err != nil {
		return err
	}
	r := &release{base: strings.TrimRight(*base, "/"), out: *out, tools: *tools}
	if err := r.identifyCommit(ctx, *version); err != nil {
		return err
	}
	return r.makeRelease(ctx, targets)
}

// identifyCommit finds the version to release and the time of its commit.
func (r *release) identifyCommit(ctx context.Context, version string) error {
	said, err := commandOutput(ctx, nil, "git", "log", "-1", "--format=%ct %h")
	if err != nil {
		return fmt.Errorf("the commit is not known: %w", err)
	}
	var seconds int64
	var commit string
	if _, err := fmt.Sscan(said, &seconds, &commit); err != nil {
		return fmt.Errorf("git log: %w", err)
	}
	r.date = time.Unix(seconds, 0).UTC()
	changed, err := commandOutput(ctx, nil, "git", "status", "--porcelain", "--untracked-files=no")
	if err != nil {
		return err
	}
	if changed != "" {
		if version != "" {
			return fmt.Errorf("%s is to be released, and files differ from the commit:\n%s", version, changed)
		}
		commit += ".dirty"
	}
	r.version, err = parseVersion(version, commit, r.date)
	return err
}

// makeRelease writes everything into an empty folder.
func (r *release) makeRelease(ctx context.Context, targets []platform) (err error) {
	if err := clearFolder(r.out); err != nil {
		return err
	}
	if r.scratch, err = os.MkdirTemp("", "sluice-release"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.scratch)) }()
	if err := r.writeCompletions(ctx); err != nil {
		return err
	}
	sums := map[platform]string{}
	for _, p := range targets {
		if sums[p], err = r.makePlatform(ctx, p); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	if err := r.writeFormula(sums); err != nil {
		return err
	}
	return writeChecksums(r.out)
}

// writeCompletions asks the program itself, built for this machine.
func (r *release) writeCompletions(ctx context.Context) error {
	host := platform{runtime.GOOS, runtime.GOARCH}
	binary := r.binaryPath(host)
	if err := r.buildBinary(ctx, host, binary); err != nil {
		return err
	}
	for shell, name := range completionFiles() {
		script, err := commandOutput(ctx, nil, binary, "completion", shell)
		if err != nil {
			return fmt.Errorf("completion %s: %w", shell, err)
		}
		if err := os.WriteFile(filepath.Join(r.scratch, name), []byte(script), 0o644); err != nil { // #nosec G306 -- it is published
			return err
		}
	}
	return nil
}

// completionFiles names the files by shell, as each looks for them.
func completionFiles() map[string]string {
	return map[string]string{"bash": "sluice.bash", "zsh": "_sluice", "fish": "sluice.fish"}
}

// binaryPath is where a platform's program is built.
func (r *release) binaryPath(p platform) string {
	return filepath.Join(r.scratch, p.os+"_"+p.arch, p.programName())
}

// buildBinary compiles a static binary, and refuses one that must not be shipped.
func (r *release) buildBinary(ctx context.Context, p platform, binary string) error {
	if _, err := os.Stat(binary); err == nil {
		return nil
	}
	env := []string{"GOOS=" + p.os, "GOARCH=" + p.arch, "CGO_ENABLED=0"}
	if _, err := commandOutput(ctx, env, "go", "build", "-trimpath", "-tags", "grpcnotrace", "-ldflags", "-s -w -X main.version="+r.version, "-o", binary, "./cmd/sluice"); err != nil {
		return err
	}
	_, err := commandOutput(ctx, nil, "go", "run", "./tools/linked", binary)
	return err
}

// makePlatform makes the files of one, and returns the checksum of its archive.
func (r *release) makePlatform(ctx context.Context, p platform) (sum string, err error) {
	binary := r.binaryPath(p)
	if err := r.buildBinary(ctx, p, binary); err != nil {
		return "", err
	}
	archive := filepath.Join(r.out, p.archiveName(r.version))
	if err := writeArchive(archive, r.archiveContents(p), r.date); err != nil {
		return "", err
	}
	bom := filepath.Join(r.out, p.fileName(r.version)+".cdx.json")
	if _, err := commandOutput(ctx, nil, filepath.Join(r.tools, "cyclonedx-gomod"), "bin", "-json", "-std", "-noserial", "-notimestamp", "-version", "v"+r.version, "-output", bom, binary); err != nil {
		return "", err
	}
	if p.os == "linux" {
		if err := r.packDebian(ctx, p); err != nil {
			return "", err
		}
	}
	return fileChecksum(archive)
}

// archiveContents returns the files of a platform's archive, by the path in it.
func (r *release) archiveContents(p platform) []entry {
	files := []entry{{p.programName(), r.binaryPath(p), 0o755}, {"LICENSE", "LICENSE", 0o644}, {"README.md", "README.md", 0o644}, {"CHANGELOG.md", "CHANGELOG.md", 0o644}}
	for _, name := range completionFiles() {
		files = append(files, entry{"completions/" + name, filepath.Join(r.scratch, name), 0o644})
	}
	for i := range files {
		files[i].name = p.fileName(r.version) + "/" + files[i].name
	}
	return files
}

// packDebian packs the binary as deploy/debian/nfpm.yaml says.
func (r *release) packDebian(ctx context.Context, p platform) error {
	env := []string{
		"VERSION=" + r.version, "ARCH=" + p.arch, "BINARY=" + r.binaryPath(p), "COMPLETIONS=" + r.scratch,
		fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.date.Unix()),
	}
	_, err := commandOutput(ctx, env, filepath.Join(r.tools, "nfpm"), "package", "--config", "deploy/debian/nfpm.yaml", "--packager", "deb", "--target", r.out)
	return err
}

// commandOutput runs a command, with variables besides those of this process, and returns its
// output. Its error contains the command's error output.
func commandOutput(ctx context.Context, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(cmd.Environ(), env...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, said.String())
	}
	return string(out), nil
}
