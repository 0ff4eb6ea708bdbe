package tensor_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// Digests as Python's hashlib gives them of the same bytes.
func TestHash(t *testing.T) {
	x := f32(1.5, -2, 0.25, 7).Reshape(2, 2)
	h, err := x.Hash(ctx)
	require.NoError(t, err)
	require.Equal(t, "116125357c2a3b056e1b7f3b03d561e4ba3b3272d3624a6fa192f89d4b655c09", hex.EncodeToString(h[:]))
	h, err = tensor.Zeros(0).Hash(ctx)
	require.NoError(t, err)
	require.Equal(t, "a7ffc6f8bf1ed76651c14756a061d662f580ff4de43b49fa82d80a4b80f8434a", hex.EncodeToString(h[:]))
	for kind, want := range map[tensor.KeccakKind][2]string{
		tensor.SHA3_224: {"70c95c3911bcac639b97972e067a0f416303223f92f074a08a5d655e", "4b1af157fe8c4fb74447d6bde7cabcd9d7532b1adf56d5409bf6d79f"},
		tensor.SHA3_256: {"757752ee26f56aa06141988ea1c7456fc9343f10aaa697012f014a7a830b2592", "66fdecb02c5a5c340d2f7f81032de50401d4b41751fc535bb301f64a545d15aa"},
		tensor.SHA3_384: {"f69b46e8691a04fa162eba5811557736ee90ee78e033372b2e27a0fe7d363a58ae540f1ba5764cbe2adcadee5342c05d",
			"3654248c7c0b8240fa7ba148359a5f59eef570e2f39fafe02b1c9dd7d916d3e11c57af3119f9dc5e17602fd153d6f30d"},
		tensor.SHA3_512: {"7c0a29dbc29e863557ab8f7b357adb2891766c3edabe160785047151acd65035d98cdb117c175bce0b3f911179a12af5536ee87c0374e598d107267326ef77be",
			"eb74a41ec70a404bad9dd54e156bdda068536b649369df171d247b46073196b3ff77d6428318654b1a25ee799f52a546f1bea6024fd86a2e584869e83bf65091"},
		tensor.SHAKE128: {"fe15f6429cf2ec337100df04ced76acb", "2e87c38ca844402e227e440988dfaf8a"},
		tensor.SHAKE256: {"fef482c7df41a494d8819bb9db9b5f6569492251cde8a8db27bbe93a3184a7eb", "ad2945b792f75000013b3150849ae2b50aa44f5a84bc8d1bc3ce09d4f167569c"},
	} {
		y, err := x.Keccak(ctx, kind)
		require.NoError(t, err)
		data, err := y.Bytes(ctx)
		require.NoError(t, err)
		require.Equal(t, want[0]+want[1], hex.EncodeToString(data))
		require.Equal(t, []int{2, len(want[0]) / 2}, y.Shape())
		require.Equal(t, dtype.U8, y.DType())
	}
	for n, want := range map[int]string{ // at and around the end of a block: hashlib.sha3_256(b"a" * n)
		135: sha135, 136: sha136, 137: sha137, 1000: sha1000,
	} {
		h, err := tensor.Of([]byte(strings.Repeat("a", n))).Hash(ctx)
		require.NoError(t, err)
		require.Equal(t, want, hex.EncodeToString(h[:]), n)
	}
	y, err := tensor.Zeros(0, 3).Keccak(ctx, tensor.SHAKE128)
	require.NoError(t, err)
	require.Equal(t, []int{0, 16}, y.Shape())
	require.Error(t, tensor.Try(func() { _, _ = x.Keccak(ctx, 99) }))
}

const (
	sha135  = "8094bb53c44cfb1e67b7c30447f9a1c33696d2463ecc1d9c92538913392843c9"
	sha136  = "3fc5559f14db8e453a0a3091edbd2bc25e11528d81c66fa570a4efdcc2695ee1"
	sha137  = "f8d6846cedd2ccfadf15c5879ef95af724d799eed7391fb1c91f95344e738614"
	sha1000 = "8f3934e6f7a15698fe0f396b95d8c4440929a8fa6eae140171c068b4549fbf81"
)
