// This file has the programs that are measured: this build, the one to compare with, and a floor.

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// program is a program that answers turns.
type program struct {
	name string
	path string
	args []string
	// store is the gateway's store: memory, sqlite or redis; empty without a store.
	store string
	// floor programs know only the turn: a gateway cannot cost less by being written better.
	floor bool
}

// Names of programs, as the table has them.
const (
	nameNew     = "new"
	nameBase    = "base"
	nameAgain   = "base again"
	nameFloor   = "floor"
	nameMerging = "floor that merges"
	nameConns   = "floor with 64 connections"

	withoutStore = ", keeping nothing" // behind the name of a gateway that would keep turns
)

// buildPrograms makes the programs below work.
func buildPrograms(ctx context.Context, o options, work string, stdout io.Writer) ([]program, error) {
	root, err := filepath.Abs(o.root)
	if err != nil {
		return nil, err
	}
	ours, base, err := buildGateways(ctx, o, root, work)
	if err != nil {
		return nil, err
	}
	all := []program{{name: nameNew, path: ours}, {name: nameBase, path: base}, {name: nameAgain, path: base}}
	if o.bench == "" {
		return all, nil
	}
	bench := filepath.Join(root, o.bench)
	if _, err := os.Stat(filepath.Join(bench, "peers", "floor")); err != nil {
		fmt.Fprintf(stdout, "SKIPPED: the floor, which is not in %s\n", o.bench)
		return all, nil
	}
	floor := filepath.Join(work, "floor")
	if err := goBuild(ctx, bench, floor, "./peers/floor"); err != nil {
		return nil, err
	}
	return append(all,
		program{name: nameFloor, path: floor, floor: true},
		program{name: nameMerging, path: floor, floor: true, args: []string{"-coalesce"}},
		program{name: nameConns, path: floor, floor: true, args: []string{"-max-conns", "64"}}), nil
}

// buildGateways returns the paths of the two compared builds. It builds those without a given path.
func buildGateways(ctx context.Context, o options, root, work string) (ours, base string, err error) {
	ours, base = o.newBinary, o.baseline
	if ours == "" {
		ours = filepath.Join(work, "new")
		if err := goBuild(ctx, root, ours, "./cmd/sluice"); err != nil {
			return "", "", err
		}
	}
	if base == "" {
		base = filepath.Join(work, "base")
		if err := buildRevision(ctx, root, work, o.base, base); err != nil {
			return "", "", err
		}
	}
	return ours, base, nil
}

// buildRevision builds the gateway as it was, in a working tree of its own.
func buildRevision(ctx context.Context, root, work, revision, out string) error {
	tree := filepath.Join(work, "tree")
	if err := runCommand(ctx, root, "git", "worktree", "add", "--quiet", "--detach", tree, revision); err != nil {
		return err
	}
	defer func() { _ = runCommand(context.WithoutCancel(ctx), root, "git", "worktree", "remove", "--force", tree) }()
	return goBuild(ctx, tree, out, "./cmd/sluice")
}

// goBuild builds as for a release.
func goBuild(ctx context.Context, folder, out, target string) error {
	return runCommand(ctx, folder, "go", "build", "-trimpath", "-tags=grpcnotrace", "-ldflags=-s -w", "-o", out, target)
}

// runCommand runs a command. The error has its output.
func runCommand(ctx context.Context, folder, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = folder
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s in %s: %w\n%s", cmd, folder, err, out)
	}
	return nil
}
