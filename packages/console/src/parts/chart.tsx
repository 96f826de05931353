// A chart over time. A table gives the same figures to screen readers.

import { formatMoment } from '#data/format.ts'
import { Plot, type PlotProps } from './plot.tsx'
import { reachable } from './small.tsx'

type ChartProps = PlotProps & { label: string }

export function Chart(props: ChartProps) {
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
      <Plot {...props} />
      <figcaption class="unseen">{props.label}</figcaption>
      <details class="chart-figures">
        <summary>Figures as a table</summary>
        <Figures {...props} />
      </details>
    </figure>
  )
}

/** Skips times without a value. */
function Figures({ label, times, series, format }: ChartProps) {
  const filled = times
    .map((at, index) => ({ at, index }))
    .filter(({ index }) => series.some(({ values }) => (values[index] ?? 0) > 0))
  return (
    <div class="table-wrap" {...reachable}>
      <table>
        <caption class="unseen">{label}</caption>
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
              <th scope="row">{formatMoment(at)}</th>
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
