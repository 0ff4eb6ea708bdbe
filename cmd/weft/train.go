package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-ml/weft/data"
)

// trainOptions are the flags of weft train mnist.
type trainOptions struct {
	Data      string
	Device    string
	Steps     int
	Batch     int
	Test      int // pictures to test with; 0: all, but few where kernels are interpreted
	Seed      uint64
	Save      string
	NoCapture bool
	JSON      bool
}

// trainResult is what --json prints.
type trainResult struct {
	TestAccuracy float64   `json:"test_accuracy"`
	Tested       int       `json:"tested"` // held-back pictures that the accuracy is of
	Losses       []float64 `json:"losses"` // every step
	Steps        int       `json:"steps"`
	Batch        int       `json:"batch"`
	Seconds      float64   `json:"seconds"` // of training, compiling included, testing not
	StepMSMedian float64   `json:"step_ms_median"`
	Device       string    `json:"device"`
	PeakBytes    int64     `json:"peak_bytes"` // most bytes of device memory at a time
}

// trainee is a network that learns pictures of one size, and what the loop of training needs of it.
type trainee interface {
	// Step learns from the training pictures with these numbers and returns the loss before it.
	Step(ctx context.Context, batch []int32) (loss float64, err error)
	// Predict returns the probabilities of the ten digits for each picture.
	Predict(ctx context.Context, images []byte) ([][data.Classes]float32, error)
	// Save writes the state to a safetensors file.
	Save(ctx context.Context, path string) error
	// Device names the device; PeakBytes is the most memory it held at a time.
	Device() string
	PeakBytes() int64
}

// The synthetic set of a training run.
const (
	syntheticTrain = 60_000
	syntheticTest  = 10_000
	testBatch      = 500
)

func trainMNISTCommand(p *program) *cobra.Command {
	var o trainOptions
	c := &cobra.Command{
		Use:   "mnist",
		Short: "Train a small convolutional network to read digits",
		Long: `Trains two 5×5 convolutions of 32, two 3×3 of 64 and a linear layer with Adam, and tests it on
pictures that it never saw. Without --data it learns synthetic digits drawn from the Go fonts;
with --data DIR the MNIST files in that folder, or other data in their form. The learning rate grows
over the first 100 steps and falls to 0 at the last, so fewer than 100 steps learn little.
Training that is interrupted (Ctrl-C, or a terminal that is closed) with --save saves what was learnt so far; a second interrupt
ends it at once.`,
		Args: sensible(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return p.trainMNIST(c.Context(), o) },
	}
	f := c.Flags()
	f.StringVar(&o.Data, "data", "", "folder with the four files of MNIST, or others of that form (default: synthetic digits)")
	deviceFlag(c, &o.Device, "device to train on (default: $DEV, else the best that works)")
	f.IntVar(&o.Steps, "steps", 200, "training steps")
	f.IntVar(&o.Batch, "batch", 128, "pictures a step")
	f.IntVar(&o.Test, "test", 0, "held-back pictures to test with (default: all; 200 on INTERP and REF, which are slow)")
	f.Uint64Var(&o.Seed, "seed", 1, "seed of everything random: weights, order, synthetic digits")
	f.StringVar(&o.Save, "save", "", "write the trained network to this safetensors file")
	f.BoolVar(&o.NoCapture, "no-capture", false, "build the graph anew at each step instead of replaying a captured one")
	f.BoolVar(&o.JSON, "json", false, "print the result as one JSON object")
	check(c, atLeast(&o.Steps, 1), "steps")
	check(c, between(&o.Batch, 1, 1<<20), "batch")
	check(c, atLeast(&o.Test, 0), "test")
	return c
}

// checkSavePath finds out before a long training whether its result could be saved.
func checkSavePath(path string) error {
	if path == "" {
		return nil
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("--save %s: exists and is not a regular file; name another", path)
	}
	dir, _ := filepath.Split(path) // as the system reads it: x/.. is nothing where there is no x
	if dir == "" {
		dir = "."
	}
	probe, err := os.CreateTemp(dir, ".weft-*.tmp")
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("--save %s: there is no folder %s; create it first", path, dir)
	}
	if err != nil {
		return fmt.Errorf("--save %s: cannot write to the folder: %w; name a file in a folder that can be written to", path, err)
	}
	probe.Close()
	return os.Remove(probe.Name())
}

func (p *program) trainMNIST(ctx context.Context, o trainOptions) error {
	if err := checkSavePath(o.Save); err != nil {
		return err
	}
	dev, err := p.openFor(ctx, o.Device, stepWork(o.Batch))
	if err != nil {
		return err
	}
	set, err := loadSet(o)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.log, "%s: %d to learn from, %d held back, %d×%d\n", set.Name, set.Train.N, set.Test.N, set.Train.H, set.Train.W)
	fmt.Fprintf(p.log, "device %s: %s\n", dev.Name(), dev.Info().Detail)
	net, err := newDigits(ctx, dev, set.Train, o)
	if err != nil {
		return err
	}
	// The training pictures are on the device now; what they took here goes back at once.
	set.Train.Images, set.Train.Labels = nil, nil
	debug.FreeOSMemory()
	result, shown, err := p.learn(ctx, net, set, o)
	if err != nil {
		return err
	}
	if o.JSON {
		return json.NewEncoder(p.out).Encode(result)
	}
	p.show(set.Test, shown)
	fmt.Fprintf(p.out, "test accuracy %.2f %% on %d pictures it never saw, after %d steps of %d in %.1f s on %s\n",
		100*result.TestAccuracy, result.Tested, result.Steps, result.Batch, result.Seconds, result.Device)
	return nil
}

func loadSet(o trainOptions) (*data.Set, error) {
	if o.Data == "" {
		return data.Synthetic(o.Seed, syntheticTrain, syntheticTest), nil
	}
	return data.LoadMNIST(o.Data)
}

// learn trains, saves and tests; it also returns what the network says of the test pictures.
func (p *program) learn(ctx context.Context, net trainee, set *data.Set, o trainOptions) (*trainResult, []guess, error) {
	r := &trainResult{Steps: o.Steps, Batch: o.Batch, Device: net.Device(), Losses: make([]float64, 0, min(o.Steps, 1<<16))}
	if err := p.train(ctx, net, set.Train.N, o, r); err != nil {
		return nil, nil, err
	}
	guesses, err := p.test(ctx, net, testSplit(set.Test, net.Device(), o.Test))
	if err != nil {
		return nil, nil, err
	}
	right := 0
	for i, g := range guesses {
		if g.digit == set.Test.Labels[i] {
			right++
		}
	}
	r.TestAccuracy, r.Tested = float64(right)/float64(len(guesses)), len(guesses)
	r.PeakBytes = net.PeakBytes()
	return r, guesses, nil
}

// train takes the steps with n pictures, and saves the network. An interrupt ends it between two steps then, and what was trained so far
// is saved.
func (p *program) train(ctx context.Context, net trainee, n int, o trainOptions, r *trainResult) error {
	batches, batch := newStream(n, o.Seed), make([]int32, o.Batch)
	times := make([]float64, 0, cap(r.Losses))
	bar := newProgress(p.log, "step", o.Steps)
	start, whole := time.Now(), ctx // whole does not end in the midst of a step or of saving once there is something to save
	for i := 0; i < o.Steps && ctx.Err() == nil; i++ {
		batches.next(batch)
		began := time.Now()
		loss, err := net.Step(whole, batch)
		if err == nil && (math.IsNaN(loss) || math.IsInf(loss, 0)) {
			err = fmt.Errorf("the loss is %v: the training has diverged", loss)
		}
		if err != nil {
			bar.done()
			return fmt.Errorf("step %d: %w", i, err)
		}
		if i == 0 && o.Save != "" {
			defer unhurried(ctx, "the network is saved behind this step")()
			whole = context.WithoutCancel(ctx)
		}
		times = append(times, time.Since(began).Seconds()*1e3)
		r.Losses = append(r.Losses, loss)
		bar.step(i+1, fmt.Sprintf("loss %.4f", loss))
	}
	bar.done()
	r.Seconds = time.Since(start).Seconds()
	r.StepMSMedian = median(times)
	if o.Save != "" && len(r.Losses) > 0 {
		if err := net.Save(whole, o.Save); err != nil {
			if ctx.Err() != nil { // which is what is told of an interrupted program
				fmt.Fprintf(p.log, "weft: %s\n", lines(err))
			}
			return err
		}
		fmt.Fprintf(p.log, "saved to %s after %d of %d steps\n", o.Save, len(r.Losses), o.Steps)
	}
	return ctx.Err()
}

// fewTests is how many pictures are enough for a device that interprets kernels: all of MNIST would take
// several minutes.
const fewTests = 200

// testSplit is the part of the held-back pictures to test with.
func testSplit(s data.Split, device string, n int) data.Split {
	if n == 0 && (device == "INTERP" || device == "REF") {
		n = fewTests
	}
	if n > 0 && n < s.N {
		s.N, s.Images, s.Labels = n, s.Images[:n*s.H*s.W], s.Labels[:n]
	}
	return s
}

// guess is what the network says of a picture, and how sure it is.
type guess struct {
	digit byte
	sure  float32
}

// test asks the network about every picture of a split, in batches of one size: the last one is filled
// up with copies, so that nothing is compiled for its odd size.
func (p *program) test(ctx context.Context, net trainee, split data.Split) ([]guess, error) {
	size := split.H * split.W
	n := min(testBatch, split.N)
	images := make([]byte, n*size)
	guesses := make([]guess, 0, split.N)
	bar := newProgress(p.log, "test", split.N)
	for at := 0; at < split.N; at += n {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		copy(images, split.Images[at*size:min(at+n, split.N)*size])
		all, err := net.Predict(ctx, images)
		if err != nil {
			return nil, fmt.Errorf("test: %w", err)
		}
		for _, probs := range all[:min(n, split.N-at)] {
			best := 0
			for d, q := range probs {
				if q > probs[best] {
					best = d
				}
			}
			guesses = append(guesses, guess{byte(best), probs[best]})
		}
		bar.step(len(guesses), "")
	}
	bar.done()
	return guesses, nil
}

// median of a list; 0 of an empty one.
func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
