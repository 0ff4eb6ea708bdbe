package webgpu

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestChoose(t *testing.T) {
	all := []Candidate{{"llvmpipe (LLVM 15)", OnProcessor}, {"Intel(R) UHD", Integrated}, {"NVIDIA H100", Discrete}, {"NVIDIA H100 2", Discrete}}
	for name, want := range map[string]int{"": 2, "intel": 1, "LLVM": 0, "100 2": 3} {
		got, err := Choose(all, name, 0)
		require.NoError(t, err)
		assert.Equal(t, want, got, name)
	}
	got, err := Choose(all[:1], "", 0)
	require.NoError(t, err)
	assert.Equal(t, 0, got)

	_, err = Choose(all, "radeon", 0)
	assert.EqualError(t, err, `no graphics adapter is called "radeon"; there are llvmpipe (LLVM 15), Intel(R) UHD, NVIDIA H100, NVIDIA H100 2`)
	for system, remedy := range map[string]string{"linux": "apt-get install mesa-vulkan-drivers", "windows": "driver", "darwin": "another device"} {
		assert.ErrorContains(t, noAdapter(system), remedy)
	}
}

func TestKnown(t *testing.T) {
	a := Adapter{Name: "llvmpipe (LLVM 15.0.6, 256 bits)"}
	a.Known()
	assert.Equal(t, 65535, a.Limits.Iterations)
	a = Adapter{Name: "NVIDIA H100"}
	a.Known()
	assert.Zero(t, a.Limits.Iterations)
}

// The numbers of devices count adapters of the fastest kind, and begin again after the last.
func TestChooseNumber(t *testing.T) {
	all := []Candidate{{"soft", OnProcessor}, {"one", Discrete}, {"shared", Integrated}, {"two", Discrete}}
	for number, want := range []int{1, 3, 1, 3} {
		got, err := Choose(all, "", number)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	got, err := Choose(all, "soft", 5)
	require.NoError(t, err)
	require.Equal(t, 0, got)
}
