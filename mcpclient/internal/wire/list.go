package wire

import (
	"bytes"
	"encoding/json"
	"fmt"

	jsonopts "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/mark3labs/mcp-go/mcp"
)

// Lenient reads text of a server: an odd part must not cost us the other parts.
var Lenient = jsonopts.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))

// Bounds of a server's list of tools. Tools beyond them are left out; the others are offered.
const (
	// MaxListReply bounds one page, and one message of a stream that is not read as a
	// whole.
	MaxListReply = 4 << 20
	// MaxTools, maxPages and maxListBytes bound all pages; the last two are looked at
	// after each page.
	MaxTools     = 1000
	maxPages     = 100
	maxListBytes = 4 * MaxListReply
)

// List is a list of tools as far as it was read. Its zero value is an empty one.
type List struct {
	// Tools are the definitions as the server sent them.
	Tools []json.RawMessage
	// LeftOut is how many tools were seen and left out.
	LeftOut int
	// more is true if the server has tools that were not seen.
	more bool
	// repeated is true if the server named a cursor again.
	repeated bool
	// cursors has the cursors that the server named.
	cursors map[string]bool

	pages, bytes int
}

// addPage takes over a page of so many bytes and returns the cursor of the next page to ask for, ""
// for none. A list with only empty pages is an error.
func (l *List) addPage(page []json.RawMessage, size int, cursor string) (string, error) {
	kept := min(len(page), MaxTools-len(l.Tools))
	l.Tools = append(l.Tools, page[:kept]...)
	l.LeftOut += len(page) - kept
	l.pages++
	l.bytes += size
	full := len(l.Tools) == MaxTools || l.pages >= maxPages || l.bytes >= maxListBytes
	if !full && !l.more || cursor == "" {
		return cursor, nil
	}
	if len(l.Tools) == 0 {
		return "", errManyTools
	}
	l.more = true
	return "", nil
}

// emptyCursor stands for the cursor "" of protocol 2026-07-28, which mcp-go takes for the end.
const emptyCursor = "sluice:the-empty-cursor"

// nextCursor returns the cursor in raw for mcp-go, or "" at the end of the list. A cursor that
// comes again is the end, because it would lead to the same page without end.
func (l *List) nextCursor(raw json.RawMessage, modern bool) string {
	var cursor string
	if json.Unmarshal(raw, &cursor) != nil || string(raw) == "null" {
		return ""
	}
	switch {
	case cursor == "" && !modern:
		return ""
	case cursor == "":
		cursor = emptyCursor
	}
	if l.cursors[cursor] {
		l.repeated = true
		return ""
	}
	if l.cursors == nil {
		l.cursors = map[string]bool{}
	}
	l.cursors[cursor] = true
	return cursor
}

// restoreCursor returns the parameters of a request for a page, with the cursor that the server named.
func (l *List) restoreCursor(params any) any {
	if !l.cursors[emptyCursor] {
		return params
	}
	var members map[string]json.RawMessage
	text, err := json.Marshal(params)
	if err != nil || json.Unmarshal(text, &members) != nil || string(members["cursor"]) != `"`+emptyCursor+`"` {
		return params
	}
	members["cursor"] = json.RawMessage(`""`)
	return members
}

// Missing describes the tools that were left out, or returns "".
func (l *List) Missing() string {
	if l.repeated {
		return fmt.Sprintf("the list of tools names a cursor again: only the first %d are read", len(l.Tools))
	}
	if l.LeftOut == 0 && !l.more {
		return ""
	}
	return fmt.Sprintf("the list of tools is too long: only the first %d are read", len(l.Tools))
}

// cutPage is a page that was too large to be read as a whole.
type cutPage struct {
	Tools []json.RawMessage `json:"tools"`
}

// cutMessage reads the beginning of a JSON-RPC response. It returns the id, if that comes before
// the result, and the complete tools. page is empty if the response is not a list of tools.
func cutMessage(head []byte) (id json.RawMessage, page cutPage) {
	dec := jsontext.NewDecoder(bytes.NewReader(head), Lenient)
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '{' {
		return nil, page
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, page
		}
		switch name.String() {
		case "result":
			return id, cutResult(dec)
		case "id":
			value, err := dec.ReadValue()
			if err != nil {
				return nil, page
			}
			id = json.RawMessage(value.Clone())
		default:
			if dec.SkipValue() != nil {
				return nil, page
			}
		}
	}
	return nil, page
}

// cutResult reads the result that dec has come to, as far as it goes.
func cutResult(dec *jsontext.Decoder) (page cutPage) {
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '{' {
		return page
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return page
		}
		if name.String() != "tools" {
			if dec.SkipValue() != nil {
				return page
			}
			continue
		}
		if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '[' {
			return page
		}
		for dec.PeekKind() != ']' {
			tool, err := dec.ReadValue()
			if err != nil {
				return page
			}
			page.Tools = append(page.Tools, json.RawMessage(tool.Clone()))
		}
		return page
	}
	return page
}

// salvageTools makes a response of the beginning of one that is too large, with the id that x waits
// for. It returns nil if the response is not a list of tools.
func (x *Exchange) salvageTools(head []byte) []byte {
	if x.List == nil {
		return nil
	}
	_, page := cutMessage(head)
	if len(page.Tools) == 0 {
		return nil
	}
	whole, err := json.Marshal(struct {
		JSONRPC string        `json:"jsonrpc"`
		ID      mcp.RequestId `json:"id"`
		Result  cutPage       `json:"result"`
	}{mcp.JSONRPC_VERSION, x.id, page})
	if err != nil {
		return nil
	}
	x.List.more = true
	return whole
}
