// This file removes deleted data from the bytes of the files. With secure_delete SQLite overwrites
// it; but the pages of the file stay as they were until the log of changes is brought into it, and
// that log has them until it is cut. Besides, SQLite moves rows from page to page as a table grows,
// and leaves copies in the part of a page that it does not use: those are overwritten here.

package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"time"

	"sluice/internal/state/store"
)

const (
	// truncateTime bounds the time of a checkpoint: the file is written, and the disk waited
	// for.
	truncateTime = 10 * time.Second
	// erasePages is how many pages are looked at in one transaction.
	erasePages = 256
	// mostPages is the number of pages from which the first byte of a page does not show its kind.
	mostPages = 1 << 24
	// eraseCarries is about how much one step of Erase moves: how long it takes says nothing
	// of the store.
	eraseCarries = 1 << 20
)

// Erase implements store.Eraser.
func (s *Store) Erase(ctx context.Context) error {
	pages := 0
	err := s.runReadCommand(ctx, "erase", func(_ context.Context, tx *tx) error {
		return tx.readRow("SELECT page_count FROM pragma_page_count", nil, &pages)
	})
	for first := 1; err == nil && first <= pages && pages < mostPages; first += erasePages {
		_, err = s.runTransaction(ctx, "erase", func(_ context.Context, tx *tx) error {
			tx.moved += eraseCarries
			return tx.cleanPages(first, min(first+erasePages-1, pages))
		})
	}
	if err != nil {
		return err
	}
	return s.truncateLog(ctx)
}

// truncateLog brings the log of changes into the file, and cuts it. While another process reads, it
// does as much as it can.
func (s *Store) truncateLog(ctx context.Context) error {
	return s.calls.Do(ctx, "erase", func(context.Context) error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), truncateTime)
		defer cancel()
		return store.Carried(eraseCarries, storeError(s.runCheckpoint(ctx)))
	})
}

func (s *Store) runCheckpoint(ctx context.Context) error {
	var busy, inLog, done int
	return s.db.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &inLog, &done)
}

// cleanPages overwrites the unused parts of pages.
func (t *tx) cleanPages(first, last int) error {
	used := map[int][]byte{}
	err := t.readRows("WITH RECURSIVE n(i) AS (SELECT ?1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2) SELECT i, data FROM n JOIN sqlite_dbpage ON pgno = i",
		[]any{first, last}, func(scan func(...any) error) error {
			var n int
			var page sql.RawBytes
			err := scan(&n, &page)
			if from, to := unusedPart(n, page); err == nil && len(bytes.Trim(page[from:to], "\x00")) > 0 {
				kept := bytes.Clone(page)
				clear(kept[from:to])
				used[n] = kept
			}
			return err
		})
	for n, page := range used {
		if err == nil {
			_, err = t.exec("UPDATE sqlite_dbpage SET data = ? WHERE pgno = ?", page, n)
		}
	}
	return err
}

// unusedPart returns the part of page n between its list of rows and its rows
// (sqlite.org/fileformat2.html, section 1.6). Pages of another kind begin with the number of
// a page, whose first byte is 0.
func unusedPart(n int, page []byte) (from, to int) {
	head := 0
	if n == 1 {
		head = 100 // that of the file
	}
	if len(page) < head+12 {
		return 0, 0
	}
	size := 8
	switch page[head] {
	case 2, 5: // of the inside of a tree
		size = 12
	case 10, 13: // a leaf
	default:
		return 0, 0
	}
	from = head + size + 2*int(binary.BigEndian.Uint16(page[head+3:]))
	to = int(binary.BigEndian.Uint16(page[head+5:]))
	if from > to || to > len(page) {
		return 0, 0
	}
	return from, to
}
