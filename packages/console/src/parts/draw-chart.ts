// Draws a chart with uPlot in the colours of the theme; draws it again when those or its width change.

import UPlot from 'uplot'
import { formatWhole } from '#data/format.ts'

type Series = {
  label: string
  /** A custom property of the theme. */
  color: '--received' | '--sent' | '--failed' | '--slow'
  values: readonly (number | null)[]
}

export type ChartProps = {
  label: string
  /** ISO 8601, ascending. */
  times: readonly string[]
  series: readonly Series[]
  /** Formats a value. */
  format: (value: number) => string
  kind: 'bars' | 'lines'
}

/** Ticks at whole numbers. */
const WHOLE_STEPS = [1, 2, 5].flatMap((step) =>
  [1, 10, 100, 1e3, 1e4, 1e5].map((ten) => step * ten),
)
WHOLE_STEPS.sort((one, other) => one - other)

const hour = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })

const FONT = '12px system-ui, sans-serif'

/** Returns a function that removes the chart. */
export function drawChart(place: HTMLElement, props: ChartProps, height: number): () => void {
  const tip = document.createElement('div')
  tip.className = 'chart-tip'
  let plot = draw(place, tip, props, height)
  const again = () => {
    plot.destroy()
    plot = draw(place, tip, props, height)
  }
  const sized = new ResizeObserver(() => {
    if (place.clientWidth > 0) plot.setSize({ width: place.clientWidth, height })
  })
  sized.observe(place)
  const themed = new MutationObserver(again)
  themed.observe(document.documentElement, { attributeFilter: ['data-theme'] })
  return () => {
    sized.disconnect()
    themed.disconnect()
    plot.destroy()
    tip.remove()
  }
}

function draw(place: HTMLElement, tip: HTMLElement, props: ChartProps, height: number): UPlot {
  const { times, series, format, kind } = props
  const style = getComputedStyle(document.documentElement)
  const color = (name: string) => style.getPropertyValue(name).trim()
  const seconds = times.map((at) => Date.parse(at) / 1000)
  const axis = { stroke: color('--muted'), font: FONT, ticks: { show: false } }
  const options: UPlot.Options = {
    width: place.clientWidth,
    height,
    padding: [12, 0, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
    scales: {
      // The bars of the last time are drawn after it.
      x: { range: (plot, min, max) => [min, max + stepOf(plot)] },
      y: { range: (_, __, max) => [0, nice(max ?? 0)] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 32,
        space: 64,
        values: (_, splits) => splits.map(timeOf),
      },
      {
        ...axis,
        size: 64,
        grid: { stroke: color('--line'), width: 1 },
        values: (_, splits) => splits.map((value) => format(value)),
        ...(kind === 'bars' && { incrs: WHOLE_STEPS }),
      },
    ],
    series: [{}, ...series.map((one, index) => seriesOf(one, index, series.length, kind, color))],
    hooks: { setCursor: [(plot) => point(plot, tip, props)] },
  }
  const data: UPlot.AlignedData = [seconds, ...series.map(({ values }) => [...values])]
  const plot = new UPlot(options, data, place)
  plot.over.append(tip)
  tip.hidden = true
  return plot
}

function seriesOf(
  { label, color: name }: Series,
  index: number,
  count: number,
  kind: 'bars' | 'lines',
  color: (name: string) => string,
): UPlot.Series {
  const stroke = color(name)
  const plain = {
    label,
    stroke,
    width: kind === 'lines' ? 2 : 0,
    points: { show: kind === 'lines', size: 5, fill: stroke },
  }
  if (kind === 'lines') return { ...plain, spanGaps: true }
  const bars = UPlot.paths.bars
  if (bars === undefined) return { ...plain, width: 2 }
  // The bars of one time are side by side.
  const share = 0.8 / count
  const paths: UPlot.Series.PathBuilder = bars({
    disp: {
      x0: {
        unit: 1,
        values: (plot) => {
          const shift = stepOf(plot) * (0.1 + share * index)
          return Array.from(plot.data[0] ?? [], (at) => at + shift)
        },
      },
      size: {
        unit: 1,
        values: (plot) => Array.from(plot.data[0] ?? [], () => stepOf(plot) * share * 0.88),
      },
    },
  })
  return { ...plain, fill: stroke, paths }
}

function stepOf({ data: [times = []] }: UPlot): number {
  return (times[1] ?? 3600) - (times[0] ?? 0)
}

/** The day at midnight, otherwise the hour. */
function timeOf(seconds: number): string {
  const at = new Date(seconds * 1000)
  return at.getHours() === 0 && at.getMinutes() === 0 ? day.format(at) : hour.format(at)
}

function nice(max: number): number {
  if (max <= 4) return 4
  const power = 10 ** Math.floor(Math.log10(max))
  return Math.ceil((max * 1.05) / (power / 2)) * (power / 2)
}

/** Shows the values at the pointer's time. */
function point(plot: UPlot, tip: HTMLElement, { times, series, format }: ChartProps): void {
  const index = plot.cursor.idx
  const at = index === null || index === undefined ? undefined : times[index]
  if (index === null || index === undefined || at === undefined || (plot.cursor.left ?? -1) < 0) {
    tip.hidden = true
    return
  }
  const lines = series.map(({ label, values }) => {
    const value = values[index]
    return `${label}: ${value === null || value === undefined ? '–' : format(value)}`
  })
  tip.replaceChildren(
    ...[formatWhole(at), ...lines].map((text) => {
      const line = document.createElement('p')
      line.textContent = text
      return line
    }),
  )
  tip.hidden = false
  const left = plot.cursor.left ?? 0
  const isRight = left > plot.over.clientWidth / 2
  tip.style.left = `${isRight ? left - tip.offsetWidth - 12 : left + 12}px`
}
