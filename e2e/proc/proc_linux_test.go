package proc

import (
	"os"
	"testing"
	"time"
)

// What is read is of the process that is asked for.
func TestOwnProcess(t *testing.T) {
	t.Parallel()
	before, err := CPU(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); time.Since(began) < 20*time.Millisecond; {
	}
	if after, err := CPU(os.Getpid()); err != nil || after <= before {
		t.Errorf("%s, then %s, %v", before, after, err)
	}
	if m, err := Memory(os.Getpid()); err != nil || m < 1<<20 {
		t.Errorf("memory %d, %v", m, err)
	}
	if n, err := Files(os.Getpid()); err != nil || n < 3 {
		t.Errorf("%d files, %v", n, err)
	}
	if _, err := CPU(1 << 22); err == nil {
		t.Error("a process that there cannot be has a clock")
	}
}
