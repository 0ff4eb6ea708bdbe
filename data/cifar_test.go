package data

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// records are some, each with its label and a pixel that tells it apart.
func records(labels ...byte) []byte {
	var raw []byte
	for i, l := range labels {
		r := make([]byte, cifarRecord)
		r[0], r[1], r[1+cifarSide*cifarSide], r[cifarRecord-1] = l, byte(i+1), 7, 200
		raw = append(raw, r...)
	}
	return raw
}

func TestCIFAR10(t *testing.T) {
	dir := t.TempDir()
	inner := filepath.Join(dir, "cifar-10-batches-bin")
	require.NoError(t, os.Mkdir(inner, 0o777))
	write := func(name string, raw []byte) string {
		path := filepath.Join(inner, name)
		require.NoError(t, os.WriteFile(path, raw, 0o666))
		return path
	}
	_, err := LoadCIFAR10(dir)
	assert.EqualError(t, err, "data: "+filepath.Join(inner, "data_batch_1.bin")+": no such file; give the folder that holds data_batch_1.bin … and test_batch.bin, "+
		"unpacked from the binary version of CIFAR-10")
	write("data_batch_1.bin", records(3, 9))
	write("data_batch_2.bin", records(0))
	test := write("test_batch.bin", records(5))
	for _, from := range []string{dir, inner} {
		set, err := LoadCIFAR10(from)
		require.NoError(t, err)
		assert.Equal(t, []byte{3, 9, 0}, set.Train.Labels)
		assert.Equal(t, []int{3, 3, 32, 32}, []int{set.Train.N, set.Train.C, set.Train.H, set.Train.W})
		im := set.Train.Image(1)
		assert.Len(t, im, 3*32*32)
		assert.Equal(t, []byte{2, 7, 200}, []byte{im[0], im[1024], im[3071]})
		assert.Equal(t, []byte{5}, set.Test.Labels)
	}
	for want, raw := range map[string][]byte{
		"has 3072 bytes, no whole number of records of 3073":            make([]byte, 3072),
		"has 0 bytes, no whole number of records":                       nil,
		"the label of record 1, at byte 3073, is 10, outside 0..9; use": records(1, 10),
	} {
		write("test_batch.bin", raw)
		_, err = LoadCIFAR10(dir)
		assert.ErrorContains(t, err, test+": "+want)
	}
	require.NoError(t, os.Remove(test))
	require.NoError(t, os.Mkdir(test, 0o777))
	_, err = LoadCIFAR10(dir)
	assert.ErrorContains(t, err, "is not a regular file")
}
