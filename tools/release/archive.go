package main

import (
	"archive/tar"
	"archive/zip"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// checksumFile is the list of checksums, as sha256sum -c reads it.
const checksumFile = "checksums.txt"

// clearFolder makes a folder, or empties it of a former release. A folder with other files belongs
// to somebody, and stays as it is.
func clearFolder(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil { // #nosec G301 -- it is published
		return err
	}
	files, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, f := range files {
		if f.IsDir() || f.Name() != checksumFile && !strings.HasPrefix(f.Name(), "sluice") {
			return fmt.Errorf("%s holds %s, which is no file of a release", folder, f.Name())
		}
	}
	for _, f := range files {
		if err := os.Remove(filepath.Join(folder, f.Name())); err != nil {
			return err
		}
	}
	return nil
}

// entry is a file of an archive: its name there, where it is read, and its mode.
type entry struct {
	name, from string
	mode       fs.FileMode
}

// packer is what both forms of archives can do.
type packer interface {
	addFile(name string, mode fs.FileMode, data []byte) error
	io.Closer
}

// writeArchive writes files, sorted and all of one date, so that equal files make equal archives.
// The form is a zip if the name says so, else a compressed tar.
func writeArchive(path string, files []entry, date time.Time) (err error) {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	var to packer
	if strings.HasSuffix(path, ".zip") {
		to = zipped{zip.NewWriter(out), date}
	} else {
		packed, err := gzip.NewWriterLevel(out, gzip.BestCompression)
		if err != nil {
			return err
		}
		to = tarred{tar.NewWriter(packed), packed, date}
	}
	slices.SortFunc(files, func(a, b entry) int { return cmp.Compare(a.name, b.name) })
	for _, f := range files {
		data, err := os.ReadFile(f.from)
		if err != nil {
			return err
		}
		if err := to.addFile(f.name, f.mode, data); err != nil {
			return err
		}
	}
	return to.Close()
}

// tarred is a tar in gzip.
type tarred struct {
	*tar.Writer
	packed *gzip.Writer
	date   time.Time
}

func (t tarred) addFile(name string, mode fs.FileMode, data []byte) error {
	header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: int64(mode), Size: int64(len(data)), ModTime: t.date, Format: tar.FormatUSTAR}
	if err := t.WriteHeader(header); err != nil {
		return err
	}
	_, err := t.Write(data)
	return err
}

func (t tarred) Close() error { return errors.Join(t.Writer.Close(), t.packed.Close()) }

// zipped is a zip.
type zipped struct {
	*zip.Writer
	date time.Time
}

func (z zipped) addFile(name string, mode fs.FileMode, data []byte) error {
	header := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: z.date}
	header.SetMode(mode)
	to, err := z.CreateHeader(header)
	if err != nil {
		return err
	}
	_, err = to.Write(data)
	return err
}

// fileChecksum returns the SHA-256 of a file, in hex.
func fileChecksum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// writeChecksums lists the checksums of all files of a folder.
func writeChecksums(folder string) error {
	files, err := os.ReadDir(folder) // sorted
	if err != nil {
		return err
	}
	var list strings.Builder
	for _, f := range files {
		sum, err := fileChecksum(filepath.Join(folder, f.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&list, "%s  %s\n", sum, f.Name())
	}
	return os.WriteFile(filepath.Join(folder, checksumFile), []byte(list.String()), 0o644) // #nosec G306 -- it is published
}
