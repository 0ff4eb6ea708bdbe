package tensor_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tensor"
)

// What Must and Done are given comes back from Try as it was, like the errors of operations.
func TestMust(t *testing.T) {
	bad := errors.New("no such file")
	read := func(err error) (int, error) { return 7, err }
	got := 0
	require.NoError(t, tensor.Try(func() { got = tensor.Must(read(nil)); tensor.Done(nil) }))
	require.Equal(t, 7, got)
	require.Equal(t, bad, tensor.Try(func() { tensor.Must(read(bad)) }))
	require.Equal(t, bad, tensor.Try(func() { tensor.Done(bad) }))
	require.PanicsWithError(t, "no such file", func() { tensor.Done(bad) })
}
