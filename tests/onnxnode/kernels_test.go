package onnxnode

import _ "github.com/weft-ml/weft/tests/kernels" // WEFT_KERNELS
