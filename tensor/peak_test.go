package tensor

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Where the numbers of elements are largest, roots in 32 bits are rounded most.
func TestRowsFromPeak(t *testing.T) {
	var at, row, column []int32
	for _, q := range []int32{0, 1, 2, 3, 100, 4095, 4096, 30000, mostFalling - 2, mostFalling - 1} {
		for _, e := range []int32{0, q / 2, q} {
			at = append(at, q*(q+1)/2+e)
			row, column = append(row, mostFalling-1-q), append(column, mostFalling-1-e)
		}
	}
	rows, columns := fromPeak(Of(at), mostFalling)
	got, err := Data[int32](t.Context(), Stack(0, rows, columns))
	require.NoError(t, err)
	assert.Equal(t, append(row, column...), got)
}
