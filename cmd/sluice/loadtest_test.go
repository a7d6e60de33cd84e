package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"sluice/internal/app/gateway/gatewaytest"
)

// loadReport is what these tests read of the JSON.
type loadReport struct {
	OK      bool
	Streams struct {
		Started, Done, Failed, Refused, Broken, Unreconciled, Left, Dropped int
		FailedBy                                                            map[string]int `json:"failed_by"`
	}
	FirstText, Turn struct{ Count int }
	Server          struct{ PID int }
}

// runLoadtest runs the command with its report on stdout.
func runLoadtest(t *testing.T, args ...string) (code int, rep loadReport, text string) {
	t.Helper()
	code, stdout, stderr := runCommand(t, nil, append([]string{"loadtest", "--json", "-"}, args...)...)
	if err := json.Unmarshal([]byte(stdout), &rep); err != nil {
		t.Fatalf("%v in %q; stderr:\n%s", err, stdout, stderr)
	}
	return code, rep, stderr
}

// The real gateway, under either loop and every kind of request, keeps the
// contract as an auditor reads it that shares no code with it.
func TestLoadtest(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"none", "memory"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			env := gatewaytest.Scripted(t, "loop\nthought hm\ntext One \"quoted\"\\n\ntext ß😀\nfinish STOP").Env()
			env["SLUICE_STORE"] = kind
			loadtestOf(t, start(t, env))
		})
	}
}

func loadtestOf(t *testing.T, r *gatewaytest.Running) {
	for _, args := range []string{
		"--clients 4 --turns 20 --pid " + strconv.Itoa(os.Getpid()),
		"--clients 4 --turns 20 --accumulated true --method GET",
		"--rate 200 --turns 20 --accumulated=true",
		"--clients 2 --turns 20 --cut 0.5 --input one --input=two --header=X-A:b --header Y:c",
	} {
		code, rep, text := runLoadtest(t, append(strings.Fields(args), "--url", r.Base)...)
		if s := rep.Streams; code != exitOK || !rep.OK || s.Started != 20 || s.Done+s.Left != 20 || rep.Turn.Count != s.Done {
			t.Errorf("%s: exit code %d, %+v\n%s", args, code, rep, text)
		}
		if named := strings.Contains(args, "--pid"); named != (rep.Server.PID == os.Getpid()) {
			t.Errorf("%s: process %d was measured", args, rep.Server.PID)
		}
		if cut := strings.Contains(args, "--cut"); cut != (rep.Streams.Left == 10) {
			t.Errorf("%s: %d left", args, rep.Streams.Left)
		}
		if !strings.Contains(text, "\nOK: every stream") && !strings.Contains(text, "  OK: every stream") {
			t.Errorf("%s: no verdict in\n%s", args, text)
		}
	}
}

func TestLoadtestOfAFailingModel(t *testing.T) {
	t.Parallel()
	r := start(t, gatewaytest.Scripted(t, "loop\nlenient\nerror 400 INVALID_ARGUMENT no").Env())
	code, rep, text := runLoadtest(t, "--url", r.Base, "--clients", "2", "--turns", "6")
	if code != exitFailed || rep.OK || rep.Streams.Failed != 6 || rep.Streams.FailedBy["model_error"] != 6 {
		t.Errorf("exit code %d, %+v", code, rep)
	}
	if !strings.Contains(text, "model_error ×6") || !strings.Contains(text, "NOT OK: 6 of 6") {
		t.Error(text)
	}
}

// Nobody listens, and the report goes into a file.
func TestLoadtestOfNothing(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "report.json")
	code, stdout, stderr := runCommand(t, nil, "loadtest", "--url", "http://"+gatewaytest.UnusedAddr(t), "--turns", "2", "--json", file)
	if code != exitFailed || stderr != "" || !strings.Contains(stdout, "no_connection ×2") {
		t.Errorf("exit code %d, stderr %q, stdout:\n%s", code, stderr, stdout)
	}
	content, err := os.ReadFile(file)
	var rep loadReport
	if err != nil || json.Unmarshal(content, &rep) != nil || rep.Streams.Broken != 2 {
		t.Errorf("%v, %s", err, content)
	}
}

func TestLoadtestFlags(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := runCommand(t, nil, "loadtest",
		"--url", "s3cr3t", "--clients", "s3cr3t", "--rate", "0", "--max-in-flight", "0", "--turns", "-1", "--duration", "3",
		"--warmup", "x", "--timeout", "x", "--method", "s3cr3t", "--accumulated", "s3cr3t", "--header", "s3cr3t", "--cut", "2",
		"--inputs", "/dev/null/s3cr3t", "--pid", "x", "--frobnicate")
	if code != exitUsage || stdout != "" || strings.Contains(stderr, "s3cr3t") {
		t.Errorf("exit code %d, stdout %q, stderr:\n%s", code, stdout, stderr)
	}
	for _, name := range strings.Fields("url clients rate max-in-flight turns duration warmup timeout method accumulated header cut inputs pid frobnicate") {
		if !strings.Contains(stderr, "\n  --"+name+": ") {
			t.Errorf("--%s is not listed:\n%s", name, stderr)
		}
	}
	for args, want := range map[string]string{
		"":                                       "--url: ",
		"--url http://a --clients 1 --rate 1":    "--rate: ",
		"--url http://a --max-in-flight 1":       "--max-in-flight: ",
		"--url http://a --inputs":                "--inputs: ",
		"--url http://a?b=c":                     "--url: ",
		"--url http://a more":                    "argument 3: ",
		"--url http://a --inputs /dev/null":      "--inputs: the file is empty",
		"--url http://a --header A\x01:b":        "--header: ",
		"--url http://a --request-timeout never": "SLUICE_REQUEST_TIMEOUT: ",
	} {
		code, _, stderr := runCommand(t, nil, append([]string{"loadtest"}, strings.Fields(args)...)...)
		if code != exitUsage || strings.Count(stderr, "\n") != 2 || !strings.Contains(stderr, "\n  "+want) {
			t.Errorf("%s: exit code %d, stderr:\n%s", args, code, stderr)
		}
	}
	code, _, stderr = runCommand(t, nil, "loadtest", "--url", "http://a", "--json", "/dev/null/report")
	if code != exitFailed || !strings.Contains(stderr, "--json: ") {
		t.Errorf("a report that cannot be written: exit code %d, stderr %q", code, stderr)
	}
	if code, stdout, _ := runCommand(t, nil, "loadtest", "--help"); code != exitOK || !strings.Contains(stdout, "--max-in-flight") {
		t.Errorf("--help: exit code %d\n%s", code, stdout)
	}
}

// The first signal ends the run early and lets what runs end; the second one does
// not wait. Both report.
func TestLoadtestSignals(t *testing.T) {
	t.Parallel()
	for _, second := range []bool{false, true} {
		asked, release := make(chan struct{}), make(chan struct{})
		base := gatewaytest.ServeHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked <- struct{}{}
			select {
			case <-release:
			case <-r.Context().Done():
			}
			w.WriteHeader(http.StatusServiceUnavailable)
		}))
		signals := make(chan os.Signal, 2)
		var stdout, stderr gatewaytest.SafeBuffer
		ended := make(chan int, 1)
		go func() {
			ended <- run(context.Background(), []string{"loadtest", "--url", base, "--method", "GET", "--clients", "1", "--duration", "1h", "--timeout", "1h"},
				program{stdout: &stdout, stderr: &stderr, lookup: gatewaytest.LookupIn(nil), readFile: os.ReadFile, signals: signals})
		}()
		gatewaytest.Within(t, "the first turn", asked)
		signals <- syscall.SIGINT
		if second {
			signals <- syscall.SIGINT
		} else {
			close(release)
		}
		if code := gatewaytest.Within(t, "the end", ended); code != exitFailed {
			t.Errorf("exit code %d", code)
		}
		want := `refused +1 +503 ×1`
		if second {
			want = `interrupted +1`
		}
		if !strings.Contains(stdout.String(), "stopped early") || !regexp.MustCompile(want).MatchString(stdout.String()) {
			t.Errorf("second %t:\n%s%s", second, stdout.String(), stderr.String())
		}
	}
}

// findK6 returns the k6 that scripts/k6-install.sh builds, or else the one of this
// machine. SLUICE_REQUIRE_PEERS does not ask for it: the gate does not build it, as
// that takes minutes.
func findK6(t *testing.T) string {
	t.Helper()
	own, err := filepath.Abs("../../.artifacts/bin/k6")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{own, "k6"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("k6 is not installed; scripts/k6-install.sh builds it")
	return ""
}

// takenBack is a turn that takes its first text back and says that it ends with another.
func takenBack(id, final string) (stream string) {
	for i, ev := range []struct{ name, data string }{
		{"start", ``}, {"response_delta", `,"delta":"One"`}, {"response_reset", `,"accumulated":"","reason":"fallback"`},
		{"response_delta", `,"delta":"Two"`}, {"done", `,"final_output":"` + final + `","success":true`},
	} {
		stream += fmt.Sprintf("id: %s:%d\nevent: %s\ndata: {\"request_id\":%q%s}\n\n", id, i+1, ev.name, id, ev.data)
	}
	return stream
}

// The script for k6 finds the gateway good, and a stream that was tampered with bad.
func TestK6(t *testing.T) {
	t.Parallel()
	k6 := findK6(t)
	script, err := filepath.Abs("../../internal/clients/loadtest/k6.js")
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, gatewaytest.Scripted(t, "loop\nthought hm\ntext One\ntext  ß😀\nfinish STOP").Env())
	resp, stream := r.Get("/chat/stream?input=hi&accumulated=false")
	id := resp.Header.Get("X-Request-ID")
	end := stream[strings.LastIndex(stream, "id: "):]
	for _, tt := range []struct {
		name, stream string // an empty stream: the gateway itself
		failed       string // the check that must fail
	}{
		{"the gateway", "", ""},
		{"what it said", stream, ""},
		{"a turn that is kept", strings.Replace(strings.ReplaceAll(stream, "id: "+id+":", "id: turn_1:"), `"request_id"`, `"turn_id":"turn_1","request_id"`, 1), ""},
		{"two dones", stream + end, "exactly one done, at the end"},
		{"no done", strings.TrimSuffix(stream, end), "exactly one done, at the end"},
		{"a gap", strings.Replace(stream, id+":3", id+":4", 1), "ids count without a gap"},
		{"another text", strings.Replace(stream, `"delta":"One`, `"delta":"Two`, 1), "the deltas are the final output"},
		{"no success", strings.Replace(stream, `"success":true`, `"success":false`, 1), "the turn succeeded"},
		{"cut", strings.TrimSuffix(stream, "\n"), "nothing is cut"},
		{"text taken back", takenBack(id, "Two"), ""},
		{"text that stands", takenBack(id, "OneTwo"), "the deltas are the final output"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			base := r.Base
			if tt.stream != "" {
				base = gatewaytest.ServeHandler(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "text/event-stream")
					w.Header().Set("X-Request-ID", id)
					_, _ = w.Write([]byte(tt.stream))
				}))
			}
			cmd := exec.CommandContext(t.Context(), k6, "run", "--no-usage-report", "--no-color", "--quiet", "--iterations", "3", "--vus", "1", script)
			cmd.Env = append(os.Environ(), "URL="+base)
			out, err := cmd.CombinedOutput()
			const thresholds = 99 // k6's exit code when one is crossed
			if code := cmd.ProcessState.ExitCode(); (code == 0) != (tt.failed == "") || code != 0 && code != thresholds {
				t.Errorf("exit code %d, %v\n%s", code, err, out)
			}
			if tt.failed != "" && !strings.Contains(string(out), "✗ "+tt.failed) {
				t.Errorf("%q did not fail:\n%s", tt.failed, out)
			}
		})
	}
}
