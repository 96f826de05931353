// The effect of filters and blend modes on a colour (Filter Effects 1, Compositing 1).

import { blend, type Colour } from './css-colours.ts'
import { lengthPx } from './css-values.ts'

export type ColourFilter = (colour: Colour) => Colour

type Triple = readonly [number, number, number]

/** The filter's effect on a colour; null if it has none. */
export function filterOf(value: string | undefined): ColourFilter | null {
  const steps: ColourFilter[] = []
  for (const [, name = '', argument = ''] of (value ?? '').matchAll(/([a-z-]+)\(([^()]*)\)/g)) {
    const amount = argument.trim() === '' ? 1 : (lengthPx(argument.trim(), 0, 1) ?? 1)
    const step = STEPS[name]?.(Math.max(0, amount))
    if (step !== undefined) steps.push(mapped(step))
  }
  if (steps.length === 0) return null
  return (colour) => steps.reduce((changed, step) => step(changed), colour)
}

function mapped(step: (channels: Triple) => Triple): ColourFilter {
  const within = (value: number) => Math.min(255, Math.max(0, value))
  return ({ red, green, blue, alpha }) => {
    const [r, g, b] = step([red, green, blue])
    return { red: within(r), green: within(g), blue: within(b), alpha }
  }
}

const each =
  (change: (channel: number) => number) =>
  ([red, green, blue]: Triple): Triple => [change(red), change(green), change(blue)]

/** The result is grey at 0 and the original colour at 1. */
const saturated =
  (amount: number) =>
  ([red, green, blue]: Triple): Triple => {
    const grey = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return each((channel) => grey + (channel - grey) * amount)([red, green, blue])
  }

const STEPS: Readonly<Record<string, (amount: number) => (channels: Triple) => Triple>> = {
  invert: (amount) => each((channel) => channel + Math.min(1, amount) * (255 - 2 * channel)),
  brightness: (amount) => each((channel) => channel * amount),
  contrast: (amount) => each((channel) => (channel - 127.5) * amount + 127.5),
  grayscale: (amount) => saturated(1 - Math.min(1, amount)),
  saturate: saturated,
  sepia: (amount) => (channels) => {
    const [red, green, blue] = channels
    const share = Math.min(1, amount)
    const brown: Triple = [
      0.393 * red + 0.769 * green + 0.189 * blue,
      0.349 * red + 0.686 * green + 0.168 * blue,
      0.272 * red + 0.534 * green + 0.131 * blue,
    ]
    const mix = (own: number, other: number) => own + share * (Math.min(255, other) - own)
    return [mix(red, brown[0]), mix(green, brown[1]), mix(blue, brown[2])]
  },
}

/** The effect of a blend mode on a colour; null for an unsupported mode. */
export function blendedWith(mode: string, backdrop: Colour): ColourFilter | null {
  const step = MODES[mode]
  if (step === undefined) return null
  return (colour) => {
    const channel = (own: number, below: number) => 255 * step(below / 255, own / 255)
    const mixed = {
      red: channel(colour.red, backdrop.red),
      green: channel(colour.green, backdrop.green),
      blue: channel(colour.blue, backdrop.blue),
      alpha: colour.alpha,
    }
    return blend(mixed, backdrop)
  }
}

const screen = (below: number, own: number) => below + own - below * own
const hardLight = (below: number, own: number) =>
  own <= 0.5 ? 2 * below * own : screen(below, 2 * own - 1)

/** Blend modes as functions of the backdrop and the colour above it, each from 0 to 1. */
const MODES: Readonly<Record<string, (below: number, own: number) => number>> = {
  multiply: (below, own) => below * own,
  screen,
  overlay: (below, own) => hardLight(own, below),
  darken: Math.min,
  lighten: Math.max,
  'color-dodge': (below, own) => (below === 0 ? 0 : own >= 1 ? 1 : Math.min(1, below / (1 - own))),
  'color-burn': (below, own) =>
    below >= 1 ? 1 : own <= 0 ? 0 : 1 - Math.min(1, (1 - below) / own),
  'hard-light': hardLight,
  difference: (below, own) => Math.abs(below - own),
  exclusion: (below, own) => below + own - 2 * below * own,
  'plus-lighter': (below, own) => Math.min(1, below + own),
  'plus-darker': (below, own) => Math.max(0, below + own - 1),
}
