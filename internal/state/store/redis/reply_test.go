package redis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	goredis "github.com/redis/go-redis/v9"

	"sluice/internal/state/store"
)

// reply is an error that a server answered with.
type reply string

func (r reply) Error() string { return string(r) }
func (reply) RedisError()     {}

// Each error is one of package store's, of which a caller decides whether to try again: what the
// server answered counts, and not the words in it.
func TestFailuresAreOfTheStore(t *testing.T) {
	t.Parallel()
	kinds := []error{store.ErrNotFound, store.ErrConflict, store.ErrTooLarge, store.ErrDamaged, store.ErrFull, store.ErrReadOnly, store.ErrUnavailable}
	for name, tt := range map[string]struct {
		err  error
		want []error
	}{
		"none":                       {nil, nil},
		"another end":                {&store.EndError{End: 3}, []error{store.ErrConflict}},
		"ours":                       {fmt.Errorf("x: %w", store.ErrTooLarge), []error{store.ErrTooLarge}},
		"damaged":                    {store.ErrDamaged, []error{store.ErrDamaged}},
		"nothing there":              {goredis.Nil, []error{store.ErrNotFound}},
		"no memory":                  {reply("OOM command not allowed"), []error{store.ErrFull}},
		"no memory in a script":      {reply("ERR Error running script: -OOM command not allowed"), []error{store.ErrFull}},
		"a replica":                  {reply("READONLY You can't write"), []error{store.ErrReadOnly, store.ErrUnavailable}},
		"a disk that is full":        {reply("MISCONF Redis is configured to save"), []error{store.ErrReadOnly, store.ErrUnavailable}},
		"a key of another kind":      {reply("WRONGTYPE Operation against a key"), []error{store.ErrDamaged}},
		"still loading":              {reply("LOADING Redis is loading"), []error{store.ErrUnavailable}},
		"a word that begins alike":   {reply("OOMPH is no code"), []error{store.ErrUnavailable}},
		"a code within the text":     {reply("ERR no OOM here"), []error{store.ErrUnavailable}},
		"a cut connection":           {io.EOF, []error{store.ErrUnavailable}},
		"the server's words of ours": {errors.New("OOM nobody answered"), []error{store.ErrUnavailable}},
		"out of time":                {os.ErrDeadlineExceeded, []error{store.ErrUnavailable}},
		"the caller's end":           {context.Canceled, []error{store.ErrUnavailable}},
	} {
		got := storeError(tt.err)
		var is []error
		for _, kind := range kinds {
			if errors.Is(got, kind) {
				is = append(is, kind)
			}
		}
		for _, kind := range tt.want {
			if !errors.Is(got, kind) {
				t.Errorf("%s: %v is not %v", name, got, kind)
			}
		}
		if len(is) != len(tt.want) || !errors.Is(got, tt.err) && !errors.Is(tt.err, goredis.Nil) {
			t.Errorf("%s: %v is %v, want %v", name, got, is, tt.want)
		}
	}
	for code, want := range map[int64]error{-1: store.ErrNotFound, -2: store.ErrConflict, -3: store.ErrTooLarge, -4: store.ErrDamaged} {
		if got := refusalOf(code); !errors.Is(got, want) {
			t.Errorf("code %d is %v, want %v", code, got, want)
		}
	}
}

// A reply of another form is damage, and never a page or a task of nothing.
func TestRepliesOfAnotherForm(t *testing.T) {
	t.Parallel()
	meta := []any{"g", "7", "t", "u", "c", "turn", "working", "3", "1", "12"}
	one := []any{"id", "12", "{}", meta}
	last := []any{"id", "12"}
	want := store.Task{Doc: []byte("{}"), Meta: store.Meta{
		Version: 3, Holder: store.Holder{Owner: "g", Epoch: 7}, Tenant: "t", User: "u", Conversation: "c", Turn: "turn", State: "working", Created: time.UnixMilli(12), Cancel: true,
	}}
	for name, tt := range map[string]struct {
		reply any
		want  store.Page
		err   error
	}{
		"a page with more":       {[]any{"1", last, []any{one}}, store.Page{IDs: []string{"id"}, Tasks: []store.Task{want}, Next: "12_id"}, nil},
		"the last one":           {[]any{"", last, []any{one}}, store.Page{IDs: []string{"id"}, Tasks: []store.Task{want}}, nil},
		"an empty one with more": {[]any{"1", last, []any{}}, store.Page{Next: "12_id"}, nil},
		"a score with a point":   {[]any{"1", []any{"id", "1.7e12"}, []any{}}, store.Page{Next: "1700000000000_id"}, nil},
		"nothing":                {nil, store.Page{}, store.ErrDamaged},
		"a text":                 {"x", store.Page{}, store.ErrDamaged},
		"too few parts":          {[]any{"1"}, store.Page{}, store.ErrDamaged},
		"no place to continue":   {[]any{"1", nil, []any{one}}, store.Page{}, store.ErrDamaged},
		"no tasks":               {[]any{"1", last, "x"}, store.Page{}, store.ErrDamaged},
		"a task of three parts":  {[]any{"", last, []any{one[:3]}}, store.Page{}, store.ErrDamaged},
		"a task without a hash":  {[]any{"", last, []any{[]any{"id", "12", "{}", "x"}}}, store.Page{}, store.ErrDamaged},
		"a hash that is short":   {[]any{"", last, []any{[]any{"id", "12", "{}", meta[:9]}}}, store.Page{}, store.ErrDamaged},
	} {
		var got store.Page
		err := decodePage(tt.reply, &got)
		if diff := cmp.Diff(tt.want, got); !errors.Is(err, tt.err) || (err == nil) != (tt.err == nil) || diff != "" {
			t.Errorf("%s: %v, want %v (-want +got):\n%s", name, err, tt.err, diff)
		}
	}
}

// What a server's settings mean is said, and what it does not say means nothing.
func TestSettingsOfAServer(t *testing.T) {
	t.Parallel()
	for version, warned := range map[string]bool{"": false, "5.0.14": true, "6.0.16": true, "6.1.9": true, "6.2.0": false, "7.0.0": false, "10.1": false, "unstable": false} {
		facts := map[string]string{"aof_enabled": "1", "maxmemory_policy": "noeviction", "cluster_enabled": "0", "redis_version": version}
		if got := warningsOf(facts); (len(got) == 1) != warned || len(got) > 1 {
			t.Errorf("version %q: %q, want a warning: %t", version, got, warned)
		}
		facts["cluster_enabled"] = "1"
		if got := warningsOf(facts); len(got) == 0 || got[0] != "a Cluster, which is not supported" {
			t.Errorf("of a Cluster: %q", got)
		}
	}
	if got := warningsOf(map[string]string{}); len(got) != 0 {
		t.Errorf("of a server that says nothing: %q", got)
	}
}
