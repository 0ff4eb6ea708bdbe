package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// patience is how long work that was told to end may take for it: a step that runs on a device is not taken back.
const patience = 2 * time.Second

// interruptible runs the program until a signal ends it. Most work ends with the context by itself and cleans up; what does
// not in time, or when a second signal comes, is left as it is: files appear whole or not at all, whenever that is.
func interruptible(log io.Writer, run func(ctx context.Context) int) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM) // to the end: one that comes then must not end the program another way
	done := make(chan int, 1)
	go func() { done <- run(ctx) }()
	select {
	case code := <-done:
		return code
	case <-signals:
		cancel()
	}
	select {
	case code := <-done:
		return code
	case <-signals:
	case <-time.After(patience):
	}
	fmt.Fprintln(log, "weft: interrupted")
	return exitInterrupted
}
