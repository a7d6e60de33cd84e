package process

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"sluice/internal/app/gateway/gatewaytest"
)

// A key that we do not know is hidden by its looks, wherever an error repeats it.
func TestKeyLike(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := NewLogWriter(&out, nil)
	log := NewLogger(w, "info")
	for _, text := range []string{
		"API key AIzaSyA1234567890_abcdefghijklmnopqrstuv is not valid",
		`Post "https://host/v1?alt=sse&key=abc123&x=1": refused`,
		`Get "https://host/?key=abc123"`,
		"monkey=banana, AIzaShort",
	} {
		log.Info().Dict("details", zerolog.Dict().AnErr("cause", errors.New(text))).Msg("failed")
	}
	w.Close()
	for _, leak := range []string{"1234567890_abc", "abc123"} {
		if strings.Contains(out.String(), leak) {
			t.Errorf("%s is in the log:\n%s", leak, out.String())
		}
	}
	for _, harmless := range []string{"is not valid", "&x=1", "monkey=banana, AIzaShort", "alt=sse"} {
		if !strings.Contains(out.String(), harmless) {
			t.Errorf("%s is not in the log:\n%s", harmless, out.String())
		}
	}
}

func TestLevels(t *testing.T) {
	t.Parallel()
	for level, want := range map[string]string{
		"debug": "DEBUG INFO WARNING ERROR", "info": "INFO WARNING ERROR", "warning": "WARNING ERROR", "error": "ERROR",
	} {
		var out bytes.Buffer
		log := OwnLogger(NewLogger(&out, level))
		for _, e := range []*zerolog.Event{log.Debug(), log.Info(), log.Warn(), log.Error()} {
			e.Dict("details", zerolog.Dict()).Msg("said")
		}
		var tail gatewaytest.LogTail
		_, _ = tail.Write(out.Bytes())
		tail.Check(t)
		var got []string
		for _, line := range tail.All("said") {
			got = append(got, fmt.Sprint(line.Fields["level"]))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("level %s: got %v, want %s", level, got, want)
		}
	}
}

// More than the backlog holds is dropped by the line, and counted.
func TestBacklogOverflow(t *testing.T) {
	t.Parallel()
	out := gatewaytest.NewDam()
	w := NewLogWriter(out, nil)
	log := OwnLogger(NewLogger(w, "info"))
	const lines = 10_000
	filler := strings.Repeat("x", 1000)
	for range lines {
		log.Info().Dict("details", zerolog.Dict().Str("filler", filler)).Msg("said")
	}
	out.Release()
	w.Close()
	out.Check(t)
	kept, dropped := len(out.All("said")), 0
	for _, line := range out.All("log_lines_dropped") {
		n, _ := line.Fields["details"].(map[string]any)["count"].(float64)
		dropped += int(n)
	}
	if kept+dropped != lines || dropped == 0 || kept*1000 > 2*maxBacklog || kept*1000 < maxBacklog/2 {
		t.Errorf("of %d lines %d were kept and %d counted as dropped", lines, kept, dropped)
	}
}

// What was written before Close is out after it, even if stdout was stuck until
// then. Often, as the goroutine that writes has a choice.
func TestCloseFlushes(t *testing.T) {
	t.Parallel()
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			out := gatewaytest.NewDam()
			w := NewLogWriter(out, nil)
			_, _ = io.WriteString(w, `{"event":"one"}`+"\n")
			synctest.Wait() // until it is stuck
			_, _ = io.WriteString(w, `{"event":"two"}`+"\n")
			closed := make(chan struct{})
			go func() {
				w.Close()
				close(closed)
			}()
			synctest.Wait()
			out.Release()
			<-closed
			if len(out.All("one")) != 1 || len(out.All("two")) != 1 {
				t.Errorf("the log is %q", out.String())
			}
		})
	}
}

func TestCloseGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := gatewaytest.NewDam()
		w := NewLogWriter(out, nil)
		_, _ = io.WriteString(w, "line\n")
		began := time.Now()
		w.Close()
		if elapsed := time.Since(began); elapsed != time.Second {
			t.Errorf("Close took %v", elapsed)
		}
		out.Release()
	})
}

// What net/http has to say is a line like any other.
func TestServerErrors(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if _, err := (serverErrors{OwnLogger(NewLogger(&out, "debug"))}).Write([]byte("http: TLS handshake error\n")); err != nil {
		t.Fatal(err)
	}
	var tail gatewaytest.LogTail
	_, _ = tail.Write(out.Bytes())
	tail.Check(t)
	if lines := tail.All("http_server", "message", "http: TLS handshake error"); len(lines) != 1 {
		t.Errorf("got %s", out.String())
	}
}

// Of clients that break off the log has no address.
func TestServerErrorsNameNoClient(t *testing.T) {
	t.Parallel()
	tail := new(gatewaytest.LogTail)
	errs := serverErrors{OwnLogger(NewLogger(tail, "debug"))}
	for _, line := range []string{
		"http: TLS handshake error from 127.0.0.1:51234: EOF",
		"http2: server connection error from [2001:db8::1]:51234: PROTOCOL_ERROR",
		"http: TLS handshake error from [fe80::1%eth0]:51234: read tcp [fe80::2%eth0]:8080->[fe80::1%eth0]:51234: reset",
	} {
		fmt.Fprintln(errs, line)
	}
	var got []string
	for _, line := range tail.All("http_server") {
		got = append(got, line.Detail("message"))
	}
	if diff := cmp.Diff([]string{
		"http: TLS handshake error from [address]: EOF",
		"http2: server connection error from [address]: PROTOCOL_ERROR",
		"http: TLS handshake error from [address]: read tcp [address]->[address]: reset",
	}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
