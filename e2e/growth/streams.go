// This file opens streams that stay silent for a while, and measures the cost of each. The cost of
// a million is computed from that.

package main

import (
	"bufio"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"sluice/e2e/proc"
)

// thinker simulates a model that says a word, and then nothing.
func thinker(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, textChunk)
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

// serveThinkers serves the thinker over HTTP/1.1, or over HTTP/2 with TLS as providers do, and
// returns what points a gateway at it.
func (r *run) serveThinkers(http2 bool) []string {
	s := httptest.NewUnstartedServer(http.HandlerFunc(thinker))
	r.AtEnd(func() {
		s.CloseClientConnections()
		s.Close()
	})
	if !http2 {
		s.Start()
		return []string{"GEMINI_BASE_URL=" + s.URL}
	}
	s.EnableHTTP2 = true
	s.StartTLS()
	roots := filepath.Join(r.makeFolder(), "roots.pem")
	r.Must(os.WriteFile(roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600))
	return []string{"GEMINI_BASE_URL=" + s.URL, "SSL_CERT_FILE=" + roots}
}

// idle has the measurements of open streams: totals of the process, in bytes, descriptors and
// microseconds of CPU.
type idle struct{ memory, grown, files, open, beat, collect series }

func (i *idle) allSeries() []*series {
	return []*series{&i.memory, &i.grown, &i.files, &i.open, &i.beat, &i.collect}
}

// every is how often a stream gets a heartbeat: not while streams are opened, and once while that
// is measured.
const every = 4 * time.Second

// growStreams has open streams grow that wait for their model.
func growStreams(r *run) {
	sizes := r.allowedSizes(500, 1000, 2000, 4000)
	kinds := []*idle{{grown: series{name: "the model over HTTP/1.1"}}, {grown: series{name: "the model over HTTP/2"}}}
	for i, kind := range kinds {
		env := r.serveThinkers(i == 1)
		for _, n := range sizes {
			for _, s := range kind.allSeries() {
				s.points = append(s.points, point{size: n})
			}
			for range min(r.plan.rounds, 3) {
				r.measureIdle(kind, n, env)
			}
		}
	}
	r.printChart(&chart{title: "Memory a stream, by the streams that are open and wait", x: "open streams", each: true, bytes: true,
		series: []*series{&kinds[0].grown, &kinds[1].grown}})
	r.Must(onPaper(r.out, kinds...))
}

// measureIdle opens n streams of a gateway, and adds a run to the last point of each series.
func (r *run) measureIdle(kind *idle, n int, env []string) {
	g := r.startGateway("", append(env, "SLUICE_HEARTBEAT="+every.String(), "SLUICE_ADMIN_ADDR=127.0.0.1:0")...)
	note := func(s *series, v float64) {
		p := &s.points[len(s.points)-1]
		p.runs = append(p.runs, v)
	}
	cpu := func(do func()) float64 {
		before, err := proc.CPU(g.pid)
		r.Must(err)
		do()
		after, err := proc.CPU(g.pid)
		r.Must(err)
		return float64((after - before).Nanoseconds()) / 1e3
	}
	memory := func() float64 {
		m, err := proc.Memory(g.pid)
		r.Must(err)
		return float64(m)
	}
	empty := memory()
	var open []io.Closer
	note(&kind.open, cpu(func() { open = r.openStreams(g, n) }))
	full := memory()
	note(&kind.memory, full)
	note(&kind.grown, full-empty)
	files, err := proc.Files(g.pid)
	r.Must(err)
	note(&kind.files, float64(files))
	r.Pause(every / 2) // the last ones that were opened come to rest
	note(&kind.beat, cpu(func() { r.Pause(every) }))
	collect := func() { r.Must(g.getURL(g.admin+"/debug/pprof/heap?gc=1", "")) }
	collect()
	note(&kind.collect, cpu(collect))
	for _, stream := range open {
		_ = stream.Close()
	}
	g.stop()
}

// openStreams opens n streams, some at a time, and returns when each has its first text.
func (r *run) openStreams(g *gateway, n int) []io.Closer {
	var all sync.WaitGroup
	open, errs := make([]io.Closer, n), make([]error, n)
	slots := make(chan struct{}, 32)
	for i := range n {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			open[i], errs[i] = g.openStream()
		})
	}
	all.Wait()
	r.Must(errors.Join(errs...))
	return open
}

// openStream opens one.
func (g *gateway) openStream() (io.Closer, error) {
	resp, err := g.postTurn(requestBody("hello", ""))
	if err != nil {
		return nil, err
	}
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if lines.Text() == "event: response_delta" {
			return resp.Body, nil
		}
	}
	_ = resp.Body.Close()
	return nil, fmt.Errorf("status %d, and a stream without text", resp.StatusCode)
}

// million is how many streams are computed.
const million = 1_000_000

// onPaper writes the cost of a stream by the measured slopes, and the cost of a million.
func onPaper(out io.Writer, kinds ...*idle) error {
	memory, cpu := &chart{bytes: true}, &chart{}
	var b strings.Builder
	b.WriteString("| | without streams | each stream | exponent | a million, on paper |\n| --- | --- | --- | --- | --- |\n")
	for _, k := range kinds {
		for _, row := range []struct {
			what string
			s    *series
			word func(float64) string
		}{
			{"resident memory", &k.memory, memory.formatCost},
			{"descriptors", &k.files, formatNumber},
			{"CPU to open all", &k.open, cpu.formatCost},
			{"CPU of a heartbeat to all", &k.beat, cpu.formatCost},
			{"CPU of a collection of garbage", &k.collect, cpu.formatCost},
		} {
			unit, fixed := fitLine(row.s.points)
			without := row.word(fixed)
			if fixed < 0 { // within the noise of the runs
				without = ""
			}
			fmt.Fprintf(&b, "| %s, %s | %s | %s | %s | %s |\n", k.grown.name, row.what, without, row.word(unit), formatExponent(exponent(row.s.points)), row.word(fixed+million*unit))
		}
	}
	_, err := io.WriteString(out, b.String()+"\n")
	return err
}

// formatNumber words a number that is large, or has a fraction.
func formatNumber(v float64) string {
	if v < 100 {
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return formatCount(int(math.Round(v)))
}
