// This file counts instructions and cycles, by perf stat: they differ less from run to run than
// times do. Many virtual machines count neither.

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// hardware are the events that are counted, where the machine can.
var hardware = []string{"instructions", "cycles"}

// countableEvents returns the events that perf can count here.
func countableEvents(ctx context.Context, wanted []string) (events []string) {
	out, err := exec.CommandContext(ctx, "perf", "stat", "-x,", "-e", strings.Join(wanted, ","), "true").CombinedOutput()
	if err != nil {
		return nil
	}
	counts := parseCounts(out)
	for _, event := range wanted {
		if counts[event] > 0 {
			events = append(events, event)
		}
	}
	return events
}

// counting is a perf process that counts the events of another process.
type counting struct {
	cmd *exec.Cmd
	out bytes.Buffer
}

// startCounting begins to count. The caller must call stop.
func startCounting(ctx context.Context, pid int, events []string) (*counting, error) {
	c := &counting{}
	// perf reads commands from one pipe, and acknowledges them on another one.
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer out.Close()
	commands, ours, err := os.Pipe()
	if err != nil {
		_ = in.Close()
		return nil, err
	}
	defer ours.Close()
	c.cmd = exec.CommandContext(ctx, "perf", "stat", "-x,", "-e", strings.Join(events, ","), "-p", fmt.Sprint(pid), "-D", "-1", "--control", "fd:3,4")
	c.cmd.Stderr, c.cmd.ExtraFiles = &c.out, []*os.File{commands, in}
	err = c.cmd.Start()
	_, _ = commands.Close(), in.Close()
	if err != nil {
		return nil, err
	}
	if _, err = ours.WriteString("enable\n"); err == nil {
		_, err = bufio.NewReader(out).ReadString('\n') // ack
	}
	if err != nil {
		_, _ = c.stop()
		return nil, fmt.Errorf("perf does not begin: %w %s", err, c.out.Bytes())
	}
	return c, nil
}

// stop ends the counting, and returns how many there were of each event.
func (c *counting) stop() (map[string]float64, error) {
	_ = c.cmd.Process.Signal(os.Interrupt)
	_ = c.cmd.Wait() // it reports the signal
	counts := parseCounts(c.out.Bytes())
	if len(counts) == 0 {
		return nil, fmt.Errorf("perf has counted nothing: %s", c.out.Bytes())
	}
	return counts, nil
}

// parseCounts reads what perf stat -x, prints: a count, its unit, an event, and more. An event that
// cannot be counted is left out.
func parseCounts(out []byte) map[string]float64 {
	counts := map[string]float64{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(line, ",")
		if len(fields) < 3 {
			continue
		}
		if n, err := strconv.ParseFloat(fields[0], 64); err == nil {
			event, _, _ := strings.Cut(fields[2], ":") // behind it is what of the machine was counted
			counts[event] = n
		}
	}
	return counts
}
