package spare

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestTake(t *testing.T) {
	var mu sync.Mutex
	p := New(&mu, func(string) { t.Fatal("nothing is given back") })
	_, _, ok := p.Take(0, 100)
	assert.False(t, ok)
	p.Put("ten", 10)
	p.Put("eight", 8)
	p.Put("ten again", 10)
	p.Put("twenty", 20)
	assert.Equal(t, int64(48), p.Bytes())
	for _, c := range []struct {
		least, most int64
		want        string
	}{{11, 19, ""}, {9, 12, "ten again"}, {8, 12, "eight"}, {8, 12, "ten"}, {8, 12, ""}, {1, 20, "twenty"}} {
		got, size, ok := p.Take(c.least, c.most)
		assert.Equal(t, c.want, got)
		assert.Equal(t, c.want != "", ok)
		assert.True(t, !ok || size >= c.least && size <= c.most)
	}
	assert.Zero(t, p.Bytes())
}

func TestTrim(t *testing.T) {
	var mu sync.Mutex
	var gone []int
	p := New(&mu, func(i int) { gone = append(gone, i) })
	for i := range 5 {
		p.Put(i, 10)
	}
	p.Trim(50)
	assert.Empty(t, gone)
	p.Trim(29)
	assert.Equal(t, []int{0, 1, 2}, gone)
	assert.Equal(t, int64(20), p.Bytes())
	last, _, _ := p.Take(10, 10)
	assert.Equal(t, 4, last)
	p.Trim(0)
	assert.Equal(t, []int{0, 1, 2, 3}, gone)
	assert.Zero(t, p.Bytes())
}

// A block goes back when nobody asked for it for a while; those that are used go round.
func TestAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var gone []string
		p := New(&mu, func(s string) { gone = append(gone, s) })
		given := func() []string {
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			return append([]string(nil), gone...)
		}
		mu.Lock()
		p.Put("unused", 10)
		p.Put("used", 20)
		mu.Unlock()
		for range 5 {
			time.Sleep(Age / 5)
			mu.Lock()
			s, size, ok := p.Take(20, 20)
			assert.True(t, ok)
			p.Put(s, size)
			mu.Unlock()
		}
		assert.Equal(t, []string{"unused"}, given())
		time.Sleep(Age - time.Second)
		assert.Equal(t, []string{"unused"}, given())
		time.Sleep(time.Second)
		assert.Equal(t, []string{"unused", "used"}, given())
		mu.Lock()
		assert.Zero(t, p.Bytes())
		p.Put("new", 1)
		mu.Unlock()
		time.Sleep(Age)
		assert.Equal(t, []string{"unused", "used", "new"}, given())
	})
}

// A pool without blocks waits for nothing: its owner may be about to go, and a timer would keep it.
func TestNothingWaits(t *testing.T) {
	var mu sync.Mutex
	p := New(&mu, func(int) {})
	p.Put(1, 10)
	p.Trim(0)
	assert.Nil(t, p.timer)
	p.Put(2, 10)
	assert.NotNil(t, p.timer)
	p.Trim(0)
}
