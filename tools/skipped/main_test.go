package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What passed leaves a line a package, and its figures if it has any; what failed is shown
// whole; what was skipped is listed at the end with its reason.
func TestSummarize(t *testing.T) {
	t.Parallel()
	const events = `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:3: seen\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:4: figures: 7 of 7\n"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestF","Output":"    f_test.go:4: no figures: none\n"}
{"Action":"pass","Package":"p","Test":"TestF"}
{"Action":"output","Package":"p","Test":"TestB","Output":"    b_test.go:7: wrong\n"}
{"Action":"output","Package":"p","Test":"TestC","Output":"    c_test.go:9: needs node: run the script\n"}
{"Action":"output","Package":"p","Test":"TestC","Output":"--- SKIP: TestC (0.00s)\n"}
{"Action":"skip","Package":"p","Test":"TestC"}
{"Action":"output","Package":"p","Test":"TestB","Output":"--- FAIL: TestB (0.00s)\n"}
{"Action":"fail","Package":"p","Test":"TestB"}
{"Action":"skip","Package":"p","Test":"TestD"}
{"Action":"output","Package":"p","Test":"TestE","Output":"panic: oh\n"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t0.1s\n"}
{"Action":"fail","Package":"p"}
q/q.go:1:1: syntax error
`
	const want = `    b_test.go:7: wrong
--- FAIL: TestB (0.00s)
FAIL	p	0.1s
q/q.go:1:1: syntax error
unfinished: p TestE
panic: oh

2 tests were skipped
  p TestC: needs node: run the script
  p TestD: no reason given
1 tests have figures
  p TestA: 7 of 7
`
	var got strings.Builder
	if err := summarizeEvents(strings.NewReader(events), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Error(diff)
	}
}
