// Draws a chart: bars or lines over time, with the values at the pointer.

import { useEffect, useRef, useState } from 'preact/hooks'
import { formatNumber, formatWhole } from '#data/format.ts'

type Series = {
  label: string
  /** A custom property of the theme. */
  color: '--received' | '--sent' | '--failed' | '--slow'
  values: readonly (number | null)[]
}

type Unit = { name: string; size: number }

export const messageUnits: readonly Unit[] = [{ name: 'messages', size: 1 }]

/** Whether the values are milliseconds. */
export const durationUnits: readonly Unit[] = [
  { name: 'milliseconds', size: 1 },
  { name: 'seconds', size: 1_000 },
  { name: 'minutes', size: 60_000 },
  { name: 'hours', size: 3_600_000 },
]

export type PlotProps = {
  /** ISO 8601, ascending, equally spaced. */
  times: readonly string[]
  series: readonly Series[]
  format: (value: number) => string
  /** Units of the axis labels; the largest one that the values reach is used. */
  units: readonly Unit[]
  kind: 'bars' | 'lines'
}

const HEIGHT = 216
const TOP = 28
const BASE = HEIGHT - 28
const LEFT = 60
/** The fraction of its time slot that a group of bars fills. */
const BARS_SHARE = 0.8
const LABEL_WIDTH = 64
const HOUR_MS = 3_600_000
const LABEL_HOURS = [1, 2, 3, 4, 6, 8, 12, 24, 48, 96, 168]

const hour = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })

export function Plot(props: PlotProps) {
  const { times, series, kind, units } = props
  const place = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(0)
  const [at, setAt] = useState<number | null>(null)
  useEffect(() => {
    const sized = new ResizeObserver(() => setWidth(place.current?.clientWidth ?? 0))
    if (place.current) sized.observe(place.current)
    return () => sized.disconnect()
  }, [])
  const step = Math.max(0, width - LEFT) / Math.max(1, times.length)
  const max = Math.max(0, ...series.flatMap(({ values }) => values.map(Number)))
  const unit = units.findLast(({ size }) => size <= max) ?? units[0]
  const size = unit?.size ?? 1
  const ticks = ticksFor(max / size).map((value) => value * size)
  const scale: Scale = {
    x: (index) => LEFT + index * step,
    y: (value) => BASE - (value / (ticks.at(-1) ?? 1)) * (BASE - TOP),
  }
  const follow = (event: PointerEvent) => {
    const left = place.current?.getBoundingClientRect().left ?? 0
    const index = Math.floor((event.clientX - left - LEFT) / step)
    setAt(index in times ? index : null)
  }
  return (
    <div
      ref={place}
      class="plot"
      aria-hidden="true"
      onPointerMove={follow}
      onPointerDown={follow}
      onPointerLeave={() => setAt(null)}
    >
      {width > 0 && (
        <svg width={width} height={HEIGHT} aria-hidden="true">
          {ticks.map((value) => (
            <g key={value}>
              <line x1={LEFT} x2={width} y1={scale.y(value)} y2={scale.y(value)} />
              <text x={LEFT - 8} y={scale.y(value) + 4} text-anchor="end">
                {formatNumber(value / size)}
              </text>
            </g>
          ))}
          <text x={0} y={12}>
            {unit?.name}
          </text>
          <TimeLabels times={times} step={step} width={width} />
          {at !== null && <line x1={scale.x(at + 0.5)} x2={scale.x(at + 0.5)} y1={TOP} y2={BASE} />}
          {series.map((one, index) =>
            kind === 'bars' ? (
              <path
                key={one.label}
                d={barsOf(one.values, scale, { index, count: series.length })}
                fill={`var(${one.color})`}
              />
            ) : (
              <Line key={one.label} one={one} scale={scale} />
            ),
          )}
        </svg>
      )}
      {at !== null && (
        <Tip {...props} at={at} isRight={at > times.length / 2} x={scale.x(at + 1)} />
      )}
    </div>
  )
}

/** As many times as fit at this width; the last label stays inside the plot. */
function TimeLabels({
  times,
  step,
  width,
}: {
  times: readonly string[]
  step: number
  width: number
}) {
  return labelled(times, step).map((index) => {
    const x = LEFT + (index + 0.5) * step
    const isAtEnd = x + LABEL_WIDTH / 2 > width
    return (
      <text
        key={index}
        x={isAtEnd ? width : x}
        y={HEIGHT - 8}
        text-anchor={isAtEnd ? 'end' : 'middle'}
      >
        {timeOf(times[index] ?? '')}
      </text>
    )
  })
}

type Scale = { x: (index: number) => number; y: (value: number) => number }

/** Up to five round numbers from 0; the last is at least the greatest value. */
function ticksFor(max: number): number[] {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, max / 4)))
  const step = [1, 2, 5, 10].map((times) => times * power).find((one) => one * 4 >= max) ?? power
  return Array.from({ length: Math.max(1, Math.ceil(max / step)) + 1 }, (_, n) => n * step)
}

function labelled(times: readonly string[], step: number): number[] {
  const [first = 0, second = first + HOUR_MS] = times.slice(0, 2).map((time) => Date.parse(time))
  const between = (Math.ceil(LABEL_WIDTH / Math.max(1, step)) * (second - first)) / HOUR_MS
  const hours = LABEL_HOURS.find((one) => one >= between) ?? between
  return times.flatMap((time, index) => {
    const here = new Date(time)
    const localHour = Math.floor(here.getTime() / HOUR_MS - here.getTimezoneOffset() / 60)
    return localHour % hours === 0 ? [index] : []
  })
}

/** The day at midnight, else the hour. */
function timeOf(time: string): string {
  const at = new Date(time)
  return at.getHours() === 0 && at.getMinutes() === 0 ? day.format(at) : hour.format(at)
}

function barsOf(
  values: Series['values'],
  { x, y }: Scale,
  { index, count }: { index: number; count: number },
): string {
  const share = BARS_SHARE / count
  const width = (x(1) - x(0)) * share * 0.9
  const bars = values.map((value, n) =>
    value ? `M${x(n + 0.1 + share * index)} ${BASE}V${y(value)}h${width}V${BASE}z` : '',
  )
  return bars.join('')
}

/** Straight lines between points, interrupted where a value is missing. */
function Line({ one: { values, color }, scale }: { one: Series; scale: Scale }) {
  const at = (value: number, n: number) => `${scale.x(n + 0.5)} ${scale.y(value)}`
  const points = values.flatMap((value, n) => (value === null ? [] : [at(value, n)]))
  const line = values.map((value, n) => {
    if (value === null) return ''
    return `${(values[n - 1] ?? null) === null ? 'M' : 'L'}${at(value, n)}`
  })
  const stroke = `var(${color})`
  return (
    <>
      <path d={line.join('')} fill="none" stroke={stroke} stroke-width="2" />
      <path
        d={points.map((point) => `M${point}h0`).join('')}
        stroke={stroke}
        stroke-width="5"
        stroke-linecap="round"
      />
    </>
  )
}

function Tip({
  times,
  series,
  format,
  at,
  x,
  isRight,
}: PlotProps & { at: number; x: number; isRight: boolean }) {
  const tip = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const width = tip.current?.offsetWidth ?? 0
    tip.current?.style.setProperty('left', `${isRight ? x - width - 24 : x + 12}px`)
  }, [x, isRight])
  return (
    <div ref={tip} class="chart-tip">
      <p>{formatWhole(times[at] ?? '')}</p>
      {series.map(({ label, values }) => {
        const value = values[at] ?? null
        return (
          <p key={label}>
            {label}: {value === null ? '–' : format(value)}
          </p>
        )
      })}
    </div>
  )
}
