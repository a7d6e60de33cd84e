package keys

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sluice/internal/base/config"
)

// A writer holds the lock of the file, writes another file next to it and renames that. So a
// reader, or a process after a crash, finds one complete file. Remarks stay: a change that would
// lose one is refused.

// Errors of a change that is to be made by hand.
var (
	errForm = errors.New("the file has its keys in another form than a list with a dash for each: bring it into that form, " +
		"or add an entry by hand (sluice keys add --print shows one)")
	errRemark = errors.New("the entry has a remark behind a value, which would be lost: change it by hand")
)

// errUnknownID is the error of an id that is not in the file.
var errUnknownID = errors.New("there is no key of this id in the file")

// errEnded is the error of a key that cannot have a successor.
var errEnded = errors.New("the key is disabled: add another one")

// New makes a key and its entry. given has the user, the scopes and the like. A *config.Error has
// the flaws of given, each under the name of its field.
func New(given Entry) (e Entry, key string, err error) {
	e = given
	e.ID, key = generateKey()
	e.Hash = hashOf(key)
	e.Created = Moment(time.Now().Truncate(time.Second))
	if flaws := e.findFlaws(); len(flaws) > 0 {
		all := &config.Error{}
		for _, f := range flaws {
			all.Faults = append(all.Faults, config.Fault{Name: f.field, Message: f.text})
		}
		return Entry{}, "", all
	}
	return e, key, nil
}

// List returns the entries of a file.
func List(path string) ([]Entry, error) {
	content, _, err := loadKeyFile(path)
	if err != nil {
		return nil, err
	}
	return readEntries(path, content)
}

// Add makes a key, as New does, and adds it to a file. A missing file is created.
func Add(path string, given Entry) (e Entry, key string, err error) {
	if e, key, err = New(given); err != nil {
		return e, "", err
	}
	err = changeFile(path, true, func(f *draft) error { return f.addEntry(e) })
	return e, key, err
}

// Revoke disables a key. Its entry stays, so that its id can be looked up later.
func Revoke(path, id string) (e Entry, err error) {
	err = changeFile(path, false, func(f *draft) error {
		at, err := f.findEntry(id)
		if err != nil {
			return err
		}
		e = f.entries[at]
		e.Disabled = true
		return f.replaceEntry(at, e)
	})
	return e, err
}

// Rotate makes a successor of a key, with a life of the same length. The old key ends after grace,
// or earlier if its own time ends.
func Rotate(path, id string, grace time.Duration) (e Entry, key string, err error) {
	err = changeFile(path, false, func(f *draft) error {
		at, err := f.findEntry(id)
		if err != nil {
			return err
		}
		old := f.entries[at]
		if old.Disabled {
			return errEnded
		}
		if e, key, err = New(old); err != nil {
			return err
		}
		last := time.Time(e.Created).Add(grace)
		if ends := time.Time(old.Expires); !ends.IsZero() {
			e.Expires = Moment(time.Time(e.Created).Add(ends.Sub(time.Time(old.Created))))
			if ends.Before(last) {
				last = ends
			}
		}
		old.Expires = Moment(last)
		return errors.Join(f.replaceEntry(at, old), f.addEntry(e))
	})
	return e, key, err
}

// draft is a file that is being changed.
type draft struct {
	text    string
	entries []Entry
}

// newFile is the beginning of a file that Add creates.
const newFile = "# Keys of a Sluice gateway, made by sluice keys. A key itself is not in here.\nkeys: []\n"

// currentContent returns the content of a file, or that of a new file if it is missing and isNew is
// true.
func currentContent(path string, isNew bool) ([]byte, os.FileInfo, error) {
	content, info, err := loadKeyFile(path)
	if isNew && isMissing(path) {
		return []byte(newFile), nil, nil
	}
	return content, info, err
}

// changeFile reads a file, calls by on it and writes it. isNew allows a missing file.
func changeFile(path string, isNew bool, by func(*draft) error) error {
	path, err := followLink(path)
	if err != nil {
		return err
	}
	unlock, err := lockForChange(path)
	if err != nil {
		return err
	}
	defer unlock()
	content, info, err := currentContent(path, isNew)
	if err != nil {
		return err
	}
	f := &draft{text: string(content)}
	if f.entries, err = readEntries(path, content); err != nil {
		return err
	}
	if err := by(f); err != nil {
		return err
	}
	return replaceFile(path, f.text, info)
}

func isMissing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// followLink returns where a file is that a link may lead to: the link stays.
func followLink(path string) (string, error) {
	target, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, nil
	}
	return target, err
}

// findEntry returns the place of a key.
func (f *draft) findEntry(id string) (int, error) {
	at := slices.IndexFunc(f.entries, func(e Entry) bool { return e.ID == id })
	if at < 0 {
		return 0, errUnknownID
	}
	return at, nil
}

// addEntry appends an entry.
func (f *draft) addEntry(e Entry) error {
	l, ok := findItems([]byte(f.text))
	text, indented := f.text, ""
	switch {
	case ok:
		first := l.lines[l.items[0].from]
		indented = first[:strings.Index(first, "-")]
	case len(f.entries) == 0 && strings.Count("\n"+text, "\nkeys: []") == 1:
		text = strings.TrimPrefix(strings.Replace("\n"+text, "\nkeys: []", "\nkeys:", 1), "\n")
	default:
		return errForm
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return f.setText(text+indented+e.Line(), append(slices.Clone(f.entries), e))
}

// replaceEntry puts an entry in place of another one.
func (f *draft) replaceEntry(at int, e Entry) error {
	l, ok := findItems([]byte(f.text))
	it := l.itemOf(f.entries[at].ID)
	if !ok || it.to == 0 {
		return errForm
	}
	remarks, err := remarksIn(l.lines[it.from:it.to])
	if err != nil {
		return err
	}
	first := l.lines[it.from]
	text := strings.Join(l.lines[:it.from], "") + first[:strings.Index(first, "-")] + e.Line() + remarks + strings.Join(l.lines[it.to:], "")
	entries := slices.Clone(f.entries)
	entries[at] = e
	return f.setText(text, entries)
}

// remarksIn returns the remarks within the lines of an entry and behind it. A remark on the same
// line as a value is errRemark.
func remarksIn(lines []string) (string, error) {
	var remarks strings.Builder
	for i, line := range lines {
		text := strings.TrimSpace(line)
		switch {
		case i > 0 && isRemark(text):
			remarks.WriteString(line)
		case strings.Contains(text, " #") && !(i == 0 && isJSON(text[2:])):
			return "", errRemark
		}
	}
	return remarks.String(), nil
}

// itemOf returns the item of a key, of which there is one.
func (l listing) itemOf(id string) item {
	for _, it := range l.items {
		lines := strings.Join(l.lines[it.from:it.to], "")
		if !strings.Contains(lines, id) {
			continue
		}
		if found, err := readEntries("", []byte("keys:\n"+lines)); err == nil && len(found) == 1 && found[0].ID == id {
			return it
		}
	}
	return item{}
}

// setText replaces the text of the file, unless it does not read as the entries.
func (f *draft) setText(text string, entries []Entry) error {
	got, err := readEntries("", []byte(text))
	if err != nil || !slices.EqualFunc(sortedByID(got), sortedByID(entries), func(a, b Entry) bool { return a.Line() == b.Line() }) {
		return errForm
	}
	f.text, f.entries = text, entries
	return nil
}

// sortedByID returns entries by their ids: those in forms of their own are read last.
func sortedByID(entries []Entry) []Entry {
	return slices.SortedFunc(slices.Values(entries), func(a, b Entry) int { return strings.Compare(a.ID, b.ID) })
}

// replaceFile writes a file in place of the one at path, with its mode and owner. before is that
// file's info, or nil without such a file.
func replaceFile(path, text string, before os.FileInfo) (err error) {
	next, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return fmt.Errorf("a file next to the key file: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(next.Name()))
		}
	}()
	_, err = next.WriteString(text)
	if before != nil {
		err = errors.Join(err, inheritMode(next, before))
	}
	if err = errors.Join(err, next.Sync(), next.Close()); err != nil {
		return err
	}
	if err = os.Rename(next.Name(), path); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}
