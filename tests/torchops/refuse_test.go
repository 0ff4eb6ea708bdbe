package torchops

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
)

// zeros is a tensor of a case.
func zeros(dtype string, size int, shape ...int) string {
	n := size
	list := "["
	for i, d := range shape {
		if i > 0 {
			list += ","
		}
		list += fmt.Sprint(d)
		n *= d
	}
	return fmt.Sprintf(`{"t":{"dtype":%q,"shape":%s],"off":0,"n":%d}}`, dtype, list, n)
}

// outcome runs a case, written without its id, on zeros.
func outcome(t *testing.T, line string) *Result {
	t.Helper()
	c, err := decodeCase([]byte(`{"id":"x",`+line+"}"), make([]byte, 4096))
	require.NoError(t, err, line)
	e, err := engine.Use("REF")
	require.NoError(t, err)
	return Run(context.Background(), e, []*Case{c}).Results[0]
}

// Arguments that torch refuses are errors, also where Weft's methods take others in their place.
func TestRefusals(t *testing.T) {
	f := func(shape ...int) string { return zeros("float32", 4, shape...) }
	for _, line := range []string{
		`"op":"torch.sub","args":[` + f(2) + `,` + zeros("bool", 1, 2) + `]`,
		`"op":"torch.rsub","args":[` + f(2) + `,true]`,
		`"op":"torch.nn.functional.scaled_dot_product_attention","args":[` + f(2, 3, 4) + `,` + f(2, 3, 4) + `,` + f(2, 3, 4) + `,` + zeros("bool", 1, 3, 3) + `],"kwargs":{"is_causal":true}`,
		`"op":"torch.t","args":[` + f(2, 3, 4) + `]`,
		`"op":"torch.diag","args":[` + f(2, 2, 2) + `]`,
		`"op":"torch.movedim","args":[` + f(2, 3) + `,[0],[0,1]]`,
		`"op":"torch.meshgrid","args":[` + f(2) + `],"kwargs":{"indexing":"zz"}`,
		`"op":"torch.amax","args":[` + f(0) + `]`,
		`"op":"torch.amin","args":[` + f(2, 0) + `,-1]`,
		`"op":"torch.max","args":[` + f(0, 3) + `]`,
		`"op":"torch.fft.fft","args":[` + f(4) + `],"kwargs":{"norm":"bad"}`,
		`"op":"torch.scatter_reduce","args":[` + f(3) + `,0,` + zeros("int64", 8, 2) + `,` + f(2) + `,"median"]`,
		`"op":"torch.nn.functional.pad","args":[` + f(2, 3) + `,[1]]`,
		`"op":"torch.nn.functional.pad","args":[` + f(3) + `,[1,1]],"kwargs":{"mode":"reflect"}`,
		`"op":"torch.nn.functional.conv2d","args":[` + f(1, 3, 5, 5) + `,` + f(2, 3, 3, 3) + `],"kwargs":{"padding":"same","stride":2}`,
		`"op":"torch.nn.functional.avg_pool2d","args":[` + f(1, 1, 4, 4) + `,2],"kwargs":{"divisor_override":0}`,
		`"op":"torch.nn.functional.batch_norm","args":[` + f(1, 3) + `,null,null],"kwargs":{"training":true}`,
		`"op":"torch.nn.functional.interpolate","args":[` + f(1, 2, 3) + `],"kwargs":{"size":[4],"mode":"bilinear"}`,
		`"op":"torch.nn.functional.interpolate","args":[` + f(1, 2, 3) + `]`,
		`"op":"torch.Tensor.__getitem__","args":[` + f(3, 4) + `,[` + zeros("bool", 1, 2) + `]]`,
		`"op":"torch.Tensor.__getitem__","args":[` + f(2, 3) + `,[{"ellipsis":true},` + zeros("bool", 1, 2) + `]]`,
		`"op":"torch.argmax","args":[` + f(0) + `]`,
		`"op":"torch.argmin","args":[` + f(3, 0) + `,1]`,
		`"op":"torch.searchsorted","args":[` + f(3) + `,` + f(2) + `],"kwargs":{"side":"foo"}`,
		`"op":"torch.nn.functional.gelu","args":[` + f(2) + `],"kwargs":{"approximate":"foo"}`,
		`"op":"torch.nn.functional.hardtanh","args":[` + f(2) + `,1.0,-1.0]`,
		`"op":"torch.linalg.vector_norm","args":[` + f(0) + `],"kwargs":{"ord":{"f":"inf"}}`,
		`"op":"torch.fft.fftn","args":[` + f(2, 3) + `],"kwargs":{"dim":[0,-2]}`,
		`"op":"torch.fft.rfft","args":[{"c"` + f(4, 2)[4:] + `]`,
		`"op":"torch.linalg.eigh","args":[` + f(2, 2) + `,"X"]`,
		`"op":"torch.linalg.qr","args":[` + f(2, 2) + `,"foo"]`,
		`"op":"torch.linalg.multi_dot","args":[[` + f(2, 2) + `]]`,
		`"op":"torch.linalg.multi_dot","args":[[` + f(2, 2) + `,` + f(2) + `,` + f(2, 2) + `]]`,
		`"op":"torch.norm","args":[` + f(2) + `,"foo"]`,
		`"op":"torch.addmm","args":[` + f(1, 2, 2) + `,` + f(2, 3) + `,` + f(3, 2) + `]`,
		`"op":"torch.nn.functional.mse_loss","args":[` + f(2) + `,` + f(2) + `],"kwargs":{"reduction":"batchmean"}`,
		`"op":"torch.cdist","args":[` + f(2, 3) + `,` + f(2, 3) + `,-1.0]`,
		`"op":"torch.aminmax","args":[` + f(0) + `]`,
		`"op":"torch.rot90","args":[` + f(2, 3) + `,1,[0,1,0]]`,
		`"op":"torch.quantile","args":[` + f(3) + `,0.5],"kwargs":{"interpolation":"foo"}`,
		`"op":"torch.searchsorted","args":[` + f(3) + `,` + f(2) + `],"kwargs":{"side":"left","right":true}`,
		`"op":"torch.searchsorted","args":[` + f(3) + `,` + f(2) + `],"kwargs":{"sorter":` + zeros("int64", 8, 2) + `}`,
		`"op":"torch.index_fill","args":[` + f(3) + `,0,` + zeros("int64", 8, 1) + `,` + f(1) + `]`,
		`"op":"torch.index_reduce","args":[` + f(3) + `,0,` + zeros("int64", 8, 1) + `,` + f(1) + `,"sum"]`,
		`"op":"torch.optim.Adam","args":[[` + f(2) + `],[[` + f(2) + `]]],"kwargs":{"betas":[-0.5,0.9]}`,
		`"op":"torch.nn.functional.softshrink","args":[` + f(2) + `,-1.0]`,
		`"op":"torch.nn.functional.rrelu","args":[` + f(2) + `,0.5,0.1]`,
		`"op":"torch.nn.functional.pad","args":[` + f(2, 3) + `,[1,1],"foo"]`,
		`"op":"torch.nn.functional.conv1d","args":[` + f(1, 2, 5) + `,` + f(3, 2, 2) + `],"kwargs":{"padding":"foo"}`,
		`"op":"torch.nn.functional.adaptive_avg_pool1d","args":[` + f(2) + `,2]`,
		`"op":"torch.nn.functional.adaptive_max_pool2d","args":[` + f(1, 2, 3, 3) + `,[2,2,2]]`,
		`"op":"torch.nn.functional.interpolate","args":[` + f(1, 1, 4) + `],"kwargs":{"size":2,"mode":"foo"}`,
		`"op":"torch.nn.functional.interpolate","args":[` + f(1, 1, 4) + `],"kwargs":{"size":2,"align_corners":true}`,
		`"op":"torch.nn.functional.interpolate","args":[` + f(1, 1, 4, 4) + `],"kwargs":{"size":2,"antialias":true}`,
		`"op":"torch.nn.functional.interpolate","args":[` + f(1, 1, 4) + `],"kwargs":{"size":3,"recompute_scale_factor":true}`,
		`"op":"torch.nn.functional.grid_sample","args":[` + f(1, 1, 3, 3) + `,` + f(1, 2, 2, 2) + `],"kwargs":{"padding_mode":"foo"}`,
		`"op":"torch.nn.functional.embedding_bag","args":[` + zeros("int64", 8, 1, 2) + `,` + f(3, 2) + `],"kwargs":{"mode":"foo"}`,
		`"op":"torch.nn.functional.instance_norm","args":[` + f(2, 3, 1) + `]`,
		`"op":"torch.nn.functional.multi_margin_loss","args":[` + f(1, 3) + `,` + zeros("int64", 8, 1) + `],"kwargs":{"p":3}`,
		`"op":"torch.nn.functional.gaussian_nll_loss","args":[` + f(3) + `,` + f(3) + `,-1.0]`,
		`"op":"torch.nn.functional.triplet_margin_loss","args":[` + f(3, 2) + `,` + f(3, 2) + `,` + f(2) + `]`,
		`"op":"torch.nn.functional.triplet_margin_loss","args":[` + f(3, 2) + `,` + f(3, 2) + `,` + f(3, 2) + `],"kwargs":{"margin":-1.0}`,
	} {
		r := outcome(t, line+`,"error":true`)
		require.Equal(t, Passed, r.Status, "%s: %s", line, r.Reason)
	}
}

// Calls that need more than one way to write an argument.
func TestForms(t *testing.T) {
	f := func(shape ...int) string { return zeros("float32", 4, shape...) }
	c := func(shape ...int) string { return `{"c"` + zeros("float32", 4, shape...)[4:] }
	for _, line := range []string{
		`"op":"torch.fft.fftshift","args":[` + c(3, 4, 2) + `],"out":[` + c(3, 4, 2) + `]`,
		`"op":"torch.fft.ifftshift","args":[` + c(3, 4, 2) + `,-1],"out":[` + c(3, 4, 2) + `]`,
		`"op":"torch.quantile","args":[` + f(5) + `,` + f(2) + `],"out":[` + f(2) + `]`,
		`"op":"torch.count_nonzero","args":[` + f() + `,0],"out":[` + zeros("int64", 8) + `],"anyint":[0]`,
		`"op":"torch.chunk","args":[` + f(0, 2) + `,3],"out":[` + f(0, 2) + `,` + f(0, 2) + `,` + f(0, 2) + `]`,
		`"op":"torch.Tensor.__getitem__","args":[` + f(2, 3) + `,[{"ellipsis":true},` + zeros("bool", 1, 3) + `]],"out":[` + f(2, 0) + `]`,
		`"op":"torch.all","args":[` + f(2, 3) + `],"kwargs":{"dim":[]},"out":[` + zeros("bool", 1, 2, 3) + `]`,
		`"op":"torch.gather","args":[` + f() + `,0,` + zeros("int64", 8) + `],"out":[` + f() + `]`,
		`"op":"torch.gather","args":[` + f(3) + `,0,` + zeros("int64", 8, 2) + `],"out":[` + f(2) + `]`,
		`"op":"torch.index_select","args":[` + f() + `,0,` + zeros("int64", 8, 1) + `],"out":[` + f() + `]`,
		`"op":"torch.scatter","args":[` + f() + `,0,` + zeros("int64", 8) + `,0.0],"out":[` + f() + `]`,
		`"op":"torch.scatter_reduce","args":[` + f() + `,0,` + zeros("int64", 8) + `,` + f() + `,"sum"],"out":[` + f() + `]`,
		`"op":"torch.index_add","args":[` + f() + `,0,` + zeros("int64", 8, 1) + `,` + f() + `],"out":[` + f() + `]`,
		`"op":"torch.transpose","args":[` + f() + `,0,-1],"out":[` + f() + `]`,
		`"op":"torch.Tensor.unfold","args":[` + f() + `,0,1,1],"out":[` + f(1) + `]`,
		`"op":"torch.nn.functional.fold","args":[` + f(4, 4) + `,[3,3],[2,2]],"out":[` + f(1, 3, 3) + `]`,
		`"op":"torch.Tensor.__getitem__","args":[` + f(2) + `,[` + zeros("bool", 1) + `]],"out":[` + f(0, 2) + `]`,
		`"op":"torch.Tensor.item","args":[` + zeros("bool", 1) + `],"out":[false]`,
		`"op":"torch.arange","args":[],"kwargs":{"end":1},"out":[` + zeros("int64", 8, 1) + `]`,
		`"op":"torch.optim.SGD","args":[[` + f(2) + `],[[` + f(2) + `]]],"kwargs":{"lr":0.0},"out":[[` + f(2) + `]]`,
	} {
		r := outcome(t, line)
		require.Equal(t, Passed, r.Status, "%s: %s", line, r.Reason)
	}
}
