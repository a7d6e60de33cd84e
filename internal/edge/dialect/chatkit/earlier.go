package chatkit

import (
	"context"
	"slices"

	"github.com/go-json-experiment/json"

	"sluice/internal/turn/chat"
)

// Bounds of a thread that is read for the model. The model gets the part that chat.PruneHistory
// keeps.
const (
	earlierItems = 1000    // the newest
	earlierBytes = 1 << 20 // of text, as much as the body of a request could bring
)

// spokenTexts returns the texts of items, and their size in bytes.
func spokenTexts(list []Item) (said []chat.HistoryMessage, size int) {
	for _, item := range list {
		if text, ok := item.messageText(); ok {
			said = append(said, text)
			size += len(text.Text)
		}
	}
	return said, size
}

// readEarlier returns the texts of a thread, oldest first: those before the item, or all if itemID
// is empty. Thoughts and tool calls are left out.
func (s *Server) readEarlier(ctx context.Context, owner, threadID, itemID string) ([]chat.HistoryMessage, error) {
	if s.cfg.Store == nil {
		return nil, nil
	}
	var said []chat.HistoryMessage
	bytes := 0
	q := Query{Limit: maxPage, Descending: true, After: itemID}
	for read := 0; read < earlierItems && bytes < earlierBytes; read += maxPage {
		list, more, err := s.cfg.Store.Items(ctx, owner, threadID, q)
		if err != nil {
			return nil, storeError(err, noThread)
		}
		texts, size := spokenTexts(list)
		said, bytes = append(said, texts...), bytes+size
		if !more || len(list) == 0 {
			break
		}
		q.After = list[len(list)-1].ID
	}
	slices.Reverse(said)
	return said, nil
}

// messageText returns the text of a message, or false if the item is not a message.
func (i Item) messageText() (chat.HistoryMessage, bool) {
	if i.Input != "" {
		return chat.HistoryMessage{Role: chat.RoleUser, Text: i.Input}, true
	}
	var item assistantItem
	if json.Unmarshal(i.Body, &item) != nil || item.Type != assistantMessage || len(item.Content) == 0 {
		return chat.HistoryMessage{}, false
	}
	return chat.HistoryMessage{Role: chat.RoleModel, Text: item.Content[0].Text}, true // ours have one part
}
