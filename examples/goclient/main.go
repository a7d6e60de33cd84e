// Command goclient asks one question and prints the answer as it arrives:
//
//	goclient [-gateway http://localhost:8080] "What is on my list?"
//
// Exit code 0: answered; 1: the turn failed, and the gateway has said why; 2: the gateway did not
// run it; 3: the connection broke, and the effect of the turn is unknown.
package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"time"
)

const (
	exitFailed  = 1
	exitRefused = 2
	exitLost    = 3
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	gateway := flag.String("gateway", "http://localhost:8080", "base URL")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: goclient [-gateway URL] TEXT")
		os.Exit(exitRefused)
	}
	code, err := runTurn(ctx, *gateway, flag.Arg(0))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// event is one event of a turn, with the members that are printed.
type event struct {
	ID, Type    string `json:"-"`
	TaskID      string `json:"task_id"`
	Delta       string
	Accumulated string
	ToolName    string `json:"tool_name"`
	Status      string
	ErrorType   string `json:"error_type"`
	Message     string
	Success     bool
}

// turn is the state of a turn.
type turn struct {
	gateway string
	task    string // empty: the gateway keeps no turns
	last    string // the id of the last event
}

// runTurn runs a turn and returns the exit code. If the connection breaks, the rest of a turn that
// the gateway keeps is asked for.
func runTurn(ctx context.Context, gateway, input string) (int, error) {
	resp, err := postInput(ctx, gateway, input)
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return exitRefused, err
	}
	if err != nil {
		return exitLost, lostError(err)
	}
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusConflict: // it was sent twice, see post
		return exitLost, lostError(refusalError(resp))
	default:
		return exitRefused, refusalError(resp)
	}
	t := turn{gateway: gateway}
	code, err := t.readStream(resp)
	for tries := 0; err != nil && strings.HasPrefix(t.last, "turn_") && tries < maxTries; tries++ {
		select {
		case <-ctx.Done():
			return exitLost, t.cancel()
		case <-time.After(time.Second):
		}
		before := t.last
		if resp, err = t.resume(ctx); err != nil {
			continue // a gateway may be back there soon
		}
		if code, err = t.readStream(resp); t.last != before {
			tries = 0
		}
	}
	if err != nil {
		return exitLost, lostError(err)
	}
	return code, nil
}

// maxTries is how often in a row the rest is asked for, a second apart: another gateway goes on
// within 21 seconds with the turns of one that died.
const maxTries = 30

// resume asks for the events after the last one.
func (t *turn) resume(ctx context.Context) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.gateway+"/chat/stream", nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Last-Event-ID", t.last)
	resp, err := http.DefaultClient.Do(req)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = refusalError(resp)
		resp.Body.Close()
	}
	return resp, err
}

// cancel ends the turn. A gateway that keeps turns does not end it when the client leaves.
func (t *turn) cancel() error {
	if t.task == "" {
		return errors.New("stopped")
	}
	ctx, stop := context.WithTimeout(context.Background(), 3*time.Second)
	defer stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.gateway+"/tasks/"+t.task+"/cancel", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	resp.Body.Close()
	return errors.New("stopped")
}

// readStream prints the events of a reply up to done, and returns the exit code.
func (t *turn) readStream(resp *http.Response) (int, error) {
	defer resp.Body.Close() // a turn that is not kept ends now, if it still runs
	stream := bufio.NewReader(resp.Body)
	for {
		e, err := nextEvent(stream)
		if err != nil { // even a clean end: only done ends a turn
			return exitLost, err
		}
		if e.ID != "" { // a heartbeat comes without an ID
			t.last = e.ID
		}
		switch e.Type {
		case "start":
			t.task = e.TaskID
		case "response_delta":
			fmt.Print(e.Delta)
		case "response_reset": // a terminal cannot take text back
			fmt.Printf("\n[begins again]\n%s", e.Accumulated)
		case "tool_call":
			fmt.Fprintf(os.Stderr, "%s: %s\n", e.ToolName, e.Status)
		case "error":
			fmt.Fprintf(os.Stderr, "%s: %s\n", e.ErrorType, e.Message)
		case "done":
			fmt.Println()
			if !e.Success {
				return exitFailed, nil
			}
			return 0, nil
		}
	}
}

func lostError(err error) error {
	return fmt.Errorf("the connection broke, and what the turn did is unknown: %w", err)
}

// postInput sends the question. A request that is sent twice under one key runs once. A proxy may
// repeat it, and so may net/http if a reused connection turns out to be closed.
func postInput(ctx context.Context, gateway, input string) (*http.Response, error) {
	body, err := json.Marshal(map[string]any{"input": input, "accumulated": false})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, gateway+"/chat/stream", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", rand.Text())
	return http.DefaultClient.Do(req)
}

// refusalError reads why a turn was not run (RFC 9457).
func refusalError(resp *http.Response) error {
	var problem struct{ Detail string }
	_ = json.NewDecoder(resp.Body).Decode(&problem) // the status says enough
	return errors.New(resp.Status + ": " + problem.Detail)
}

// nextEvent reads the next event. A line may be as long as the longest answer.
func nextEvent(stream *bufio.Reader) (event, error) {
	var e event
	var data []byte
	for {
		line, err := stream.ReadBytes('\n')
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return e, err
		}
		field, value, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(": "))
		switch string(field) {
		case "id":
			e.ID = string(value)
		case "event":
			e.Type = string(value)
		case "data":
			data = value
		case "": // the event is whole, or it was a comment
			if data != nil {
				return e, json.Unmarshal(data, &e)
			}
		}
	}
}
