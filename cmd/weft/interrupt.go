package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

// patience is how long work that was told to end may take for it: a step that runs on a device is not taken back.
var patience = 2 * time.Second

type unhurriedKey struct{}

// unhurried has the first interrupt wait for some work until done is called, however long that takes, and says what is going on then.
// A second one ends the program at once.
func unhurried(ctx context.Context, what string) (done func()) {
	work, ok := ctx.Value(unhurriedKey{}).(*atomic.Pointer[string])
	if !ok {
		return func() {}
	}
	work.Store(&what)
	return func() { work.Store(nil) }
}

// interruptible runs the program until a signal ends it. Most work ends with the context by itself and cleans up; what does
// not in time, or when a second signal comes, is left as it is: files appear whole or not at all, whenever that is.
func interruptible(log io.Writer, run func(ctx context.Context) int) int {
	var work atomic.Pointer[string] // that is unhurried
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), unhurriedKey{}, &work))
	defer cancel()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM) // to the end: one that comes then must not end the program another way
	if nohup := signal.Ignored(hangup); !nohup {
		signal.Notify(signals, hangup)
	}
	done := make(chan int, 1)
	go func() { done <- run(ctx) }()
	select {
	case code := <-done:
		return code
	case <-signals:
		if what := work.Load(); what != nil {
			fmt.Fprintf(log, "weft: interrupted: %s; a second interrupt ends at once\n", *what)
		}
		cancel()
	}
	for waiting, unhurried := true, work.Load() != nil; waiting; {
		select {
		case code := <-done:
			return code
		case <-signals:
			waiting = false
		case <-time.After(patience):
			was := unhurried
			unhurried = work.Load() != nil
			waiting = unhurried || was // what ends after that has as long as all else
		}
	}
	fmt.Fprintln(log, "weft: interrupted")
	return exitInterrupted
}
