package backends

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-ml/weft/engine"
)

func TestUnknownDevice(t *testing.T) {
	native := []string{"CPU", "INTERP", "NULL", "REF", "WASM"}
	for _, c := range []struct {
		name  string
		known []string
		want  string
	}{
		{"GPU", native, `unknown device "GPU": perhaps WEBGPU is meant, which this program does not have; ` +
			`import _ "github.com/weft-ml/weft/backends/webgpu"; there are CPU, INTERP, NULL, REF, WASM`},
		{"webgpu", native, `unknown device "webgpu": this program does not have it; import _ "github.com/weft-ml/weft/backends/webgpu"; there are CPU, INTERP, NULL, REF, WASM`},
		{"WEBGPU:0", native, `unknown device "WEBGPU:0": this program does not have it; import _ "github.com/weft-ml/weft/backends/webgpu"; there are CPU, INTERP, NULL, REF, WASM`},
		{"webgpi", native, `unknown device "webgpi": perhaps WEBGPU is meant, which this program does not have; ` +
			`import _ "github.com/weft-ml/weft/backends/webgpu"; there are CPU, INTERP, NULL, REF, WASM`},
		{"cpo", native, `unknown device "cpo": perhaps CPU is meant; there are CPU, INTERP, NULL, REF, WASM`},
		{"wsam", native, `unknown device "wsam": perhaps WASM is meant; there are CPU, INTERP, NULL, REF, WASM`},
		{"gpu", append([]string{"WEBGPU"}, native...), `unknown device "gpu": perhaps WEBGPU is meant; there are WEBGPU, CPU, INTERP, NULL, REF, WASM`},
		{"TPU7", native, `unknown device "TPU7": perhaps CPU is meant; there are CPU, INTERP, NULL, REF, WASM`},
		{"quantum", native, `unknown device "quantum": there are CPU, INTERP, NULL, REF, WASM`},
		{"", nil, `unknown device "": no devices are linked in; import _ "github.com/weft-ml/weft/backends"`},
		{"CPU", nil, `unknown device "CPU": no devices are linked in; import _ "github.com/weft-ml/weft/backends"`},
		{"GPU", nil, `unknown device "GPU": no devices are linked in; import _ "github.com/weft-ml/weft/backends"`},
		{"cpu", []string{"WEBGPU"}, `unknown device "cpu": this program does not have it; import _ "github.com/weft-ml/weft/backends"; there are WEBGPU`},
	} {
		assert.Equal(t, c.want, (&engine.UnknownDevice{Name: c.name, Known: c.known}).Error())
	}
}
