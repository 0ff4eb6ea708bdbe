package page

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"strings"
	"sync"
	"syscall/js"
	"unsafe"

	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/runtime/webgpu"
)

// The player's functions, in glue.js. Those with a ticket answer later, through done.

//go:wasmimport player open
func playerOpen(device, ticket int32)

//go:wasmimport player alloc
func playerAlloc(device int32, bytes float64, number unsafe.Pointer) int32

//go:wasmimport player free
func playerFree(device, number int32)

//go:wasmimport player write
func playerWrite(device, number int32, at float64, from unsafe.Pointer, n int32) int32

//go:wasmimport player read
func playerRead(device, ticket, number int32, at float64, n int32)

//go:wasmimport player lift
func playerLift(device, ticket, number, n int32)

//go:wasmimport player sink
func playerSink(device, number int32) int32

//go:wasmimport player load
func playerLoad(device, ticket int32, from unsafe.Pointer, n int32)

//go:wasmimport player drop
func playerDrop(device, number int32)

//go:wasmimport player play
func playerPlay(device, number int32, args unsafe.Pointer, n int32, vars unsafe.Pointer, m int32) int32

//go:wasmimport player measure
func playerMeasure(device, ticket, number int32, args unsafe.Pointer, n int32, vars unsafe.Pointer, m int32)

//go:wasmimport player sync
func playerSync(device, ticket int32)

//go:wasmimport player close
func playerClose(device int32)

//go:wasmimport player size
func playerSize() int32

//go:wasmimport player take
func playerTake(ticket int32, to unsafe.Pointer, n int32)

// The kinds of errors, as in glue.js.
const (
	lost = 1 + iota
	memory
	large
	kernel
	other
)

// problem is an error of the player.
type problem struct {
	kind int
	text string
}

func (p *problem) Error() string { return p.text }

// waiting are the tickets that are not answered yet.
var waiting struct {
	sync.Mutex
	last  int32
	byNum map[int32]chan error
}

// listen has the player answer tickets. The callback comes from JavaScript's event loop and must not wait.
var listen = sync.OnceFunc(func() {
	waiting.byNum = map[int32]chan error{}
	answer := js.FuncOf(func(_ js.Value, args []js.Value) any {
		ticket, kind, n := int32(args[0].Int()), args[1].Int(), args[2].Int()
		waiting.Lock()
		ch := waiting.byNum[ticket]
		delete(waiting.byNum, ticket)
		waiting.Unlock()
		var err error
		if kind != 0 {
			err = &problem{kind, string(take(ticket, n))}
		}
		ch <- err
		return nil
	})
	js.Global().Get("weft").Get("player").Call("listen", answer)
})

// await starts something under a ticket and waits for its end. Where ctx ends first, what was started goes on and
// its result is dropped.
func await(ctx context.Context, start func(ticket int32)) (ticket int32, err error) {
	listen()
	done := make(chan error, 1)
	waiting.Lock()
	waiting.last++
	ticket = waiting.last
	waiting.byNum[ticket] = done
	waiting.Unlock()
	start(ticket)
	select {
	case err = <-done:
		return ticket, err
	case <-ctx.Done():
		go func() {
			<-done
			take(ticket, 0)
		}()
		return ticket, ctx.Err()
	}
}

// take fetches the result of a ticket, n bytes.
func take(ticket int32, n int) []byte {
	b := make([]byte, n)
	takeInto(ticket, b)
	return b
}

func takeInto(ticket int32, b []byte) {
	playerTake(ticket, unsafe.Pointer(unsafe.SliceData(b)), int32(len(b)))
	goruntime.KeepAlive(b)
}

// at once gives the error of a call that does not wait.
func atOnce(kind int32) error {
	if kind == 0 {
		return nil
	}
	return &problem{int(kind), string(take(0, int(playerSize())))}
}

func pointer[T any](s []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(s)) }

// failed says what was attempted, and whether the device is gone.
func failed(what string, err error) error {
	var p *problem
	switch {
	case err == nil:
		return nil
	case errors.As(err, &p) && p.kind == lost:
		return &runtime.Lost{Device: webgpu.Name, Why: p}
	}
	return fmt.Errorf("%s: %s: %w", webgpu.Name, what, err)
}

func numbered(source string) string {
	var b strings.Builder
	for i, line := range strings.Split(strings.TrimRight(source, "\n"), "\n") {
		fmt.Fprintf(&b, "%4d  %s\n", i+1, line)
	}
	return b.String()
}
