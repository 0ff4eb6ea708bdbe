package torchops

import (
	"context"

	"github.com/weft-ml/weft/nn"
	"github.com/weft-ml/weft/tensor"
)

// maker makes an optimiser for a model from the hyperparameters.
type maker func(ctx context.Context, model any, c *call) (*nn.Optimizer, error)

// optimizer is a row for an optimiser: the parameters after each step, in lists. The steps are computed at once.
func optimizer(hyper string, make maker) op {
	return op{"params, steps, " + hyper, func(c *call) []any {
		model := struct{ Params []T }{}
		for _, p := range c.Ts("params") {
			model.Params = append(model.Params, p.Clone())
		}
		opt, err := make(c.dev.ctx, &model, c)
		c.fails(err)
		if c.Float("lr") == 0 { // in the options 0 is the default
			c.fails(opt.SetRate(c.dev.ctx, 0))
		}
		steps, ok := c.value("steps").([]any)
		if !ok {
			c.wrong("steps", "a list of steps")
		}
		var out []any
		for _, s := range steps {
			grads := (&call{op: c.op, vals: map[string]any{"grads": s}}).Ts("grads")
			opt.Apply(grads)
			c.fails(opt.Realize(c.dev.ctx))
			var after []any
			for _, p := range model.Params {
				copied := p.Clone()
				c.fails(tensor.Realize(c.dev.ctx, copied))
				after = append(after, copied)
			}
			out = append(out, after)
		}
		return out
	}}
}

// share is how much of what was is kept. The options take 0 for the default and a negative number for 0, torch refuses one.
func (c *call) share(name string, v float64) float64 {
	switch {
	case v < 0:
		c.refuse("%s is %v", name, v)
	case v == 0:
		return -1
	}
	return v
}

// betas are the two shares of Adam and its kin.
func (c *call) betas() (first, second float64) {
	b := c.Floats("betas")
	return c.share("beta1", b[0]), c.share("beta2", b[1])
}

const adamArgs = "betas=(0.9, 0.999), eps=1e-08"

func (c *call) adam() nn.AdamOptions {
	first, second := c.betas()
	return nn.AdamOptions{Rate: c.Float("lr"), Beta1: first, Beta2: second, Eps: c.Float("eps"), Decay: c.Float("weight_decay"),
		NoDecay: c.Float("weight_decay") == 0, AMSGrad: c.Bool("amsgrad"), Maximize: c.Bool("maximize")}
}

func (c *call) moments() nn.MomentOptions {
	first, second := c.betas()
	o := nn.MomentOptions{Rate: c.Float("lr"), Beta1: first, Beta2: second, Eps: c.Float("eps"), Decay: c.Float("weight_decay"),
		Maximize: c.Bool("maximize")}
	if _, ok := c.vals["decoupled_weight_decay"]; ok {
		o.Apart = c.Bool("decoupled_weight_decay")
	}
	return o
}

var optimOps = map[string]op{
	"torch.optim.SGD": optimizer("lr=0.001, momentum=0, dampening=0, weight_decay=0, nesterov=False, *, maximize=False",
		func(ctx context.Context, model any, c *call) (*nn.Optimizer, error) {
			return nn.NewSGD(ctx, model, nn.SGDOptions{Rate: c.Float("lr"), Momentum: c.Float("momentum"), Dampening: c.Float("dampening"),
				Decay: c.Float("weight_decay"), Nesterov: c.Bool("nesterov"), Maximize: c.Bool("maximize")})
		}),
	"torch.optim.Adam": optimizer("lr=0.001, "+adamArgs+", weight_decay=0, amsgrad=False, *, maximize=False, decoupled_weight_decay=False",
		func(ctx context.Context, model any, c *call) (*nn.Optimizer, error) {
			if c.Bool("decoupled_weight_decay") {
				return nn.NewAdamW(ctx, model, c.adam())
			}
			return nn.NewAdam(ctx, model, c.adam())
		}),
	"torch.optim.AdamW": optimizer("lr=0.001, "+adamArgs+", weight_decay=0.01, amsgrad=False, *, maximize=False",
		func(ctx context.Context, model any, c *call) (*nn.Optimizer, error) {
			return nn.NewAdamW(ctx, model, c.adam())
		}),
	"torch.optim.Adamax": optimizer("lr=0.002, "+adamArgs+", weight_decay=0, *, maximize=False",
		func(ctx context.Context, model any, c *call) (*nn.Optimizer, error) {
			return nn.NewAdamax(ctx, model, c.moments())
		}),
	"torch.optim.NAdam": optimizer("lr=0.002, "+adamArgs+", weight_decay=0, momentum_decay=0.004, decoupled_weight_decay=False, *, maximize=False",
		func(ctx context.Context, model any, c *call) (*nn.Optimizer, error) {
			o := c.moments()
			o.MomentumDecay = c.Float("momentum_decay")
			return nn.NewNAdam(ctx, model, o)
		}),
	"torch.optim.RAdam": optimizer("lr=0.001, "+adamArgs+", weight_decay=0, decoupled_weight_decay=False, *, maximize=False",
		func(ctx context.Context, model any, c *call) (*nn.Optimizer, error) {
			return nn.NewRAdam(ctx, model, c.moments())
		}),
	"torch.optim.RMSprop": optimizer("lr=0.01, alpha=0.99, eps=1e-08, weight_decay=0, momentum=0, centered=False, maximize=False",
		func(ctx context.Context, model any, c *call) (*nn.Optimizer, error) {
			return nn.NewRMSProp(ctx, model, nn.RMSPropOptions{Rate: c.Float("lr"), Alpha: c.share("alpha", c.Float("alpha")), Eps: c.Float("eps"),
				Decay: c.Float("weight_decay"), Momentum: c.Float("momentum"), Centered: c.Bool("centered"), Maximize: c.Bool("maximize")})
		}),
	"torch.optim.Adagrad": optimizer("lr=0.01, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10, *, maximize=False",
		func(ctx context.Context, model any, c *call) (*nn.Optimizer, error) {
			return nn.NewAdagrad(ctx, model, nn.AdagradOptions{Rate: c.Float("lr"), RateDecay: c.Float("lr_decay"), Decay: c.Float("weight_decay"),
				Start: c.Float("initial_accumulator_value"), Eps: c.Float("eps"), Maximize: c.Bool("maximize")})
		}),
	"torch.optim.Adadelta": optimizer("lr=1.0, rho=0.9, eps=1e-06, weight_decay=0, *, maximize=False",
		func(ctx context.Context, model any, c *call) (*nn.Optimizer, error) {
			return nn.NewAdadelta(ctx, model, nn.AdadeltaOptions{Rate: c.Float("lr"), Rho: c.share("rho", c.Float("rho")), Eps: c.Float("eps"),
				Decay: c.Float("weight_decay"), Maximize: c.Bool("maximize")})
		}),
	"torch.optim.Muon": optimizer("lr=0.001, weight_decay=0.1, momentum=0.95, nesterov=True, ns_coefficients=(3.4445, -4.775, 2.0315), eps=1e-07, ns_steps=5, adjust_lr_fn=None",
		func(ctx context.Context, model any, c *call) (*nn.Optimizer, error) {
			k := c.Floats("ns_coefficients")
			return nn.NewMuon(ctx, model, nn.MuonOptions{Rate: c.Float("lr"), Decay: c.Float("weight_decay"), NoDecay: c.Float("weight_decay") == 0,
				Momentum: c.share("momentum", c.Float("momentum")), Plain: !c.Bool("nesterov"), Newton: [3]float64{k[0], k[1], k[2]}, Eps: c.Float("eps"),
				Iterations: c.Int("ns_steps"), MatchAdam: c.value("adjust_lr_fn") == "match_rms_adamw"})
		}),
}

const scheduler = "torch.optim.lr_scheduler."

// rates is a row for a schedule: the rate before each of so many steps.
func rates(hyper string, f func(c *call, rate float64) nn.Schedule) op {
	return op{"rate, steps, *, " + hyper, func(c *call) []any {
		s := f(c, c.Float("rate"))
		list := make([]any, c.Int("steps"))
		for i := range list {
			list[i] = s(i)
		}
		return []any{list}
	}}
}

var scheduleOps = map[string]op{
	scheduler + "StepLR": rates("step_size, gamma=0.1", func(c *call, r float64) nn.Schedule { return nn.StepDecay(r, c.Int("step_size"), c.Float("gamma")) }),
	scheduler + "MultiStepLR": rates("milestones, gamma=0.1", func(c *call, r float64) nn.Schedule {
		return nn.MultiStep(r, c.Ints("milestones"), c.Float("gamma"))
	}),
	scheduler + "ExponentialLR": rates("gamma", func(c *call, r float64) nn.Schedule { return nn.Exponential(r, c.Float("gamma")) }),
	scheduler + "ConstantLR": rates("factor=0.3333333333333333, total_iters=5", func(c *call, r float64) nn.Schedule {
		return nn.Constant(r, c.Float("factor"), c.Int("total_iters"))
	}),
	scheduler + "LinearLR": rates("start_factor=0.3333333333333333, end_factor=1.0, total_iters=5", func(c *call, r float64) nn.Schedule {
		return nn.LinearRamp(r, c.Float("start_factor"), c.Float("end_factor"), c.Int("total_iters"))
	}),
	scheduler + "PolynomialLR": rates("total_iters=5, power=1.0", func(c *call, r float64) nn.Schedule {
		return nn.Polynomial(r, c.Int("total_iters"), c.Float("power"))
	}),
	scheduler + "CosineAnnealingLR": rates("T_max, eta_min=0.0", func(c *call, r float64) nn.Schedule {
		return nn.CosineAnnealing(r, c.Int("T_max"), c.Float("eta_min"))
	}),
	scheduler + "CosineAnnealingWarmRestarts": rates("T_0, T_mult=1, eta_min=0.0", func(c *call, r float64) nn.Schedule {
		return nn.CosineRestarts(r, c.Int("T_0"), c.Int("T_mult"), c.Float("eta_min"))
	}),
	scheduler + "OneCycleLR": rates("max_lr, total_steps=None, epochs=None, steps_per_epoch=None, pct_start=0.3, anneal_strategy='cos', cycle_momentum=True, base_momentum=0.85, max_momentum=0.95, div_factor=25.0, final_div_factor=10000.0, three_phase=False",
		func(c *call, r float64) nn.Schedule {
			o := nn.OneCycle{Max: c.Float("max_lr"), Warm: c.Float("pct_start"), Linear: c.Str("anneal_strategy") == "linear",
				Div: c.Float("div_factor"), FinalDiv: c.Float("final_div_factor"), ThreePhase: c.Bool("three_phase")}
			if c.None("total_steps") {
				o.Steps = c.Int("epochs") * c.Int("steps_per_epoch")
			} else {
				o.Steps = c.Int("total_steps")
			}
			return o.Schedule()
		}),
	scheduler + "CyclicLR": rates("base_lr, max_lr, step_size_up=2000, step_size_down=None, mode='triangular', gamma=1.0, scale_fn=None, scale_mode='cycle', cycle_momentum=True, base_momentum=0.8, max_momentum=0.9",
		func(c *call, r float64) nn.Schedule {
			o := nn.Cyclic{Base: c.Float("base_lr"), Max: c.Float("max_lr"), Up: c.Int("step_size_up"), Halve: c.Str("mode") == "triangular2"}
			if !c.None("step_size_down") {
				o.Down = c.Int("step_size_down")
			}
			if c.Str("mode") == "exp_range" {
				o.Gamma = c.Float("gamma")
			}
			return o.Schedule()
		}),
	scheduler + "ReduceLROnPlateau": {"rate, metrics, *, mode='min', factor=0.1, patience=10, threshold=0.0001, threshold_mode='rel', cooldown=0, min_lr=0, eps=1e-08", plateau},
}

// plateau gives the rate before each metric is seen.
func plateau(c *call) []any {
	p := nn.NewPlateau(c.Float("rate"))
	p.Factor, p.Patience, p.Threshold, p.Absolute = c.Float("factor"), c.Int("patience"), c.Float("threshold"), c.Str("threshold_mode") == "abs"
	p.Rising, p.Cooldown, p.Least, p.Smallest = c.Str("mode") == "max", c.Int("cooldown"), c.Float("min_lr"), c.Float("eps")
	var list []any
	for _, m := range c.Floats("metrics") {
		list = append(list, p.Rate)
		p.Step(m)
	}
	return []any{list}
}
