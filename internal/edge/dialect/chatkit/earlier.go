package chatkit

import (
	"context"
	"slices"

	"github.com/go-json-experiment/json"

	"sluice/internal/turn/chat"
)

// What is read of a thread for the model; of that it is shown what
// chat.PruneHistory leaves.
const (
	earlierItems = 1000    // the newest
	earlierBytes = 1 << 20 // of text, as much as the body of a request could bring
)

// allSaid returns what was said in items, and how many bytes it has.
func allSaid(list []Item) (said []chat.HistoryMessage, size int) {
	for _, item := range list {
		if text, ok := item.said(); ok {
			said = append(said, text)
			size += len(text.Text)
		}
	}
	return said, size
}

// earlier returns what was said in a thread, oldest first: before the item with the
// given id, or all of it if that is empty. Thoughts and tool calls are no part of it.
func (s *Server) earlier(ctx context.Context, owner, threadID, itemID string) ([]chat.HistoryMessage, error) {
	if s.cfg.Store == nil {
		return nil, nil
	}
	var said []chat.HistoryMessage
	bytes := 0
	q := Query{Limit: maxPage, Descending: true, After: itemID}
	for read := 0; read < earlierItems && bytes < earlierBytes; read += maxPage {
		list, more, err := s.cfg.Store.Items(ctx, owner, threadID, q)
		if err != nil {
			return nil, found(err, noThread)
		}
		texts, size := allSaid(list)
		said, bytes = append(said, texts...), bytes+size
		if !more || len(list) == 0 {
			break
		}
		q.After = list[len(list)-1].ID
	}
	slices.Reverse(said)
	return said, nil
}

// said returns what a message says; false: the item is none.
func (i Item) said() (chat.HistoryMessage, bool) {
	if i.Input != "" {
		return chat.HistoryMessage{Role: chat.RoleUser, Text: i.Input}, true
	}
	var item assistantItem
	if json.Unmarshal(i.Body, &item) != nil || item.Type != "assistant_message" || len(item.Content) == 0 {
		return chat.HistoryMessage{}, false
	}
	return chat.HistoryMessage{Role: chat.RoleModel, Text: item.Content[0].Text}, true // ours have one part
}
