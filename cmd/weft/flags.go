package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-ml/weft/engine"
)

// What a flag may say is stated where the flag is, and looked at when it is parsed: a value that is wrong whatever files and devices
// hold is a call that makes no sense, told before anything is done. Commands look only at what depends on a file, or on several flags.

// check has flags be refused when they are parsed if something is wrong with what they set then.
func check(c *cobra.Command, wrong func() error, names ...string) {
	for _, name := range names {
		f := c.Flags().Lookup(name)
		f.Value = checked{f.Value, wrong}
		if f.DefValue == "[]" || f.DefValue == "0s" { // which help leaves out of flags that it knows the type of
			f.DefValue = ""
		}
	}
}

// value is what a flag sets (pflag.Value).
type value interface {
	String() string
	Set(text string) error
	Type() string
}

type checked struct {
	value
	wrong func() error
}

func (v checked) Set(text string) error {
	if err := v.value.Set(text); err != nil {
		return err
	}
	return v.wrong()
}

// atLeast refuses what is less.
func atLeast[T cmp.Ordered](of *T, least T) func() error {
	return func() error {
		if !(*of >= least) {
			return fmt.Errorf("at least %v is needed", least)
		}
		return nil
	}
}

// between refuses what is less or more.
func between[T cmp.Ordered](of *T, least, most T) func() error {
	return func() error {
		if !(*of >= least && *of <= most) {
			return fmt.Errorf("%v to %v is possible", least, most)
		}
		return nil
	}
}

// oneOf refuses what is not in a list.
func oneOf(of *string, list []string) func() error {
	return func() error {
		if !slices.Contains(list, *of) {
			return fmt.Errorf("there are %s", strings.Join(list, ", "))
		}
		return nil
	}
}

// deviceFlag is the flag that names a device; "" is the default one.
func deviceFlag(c *cobra.Command, device *string, about string) {
	c.Flags().StringVar(device, "device", "", about)
	check(c, func() error {
		if *device == "" {
			return nil
		}
		return engine.Check(*device)
	}, "device")
}
