package mcpclient

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/mark3labs/mcp-go/mcp"
)

// Bounds of a server's list of tools. What is beyond them is left out; the rest is
// offered.
const (
	// maxListReply bounds one page, and one message of a stream that is not read as a
	// whole.
	maxListReply = 4 << 20
	// maxTools, maxPages and maxListBytes bound all pages; the last two are looked at
	// after each page.
	maxTools     = 1000
	maxPages     = 100
	maxListBytes = 4 * maxListReply
)

// listing is a list of tools as far as it was read.
type listing struct {
	tools []json.RawMessage
	// left is how many tools were seen and left out.
	left int
	// more says that there are others, which were not seen.
	more bool

	pages, bytes int
}

// add takes over a page of so many bytes and returns the cursor of the next page to
// ask for, "" for none. A list that has no tools, only pages, is an error.
func (l *listing) add(page []json.RawMessage, size int, cursor string) (string, error) {
	kept := min(len(page), maxTools-len(l.tools))
	l.tools = append(l.tools, page[:kept]...)
	l.left += len(page) - kept
	l.pages++
	l.bytes += size
	full := len(l.tools) == maxTools || l.pages >= maxPages || l.bytes >= maxListBytes
	if !full && !l.more || cursor == "" {
		return cursor, nil
	}
	if len(l.tools) == 0 {
		return "", errManyTools
	}
	l.more = true
	return "", nil
}

// missing says what was left out, or returns "".
func (l *listing) missing() string {
	if l.left == 0 && !l.more {
		return ""
	}
	return fmt.Sprintf("the list of tools is too long: only the first %d are read", len(l.tools))
}

// cutPage is a page that was too large to be read as a whole.
type cutPage struct {
	Tools []json.RawMessage `json:"tools"`
}

// cutMessage reads the beginning of a JSON-RPC response. It returns the id, if that
// comes before the result, and the tools that are there as a whole; none if the
// response is no list of tools.
func cutMessage(head []byte) (id json.RawMessage, page cutPage) {
	dec := jsontext.NewDecoder(bytes.NewReader(head), lenient)
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

// salvage makes a response with the id that x waits for out of the beginning of one
// that is too large, or returns nil if that is no list of tools.
func (x *exchange) salvage(head []byte) []byte {
	if x.list == nil {
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
	x.list.more = true
	return whole
}
