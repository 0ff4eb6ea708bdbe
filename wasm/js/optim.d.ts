// Types of w.optim.

import type { Tensor } from './weft.js'

/** Changes the parameters of a model against the gradients of a loss. */
export class Optimizer {
  params: Tensor[]
  /** The learning rate, a scalar on the device. */
  rate: Tensor
  /** How many steps were taken. */
  count: Tensor
  /** What it remembers of each parameter. */
  slots: Record<string, Tensor[]>
  /** Takes one step against the gradients of a loss, a scalar: all is computed together. */
  step(loss: Tensor): Promise<void>
  /** step without computing: for captured functions, which compute all that they assign. */
  update(loss: Tensor): void
  /** Assigns new values to the parameters, given a gradient for each. */
  apply(grads: readonly Tensor[]): void
  /** The gradients that backward has added up for the parameters, zeros where it reached one not at all; they are forgotten there. For
   *  losses of several batches that make one step: apply(collected()). */
  collected(): Tensor[]
  /** Computes what update or apply assigned, together with other tensors. */
  realize(...others: Tensor[]): Promise<void>
  /** Changes the learning rate of the steps that follow, captured ones among them; nothing is compiled anew. */
  setRate(rate: number): Promise<void>
}

interface Descent {
  rate?: number
  /** Weight decay. */
  decay?: number
  /** Climb instead of descending. */
  maximize?: boolean
}

interface Moments extends Descent {
  beta1?: number
  beta2?: number
  eps?: number
}

/** One parameter within one step. */
export interface Change {
  parameter: Tensor
  gradient: Tensor
  /** The learning rate, a scalar of the parameter's type. */
  rate: Tensor
  /** Of steps, a scalar: 1 in the first; f32, of an f64 parameter f64. */
  count: Tensor
  /** Of the parameter among params. */
  index: number
  /** What was remembered under a name after the last step. */
  slot(name: string): Tensor
  /** Remembers a tensor under a name, in the parameter's type, and gives back what is remembered. */
  keep(name: string, value: Tensor): Tensor
}

type Make<O> = (model: object, options?: O) => Promise<Optimizer>

/** The learning rate of each step, from step 0 on. */
export type Schedule = (step: number) => number

export interface Plateau {
  readonly rate: number
  /** Takes the metric of a step and gives the rate of the next one. */
  step(metric: number): number
}

/** What makes optimisers, of a model or an array of tensors; schedules; and clipping of gradients. */
export interface Optim {
  sgd: Make<Descent & { momentum?: number; dampening?: number; nesterov?: boolean }>
  adam: Make<Moments & { amsgrad?: boolean }>
  /** adam with weight decay apart from the gradient, 0.01 unless given. */
  adamW: Make<Moments & { amsgrad?: boolean }>
  adamax: Make<Moments & { apart?: boolean }>
  nadam: Make<Moments & { apart?: boolean; momentumDecay?: number }>
  radam: Make<Moments & { apart?: boolean }>
  rmsProp: Make<Descent & { alpha?: number; eps?: number; momentum?: number; centered?: boolean }>
  adagrad: Make<Descent & { rateDecay?: number; start?: number; eps?: number }>
  adadelta: Make<Descent & { rho?: number; eps?: number }>
  /** Adam whose step of each parameter has the size of the parameter, for large batches. */
  lamb: Make<Moments>
  /** Descent with momentum and a rate in proportion to the size of a parameter over that of its gradient. */
  lars: Make<Descent & { momentum?: number; trust?: number; nesterov?: boolean }>
  /** By the signs of gradients of all examples, with a step of its own for each element. */
  rprop: Make<{ rate?: number; shrink?: number; grow?: number; least?: number; most?: number; maximize?: boolean }>
  /** Descent whose averages of the parameters, slots.mean of the optimiser, are what to evaluate with. */
  asgd: Make<Descent & { shrink?: number; power?: number; start?: number }>
  /** Of the squares of a matrix's gradients it remembers averages of rows and of columns only. */
  adafactor: Make<Descent & { power?: number; eps?: number; least?: number; clip?: number }>
  /** A rule of one's own gives the new value of each parameter; slots are names of what is remembered of each, zeros at first. */
  custom(model: object, rule: (c: Change) => Tensor, options?: { rate?: number; slots?: readonly string[] }): Promise<Optimizer>
  /** For models whose parameters are all matrices. */
  muon: Make<{
    rate?: number; decay?: number; momentum?: number; nesterov?: boolean; newton?: [number, number, number]; eps?: number; iterations?: number; matchAdam?: boolean
  }>

  constant(rate: number, factor: number, steps: number): Schedule
  stepDecay(rate: number, size: number, gamma?: number): Schedule
  multiStep(rate: number, milestones: readonly number[], gamma?: number): Schedule
  exponential(rate: number, gamma: number): Schedule
  linearRamp(rate: number, start: number, end: number, steps: number): Schedule
  polynomial(rate: number, steps: number, power?: number): Schedule
  cosineAnnealing(rate: number, steps: number, least?: number): Schedule
  cosineRestarts(rate: number, first: number, mult?: number, least?: number): Schedule
  oneCycle(options: { max: number; steps: number; warm?: number; linear?: boolean; div?: number; finalDiv?: number; threePhase?: boolean }): Schedule
  cyclic(options: { base: number; max: number; up: number; down?: number; halve?: boolean; gamma?: number }): Schedule
  /** One schedule after the other, each for so many steps; the last one for ever. */
  chain(...parts: [Schedule, number?][]): Schedule
  /** Lowers the rate when a metric has stopped improving. */
  plateau(rate: number, options?: {
    factor?: number; patience?: number; threshold?: number; absolute?: boolean; rising?: boolean; cooldown?: number; least?: number; smallest?: number
  }): Plateau

  /** The length of all gradients together, a scalar: what clipByNorm compares. */
  norm(grads: readonly Tensor[]): Tensor
  /** Gradients scaled down together, so that the length of all is at most max. */
  clipByNorm(grads: readonly Tensor[], max: number): Tensor[]
  /** Gradients with each element within −max … max. */
  clipByValue(grads: readonly Tensor[], max: number): Tensor[]
}
