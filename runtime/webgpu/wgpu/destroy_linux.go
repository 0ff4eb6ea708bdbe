//go:build cgo && (amd64 || arm64)

package wgpu

/*
// The binding links the library when the program is linked.
#cgo LDFLAGS: -Wl,--unresolved-symbols=ignore-all

void wgpuDeviceDestroy(void *device);
*/
import "C"

import (
	"reflect"

	"github.com/weft-ml/weft/runtime/webgpu"
)

// Destroy takes the graphics processor away from a transport that Open gave, as a driver's reset would: for tests. The
// binding has no such call and keeps the handle to itself.
func Destroy(of webgpu.Transport) {
	C.wgpuDeviceDestroy(reflect.ValueOf(of.(*transport).device).Elem().FieldByName("ref").UnsafePointer())
}
