// Command goclient asks one question and prints the answer as it arrives:
//
//	goclient [-gateway http://localhost:8080] "What is on my list?"
//
// Exit code 0: answered; 1: the turn failed, and the gateway has said why; 2: the
// gateway did not run it; 3: the connection broke, and what the turn did is unknown.
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
	code, err := ask(ctx, *gateway, flag.Arg(0))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// event is one event of a turn, with the members that are printed.
type event struct {
	Type        string `json:"-"`
	Delta       string
	Accumulated string
	ToolName    string `json:"tool_name"`
	Status      string
	ErrorType   string `json:"error_type"`
	Message     string
	Success     bool
}

// ask runs a turn and returns the exit code.
func ask(ctx context.Context, gateway, input string) (int, error) {
	resp, err := post(ctx, gateway, input)
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return exitRefused, err
	}
	if err != nil {
		return exitLost, lost(err)
	}
	defer resp.Body.Close() // if the turn still runs, the gateway now ends it
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusConflict: // it was sent twice, see post
		return exitLost, lost(refusal(resp))
	default:
		return exitRefused, refusal(resp)
	}
	stream := bufio.NewReader(resp.Body)
	for {
		e, err := next(stream)
		if err != nil { // a clean end is no better: only done ends a turn
			return exitLost, lost(err)
		}
		switch e.Type {
		case "response_delta":
			fmt.Print(e.Delta)
		case "response_reset": // a terminal takes nothing back
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

func lost(err error) error {
	return fmt.Errorf("the connection broke, and what the turn did is unknown: %w", err)
}

// post sends the question. What is sent twice under one key runs once: a proxy may do
// that, and so may net/http when it finds that a connection it uses again is closed.
func post(ctx context.Context, gateway, input string) (*http.Response, error) {
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

// refusal reads why a turn was not run (RFC 9457).
func refusal(resp *http.Response) error {
	var problem struct{ Detail string }
	_ = json.NewDecoder(resp.Body).Decode(&problem) // the status says enough
	return errors.New(resp.Status + ": " + problem.Detail)
}

// next reads the next event. A line may be as long as the longest answer.
func next(stream *bufio.Reader) (event, error) {
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
