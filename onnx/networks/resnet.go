package networks

import "math"

// ResNet18 is the network of He et al., Deep Residual Learning for Image Recognition (2015), table 1, of 18 layers: a picture of 1×3×224×224 to 1000
// logits. Batch norms are nodes of their own, as exporters for training leave them.
func ResNet18() *Network { return resnet(224, 1000, 64) }

// resnet is ResNet18 of pictures of size×size, with so many classes and so many channels in the first stage.
func resnet(size, classes, width int) *Network {
	w := newWriter("resnet18", 18)
	picture := []int{1, 3, size, size}
	x := w.input("input", "float32", picture, w.floats(0, 1, picture))
	x = w.add("Relu", []string{w.convNorm(x, 3, width, 7, 2)})
	x = w.add("MaxPool", []string{x}, wholes("kernel_shape", 3, 3), wholes("strides", 2, 2), wholes("pads", 1, 1, 1, 1))
	from := width
	for stage := range 4 {
		to := width << stage
		for block := range 2 {
			stride := 1
			if stage > 0 && block == 0 {
				stride = 2
			}
			y := w.add("Relu", []string{w.convNorm(x, from, to, 3, stride)})
			y = w.convNorm(y, to, to, 3, 1)
			if stride > 1 {
				x = w.convNorm(x, from, to, 1, stride)
			}
			x = w.add("Relu", []string{w.add("Add", []string{y, x})})
			from = to
		}
	}
	x = w.add("Flatten", []string{w.add("GlobalAveragePool", []string{x})}, whole("axis", 1))
	x = w.add("Gemm", []string{x, w.normal(0, 1/math.Sqrt(float64(from)), classes, from), w.normal(0, 0.1, classes)}, whole("transB", 1))
	w.output("logits", x, 1, classes)
	return w.network()
}

func (w *writer) convNorm(x string, from, to, window, stride int) string {
	pad := window / 2
	weights := w.normal(0, math.Sqrt(2/float64(from*window*window)), to, from, window, window)
	x = w.add("Conv", []string{x, weights}, wholes("kernel_shape", window, window), wholes("strides", stride, stride), wholes("pads", pad, pad, pad, pad))
	variance := w.tensor(elemFloat, []int{to}, w.between(0.75, 1.25, to))
	return w.add("BatchNormalization", []string{x, w.normal(1, 0.1, to), w.normal(0, 0.1, to), w.normal(0, 0.1, to), variance})
}
