//go:build cgo && (amd64 || arm64)

package wgpu

/*
// The binding links the library when the program is linked.
#cgo LDFLAGS: -Wl,--unresolved-symbols=ignore-all

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct { char const *data; size_t length; } view;
typedef struct { void *next; int mode; void (*call)(int, int, view, void *, void *); void *a, *b; } info;
typedef struct { uint64_t id; } future;

void wgpuDeviceDestroy(void *device);
void wgpuDevicePushErrorScope(void *device, int filter);
future wgpuDevicePopErrorScope(void *device, info callback);

static __thread char text[4096];

static void heard(int status, int type, view message, void *a, void *b) {
	if (type <= 1 || text[0] != 0)
		return;
	size_t n = 0;
	while (message.data && n < sizeof text - 1 && n < message.length && message.data[n])
		n++;
	memcpy(text, message.data ? message.data : "", n);
	if (n == 0)
		text[n++] = '?';
	text[n] = 0;
}

// Wrong use, and memory that is used up: the library has no other filters.
static void push(void *device) {
	wgpuDevicePushErrorScope(device, 1);
	wgpuDevicePushErrorScope(device, 2);
}

static char const *pop(void *device) {
	info i = {.mode = 3, .call = heard};
	text[0] = 0;
	wgpuDevicePopErrorScope(device, i);
	wgpuDevicePopErrorScope(device, i);
	return text[0] ? text : NULL;
}
*/
import "C"

import (
	"errors"
	"reflect"
	"runtime"
	"unsafe"

	"github.com/weft-ml/weft/runtime/webgpu"
)

// handle is the library's own pointer, which the binding keeps to itself.
func handle(of any) unsafe.Pointer {
	return reflect.ValueOf(of).Elem().FieldByName("ref").UnsafePointer()
}

// guarded calls f so that errors of use and of memory are returned. The binding asks for the former only, and for
// others the library ends the program.
func (t *transport) guarded(f func() error) error {
	device := handle(t.device)
	runtime.LockOSThread() // errors are kept by thread
	defer runtime.UnlockOSThread()
	C.push(device)
	err := f()
	if said := C.pop(device); said != nil {
		err = errors.New(C.GoString(said))
	}
	return t.note(err)
}

// Destroy takes the graphics processor away from a transport that Open gave, as a driver's reset would: for tests.
func Destroy(of webgpu.Transport) { C.wgpuDeviceDestroy(handle(of.(*transport).device)) }
