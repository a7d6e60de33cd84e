package chatkit

import (
	"context"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/fault"
)

// noItems is the page of a thread that shows an empty list of items.
func noItems() page[jsontext.Value] { return page[jsontext.Value]{} }

// emptyReply is the reply of a finished request without a result.
const emptyReply = "{}"

// maxPageBytes bounds the items of a page, unless it has a single one.
const maxPageBytes = 1 << 20

// replyInTurn is answerRequest with a bound on lists: it refuses a list while too many run.
func (s *Server) replyInTurn(ctx context.Context, req request) ([]byte, error) {
	switch req.kind {
	case threadsList, threadsGetByID, itemsList:
		if s.cfg.Listing == nil {
			break
		}
		done, err := s.cfg.Listing()
		if err != nil {
			return nil, err
		}
		defer done()
	}
	return s.answerRequest(ctx, req)
}

// answerRequest answers a request that is not a turn.
func (s *Server) answerRequest(ctx context.Context, req request) ([]byte, error) {
	switch req.kind {
	case threadsList:
		return s.listThreads(ctx, req)
	case threadsGetByID:
		return s.getThread(ctx, req)
	case threadsUpdate:
		return s.renameThread(ctx, req)
	case threadsDelete:
		return s.deleteThread(ctx, req)
	case itemsList:
		items, err := s.pageItems(ctx, req)
		return renderReply(items, err)
	}
	s.cfg.OnFeedback(ctx, Feedback{UserID: req.user, ThreadID: req.threadID, ItemIDs: req.itemIDs, Kind: req.feedback})
	return []byte(emptyReply), nil
}

// renderReply makes the reply of a result, and passes an error on.
func renderReply(v any, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return appendJSON(nil, v), nil
}

// listThreads replies with a page of the owner's threads; without a history it
// is empty.
func (s *Server) listThreads(ctx context.Context, req request) ([]byte, error) {
	list := page[threadBody]{}
	if s.cfg.Store == nil || req.listsNone {
		return renderReply(list, nil)
	}
	threads, more, err := s.cfg.Store.Threads(ctx, req.owner, req.query)
	for _, t := range threads {
		list.Data = append(list.Data, t.toBody(noItems()))
	}
	if list.More = more; more {
		list.After = threads[len(threads)-1].ID
	}
	return renderReply(list, storeError(err, noThread))
}

// getThread shows a thread with its first items. Without history any thread is there,
// and empty.
func (s *Server) getThread(ctx context.Context, req request) ([]byte, error) {
	t, err := s.findThread(ctx, req)
	if err != nil {
		return nil, err
	}
	req.query = Query{Limit: defaultPage}
	items, err := s.pageItems(ctx, req)
	return renderReply(t.toBody(items), err)
}

// findThread returns a thread of the owner's. Without a history every id is taken
// for a thread that has just begun, because the page may have kept it.
func (s *Server) findThread(ctx context.Context, req request) (Thread, error) {
	if s.cfg.Store == nil {
		return Thread{ID: req.threadID, CreatedAt: time.Now()}, nil
	}
	t, err := s.cfg.Store.Thread(ctx, req.owner, req.threadID)
	return t, storeError(err, noThread)
}

// pageItems returns a page of a thread's items, as they were sent.
func (s *Server) pageItems(ctx context.Context, req request) (page[jsontext.Value], error) {
	if s.cfg.Store == nil {
		return noItems(), nil
	}
	items, more, err := s.cfg.Store.Items(ctx, req.owner, req.threadID, req.query)
	list := page[jsontext.Value]{More: more}
	room := maxPageBytes
	for i, item := range items {
		if room -= len(item.Body) + 1; room < 0 && i > 0 {
			list.More, items = true, items[:i]
			break
		}
		list.Data = append(list.Data, item.Body)
	}
	if list.More {
		list.After = items[len(items)-1].ID
	}
	return list, storeError(err, noThread)
}

// renameThread sets a title. Without a history that is refused: the next list
// would not have it.
func (s *Server) renameThread(ctx context.Context, req request) ([]byte, error) {
	if s.cfg.Store == nil {
		return nil, &fault.Error{Type: fault.NotFound,
			Message: "No history is kept, so a thread has no title; SLUICE_CHATKIT_HISTORY=memory switches it on"}
	}
	t, err := s.cfg.Store.Rename(ctx, req.owner, req.threadID, req.title)
	return renderReply(t.toBody(noItems()), storeError(err, noThread))
}

// deleteThread removes a thread and its items. Without a history, deletion always succeeds.
func (s *Server) deleteThread(ctx context.Context, req request) ([]byte, error) {
	if s.cfg.Store == nil {
		return []byte(emptyReply), nil
	}
	return []byte(emptyReply), storeError(s.cfg.Store.Delete(ctx, req.owner, req.threadID), noThread)
}
