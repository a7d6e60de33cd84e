package redistest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// clock replaces the C library's gettimeofday, the server's source of time. It adds the seconds of
// a file to the machine's time.
const clock = `
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

int gettimeofday(struct timeval *tv, void *zone) {
	(void)zone;
	struct timespec now;
	char text[32] = "";
	const char *path = getenv("CLOCK_OFFSET");
	int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (file >= 0) {
		if (read(file, text, sizeof text - 1) < 0) text[0] = 0;
		close(file);
	}
	syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
	tv->tv_sec = now.tv_sec + atol(text);
	tv->tv_usec = now.tv_nsec / 1000;
	return 0;
}
`

// StartWithClock is Start for a server whose clock the test moves, by an offset from this
// machine's, in whole seconds. It needs a C compiler; without one the test is skipped, or
// fails if it is required.
func StartWithClock(t testing.TB, binary string, required bool, args ...string) (s *Server, move func(time.Duration)) {
	t.Helper()
	compiler, err := exec.LookPath("cc")
	switch {
	case err != nil && required:
		t.Fatal("a C compiler is not on this machine, and it is required: cc")
	case err != nil:
		t.Skip("a C compiler is not on this machine")
	}
	dir := t.TempDir()
	source, library, offset := filepath.Join(dir, "clock.c"), filepath.Join(dir, "clock.so"), filepath.Join(dir, "offset")
	move = func(by time.Duration) {
		t.Helper()
		next := offset + ".next" // the server never reads half of it
		err := os.WriteFile(next, []byte(strconv.Itoa(int(by.Seconds()))), 0o600)
		if err == nil {
			err = os.Rename(next, offset)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(source, []byte(clock), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), compiler, "-shared", "-fPIC", "-o", library, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	move(0)
	return startWithEnv(t, binary, required, []string{"LD_PRELOAD=" + library, "CLOCK_OFFSET=" + offset}, args), move
}
