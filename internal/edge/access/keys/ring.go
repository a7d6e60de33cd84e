package keys

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"sluice/internal/base/config"
	"sluice/internal/edge/access"
)

// Config is the input of a Ring.
type Config struct {
	// Path is the key file.
	Path string
	// Reloaded gets the sorted ids of the keys that a change of the file has added and removed. An
	// altered key is in both lists. It may be nil.
	Reloaded func(added, removed []string)
	// Rejected gets why the file does not count: once for each reason, until it is good again. It
	// holds no value of the file. It may be nil.
	Rejected func(err error)
}

const (
	// interval is how often the file is looked at.
	interval = 5 * time.Second
	// calm is how long nobody may have written to the file: one that is being written may look
	// like a good one that lacks keys.
	calm = 250 * time.Millisecond
)

// Ring holds the keys of a file. It looks at the file every 5 seconds, until Close. A file that
// cannot be read, has a fault or is gone changes nothing.
//
// All methods may be called at the same time.
type Ring struct {
	cfg      Config
	keys     atomic.Pointer[map[string]*key] // by id
	rejected atomic.Bool

	mu     sync.Mutex  // guards the fields below, and is held while the file is looked at
	seen   os.FileInfo // of the file that was read last; nil: it has to be read
	sum    [sha256.Size]byte
	reason string // why the file does not count

	done    chan struct{}
	close   sync.Once
	watcher sync.WaitGroup
}

// Open reads the keys of a file. A *config.Error has all that is wrong with it.
func Open(cfg Config) (*Ring, error) {
	content, info, err := loadKeyFile(cfg.Path)
	if err != nil {
		return nil, err
	}
	entries, err := readEntries(cfg.Path, content)
	if err != nil {
		return nil, err
	}
	r := &Ring{cfg: cfg, sum: sha256.Sum256(content), done: make(chan struct{})}
	if time.Since(info.ModTime()) >= calm {
		r.seen = info // else somebody may still be writing, and the next look reads it again
	}
	r.keys.Store(r.keysOf(entries))
	// Goroutine (key file): looks every five seconds whether the key file is another one, and
	// reads it.
	// Ends: `Close`.
	// Waits: `Close`.
	r.watcher.Go(r.watchFile)
	return r, nil
}

// Check returns all that is wrong with the key file at path. Each fault has the path as its name.
func Check(path string) []config.Fault {
	content, _, err := loadKeyFile(path)
	if err == nil {
		_, err = readEntries(path, content)
	}
	if wrong, ok := errors.AsType[*config.Error](err); ok {
		return wrong.Faults
	}
	return nil
}

// Close ends the looks at the file. The keys go on to count.
func (r *Ring) Close() {
	r.close.Do(func() { close(r.done) })
	r.watcher.Wait()
}

// keysOf returns the keys of entries, whose identities ask the ring whether they still count.
func (r *Ring) keysOf(entries []Entry) *map[string]*key {
	keys := make(map[string]*key, len(entries))
	for i := range entries {
		k := entries[i].newKey()
		k.identity.Revoked = func() bool { return r.isRevoked(k) }
		keys[k.identity.KeyID] = k
	}
	return &keys
}

// isRevoked reports whether k does not count any more.
func (r *Ring) isRevoked(k *key) bool {
	now, ok := (*r.keys.Load())[k.identity.KeyID]
	return !ok || now.hasExpired() || now != k && !now.isSame(k)
}

// Refusals of Verify.
var (
	errMalformed = &access.Refused{Reason: "malformed"}
	errChecksum  = &access.Refused{Reason: "checksum"}
	errUnknown   = &access.Refused{Reason: "unknown"}
	errDisabled  = &access.Refused{Reason: "disabled"}
	errExpired   = &access.Refused{Reason: "expired"}
)

// Verify returns whom a key belongs to. The Identity is shared: it must not be changed. An
// error is an *access.Refused.
func (r *Ring) Verify(credential string) (*access.Identity, error) {
	if !hasForm(credential) {
		return nil, errMalformed
	}
	// A mistyped or guessed key fails its checksum and is never hashed. The checksum is public.
	if sum := sumOf(credential[:sumFrom]); credential[sumFrom:] != string(sum[:]) {
		return nil, errChecksum
	}
	var b [keyLen]byte // on the stack, unlike a conversion
	copy(b[:], credential)
	hash := sha256.Sum256(b[:])
	k, known := (*r.keys.Load())[idOf(credential)]
	// A key with an unknown id is compared with the zero hash, so its refusal takes as long as that
	// of a wrong secret.
	var want [sha256.Size]byte
	if known {
		want = k.hash
	}
	switch same := subtle.ConstantTimeCompare(hash[:], want[:]) == 1; {
	case !same || !known:
		return nil, errUnknown
	case k.disabled:
		return nil, errDisabled
	case k.hasExpired():
		return nil, errExpired
	}
	return &k.identity, nil
}

// Len returns how many keys there are, those that are disabled or expired among them.
func (r *Ring) Len() int { return len(*r.keys.Load()) }

// IsCurrent reports whether the keys are those of the file. Otherwise they are older ones, as the
// file does not count.
func (r *Ring) IsCurrent() bool { return !r.rejected.Load() }

func (r *Ring) watchFile() {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			r.Look()
		case <-r.done:
			return
		}
	}
}

// Look reads the file if it is another one than before. It returns when that is done.
func (r *Ring) Look() {
	r.mu.Lock()
	defer r.mu.Unlock()
	info, due := r.isDue()
	if !due {
		return
	}
	content, loaded, err := loadKeyFile(r.cfg.Path)
	if err != nil {
		r.seen = nil
		r.reportRejected(err)
		return
	}
	if !isUnchanged(info, loaded) {
		return // somebody is writing: at the next look it is done
	}
	r.seen = loaded
	sum := sha256.Sum256(content)
	if r.reason == "" && sum == r.sum {
		return
	}
	entries, err := readEntries(r.cfg.Path, content)
	if err != nil {
		r.reportRejected(err)
		return
	}
	r.sum = sum
	r.swapKeys(entries)
}

// isDue reports whether to read the file: it has changed and is not being written, or it is
// missing, so that reading reports the fault.
func (r *Ring) isDue() (os.FileInfo, bool) {
	info, err := os.Stat(r.cfg.Path)
	return info, err != nil || !isUnchanged(r.seen, info) && r.waitForCalm(info)
}

// waitForCalm waits until nobody has written to a file for a while. ok is false if the ring is
// closed meanwhile.
func (r *Ring) waitForCalm(info os.FileInfo) (ok bool) {
	age := time.Since(info.ModTime())
	if age < 0 || age >= calm { // a time to come says nothing
		return true
	}
	select {
	case <-time.After(calm - age):
		return true
	case <-r.done:
		return false
	}
}

// reportRejected reports that the file does not count.
func (r *Ring) reportRejected(err error) {
	r.rejected.Store(true)
	if reason := err.Error(); reason != r.reason {
		r.reason = reason
		if r.cfg.Rejected != nil {
			r.cfg.Rejected(err)
		}
	}
}

// swapKeys puts other keys in place of those that there are.
func (r *Ring) swapKeys(entries []Entry) {
	next := r.keysOf(entries)
	last := r.keys.Swap(next)
	added, removed := idsWithout(*next, *last), idsWithout(*last, *next)
	wasRejected := r.rejected.Swap(false)
	r.reason = ""
	if r.cfg.Reloaded != nil && (wasRejected || len(added)+len(removed) > 0) {
		r.cfg.Reloaded(added, removed)
	}
}

// idsWithout returns the ids of the keys that count and that others has not, or not as they are.
func idsWithout(keys, others map[string]*key) []string {
	ids := []string{}
	for id, k := range keys {
		if other, ok := others[id]; !k.disabled && (!ok || !k.isSame(other)) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// isUnchanged reports whether a file is the one that was seen, and as it was. A mounted secret
// changes only its links. The file's number shows such a change.
func isUnchanged(seen, now os.FileInfo) bool {
	return seen != nil && os.SameFile(seen, now) && seen.Size() == now.Size() && seen.Mode() == now.Mode() &&
		seen.ModTime().Equal(now.ModTime())
}

var (
	errWritable = errors.New("others than its owner and group may write to the file: take that from them (chmod o-w)")
	errTooLarge = errors.New("the file has more than 64 MiB")
)

// loadKeyFile reads a file, and its info from before the read. Its error is a *config.Error.
func loadKeyFile(path string) ([]byte, os.FileInfo, error) {
	content, info, err := loadFile(path)
	if err != nil {
		message := config.Unreadable(err)
		if errors.Is(err, errWritable) || errors.Is(err, errTooLarge) {
			message = err.Error()
		}
		return nil, nil, &config.Error{Faults: []config.Fault{{Name: path, Message: message}}}
	}
	return content, info, nil
}

func loadFile(path string) ([]byte, os.FileInfo, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if info.Mode().Perm()&0o002 != 0 && runtime.GOOS != "windows" { // where all files have that bit
		return nil, nil, errWritable
	}
	content, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err == nil && len(content) > maxSize {
		err = errTooLarge
	}
	return content, info, err
}

// openFile opens a regular file. Opening a pipe waits for who writes it, so its kind is looked
// at before.
func openFile(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, config.ErrNoFile
	}
	return os.Open(path)
}
