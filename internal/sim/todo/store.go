package todo

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/base32"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite" // also registers the driver "sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Config says where the todos are kept. Its zero value keeps them in memory.
type Config struct {
	// Path is the SQLite file; "" and ":memory:" keep the todos in memory, for
	// as long as the Store is open.
	Path string
	// Location is where "today" and "this_week" are; nil is UTC.
	Location *time.Location
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// NewID makes the id of a new todo; nil makes "todo_" and 8 random letters
	// and digits. It may repeat itself now and then, and may be called by several
	// goroutines at once.
	NewID func() string
}

// Store keeps the todos. It is safe for concurrent use, also by several processes
// on one file.
type Store struct {
	db       *sql.DB
	location *time.Location
	clock    func() time.Time
	newID    func() string
}

// ErrUnwritable is wrapped by the error of Open when the file, or its folder, cannot be made or
// written. The content of a readable file is another matter.
var ErrUnwritable = errors.New("not writable")

// Open opens the store, making its folder (mode 0700), its file (0600) and its
// tables as needed. It refuses a file that a newer version has written. The
// caller closes the Store.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	dsn, err := dataSource(cfg.Path)
	if err != nil {
		return nil, fmt.Errorf("open todo store: %w", err)
	}
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, fmt.Errorf("open todo store: %w", err)
	}
	// A single connection is used: in memory each would have a database of its own, and in a file
	// they would only wait for each other's locks.
	db.SetMaxOpenConns(1)
	if err := migrateSchema(ctx, db); err != nil {
		err = wrapUnwritable(err)
		return nil, errors.Join(fmt.Errorf("open todo store %s: %w", cmp.Or(cfg.Path, ":memory:"), err), db.Close())
	}
	s := &Store{db: db, location: cfg.Location, clock: cfg.Now, newID: cfg.NewID}
	s.setDefaults()
	return s, nil
}

// setDefaults fills in the defaults of Config.
func (s *Store) setDefaults() {
	if s.location == nil {
		s.location = time.UTC
	}
	if s.clock == nil {
		s.clock = time.Now
	}
	if s.newID == nil {
		s.newID = randomID
	}
}

// Close releases the file. Calls that come later fail.
func (s *Store) Close() error { return s.db.Close() }

// now returns the time on the wall clock of the store's location.
func (s *Store) now() time.Time { return s.clock().In(s.location) }

// timestamp returns the time as it is stored and shown.
func (s *Store) timestamp() string { return s.clock().UTC().Format(time.RFC3339) }

// randomID returns "todo_" and 40 random bits, spelt without the letters that are
// easily misread (i, l, o, u).
func randomID() string {
	var b [5]byte
	rand.Read(b[:]) // never fails
	return "todo_" + base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").EncodeToString(b[:])
}

// dataSource returns the driver's name for path, whose file exists afterwards.
//
// The write-ahead log lets another process read while we write, and the busy
// timeout waits for another's write. Transactions take the write lock at their
// start, for one that asks for it half-way can only fail.
func dataSource(path string) (string, error) {
	if path == "" || path == ":memory:" {
		return ":memory:", nil
	}
	path = filepath.Clean(path)
	if err := createFile(path); err != nil {
		return "", fmt.Errorf("%w: %w", ErrUnwritable, err)
	}
	escaped := (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath()
	return "file:" + escaped + "?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_txlock=immediate", nil
}

// wrapUnwritable returns an error of SQLite's, which wraps ErrUnwritable if it says that
// the file cannot be opened for writing.
func wrapUnwritable(err error) error {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return err
	}
	switch e.Code() & 0xFF { // without the extended part
	case sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN:
		return fmt.Errorf("%w: %w", ErrUnwritable, err)
	}
	return err
}

// createFile makes path and its folder, private to the user; SQLite gives its
// journals the mode of the file.
//
// A file that exists is not even opened: closing it again would drop the locks
// that SQLite holds on it elsewhere in this process (sqlite.org/howtocorrupt.html,
// section 2.2).
func createFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return file.Close()
}
