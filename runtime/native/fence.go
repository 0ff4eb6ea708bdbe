//go:build !wasm

package native

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"unsafe"

	"github.com/weft-ml/weft/plan"
)

// fence runs kernels on copies of their arrays that lie against unreadable pages, so that an access outside of an array
// ends the process where no other test sees it. An array has two ends and pages one size: a kernel runs twice, its arrays
// ending at a page that cannot be touched and then beginning behind one, and has to give the same bits.
type fence struct {
	kept    map[int][]region // by bytes of data
	scratch []region         // of each thread
	file    string           // holds the kernel that runs, for whoever finds the process dead
	running string
}

// region is data between two pages that cannot be touched.
type region struct{ pages, data []byte }

func newRegion(n int) (region, error) {
	page := os.Getpagesize()
	n = (n + page - 1) / page * page
	pages, err := mapPages(n + 2*page)
	if err != nil {
		return region{}, err
	}
	for _, edge := range [][]byte{pages[:page], pages[page+n:]} {
		if err := forbidPages(edge); err != nil {
			unmapPages(pages)
			return region{}, err
		}
	}
	return region{pages, pages[page : page+n : page+n]}, nil
}

func (r region) start() uintptr {
	return uintptr(unsafe.Pointer(unsafe.SliceData(r.pages))) + uintptr(os.Getpagesize())
}

// place gives n bytes of a region, at its end or its beginning, and their address.
func (r region) place(n int, end bool) ([]byte, uintptr) {
	if end {
		return r.data[len(r.data)-n:], r.start() + uintptr(len(r.data)-n)
	}
	return r.data[:n], r.start()
}

func (f *fence) take(n int) (region, error) {
	page := os.Getpagesize()
	n = (n + page - 1) / page * page
	if list := f.kept[n]; len(list) > 0 {
		f.kept[n] = list[:len(list)-1]
		return list[len(list)-1], nil
	}
	return newRegion(n)
}

func (f *fence) give(r region) {
	if f.kept == nil {
		f.kept = map[int][]region{}
	}
	f.kept[len(r.data)] = append(f.kept[len(r.data)], r)
}

// grow gives each thread scratch of at least n bytes.
func (f *fence) grow(threads int, n int64) error {
	if len(f.scratch) == threads && int64(len(f.scratch[0].data)) >= n {
		return nil
	}
	for _, r := range f.scratch {
		unmapPages(r.pages)
	}
	f.scratch = nil
	for range threads {
		r, err := newRegion(int(max(n, 1)))
		if err != nil {
			return fmt.Errorf("CPU: scratch between fences: %w", err)
		}
		f.scratch = append(f.scratch, r)
	}
	return nil
}

func (f *fence) close() {
	for _, list := range f.kept {
		for _, r := range list {
			unmapPages(r.pages)
		}
	}
	for _, r := range f.scratch {
		unmapPages(r.pages)
	}
	f.kept, f.scratch = nil, nil
	if f.file != "" {
		_ = os.Remove(f.file)
	}
}

// note writes down which kernel is about to run.
func (f *fence) note(k *plan.Kernel) error {
	if f.running == k.Source {
		return nil
	}
	f.file = filepath.Join(os.TempDir(), fmt.Sprintf("weft-fence-%d.c", os.Getpid()))
	f.running = k.Source
	text := fmt.Sprintf("// The process ended in this kernel: it touched memory outside of its arrays.\n// %s; %s\n%s", k.Name, k.Directives, k.Source)
	return os.WriteFile(f.file, []byte(text), 0o600)
}

// array is one argument of a launch: slots that lie at one place are one array.
type array struct {
	place         [2]int64 // memory and offset
	data          []byte   // where it really is
	region        region
	write         bool
	before, after []byte
}

// fenced launches step i between fences.
func (d *Device) fenced(l *loaded, i int) error {
	s := &l.plan.Steps[i]
	k := &l.plan.Kernels[s.Kernel]
	if err := d.fence.note(k); err != nil {
		return fmt.Errorf("CPU: note the kernel between fences: %w", err)
	}
	arrays, of, err := d.arrays(l, s, k)
	for _, a := range arrays {
		if a.region.data != nil {
			defer d.fence.give(a.region)
		}
	}
	if err != nil {
		return err
	}
	table := make([]uintptr, len(s.Slots)+1)
	var scratch []uintptr
	for _, r := range d.fence.scratch {
		_, at := r.place(int(k.Scratch), true)
		scratch = append(scratch, at)
	}
	for _, end := range []bool{true, false} {
		for _, a := range arrays {
			part, _ := a.region.place(len(a.data), end)
			copy(part, a.before)
		}
		for j, a := range of {
			_, table[j] = a.region.place(len(a.data), end)
		}
		j := d.job(k, l.functions[s.Kernel], table, l.vars)
		j.scratch = address(scratch)
		d.pool.one(j, table, scratch, l)
		for _, a := range arrays {
			part, _ := a.region.place(len(a.data), end)
			switch {
			case !a.write && !bytes.Equal(part, a.before):
				return fmt.Errorf("CPU: kernel %s changed an array that it only reads", k.Name)
			case a.write && end:
				a.after = bytes.Clone(part)
			case a.write && !bytes.Equal(part, a.after):
				return fmt.Errorf("CPU: kernel %s gives other bits where its arrays lie elsewhere", k.Name)
			}
		}
	}
	for _, a := range arrays {
		if a.write {
			copy(a.data, a.after)
		}
	}
	return nil
}

// arrays lists the arrays of a launch, and the one of each slot.
func (d *Device) arrays(l *loaded, s *plan.Step, k *plan.Kernel) (list, of []*array, err error) {
	at := map[[2]int64]*array{}
	for j, slot := range s.Slots {
		p := &l.plan.Slots[slot]
		place := [2]int64{int64(p.Memory), p.Offset}
		a := at[place]
		if a == nil {
			a = &array{place: place}
			at[place] = a
			list = append(list, a)
		}
		if data := l.mems[p.Memory].data[p.Offset : p.Offset+p.Bytes]; len(data) > len(a.data) || a.data == nil {
			a.data = data
		}
		a.write = a.write || k.Binds[j].Write
		of = append(of, a)
	}
	for _, a := range list {
		if a.region, err = d.fence.take(len(a.data)); err != nil {
			return list, nil, fmt.Errorf("CPU: %d bytes between fences: %w", len(a.data), err)
		}
		a.before = bytes.Clone(a.data)
	}
	return list, of, nil
}
