package recording

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
)

const (
	// defaultMax is how many bytes of recordings a folder has.
	defaultMax = 256 << 20
	// maxQueue bounds the bytes that wait to be written. A disk that is slower than the
	// turns costs recordings: no turn waits for it.
	maxQueue = 32 << 20
	// maxLines bounds the lines that wait.
	maxLines = 8192
	// warnEvery is how often a failure is logged.
	warnEvery = time.Minute
	// Names of files begin with prefix and end with suffix, and sort by time. No other file
	// of the folder is ever removed.
	prefix, suffix = "turn-", ".slrec"
)

// Config describes a Recorder. Dir is required.
type Config struct {
	Dir string // is made if it is not there, with mode 0700
	// Max is how many bytes of recordings stay in Dir: the oldest go. A turn that is larger
	// by itself is not recorded. 0: defaultMax.
	Max     int64
	Version string // of the program
	// Hide returns a line of JSON without the secrets of the configuration: a body to an upstream
	// may hold some, and its reply may repeat others. nil: without secrets.
	Hide func(line []byte) []byte
	Log  zerolog.Logger
}

// Recorder writes recordings, all on one goroutine, which ends with Close. It is safe for
// concurrent use.
type Recorder struct {
	cfg    Config
	queue  chan item
	queued atomic.Int64 // bytes
	ended  chan struct{}

	mu     sync.RWMutex // held while something is sent; guards the field below
	closed bool

	warned atomic.Int64 // when a failure was logged last, as UnixNano
	// Of the goroutine.
	open  map[*Turn]*file
	files int // files
	// create makes the file of a turn; a test may have one of its own.
	create func() (*file, error)
}

// item is a line of a turn; without a line it is the end.
type item struct {
	turn *Turn
	line []byte
}

// file is a recording that is being written.
type file struct {
	*os.File
	lines int
	size  int64
	sum   hash.Hash
}

// New returns a Recorder. A folder that cannot be written is reported when a turn comes: the
// gateway works without.
func New(cfg Config) *Recorder {
	cfg.Max = cmp.Or(cfg.Max, defaultMax)
	r := &Recorder{cfg: cfg, queue: make(chan item, maxLines), ended: make(chan struct{}), open: map[*Turn]*file{}}
	r.create = r.newFile
	// Goroutine (recorder, if `SLUICE_RECORD` is set): writes recordings; turns never wait for it.
	// Ends: `Recorder.Close`, when all streams have ended.
	// Waits: `Recorder.Close`.
	go r.runWriter()
	return r
}

// Close writes the pending lines, and ends. Turns that have not ended leave no recording. It works
// on nil.
func (r *Recorder) Close() {
	if r == nil {
		return
	}
	r.mu.Lock()
	if !r.closed {
		r.closed = true
		close(r.queue)
	}
	r.mu.Unlock()
	<-r.ended
}

// queueItem queues a line. It returns false if the queue is full.
func (r *Recorder) queueItem(i item) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.closed || r.queued.Load() > maxQueue {
		return false
	}
	r.queued.Add(int64(len(i.line)))
	select {
	case r.queue <- i:
		return true
	default:
		r.queued.Add(-int64(len(i.line)))
		return false
	}
}

// runWriter is the goroutine.
func (r *Recorder) runWriter() {
	defer close(r.ended)
	for i := range r.queue {
		r.queued.Add(-int64(len(i.line)))
		if i.turn.lost.Load() {
			r.dropFile(i.turn)
			continue
		}
		if err := r.writeItem(i); err != nil {
			i.turn.lost.Store(true)
			r.dropFile(i.turn)
			r.logFailure(err)
		}
	}
	for t := range r.open {
		r.dropFile(t)
	}
}

// errLarge says that a turn does not fit into the folder.
var errLarge = errors.New("a turn is larger than SLUICE_RECORD_MAX")

// writeItem writes a line, or the end of a recording.
func (r *Recorder) writeItem(i item) error {
	f := r.open[i.turn]
	if f == nil {
		var err error
		if f, err = r.create(); err != nil {
			return err
		}
		r.open[i.turn] = f
	}
	if i.line == nil {
		return r.sealFile(i.turn, f)
	}
	line := i.line
	if r.cfg.Hide != nil {
		line = r.cfg.Hide(line)
	}
	return f.addLine(line, r.cfg.Max)
}

// addLine writes a line.
func (f *file) addLine(line []byte, most int64) error {
	if f.size += int64(len(line)); f.size > most {
		return errLarge
	}
	f.lines++
	_, _ = f.sum.Write(line)
	_, err := f.Write(line)
	return err
}

// newFile makes the file of a turn, which only its owner can read.
func (r *Recorder) newFile() (*file, error) {
	if err := os.MkdirAll(r.cfg.Dir, 0o700); err != nil {
		return nil, err
	}
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	r.files++              // turns of one moment stay in their order
	name := fmt.Sprintf("%s%s-%06d-%s%s", prefix, time.Now().UTC().Format("20060102T150405.000000Z"), r.files%1e6, hex.EncodeToString(b[:]), suffix)
	out, err := os.OpenFile(filepath.Join(r.cfg.Dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return &file{File: out, sum: sha256.New()}, nil
}

// sealFile seals a recording, and makes room for the next ones.
func (r *Recorder) sealFile(t *Turn, f *file) error {
	if _, err := f.Write(sealLine(f.lines, f.sum.Sum(nil))); err != nil {
		return err
	}
	delete(r.open, t)
	if err := f.Close(); err != nil {
		_ = os.Remove(f.Name())
		return err
	}
	return r.trimFolder()
}

// dropFile removes the file of a recording that will stay incomplete.
func (r *Recorder) dropFile(t *Turn) {
	if f := r.open[t]; f != nil {
		delete(r.open, t)
		_ = f.Close()
		_ = os.Remove(f.Name())
	}
}

// trimFolder removes the oldest recordings until the folder keeps its bound. Files that are being
// written stay.
func (r *Recorder) trimFolder() error {
	all, total, err := r.listRecordings()
	if err != nil {
		return err
	}
	for _, k := range all {
		if total <= r.cfg.Max {
			break
		}
		if r.isWriting(k.path) {
			continue
		}
		if err := os.Remove(k.path); err != nil && !os.IsNotExist(err) {
			return err
		}
		total -= k.size
	}
	return nil
}

// storedFile is a recording in the folder.
type storedFile struct {
	path string
	size int64
}

// listRecordings returns the recordings, the oldest first, and the size of all.
func (r *Recorder) listRecordings() (all []storedFile, total int64, err error) {
	entries, err := os.ReadDir(r.cfg.Dir)
	if err != nil {
		return nil, 0, err
	}
	for _, e := range entries { // by name, so by time
		name := e.Name()
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !strings.HasPrefix(name, prefix) || !strings.HasSuffix(name, suffix) {
			continue
		}
		total += info.Size()
		all = append(all, storedFile{filepath.Join(r.cfg.Dir, name), info.Size()})
	}
	return all, total, nil
}

// isWriting reports whether a file is being written.
func (r *Recorder) isWriting(path string) bool {
	for _, f := range r.open {
		if f.Name() == path {
			return true
		}
	}
	return false
}

// logFailure logs a failure, at most once a minute: with a full disk each turn has one.
func (r *Recorder) logFailure(err error) {
	now, last := time.Now().UnixNano(), r.warned.Load()
	if last != 0 && now-last < int64(warnEvery) || !r.warned.CompareAndSwap(last, now) {
		return
	}
	r.cfg.Log.Warn().Dict("details", zerolog.Dict().AnErr("cause", err)).Msg("recording_failed")
}

// errSlow says that a recording was given up.
var errSlow = fmt.Errorf("the disk is slower than the turns: more than %d MiB wait", maxQueue>>20)
