//go:build unix

// Command adk runs ten tool nodes in a row by ADK for Go, with its sessions in memory, for
// BenchmarkRow of internal/app/gateway.
//
// A line on standard input is a number of runs to make; the reply is one line: the CPU seconds of
// this process, user and system, that they took. The argument is the text that the first node hands
// to the tool and each gets back. It is a module of its own, because ADK needs another
// OpenTelemetry than the gateway.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strconv"
	"syscall"
	"time"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/workflowagent"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/adk/v2/workflow"
	"google.golang.org/genai"
)

const nodes = 10

// payload is the argument and the result of the tool.
type payload struct {
	Text string `json:"text"`
}

func main() {
	called := 0
	r, err := newRow(&called)
	if err != nil {
		log.Fatal(err)
	}
	asks, _ := json.Marshal(payload{os.Args[1]})
	in, made := bufio.NewScanner(os.Stdin), 0
	for in.Scan() {
		runs, _ := strconv.Atoi(in.Text())
		began := cpuTime()
		for range runs {
			made++
			called = 0
			runOnce(r, strconv.Itoa(made), string(asks))
			if called != nodes {
				log.Fatalf("%d calls", called)
			}
		}
		fmt.Println((cpuTime() - began).Seconds())
	}
}

// newRow returns a runner of the nodes. Each node calls the tool, and the tool counts.
func newRow(called *int) (*runner.Runner, error) {
	same := func(_ agent.Context, s payload) (payload, error) {
		*called++
		return s, nil
	}
	t, err := functiontool.New(functiontool.Config{Name: "echo", Description: "Says the same."}, same)
	if err != nil {
		return nil, err
	}
	all := []workflow.Node{workflow.Start}
	for i := range nodes {
		n, err := workflow.NewNamedToolNode("n"+strconv.Itoa(i), t, workflow.NodeConfig{})
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	a, err := workflowagent.New(workflowagent.Config{Name: "row", Edges: workflow.Chain(all...)})
	if err != nil {
		return nil, err
	}
	return runner.New(runner.Config{AppName: "row", Agent: a, SessionService: session.InMemoryService(), AutoCreateSession: true})
}

// runOnce makes one run, in a session of its own.
func runOnce(r *runner.Runner, id, asks string) {
	for _, err := range r.Run(context.Background(), "u", id, genai.NewContentFromText(asks, genai.RoleUser), agent.RunConfig{}) {
		if err != nil {
			log.Fatal(err)
		}
	}
}

// cpuTime returns the CPU time of this process, the collector's included.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		log.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
