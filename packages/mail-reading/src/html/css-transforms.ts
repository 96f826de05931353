// The effect of transformations on text: how small and how far away it becomes (CSS Transforms 2).

import { lengthPx } from './css-values.ts'

export type Placement = {
  /** The scale in the direction in which the text is smallest. */
  readonly scale: number
  readonly xPx: number
  readonly yPx: number
  /** Whether the box shows its back side. */
  readonly isTurned: boolean
}

export const UNMOVED: Placement = { scale: 1, xPx: 0, yPx: 0, isTurned: false }

/** The properties `translate`, `rotate`, `scale` and `transform`, in lower case. */
export type Transforms = {
  readonly translate: string | undefined
  readonly rotate: string | undefined
  readonly scale: string | undefined
  readonly transform: string | undefined
}

/** The maximum number of evaluated functions in a list; real mail has two. */
const FUNCTIONS_MAX = 50
/** The assumed box size for percentages. */
const BOX_PX = 600

/** The combined effect of transforms. Unknown functions and perspective are ignored. */
export function placementOf(
  { translate, rotate, scale, transform }: Transforms,
  fontPx: number,
): Placement {
  const calls: string[] = []
  if (translate !== undefined) calls.push(`translate3d(${listed(translate, '0px')})`)
  if (rotate !== undefined) calls.push(turnOf(rotate))
  if (scale !== undefined) calls.push(`scale3d(${listed(scale, null)})`)
  if (transform !== undefined) calls.push(transform)
  let whole = IDENTITY
  let count = 0
  for (const [, name = '', list = ''] of calls.join(' ').matchAll(CALL)) {
    if (++count > FUNCTIONS_MAX) break
    whole = product(
      whole,
      matrixOf(
        name,
        list.split(/[,\s]+(?![^(]*\))/).filter((part) => part !== ''),
        fontPx,
      ),
    )
  }
  return placed(whole)
}

const CALL = /([a-z]+(?:3d|[xyz])?)\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)/g

/** Expands one or two values to three. Missing ones become `rest`, or the first value. */
function listed(value: string, rest: string | null): string {
  const [first = '', second, third] = value.split(/\s+(?![^(]*\))/)
  return [first, second ?? rest ?? first, third ?? (rest === null ? '1' : rest)].join(',')
}

/** Parses `y 90deg`, `1 1 0 45deg` or `45deg`. */
function turnOf(value: string): string {
  const words = value.split(/\s+/)
  const angle = words.find((word) => /deg|grad|rad|turn/.test(word)) ?? '0deg'
  const axis = words.filter((word) => word !== angle)
  if (axis.length === 3) return `rotate3d(${axis.join(',')},${angle})`
  return `rotate${axis[0] ?? 'z'}(${angle})`
}

type Matrix = readonly number[]

const IDENTITY: Matrix = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]

function product(one: Matrix, other: Matrix): Matrix {
  return IDENTITY.map((_, place) => {
    const [column, row] = [Math.floor(place / 4), place % 4]
    let sum = 0
    for (let k = 0; k < 4; k++) sum += (one[4 * k + row] ?? 0) * (other[4 * column + k] ?? 0)
    return sum
  })
}

function matrixOf(name: string, parts: readonly string[], fontPx: number): Matrix {
  const length = (at: number) => lengthPx(parts[at], fontPx, BOX_PX) ?? 0
  const number = (at: number, rest: number) => lengthPx(parts[at], fontPx, 1) ?? rest
  const angle = (at: number) => radians(parts[at])
  switch (name) {
    case 'translate':
    case 'translate3d':
      return moved(length(0), length(1))
    case 'translatex':
      return moved(length(0), 0)
    case 'translatey':
      return moved(0, length(0))
    case 'scale':
    case 'scale3d':
      return scaled(number(0, 1), number(1, number(0, 1)))
    case 'scalex':
      return scaled(number(0, 1), 1)
    case 'scaley':
      return scaled(1, number(0, 1))
    case 'rotate':
    case 'rotatez':
      return turned([0, 0, 1], angle(0))
    case 'rotatex':
      return turned([1, 0, 0], angle(0))
    case 'rotatey':
      return turned([0, 1, 0], angle(0))
    case 'rotate3d':
      return turned([number(0, 0), number(1, 0), number(2, 0)], angle(3))
    case 'skew':
      return [1, Math.tan(angle(1)), 0, 0, Math.tan(angle(0)), ...IDENTITY.slice(5)]
    case 'skewx':
      return [1, 0, 0, 0, Math.tan(angle(0)), ...IDENTITY.slice(5)]
    case 'skewy':
      return [1, Math.tan(angle(0)), ...IDENTITY.slice(2)]
    case 'matrix': {
      const [a = 1, b = 0, c = 0, d = 1, e = 0, f = 0] = parts.map(Number)
      return [a, b, 0, 0, c, d, 0, 0, 0, 0, 1, 0, e, f, 0, 1]
    }
    case 'matrix3d':
      return parts.length === 16 ? parts.map(Number) : IDENTITY
    default:
      return IDENTITY
  }
}

function moved(x: number, y: number): Matrix {
  return [...IDENTITY.slice(0, 12), x, y, 0, 1]
}

function scaled(x: number, y: number): Matrix {
  return [x, 0, 0, 0, 0, y, ...IDENTITY.slice(6)]
}

/** A rotation matrix (CSS Transforms 2 §13.1). */
function turned(axis: readonly number[], angle: number): Matrix {
  const length = Math.hypot(...axis)
  if (length === 0) return IDENTITY
  const [x = 0, y = 0, z = 0] = axis.map((part) => part / length)
  const [sine, rest] = [Math.sin(angle), 1 - Math.cos(angle)]
  return [
    1 + rest * (x * x - 1),
    z * sine + x * y * rest,
    x * z * rest - y * sine,
    0,
    x * y * rest - z * sine,
    1 + rest * (y * y - 1),
    y * z * rest + x * sine,
    0,
    x * z * rest + y * sine,
    y * z * rest - x * sine,
    1 + rest * (z * z - 1),
    0,
    0,
    0,
    0,
    1,
  ]
}

const RADIANS: Readonly<Record<string, number>> = {
  deg: Math.PI / 180,
  grad: Math.PI / 200,
  rad: 1,
  turn: 2 * Math.PI,
}

function radians(text = ''): number {
  const found = /^([+-]?[\d.]+(?:e[+-]?\d+)?)(deg|grad|rad|turn)$/.exec(text)
  return found === null ? 0 : Number(found[1]) * (RADIANS[found[2] ?? ''] ?? 0)
}

function placed(matrix: Matrix): Placement {
  const [a = 0, b = 0, , , c = 0, d = 0] = matrix
  const area = Math.abs(a * d - b * c)
  // The larger of the two singular values.
  const squares = a * a + b * b + c * c + d * d
  const largest = Math.sqrt((squares + Math.sqrt(Math.max(0, squares ** 2 - 4 * area ** 2))) / 2)
  const scale = largest === 0 ? 0 : area / largest
  if (!Number.isFinite(scale)) return { ...UNMOVED, scale: 0 }
  const [xPx = 0, yPx = 0] = [matrix[12], matrix[13]]
  return { scale, xPx, yPx, isTurned: (matrix[10] ?? 1) < -1e-6 }
}
