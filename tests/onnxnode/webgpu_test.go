package onnxnode

import _ "github.com/weft-ml/weft/backends/webgpu" // one of its devices
