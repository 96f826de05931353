// A chart over time, drawn by uPlot, which is loaded with the first chart. A table holds its figures for people
// who do not see it.

import { useEffect, useRef, useState } from 'preact/hooks'
import { formatListTime } from '#data/format.ts'
import type { ChartProps } from './draw-chart.ts'
import { Skeleton } from './notice.tsx'

const HEIGHT = 200

export function Chart(props: ChartProps) {
  const place = useRef<HTMLDivElement>(null)
  const [isReady, setIsReady] = useState(false)
  useEffect(() => {
    let isOver = false
    let remove = () => {}
    void import('./draw-chart.ts').then(({ drawChart }) => {
      if (isOver || place.current === null) return
      setIsReady(true)
      remove = drawChart(place.current, props, HEIGHT)
    })
    return () => {
      isOver = true
      remove()
    }
  }, [props.times, props.series])
  return (
    <figure class="chart">
      <ul class="legend" aria-hidden="true">
        {props.series.map(({ label, color }) => (
          <li key={label}>
            <span class={`swatch ${color.slice(2)}`} />
            {label}
          </li>
        ))}
      </ul>
      {!isReady && <Skeleton rows={3} label="Loading the plot" />}
      <div ref={place} class="plot" aria-hidden="true" />
      <figcaption class="unseen">{props.label}</figcaption>
      <Figures {...props} />
    </figure>
  )
}

/** Only times with a value. */
function Figures({ label, times, series, format }: ChartProps) {
  const filled = times
    .map((at, index) => ({ at, index }))
    .filter(({ index }) => series.some(({ values }) => (values[index] ?? 0) > 0))
  return (
    <div class="unseen">
      <table>
        <caption>{label}</caption>
        <thead>
          <tr>
            <th scope="col">Time</th>
            {series.map((one) => (
              <th key={one.label} scope="col">
                {one.label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {filled.map(({ at, index }) => (
            <tr key={at}>
              <th scope="row">{formatListTime(at)}</th>
              {series.map(({ label: name, values }) => {
                const value = values[index]
                return (
                  <td key={name}>{value === null || value === undefined ? '–' : format(value)}</td>
                )
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

export type { ChartProps }
