package wire

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mark3labs/mcp-go/client/transport"
)

func TestListIsBounded(t *testing.T) {
	t.Parallel()
	tool := []json.RawMessage{json.RawMessage(`{}`)}
	for name, tt := range map[string]struct {
		page    []json.RawMessage
		size    int
		wantAll int // pages, until no more are asked for
		wantErr error
	}{
		"large pages":  {tool, MaxListReply, maxListBytes / MaxListReply, nil},
		"many pages":   {tool, 100, maxPages, nil},
		"empty pages":  {nil, 100, maxPages, errManyTools},
		"pages of 400": {slices.Repeat(tool, 400), 100, 3, nil},
	} {
		var l List
		cursor, err := "first", error(nil)
		for pages := 0; cursor != "" && pages < 2*maxPages; pages++ {
			cursor, err = l.addPage(tt.page, tt.size, fmt.Sprint(pages))
		}
		if l.pages != tt.wantAll || err != tt.wantErr || err == nil && (!l.more || l.Missing() == "") {
			t.Errorf("%s: %d pages were read, error %v, %q", name, l.pages, err, l.Missing())
		}
	}
}

// Over a pipe the rest of a long line is skipped, and the connection lives on.
func TestLongListOverAPipeIsCut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t)
		tools := strings.Repeat(`,{"name":"t","description":"`+strings.Repeat("x", 100<<10)+`"}`, 50)
		go func() {
			p.read(t)
			fmt.Fprintf(p.out, `{"jsonrpc":"2.0","id":1,"result":{"tools":[%s]}}`+"\n", strings.TrimPrefix(tools, ","))
			p.read(t)
			fmt.Fprintln(p.out, `{"jsonrpc":"2.0","id":2,"result":"two"}`)
		}()
		x, resp, err := p.ask(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		var page cutPage
		if err := json.Unmarshal(resp.Result, &page); err != nil || len(page.Tools) < 39 || len(page.Tools) > 41 || !x.List.more {
			t.Errorf("got %d tools, more: %v, %v", len(page.Tools), x.List.more, err)
		}
		if _, resp, err := p.ask(t.Context(), 2); err != nil || string(resp.Result) != `"two"` {
			t.Errorf("the next answer is %v, %v", resp, err)
		}
	})
}

// A page adds what there is room for; the cursor leads on until the list is full or cut.
func TestListOfPages(t *testing.T) {
	t.Parallel()
	tools := slices.Repeat([]json.RawMessage{json.RawMessage(`{}`)}, MaxTools+3)
	for name, tt := range map[string]struct {
		before     List
		page       int
		cursor     string
		wantCursor string
		wantLeft   int
		missing    string
	}{
		"the only one":         {List{}, 2, "", "", 0, ""},
		"one of several":       {List{}, 2, "c", "c", 0, ""},
		"the last that fits":   {List{Tools: tools[:MaxTools-2]}, 2, "", "", 0, ""},
		"full, with others":    {List{Tools: tools[:MaxTools-2]}, 2, "c", "", 0, "the list of tools is too long: only the first 1000 are read"},
		"more than fit":        {List{}, MaxTools + 3, "", "", 3, "the list of tools is too long: only the first 1000 are read"},
		"one that was cut":     {List{more: true}, 2, "c", "", 0, "the list of tools is too long: only the first 2 are read"},
		"the 99th":             {List{pages: maxPages - 2}, 2, "c", "c", 0, ""},
		"the 100th":            {List{pages: maxPages - 1}, 2, "c", "", 0, "the list of tools is too long: only the first 2 are read"},
		"beyond so many bytes": {List{bytes: maxListBytes - 10}, 2, "c", "", 0, "the list of tools is too long: only the first 2 are read"},
		"below so many bytes":  {List{bytes: maxListBytes - 11}, 2, "c", "c", 0, ""},
	} {
		l := tt.before
		cursor, err := l.addPage(tools[:tt.page], 10, tt.cursor)
		if err != nil || cursor != tt.wantCursor || l.LeftOut != tt.wantLeft || l.Missing() != tt.missing {
			t.Errorf("%s: cursor %q, left %d, %q, %v", name, cursor, l.LeftOut, l.Missing(), err)
		}
	}
}

// Of the beginning of a response the whole tools are read, wherever it ends and whatever stands
// before them.
func TestCutMessage(t *testing.T) {
	t.Parallel()
	for head, want := range map[string]string{
		`{"id":1,"result":{"tools":[{"a":1},{"b":2},{"c`:              `1 [{"a":1} {"b":2}]`,
		`{"id":"x","result":{"tools":[{"a":1}]`:                       `"x" [{"a":1}]`,
		`{"jsonrpc":"2.0","result":{"_meta":[1,{}],"tools":[{"a":1},`: ` [{"a":1}]`,
		`{"id":1,"id":2,"result":{"tools":[{"a":"` + "\xff" + `"},`:   "2 [{\"a\":\"\xff\"}]",
		`{"id":1,"result":{"tools":[{"a`:                              `1 []`,
		`{"id":1,"result":{"tools":{"a":1}`:                           `1 []`,
		`{"id":1,"result":{"other":{"tools":[{"a":1}]}}`:              `1 []`,
		`{"id":1,"result":{"other":[`:                                 `1 []`,
		`{"id":1,"result":[{"tools":[{"a":1}]`:                        `1 []`,
		`{"id":1,"tools":[{"a":1}]}`:                                  ` []`,
		`{"id":`:                                                      ` []`,
		`{"other":[`:                                                  ` []`,
		`[{"id":1,"result":{"tools":[{"a":1}]`:                        ` []`,
		`{"res`:                                                       ` []`,
		``:                                                            ` []`,
	} {
		id, page := cutMessage([]byte(head))
		if got := fmt.Sprintf("%s %s", id, page.Tools); got != want {
			t.Errorf("%s: got %s, want %s", head, got, want)
		}
	}
}

// Whatever a page looks like, what is kept of its beginning are tools of it.
func FuzzCutMessage(f *testing.F) {
	whole := `{"jsonrpc":"2.0","id":1,"result":{"_meta":{"a":[1]},"tools":[{"name":"a"},{"name":"b"}],"nextCursor":"2"}}`
	f.Add([]byte(whole), 60)
	f.Add([]byte(`{"result":[{"tools":[]}]}`), 20)
	f.Fuzz(func(t *testing.T, message []byte, n int) {
		var m struct {
			transport.JSONRPCResponse
		}
		_, page := cutMessage(message[:min(max(n, 0), len(message))])
		if len(page.Tools) == 0 || json.Unmarshal(message, &m) != nil {
			return
		}
		for _, raw := range page.Tools {
			if !json.Valid(raw) {
				t.Errorf("%q is no JSON", raw)
			}
		}
	})
}
