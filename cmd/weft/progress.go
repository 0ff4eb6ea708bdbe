package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress shows how far some work is: a bar on a terminal, a line now and then elsewhere.
type progress struct {
	log   io.Writer
	what  string
	total int
	bar   *progressbar.ProgressBar // nil where log is no terminal

	last  time.Time
	start time.Time
}

func newProgress(log io.Writer, what string, total int) *progress {
	p := &progress{log: log, what: what, total: total, start: time.Now()}
	if f, ok := log.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(log), progressbar.OptionSetDescription(what),
			progressbar.OptionShowCount(), progressbar.OptionSetPredictTime(true), progressbar.OptionSetWidth(30),
			progressbar.OptionThrottle(50*time.Millisecond), progressbar.OptionClearOnFinish())
	}
	return p
}

// step says that done of total are done, and something about the last one.
func (p *progress) step(done int, about string) {
	if p.bar != nil {
		p.bar.Describe(p.what + " " + about)
		p.bar.Set(done)
		return
	}
	// The first and the last line always, others at most every two seconds.
	if now := time.Now(); done == 1 || done == p.total || now.Sub(p.last) >= 2*time.Second {
		p.last = now
		fmt.Fprintf(p.log, "%s %d/%d  %s  %.1f s\n", p.what, done, p.total, about, now.Sub(p.start).Seconds())
	}
}

// done takes the bar away.
func (p *progress) done() {
	if p.bar != nil {
		p.bar.Finish()
	}
}
