package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// requestBody is the body of every request. A gateway would repeat the text so far in each event.
// The request turns that off, as the floor does not do it.
const requestBody = `{"input":"Add a todo to review the report","accumulated":false}`

// runTurn has a turn answered, and returns how long its first text took.
//
// An answer that lacks or repeats a chunk is an error: a program that answers less costs less.
func (d *side) runTurn(ctx context.Context, chunks int) (first time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.url, strings.NewReader(requestBody))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	began := time.Now()
	resp, err := d.http.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		reason, _ := io.ReadAll(io.LimitReader(resp.Body, 500))
		return 0, fmt.Errorf("%s: %s %s", d.name, resp.Status, reason)
	}
	a := answer{}
	if err := a.readEvents(resp.Body, func() { first = time.Since(began) }); err != nil {
		return 0, fmt.Errorf("%s: %w", d.name, err)
	}
	if a.chunks != chunks || !a.done || !a.tool {
		return 0, fmt.Errorf("%s: %d chunks of %d; called the tool: %t; done: %t", d.name, a.chunks, chunks, a.tool, a.done)
	}
	return first, nil
}

// answer counts the parts of an answer in a stream.
type answer struct {
	chunks     int
	tool, done bool
}

var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 4096) }}

// readEvents reads the events of a stream. began is called when the first text is there.
func (a *answer) readEvents(body io.Reader, began func()) error {
	r := readers.Get().(*bufio.Reader)
	r.Reset(body)
	defer func() {
		r.Reset(nil)
		readers.Put(r)
	}()
	event := ""
	for {
		line, err := r.ReadSlice('\n') // of a line that is too long, a piece
		if name, ok := bytes.CutPrefix(line, []byte("event: ")); ok {
			switch string(bytes.TrimSpace(name)) {
			case "response_delta":
				event = "text"
			case "tool_call", "tool_result":
				a.tool, event = true, ""
			case "done":
				a.done, event = true, ""
			default:
				event = ""
			}
		} else if event == "text" {
			n := bytes.Count(line, []byte(mark))
			if n > 0 && a.chunks == 0 {
				began()
			}
			a.chunks += n
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
	}
}

// runClients has so many clients ask for so many turns each, one after the other. The first ones
// come within a while, spread evenly.
func (d *side) runClients(ctx context.Context, clients, turns, chunks int, within time.Duration) (firsts []time.Duration, err error) {
	firsts = make([]time.Duration, clients*turns)
	errs := make(chan error, clients)
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			time.Sleep(within * time.Duration(i) / time.Duration(clients))
			for j := range turns {
				first, err := d.runTurn(ctx, chunks)
				if err != nil {
					errs <- err
					return
				}
				firsts[i*turns+j] = first
			}
		})
	}
	all.Wait()
	close(errs)
	return firsts, <-errs // the first error, or nil
}
