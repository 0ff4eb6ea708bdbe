package onnxnode

import (
	"os"
	"testing"
)

// TestContrib runs cases of com.microsoft and ai.onnx.ml, which the shared ones have few of. They were made for this test of random numbers, and
// their outputs recorded from onnxruntime on the processor.
func TestContrib(t *testing.T) {
	cases, err := Load("testdata")
	if err != nil {
		t.Fatal(err)
	}
	onDevices(t, "onnx-contrib", cases, os.Getenv("WEFT_ONNX_ALL") != "", Tolerance{Rel: 1e-3, Abs: 1e-5})
}
