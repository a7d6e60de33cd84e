// This file has texts that cost a reader far more than their length: Markdown,
// JSON, YAML. Limits are for 64 KiB of a text, in CPU time of the gateway.

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"sluice/internal/base/markdown/markdowntest"
)

// dearest is the text that cost most.
type dearest struct {
	name string
	cpu  time.Duration
}

// markdownBombs has each known bomb worded for channels: none costs more than 50 ms for
// 64 KiB. CPU time comes in ticks of 10 ms, and with that of the garbage before it, so a text
// that seems to cost more is looked at again, five times.
func markdownBombs(r *run) {
	const limit = 50 * time.Millisecond
	g := r.mustStart(options{})
	for _, channel := range []string{"sms", "email", "teams"} {
		var worst dearest
		others := 0
		for _, bomb := range markdowntest.Bombs(64 << 10) {
			cpu, status := r.formatText(g, channel, bomb.Text, 1)
			if cpu > limit {
				cpu, status = r.formatText(g, channel, bomb.Text, 5)
			}
			if status != http.StatusOK && status != http.StatusUnprocessableEntity {
				others++
			}
			if cpu > worst.cpu {
				worst = dearest{bomb.Name, cpu}
			}
		}
		r.Exactly("replies but 200 and 422, "+channel, others, 0)
		r.withinCPU(fmt.Sprintf("CPU for 64 KiB, %s, at most (%s)", channel, worst.name), worst.cpu, limit)
	}
	r.checkHealth("/healthz afterwards", g)
}

// formatText has a text worded, and returns the CPU time for each of so many times.
func (r *run) formatText(g *gateway, channel, text string, times int) (time.Duration, int) {
	body, err := json.Marshal(map[string]string{"text": strings.ToValidUTF8(text, "")})
	r.Must(err)
	before, _ := g.usage()
	status := 0
	for range times {
		got := g.fetch(20*time.Second, http.MethodPost, "/channels/"+channel+"/format", string(body), "Content-Type: application/json")
		r.Must(got.err)
		status = got.status
	}
	after, _ := g.usage()
	return (after.cpu - before.cpu) / time.Duration(times), status
}

// markdownInATurn has a model say a bomb of 250,000 characters for a channel. The turn must end in
// time, and the work for clients that leave must end soon.
func markdownInATurn(r *run) {
	bomb := partialAnswer(`[{"text":"` + strings.Repeat("_a*", 2500) + `"}]`)
	g := r.mustStart(options{env: []string{"SLUICE_REQUEST_TIMEOUT=3s"}, model: func(q question, say func(string)) {
		for range 33 {
			say(bomb)
		}
		say(textAnswer("Fine."))
	}})
	const body = `{"input":"hi","channel":"sms"}`
	before, _ := g.usage()
	r.checkTurn("a turn whose answer is a bomb", newTurn(g.fetch(20*time.Second, http.MethodPost, "/chat/stream", body, "Content-Type: application/json")), 3*time.Second, "stop")
	r.checkCost(g, before, time.Second, 200)
	for range 4 {
		_ = g.fetch(r.scaledLimit(50*time.Millisecond), http.MethodPost, "/chat/stream", body, "Content-Type: application/json")
	}
	before, _ = g.usage()
	r.Pause(2 * time.Second)
	r.checkCost(g, before, 500*time.Millisecond, 0)
}

// foreignText sends JSON that is deep, wide and long, and has YAML of the same kinds checked.
func foreignText(r *run) {
	g := r.mustStart(options{})
	const size = 64 << 10
	half := size / 2
	for name, body := range map[string]string{
		"JSON, deep":          `{"input":` + strings.Repeat("[", half) + strings.Repeat("]", half) + `}`,
		"JSON, not closed":    strings.Repeat(`{"input":`, size/9),
		"JSON, wide":          `{"input":"hi"` + strings.Repeat(`,"x":1`, size/6) + `}`,
		"JSON, escapes":       `{"input":"` + strings.Repeat(`\u0061`, size/6) + `"}`,
		"JSON, a long number": `{"input":"hi","temperature":` + strings.Repeat("9", size) + `}`,
	} {
		before, _ := g.usage()
		for range 5 {
			r.Must(g.fetch(10*time.Second, http.MethodPost, "/chat/stream", body, "Content-Type: application/json").err)
		}
		after, _ := g.usage()
		r.withinCPU("CPU for 64 KiB of "+name, (after.cpu-before.cpu)/5, 50*time.Millisecond)
	}
	alias := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'i'; c++ {
		alias += fmt.Sprintf("%c: &%c [%s*%c]\n", c, c, strings.Repeat(fmt.Sprintf("*%c,", c-1), 8), c-1)
	}
	dir := r.makeFolder()
	for name, text := range map[string]string{
		"YAML, aliases":    alias,
		"YAML, flow, deep": strings.Repeat("[", size),
		"YAML, seq, deep":  strings.Repeat("- ", half) + "a",
		"YAML, wide":       "{" + strings.Repeat("a: 1,", size/5) + "}",
		"YAML, anchors":    strings.Repeat("a: &a 1\n", size/8),
	} {
		path := filepath.Join(dir, "f.yaml")
		r.Must(os.WriteFile(path, []byte(text), 0o600))
		var out bytes.Buffer
		check := exec.CommandContext(r.Ctx, r.Binary, "config", "check", path)
		check.Env, check.Stdout, check.Stderr = []string{"PATH=/usr/bin:/bin", "HOME=" + dir}, &out, &out
		_ = check.Run() // it is at fault
		r.Check(name+" is refused", check.ProcessState.ExitCode() == 1 || check.ProcessState.ExitCode() == 2, "exit 1 or 2", "%d", check.ProcessState.ExitCode())
		r.withinCPU("CPU of config check, "+name, check.ProcessState.UserTime()+check.ProcessState.SystemTime(), time.Second)
	}
}
