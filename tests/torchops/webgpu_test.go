package torchops

import _ "github.com/weft-ml/weft/backends/webgpu" // WEFT_DEVICES may name it
