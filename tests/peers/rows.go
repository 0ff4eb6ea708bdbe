package main

import "strings"

// group is a kind of programs: the names are cases of weft bench.
type group struct {
	name, title string
	cases       string
}

var groups = []group{
	{"products", "Products of matrices", `matmul-256 matmul-512 matmul-1024 matmul-2048 product-odd batch-products matvec-4096 row-vocabulary
		rows-4096 matmul-i8-i32 matmul-bf16-1024 linear-bf16 matmul-f16-1024`},
	{"convolutions", "Convolutions", `conv2d-56 conv-28 conv-14 conv-7 conv-56-b8 conv-7-b8 conv-stem conv-1x1-56 depthwise-56 depthwise-5 conv1d
		conv-transpose-2 conv-transpose-4 conv-2-b64 conv-dilated conv-bf16-14`},
	{"pictures", "Pools and resizing", `maxpool-overlap avgpool-overlap resize-2x`},
	{"gradients", "Gradients", `conv-grad-56 conv-grad-stride-56 depthwise-grad maxpool-grad conv-grad-norm embedding-grad`},
	{"norms", "Softmax and norms", `softmax-1024 layernorm-1024 groupnorm batchnorm`},
	{"memory", "Elements and sums", `chain-1m elementwise-16m sum-16m sum-columns transpose-4096 gather-rows`},
	{"order", "Order and running sums", `argmax-1m sort-1m sort-rows topk-1m topk-rows cumsum-1m cumsum-rows cumsum-columns`},
	{"attention", "Attention", `attention attention-causal attention-batch attention-bf16 attention-token-groups`},
	{"networks", "Networks", `lstm-step lstm-64 transformer-block resnet18 gpt2-token`},
	{"models", "Models in ONNX files", `onnx-ultraface onnx-silero onnx-resnet18 onnx-bert onnx-gpt2 onnx-gpt2-4bit`},
	{"training", "Steps of training", `mlp-step embedding-step mnist-convnet-64 resnet18-step`},
	{"linalg", "Transforms and factorisations", `fft-65536 fft-1009 cholesky-64 cholesky-200 solve-64 solve-200 qr-64 qr-200 eigh-64 eigh-200`},
}

func (g group) names() []string { return strings.Fields(g.cases) }
