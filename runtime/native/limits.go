//go:build !wasm

package native

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/runtime/guard"
)

// Limits is LimitsContext without an end.
func Limits(of runtime.Device) (gflops1, gflopsAll, gbps float64, err error) {
	return LimitsContext(context.Background(), of)
}

// LimitsContext measures what the machine can do at most, through the compiler and the threads that
// kernels use: float32 multiply-adds (counting 2) on one thread and on all, in GFLOP/s, and
// copying of memory that fits no cache on all threads, in GB/s, bytes read plus bytes
// written. It takes about a second. Compiling for it ends with ctx.
func LimitsContext(ctx context.Context, of runtime.Device) (gflops1, gflopsAll, gbps float64, err error) {
	d, ok := of.(*Device)
	if !ok {
		return 0, 0, 0, fmt.Errorf("CPU: limits of another kind of device (%T)", of)
	}
	if gflops1, gflopsAll, err = d.peakFlops(ctx); err == nil {
		gbps, err = d.peakCopy()
	}
	return gflops1, gflopsAll, gbps, err
}

// A multiply-add takes some cycles before its result can be used, so several must be under
// way: which vector width and how many accumulators do best differs by processor.
var (
	peakWidths = []int{16, 32, 64} // bytes
	peakCounts = []int{8, 12, 16, 20, 24}
)

const (
	peakRounds = 20_000                 // of each iteration
	shortTry   = 4 * time.Millisecond   // for choosing
	longTry    = 250 * time.Millisecond // for the result: other programs disturb many tries, not all
)

// peakKernel multiplies and adds into count vectors. The attributes let the compiler contract
// a·b+c: it has no portable name for a vector multiply-add.
func peakKernel(width, count int) plan.Kernel {
	var body, sum strings.Builder
	for i := range count {
		fmt.Fprintf(&body, "\t\ta%d = a%d * b + c;\n", i, i)
		fmt.Fprintf(&sum, " + a%d", i)
	}
	var declare strings.Builder
	for i := range count {
		fmt.Fprintf(&declare, "\tvec a%d = b + %d.0f;\n", i, i)
	}
	entry := fmt.Sprintf("weft_peak_%d_%d", width, count)
	source := fmt.Sprintf(`#include <stdint.h>
#if !defined(__clang__) && defined(__GNUC__)
__attribute__((optimize("fp-contract=fast")))
#endif
void %s(char *const *buf, const int32_t *var, char *scratch, int32_t lo, int32_t hi) {
#ifdef __clang__
#pragma clang fp contract(fast)
#endif
	typedef float vec __attribute__((vector_size(%d), aligned(4)));
	vec b = *(const vec *)buf[0], c = *(const vec *)(buf[0] + 64);
%s	for (int64_t n = (int64_t)(hi - lo) * %d; n > 0; n--) {
%s	}
	*(vec *)scratch = 0.0f%s;
}
`, entry, width, declare.String(), peakRounds, body.String(), sum.String())
	return plan.Kernel{Name: entry, Entry: entry, Source: source, Threads: 1, Binds: []plan.Bind{{Bytes: 128}},
		Flops: int64(width/4) * int64(count) * peakRounds * 2}
}

func (d *Device) peakFlops(ctx context.Context) (one, all float64, err error) {
	p := &plan.Plan{Version: plan.Version, Target: deviceName}
	for _, width := range peakWidths {
		for _, count := range peakCounts {
			p.Kernels = append(p.Kernels, peakKernel(width, count))
		}
	}
	l, err := d.Load(ctx, p)
	if err != nil {
		return 0, 0, err
	}
	defer l.Free()
	in, err := d.memory.alloc(128) // b = c = 0: the accumulators stay finite
	if err != nil {
		return 0, 0, err
	}
	defer in.Free()
	clear(in.data)
	buf := []uintptr{in.addr()}
	best := 0
	for i := range p.Kernels {
		if g := d.flops(&p.Kernels[i], l.(*loaded).functions[i], buf, 1, 2, shortTry); g > one {
			one, best = g, i
		}
	}
	k, f := &p.Kernels[best], l.(*loaded).functions[best]
	one = max(one, d.flops(k, f, buf, 1, 10, longTry))
	if d.pool.threads() == 1 {
		return one, one, nil
	}
	return one, d.flops(k, f, buf, int32(d.pool.threads()), 10, longTry), nil
}

// flops returns the best GFLOP/s of tries for so long, each of so many iterations for a thread.
func (d *Device) flops(k *plan.Kernel, function uintptr, buf []uintptr, threads, iterations int32, budget time.Duration) float64 {
	n := threads * iterations
	took := best(budget, func() {
		d.pool.one(job{kernel: function, buf: address(buf), scratch: address(d.pool.places), n: n, threads: threads, least: 1}, buf)
	})
	return float64(k.Flops) * float64(n) / float64(took.Nanoseconds())
}

func (d *Device) peakCopy() (gbps float64, err error) {
	const bytes = 256 << 20
	var at [2][]byte // not the device's memory: measuring counts for no limit and no peak
	for i := range at {
		if at[i], err = mapPages(bytes); err != nil {
			return 0, fmt.Errorf("CPU: %d bytes for measuring: %w", bytes, err)
		}
		defer unmapPages(at[i])
		hugePages(at[i])
		guard.Fill(at[i]) // touch each page
	}
	const share = 1 << 20
	places, size := []uintptr{address(at[0]), address(at[1])}, []int64{bytes, share}
	took := best(longTry, func() {
		d.pool.one(job{buf: address(places), vars: address(size), n: bytes / share, threads: int32(d.pool.threads()), least: 1}, places, size)
	})
	return 2 * bytes / float64(took.Nanoseconds()), nil
}

// best calls f again and again until the budget is spent and returns the shortest time.
func best(budget time.Duration, f func()) time.Duration {
	least := time.Duration(1<<63 - 1)
	for begin := time.Now(); time.Since(begin) < budget; {
		start := time.Now()
		f()
		least = min(least, time.Since(start))
	}
	return least
}
