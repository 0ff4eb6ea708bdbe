package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/plan"
)

func devicesCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "devices",
		Short: "List the devices: usable or why not, what they are, their limits",
		Args:  sensible(cobra.NoArgs),
		RunE:  func(c *cobra.Command, _ []string) error { return p.devices(c.Context()) },
	}
}

// devices prints a paragraph for each device; the default one carries a star. That a device cannot
// be used is a result, not a failure.
func (p *program) devices(ctx context.Context) error {
	standard, standardErr := p.open(ctx, "")
	if errors.As(standardErr, new(usageError)) { // of a wrong setting, which is about no device
		return standardErr
	}
	for _, name := range engine.Names() {
		e, err := engine.UseContext(ctx, name)
		if err != nil && ctx.Err() != nil {
			return err
		}
		if err != nil {
			why := strings.TrimPrefix(err.Error(), name+": ")
			fmt.Fprintf(p.out, "  %-7s not usable: %s\n", name, strings.ReplaceAll(why, "\n", fmt.Sprintf("\n%10s", "")))
			continue
		}
		star := " "
		if standard != nil && standard.Name() == name {
			star = "*"
		}
		info := e.Info()
		fmt.Fprintf(p.out, "%s %-7s usable: %s\n", star, name, info.Detail)
		fmt.Fprintf(p.out, "%10slimits: %s\n", "", limitsText(info))
	}
	if standardErr == nil {
		fmt.Fprintf(p.log, "* is used unless DEV or --device names another\n")
		if d := engine.Decided(); d != nil && d.Device == standard.Name() {
			fmt.Fprintf(p.log, "  %v\n", d)
		}
	}
	return standardErr
}

func limitsText(info plan.Info) string {
	parts := []string{fmt.Sprintf("%d threads", max(info.Threads, 1))}
	if info.Threads <= 1 {
		parts[0] = "1 thread"
	}
	if m := info.Limits.Memory; m > 0 {
		parts = append(parts, sizeText(m)+" of memory")
	} else {
		parts = append(parts, "memory of the machine (WEFT_MEM sets a limit)")
	}
	if b := info.Limits.MaxBytes; b > 0 {
		parts = append(parts, sizeText(b)+" a buffer")
	}
	if n := info.Limits.MaxBindings; n > 0 {
		parts = append(parts, fmt.Sprintf("%d buffers a kernel", n))
	}
	return strings.Join(parts, ", ")
}
