// Icons, drawn on a grid of 20. They only repeat text.

const drawings = {
  mail: 'M3 5.5h14v9H3zM3.5 6l6.5 5 6.5-5',
  inbox: 'M3 11.5 5.2 4.5h9.6L17 11.5v4H3zM3 11.5h4l1 2h4l1-2h4',
  overview: 'M3 16.5h14M5.5 13.5v-3M10 13.5v-8M14.5 13.5v-5',
  search: 'M9 14.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11zM13 13l4 4',
  globe:
    'M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM3 10h14M10 3c2.2 2 3 4.4 3 7s-.8 5-3 7c-2.2-2-3-4.4-3-7s.8-5 3-7z',
  webhook:
    'M7.5 9.5 10 5.2a2.6 2.6 0 1 1 2.4 1.3l2.3 4a2.6 2.6 0 1 1-1.2 3.4H8.2A2.6 2.6 0 1 1 5 11',
  activity: 'M2.5 10.5h3.2l2.3-6 4 11 2.3-5h3.2',
  block: 'M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM5.2 5.2l9.6 9.6',
  shield: 'M10 3l6 2.2v4.3c0 3.6-2.4 6.2-6 7.5-3.6-1.3-6-3.9-6-7.5V5.2z',
  filter: 'M3 5h14M5.5 10h9M8 15h4',
  key: 'M12.5 11.5a4 4 0 1 0-3.7-2.5L3.5 14.3V17h2.7v-2h2v-2l1.2-1.2c.9.5 2 .7 3.1.7zM13.3 6.7v.1',
  flask: 'M8 3h4M8.5 3v5L4.3 15a1.3 1.3 0 0 0 1.1 2h9.2a1.3 1.3 0 0 0 1.1-2L11.5 8V3M6.5 12.5h7',
  link: 'M8.5 11.5a3 3 0 0 0 4.3 0l2.7-2.7a3 3 0 0 0-4.3-4.3l-.9.9M11.5 8.5a3 3 0 0 0-4.3 0l-2.7 2.7a3 3 0 0 0 4.3 4.3l.9-.9',
  plus: 'M10 4v12M4 10h12',
  close: 'M5 5l10 10M15 5 5 15',
  check: 'M4 10.5l4 4 8-9',
  copy: 'M7 7h9v9H7zM13 7V4H4v9h3',
  back: 'M12.5 4.5 7 10l5.5 5.5',
  forward: 'M7.5 4.5 13 10l-5.5 5.5',
  down: 'M4.5 7.5 10 13l5.5-5.5',
  reply: 'M8 5 3.5 9.5 8 14M4 9.5h7.5a5 5 0 0 1 5 5v1',
  'pass-on': 'M12 5 16.5 9.5 12 14M16 9.5H8.5a5 5 0 0 0-5 5v1',
  person:
    'M10 10a3.2 3.2 0 1 0 0-6.4 3.2 3.2 0 0 0 0 6.4zM3.8 16.5c.6-2.8 3-4.3 6.2-4.3s5.6 1.5 6.2 4.3',
  label: 'M3.5 4h6.2l7 7-5.7 5.7-7.5-7.5zM7 7.2v.1',
  calendar: 'M3.5 5h13v11.5h-13zM3.5 8.5h13M7 3v3.5M13 3v3.5',
  clock: 'M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM10 6v4.2l2.8 1.8',
  edit: 'M4 16l.7-3.2L13.5 4 16 6.5l-8.8 8.8z',
  trash: 'M3.5 5.5h13M8 5.5v-2h4v2M5 5.5l.8 11h8.4l.8-11',
  eye: 'M2.5 10S5 5 10 5s7.5 5 7.5 5-2.5 5-7.5 5-7.5-5-7.5-5zM10 12.3a2.3 2.3 0 1 0 0-4.6 2.3 2.3 0 0 0 0 4.6z',
  download: 'M10 3.5v9M6 9l4 4 4-4M3.5 16.5h13',
  attach:
    'M14.5 9 9.3 14.2a3 3 0 0 1-4.3-4.3l6.3-6.3a2 2 0 0 1 2.9 2.9l-6 6a1 1 0 0 1-1.4-1.4L11.7 6.2',
  refresh: 'M16 4v4h-4M4 16v-4h4M15.5 8A6 6 0 0 0 5 6.5M4.5 12A6 6 0 0 0 15 13.5',
  retry: 'M4 4v4h4M4.5 8A6.2 6.2 0 1 1 4 11.5',
  pause: 'M7 4.5v11M13 4.5v11',
  play: 'M6 4l10 6-10 6z',
  send: 'M3 10 17 3.5 12.5 17l-3-5.5zM9.5 11.5 17 3.5',
  menu: 'M3 5.5h14M3 10h14M3 14.5h14',
  more: 'M4.5 9.5v1M10 9.5v1M15.5 9.5v1M4 10h1M9.5 10h1M15 10h1',
  sun: 'M10 13.5a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM10 2v1.5M10 16.5V18M2 10h1.5M16.5 10H18M4.3 4.3l1.1 1.1M14.6 14.6l1.1 1.1M4.3 15.7l1.1-1.1M14.6 5.4l1.1-1.1',
  moon: 'M16 11.5A6.5 6.5 0 0 1 8.5 4a6.5 6.5 0 1 0 7.5 7.5z',
  screen: 'M3 4.5h14v9H3zM7.5 16.5h5M10 13.5v3',
  keyboard: 'M2.5 5.5h15v9h-15zM5.5 8.5h.1M8.5 8.5h.1M11.5 8.5h.1M14.5 8.5h.1M6.5 11.5h7',
  leave: 'M8 3.5H4v13h4M8.5 10H17M13.5 6.5 17 10l-3.5 3.5',
  warning: 'M10 3.5 17.5 16.5h-15zM10 8v4M10 14.2v.1',
  info: 'M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM10 9.5V14M10 6.5v.1',
  image: 'M3 4h14v12H3zM3.5 14l4-4 3 3 2.5-2.5 3.5 3.5M12.5 7.5v.1',
  unread: 'M10 13.5a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7z',
  settings: 'M3 6h7M14 6h3M10 4h4v4h-4zM3 14h3M10 14h7M6 12h4v4H6z',
  code: 'M7 5.5 2.5 10 7 14.5M13 5.5l4.5 4.5-4.5 4.5',
} as const

export type IconName = keyof typeof drawings

export function Icon({ name, size = 18 }: { name: IconName; size?: number }) {
  return (
    <svg
      class="icon"
      width={size}
      height={size}
      viewBox="0 0 20 20"
      fill="none"
      stroke="currentColor"
      stroke-width="1.6"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      <path d={drawings[name]} />
    </svg>
  )
}
