package main

import (
	"context"
	"errors"
	"syscall/js"
)

func init() { stream = fetched }

// fetched is stream in a page: see worker.js.
func fetched(ctx context.Context, from source, sink int32) (sum uint32, lost bool, err error) {
	done := make(chan error, 1)
	f := js.FuncOf(func(_ js.Value, args []js.Value) any {
		lost, sum = args[1].Bool(), uint32(args[2].Float())
		var err error
		if why := args[0].String(); why != "" {
			err = errors.New(why)
		}
		done <- err
		return nil
	})
	defer f.Release()
	worker := js.Global().Get("weft")
	worker.Call("fetch", from.call, from.url, from.offset, from.n, from.mask, from.again, sink, f)
	select {
	case err = <-done:
		return sum, lost, err
	case <-ctx.Done():
		worker.Call("abort", from.call)
		<-done
		return 0, false, ctx.Err()
	}
}
