// Package codecache is a folder of compiled code that only this user can have written: whoever can write into it can have
// a program run what he likes.
//
// The folder must belong to the user and be closed to others' writing, or it is refused in words. Each entry carries a
// keyed hash over its name and its bytes; the key lies beside them, readable by the user alone. What does not check was
// damaged or comes from somebody else: it is removed and counts as not there, and its owner compiles it again. Entries
// appear by rename, so several processes may use the folder at once and any may be killed.
//
//	f, why, err := codecache.Find(options.CacheDir, "wasm")
//	text, ok := f.Get(name)
//	err = f.Put(name, text)
//
// It refuses to know what the code is, and how it is compiled.
package codecache

import (
	"bytes"
	"crypto/hmac"
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

	"github.com/weft-ml/weft/atomicfile"
)

// TempFolder is the folder inside a cache folder where files are written before they get their names, so that what dead
// processes left is found among few.
const TempFolder = "tmp"

const (
	tempPrefix = "tmp-"
	unusedAge  = 60 * 24 * time.Hour // an entry that nobody used for so long
	sweepEvery = 24 * time.Hour      // a folder has tens of thousands of entries in time, and looking at each takes long
	magic      = "weft code 1\n"     // before the hash and the bytes of an entry
	mostBytes  = 1 << 30             // of an entry
)

// Folder is an open cache folder.
type Folder struct {
	Path   string // for people and other programs
	inner  string // the same folder by its handle, where the system can: who moves the folder away gains nothing
	handle *os.File
	key    [sha256.Size]byte
}

// Insecure says that others could have written what is in a folder, or could read its key.
type Insecure struct{ Path, Why, Remedy string }

func (e *Insecure) Error() string {
	return fmt.Sprintf("the cache folder %s %s, so the compiled code in it is not trusted; %s", e.Path, e.Why, e.Remedy)
}

const another = "set WEFT_CACHE (Options.CacheDir) to a folder of your own"

// Find opens the folder that a setting names, or weft in the user's cache folder where none does, or a folder within it. A
// disk that is full, or a user without a folder that can be written to, is no error: the folder is nil then, and why says
// what to tell. A folder that was named and cannot be used is an error, and so is one that others can write.
func Find(named, within string) (f *Folder, why, err error) {
	dir := named
	if dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return nil, err, nil
		}
		dir = filepath.Join(base, "weft")
	}
	dir = filepath.Join(dir, within)
	f, err = Open(dir)
	var open *Insecure
	switch {
	case err == nil:
		return f, nil, nil
	case errors.As(err, &open):
		return nil, nil, err
	case named != "" && !Full(err):
		return nil, nil, fmt.Errorf("the cache folder %s cannot be used: %w; make it writable or set WEFT_CACHE (Options.CacheDir) to another", dir, err)
	}
	return nil, err, nil
}

// Open opens a folder, makes it and its key if they are not there, and removes what is unused for long, once a day.
func Open(path string) (*Folder, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	handle, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	f := &Folder{Path: path, inner: through(handle, path), handle: handle}
	info, err := handle.Stat()
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: path, Err: errors.New("not a folder")}
	}
	if err == nil {
		if why, remedy := exposed(info, path); why != "" {
			err = &Insecure{path, why, remedy}
		}
	}
	if err == nil {
		err = f.ready()
	}
	if err != nil {
		handle.Close()
		return nil, err
	}
	return f, nil
}

// ready tries to write, which a cache that silently does not keep would cost seconds in every process, and sees to the key.
func (f *Folder) ready() error {
	if err := os.Mkdir(f.temp(), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return f.named(err)
	}
	atomicfile.Sweep(f.temp(), tempPrefix)
	f.sweepDaily(time.Now())
	t, err := atomicfile.Create(f.temp(), tempPrefix, 0o600)
	if err != nil {
		return f.named(err)
	}
	t.Discard()
	return f.loadKey()
}

// named puts the folder's path into an error that has its handle's.
func (f *Folder) named(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return &fs.PathError{Op: at.Op, Path: f.Path, Err: at.Err}
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		return &fs.PathError{Op: link.Op, Path: f.Path, Err: link.Err}
	}
	return err
}

// Close lets the folder go. What was loaded from it stays.
func (f *Folder) Close() { f.handle.Close() }

// Name gives the path under which this process, and only it, reaches an entry.
func (f *Folder) Name(entry string) string { return filepath.Join(f.inner, entry) }

func (f *Folder) temp() string { return f.Name(TempFolder) }

// Outside gives the path of something in the folder for other programs.
func (f *Folder) Outside(path string) string {
	within, err := filepath.Rel(f.inner, path)
	if err != nil {
		return path
	}
	return filepath.Join(f.Path, within)
}

// Said is the text of an error in which files of the folder have the paths that other programs know.
func (f *Folder) Said(err error) string { return strings.ReplaceAll(err.Error(), f.inner, f.Path) }

// Work makes an empty folder within, so that a rename out of it is one step.
func (f *Folder) Work() (*atomicfile.Folder, error) {
	w, err := atomicfile.Mkdir(f.temp(), tempPrefix)
	return w, f.named(err)
}

// Get returns the bytes of an entry, if it is there and as this user wrote it.
func (f *Folder) Get(entry string) ([]byte, bool) {
	path := f.Name(entry)
	text, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false
	}
	if head := len(magic) + sha256.Size; err == nil && len(text) >= head && string(text[:len(magic)]) == magic {
		if data := text[head:]; hmac.Equal(text[len(magic):head], f.sign(entry, data)) {
			touch(path)
			return data, true
		}
	}
	_ = os.RemoveAll(path) // if that fails Put says so
	return nil, false
}

// Put writes an entry, in place of what has its name.
func (f *Folder) Put(entry string, data []byte) error {
	t, err := atomicfile.Create(f.temp(), tempPrefix, 0o600)
	if err != nil {
		return f.named(err)
	}
	for _, part := range [][]byte{[]byte(magic), f.sign(entry, data), data} {
		if _, err := t.Write(part); err != nil {
			t.Discard()
			return f.named(err)
		}
	}
	f.clear(entry)
	return f.named(t.Commit(f.Name(entry), atomicfile.Fast))
}

// clear removes a folder that has the name of an entry, which no file would replace.
func (f *Folder) clear(entry string) {
	if info, err := os.Lstat(f.Name(entry)); err == nil && info.IsDir() {
		_ = os.RemoveAll(f.Name(entry)) // if that fails the rename says so
	}
}

func (f *Folder) sign(entry string, data []byte) []byte {
	h := hmac.New(sha256.New, f.key[:])
	fmt.Fprintf(h, "%d %s %d\n", len(entry), entry, len(data))
	h.Write(data)
	return h.Sum(nil)
}

// Adopt moves a file of Work into the folder under the name that its bytes have, and gives that name. What keeps the name
// safe is an entry of Put's that tells it.
func (f *Folder) Adopt(path, ending string) (entry string, err error) {
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.Chmod(path, 0o600)
	}
	if err != nil {
		return "", f.named(err)
	}
	entry = HashOf(text) + ending
	f.clear(entry)
	if err = os.Rename(path, f.Name(entry)); err != nil && !f.Has(entry) {
		return "", f.named(err) // Windows does not replace a library that some process has loaded; then it is there
	}
	return entry, nil
}

// Has reports whether a file of Adopt's is there with the bytes that its name says. One that has others is removed.
func (f *Folder) Has(entry string) bool {
	path := f.Name(entry)
	text, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if sum := HashOf(text); err != nil || entry != sum+filepath.Ext(entry) {
		_ = os.RemoveAll(path)
		return false
	}
	touch(path)
	return true
}

// List names the entries that end so.
func (f *Folder) List(ending string) (entries []string) {
	files, _ := os.ReadDir(f.inner)
	for _, e := range files {
		if filepath.Ext(e.Name()) == ending {
			entries = append(entries, e.Name())
		}
	}
	return entries
}

// Remove removes an entry.
func (f *Folder) Remove(entry string) { _ = os.Remove(f.Name(entry)) }

// HashOf names bytes.
func HashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// read reads a regular file that only this user can have written.
func read(path string) ([]byte, error) {
	if info, err := os.Lstat(path); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file") // opening a pipe would wait
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || !own(info) || info.Size() > mostBytes:
		return nil, errors.New("not a file of this user's")
	}
	var text bytes.Buffer
	text.Grow(int(info.Size()))
	_, err = text.ReadFrom(io.LimitReader(file, mostBytes))
	return text.Bytes(), err
}

// touch keeps a file that is used from being swept. Failing costs one compile much later.
func touch(path string) {
	if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > 24*time.Hour {
		_ = os.Chtimes(path, time.Time{}, time.Now())
	}
}

// endings of what is swept: of entries, and of the folders that wazero made of its own before entries had a keyed hash.
var endings = []string{".kernel", ".module", ".directives", ".plan", ".so", ".dll"}

// sweepDaily sweeps a folder that nobody swept for a day: its key was changed last when somebody did.
func (f *Folder) sweepDaily(now time.Time) {
	key := f.Name(keyName)
	if info, err := os.Lstat(key); err == nil && now.Sub(info.ModTime()).Abs() < sweepEvery {
		return
	}
	f.sweep(now)
	_ = os.Chtimes(key, time.Time{}, now) // where there is none it is made now
}

// sweep removes what was not used for long, and what dead processes left where earlier versions wrote. Another process may do
// the same at the same time.
func (f *Folder) sweep(now time.Time) {
	atomicfile.Sweep(f.inner, tempPrefix)
	entries, _ := os.ReadDir(f.inner)
	for _, e := range entries {
		old, _ := filepath.Match("wazero-*", e.Name())
		if !old && !slices.Contains(endings, filepath.Ext(e.Name())) {
			continue
		}
		if info, err := e.Info(); err == nil && now.Sub(info.ModTime()) > unusedAge {
			_ = os.RemoveAll(f.Name(e.Name()))
		}
	}
}
