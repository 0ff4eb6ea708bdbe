package guard

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
)

type device struct{ door Door[*mem, *loaded] }

type mem struct {
	of    *device
	n     int64
	freed bool
}

func (m *mem) Bytes() int64 { return m.n }
func (m *mem) Free()        { m.freed = true }
func (m *mem) Owner() any   { return m.of }
func (m *mem) Freed() bool  { return m.freed }

type loaded struct{ of *device }

func (l *loaded) Plan() *plan.Plan { return nil }
func (l *loaded) Free()            { l.of = nil }
func (l *loaded) Owner() any       { return l.of }

type strange struct{ mem }

func open() *device {
	d := &device{}
	d.door = New[*mem, *loaded]("TOY", d)
	return d
}

func TestMistakesWithMemory(t *testing.T) {
	d, other := open(), open()
	m := &mem{of: d, n: 10}
	got, err := d.door.Span("read", m, 4, 6)
	require.NoError(t, err)
	require.Same(t, m, got)
	for _, test := range []struct {
		what  string
		of    runtime.Mem
		at, n int
	}{
		{"TOY: read 7 bytes at 4 of a buffer of 10", m, 4, 7},
		{"TOY: read 1 bytes at -1 of a buffer of 10", m, -1, 1},
		{"TOY: read 0 bytes at 11 of a buffer of 10", m, 11, 0},
		{"read: TOY: memory of another device (*guard.mem)", &mem{of: other}, 0, 0},
		{"read: TOY: memory of another device (*guard.strange)", &strange{}, 0, 0},
		{"read: TOY: memory of another device (<nil>)", nil, 0, 0},
		{"read: TOY: memory was freed before", &mem{of: d, freed: true}, 0, 0},
		{"read: TOY: memory of another device (*guard.mem)", (*mem)(nil), 0, 0},
	} {
		_, err := d.door.Span("read", test.of, int64(test.at), test.n)
		require.EqualError(t, err, test.what)
	}
	require.EqualError(t, d.door.Alloc(-3), "TOY: cannot allocate -3 bytes")
}

func TestMistakesWithPlans(t *testing.T) {
	d, other := open(), open()
	l := &loaded{d}
	_, err := d.door.Play(l)
	require.NoError(t, err)
	_, err = other.door.Play(l)
	require.EqualError(t, err, "TOY: play: the plan was freed or loaded by another device")
	l.Free()
	_, err = d.door.Play(l)
	require.EqualError(t, err, "TOY: play: the plan was freed or loaded by another device")
	_, err = d.door.Play(nil)
	require.ErrorContains(t, err, "another kind of device (<nil>)")
	require.EqualError(t, d.door.Load(nil, "toy"), "TOY: load plan: no plan")

	p := &plan.Plan{Memory: []plan.Memory{{Kind: plan.Arena, Bytes: 99}, {Kind: plan.Input, Arg: 0, Bytes: 8}}, Vars: []plan.Var{{Name: "n", Lo: 1, Hi: 4}}}
	memories, m := make([]*mem, 2), &mem{of: d, n: 8}
	require.NoError(t, d.door.Bind(p, []runtime.Mem{m}, []int32{2}, memories))
	require.Equal(t, []*mem{nil, m}, memories)
	require.EqualError(t, d.door.Bind(p, nil, []int32{2}, memories), "TOY: play: the plan takes 1 buffers and gets 0")
	require.ErrorContains(t, d.door.Bind(p, []runtime.Mem{m}, []int32{5}, memories), "TOY: play: variable n is 5")
	require.EqualError(t, d.door.Bind(p, []runtime.Mem{&mem{of: d, n: 7}}, []int32{2}, memories),
		"TOY: play: argument 0 (input) has 7 bytes and the plan needs 8")
	require.EqualError(t, d.door.Bind(p, []runtime.Mem{&mem{of: other, n: 8}}, []int32{2}, memories),
		"TOY: play: argument 0 (input): TOY: memory of another device (*guard.mem)")
}

func TestClosed(t *testing.T) {
	d := open()
	require.True(t, d.door.Close())
	require.False(t, d.door.Close())
	_, spanned := d.door.Span("write", &mem{of: d}, 0, 0)
	_, played := d.door.Play(&loaded{d})
	for _, err := range []error{d.door.Open(), d.door.Sync(t.Context()), d.door.Alloc(1), d.door.Load(&plan.Plan{}), spanned, played} {
		require.ErrorAs(t, err, new(*runtime.Closed))
		require.ErrorContains(t, err, "TOY: the device is closed")
	}
}

func TestPoisonInGaps(t *testing.T) {
	p := &plan.Plan{Slots: []plan.Slot{{Memory: 1, Offset: 0, Bytes: 64}, {Memory: 0, Offset: 32, Bytes: 8}, {Memory: 0, Offset: 0, Bytes: 16}}}
	data := make([]byte, 48)
	Fill(data)
	require.True(t, Filled(data))
	clear(data[0:16])
	clear(data[32:40])
	require.NoError(t, Gaps(p, 0, data))
	data[20] = 0
	require.EqualError(t, Gaps(p, 0, data), "a kernel wrote into the gap of the arena before offset 32")
	data[20], data[47] = Poison, 1
	require.EqualError(t, Gaps(p, 0, data), "a kernel wrote behind the last slot of the arena, which ends at 40")
	Fill(nil)
}
