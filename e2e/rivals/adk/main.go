//go:build unix

// Command adk runs ten tool nodes in a row by ADK for Go, with its sessions in memory, for
// BenchmarkRow of internal/app/gateway.
//
// A line on standard input is a number of runs to make; the reply is one line: the CPU
// seconds of this process, user and system, that they took. The argument is the text that
// the first node hands to the tool and each gets back. It is a module of its own, because
// what ADK needs of OpenTelemetry does not go together with what the gateway needs.
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

// said is what the tool takes and returns.
type said struct {
	Text string `json:"text"`
}

func main() {
	called := 0
	r, err := row(&called)
	if err != nil {
		log.Fatal(err)
	}
	asks, _ := json.Marshal(said{os.Args[1]})
	in, made := bufio.NewScanner(os.Stdin), 0
	for in.Scan() {
		runs, _ := strconv.Atoi(in.Text())
		began := spent()
		for range runs {
			made++
			called = 0
			run(r, strconv.Itoa(made), string(asks))
			if called != nodes {
				log.Fatalf("%d calls", called)
			}
		}
		fmt.Println((spent() - began).Seconds())
	}
}

// row returns what runs the nodes, each of which calls the tool, which counts.
func row(called *int) (*runner.Runner, error) {
	same := func(_ agent.Context, s said) (said, error) {
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

// run makes one run, in a session of its own.
func run(r *runner.Runner, id, asks string) {
	for _, err := range r.Run(context.Background(), "u", id, genai.NewContentFromText(asks, genai.RoleUser), agent.RunConfig{}) {
		if err != nil {
			log.Fatal(err)
		}
	}
}

// spent returns the CPU time of this process, the collector's included.
func spent() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		log.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
